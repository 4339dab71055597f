"""Signals to the launcher, several at once: make passes on what its whole process group got already."""

import os
import signal
import subprocess
import sys

ROUNDS = 120

# The launcher's own ``main``, in a fork for each round. What it would start is replaced by pausing, as it pauses while
# all runs. Says how each round ended, by exit status; the first that does not end is the last.
LAUNCHER = """
import os, signal, sys, time
from festinger_site.run import launch

def work(home, site, stops):
    os.write(writable, b".")
    while True:
        launch.pause(0.5)

launch.launch = work
launch.load_settings()  # once for all forks
for _ in range(int(sys.argv[1])):
    readable, writable = os.pipe()
    launcher = os.fork()
    if launcher == 0:
        os._exit(launch.main())
    os.close(writable)
    os.read(readable, 1)
    os.close(readable)
    for number in map(int, sys.argv[2:]):
        os.kill(launcher, number)
    end = time.monotonic() + 10
    while not (ended := os.waitpid(launcher, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.001)
    if not ended[0]:
        os.kill(launcher, signal.SIGKILL)
        os.waitpid(launcher, 0)
        sys.exit("It still runs.")
    print(os.waitstatus_to_exitcode(ended[1]))
"""


def test_two_signals_at_once_stop_it_as_one_does(tmp_path):
    both = [signal.SIGTERM, signal.SIGINT, signal.SIGTERM]
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER, str(ROUNDS), *map(str, map(int, both))],
        env=os.environ | {"FESTINGER_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.stdout.split() == ["0"] * ROUNDS
