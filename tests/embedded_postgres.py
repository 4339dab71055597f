"""pytest plugin: each process of a run has a home of its own, with an embedded Postgres in it unless DATABASE_URL is
set.

Loaded with ``-p``, so that FESTINGER_HOME is set before anything reads Django's settings.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

# Where this is set, as in many containers, each of the hundred servers and commands that the tests start would compile
# the whole project anew, and each run of pytest rewrite every assert.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False

HOME = Path(tempfile.mkdtemp(prefix="festinger-test-")).resolve()
HOME.chmod(0o711)  # as root, Postgres is another user, who has to pass through
os.environ["FESTINGER_HOME"] = str(HOME)
SERVERS: list[subprocess.Popen[bytes]] = []
PROCESS = os.getpid()


def pytest_configure(config: pytest.Config) -> None:
    from festinger_site import home
    from festinger_site.run import postgres_cluster
    from tests import prepared_postgres

    prepared_postgres.shared_folder()  # made by the process that starts the others, so that they inherit it
    prepared_postgres.share_encoder(HOME)
    if os.environ.get("DATABASE_URL") or os.environ.get("DATABASE_URL_FILE"):
        return
    if config.getoption("numprocesses", None):  # this process runs no test: each of those that do comes here too
        return
    if hasattr(config, "workerinput"):
        prepared_postgres.copy_cluster(home.path())
    else:  # a single file or two: most do not need what takes seconds to prepare
        postgres_cluster.ensure_cluster(home.path(), durable=False)
    SERVERS.append(postgres_cluster.start(home.path()))
    postgres_cluster.ensure_database(home.path())


@atexit.register  # not a hook of pytest: reached also where it breaks off before its own end
def remove_home() -> None:
    if os.getpid() != PROCESS:  # a fork that a test made
        return
    from festinger_site.run import postgres_cluster

    postgres_cluster.remove(HOME)
    for server in SERVERS:
        server.wait()
    shutil.rmtree(HOME, ignore_errors=True)
