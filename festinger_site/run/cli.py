"""The command ``festinger`` of an installed package."""

import os
import sys
from threading import Thread

from festinger_site import VERSION
from festinger_site.dev import embedder_weights
from festinger_site.run import launch, manage

USAGE = """\
usage: festinger COMMAND

  run       start everything: Postgres, proxy, worker, scheduler; Ctrl-C stops it.
            --model NAME: use this model of your Ollama for learning and decisions
  demo      show it at work, on a temporary instance with a stand-in for Ollama
  doctor    look for what is wrong with this installation, and say what mends it
  backup    write a backup, while it runs
  restore   make a new home from a backup
  embedder  install the weights of the built-in embedder, where that failed before
  manage    all other commands: festinger manage help

It keeps its data in FESTINGER_HOME, ~/.local/share/festinger by default."""
COMMANDS = ("demo", "doctor", "backup", "restore")


def main() -> None:
    match sys.argv[1:]:
        case ["run"] | ["run", "--model", _]:
            if sys.argv[2:]:
                os.environ["FESTINGER_MODEL"] = sys.argv[3]
            # Beside the start, which must not wait for a network that is not there.
            Thread(target=embedder_weights.install_missing, daemon=True).start()
            sys.exit(launch.main())
        case ["embedder"]:
            embedder_weights.install_missing()
        case ["manage", *words]:
            manage.main(["festinger manage", *words])
        case [command, *_] if command in COMMANDS:
            manage.main(["festinger", *sys.argv[1:]])
        case ["--version"]:
            print(f"festinger {VERSION}")
        case [] | ["help" | "-h" | "--help"]:
            print(USAGE)
        case _:
            sys.exit(USAGE)
