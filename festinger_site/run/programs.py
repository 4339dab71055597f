"""The command lines of the supervised processes.

``python -m festinger_site.run.programs proxy|worker`` becomes that program, for a container or a service
manager that watches it in place of the launcher.
"""

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from festinger_site import home as homes
from festinger_site.environment import EnvironmentMistake
from festinger_site.run import postgres_cluster
from festinger_site.run.postgres_account import account, as_user
from festinger_site.run.supervision import SERVER, Program


def programs(home: Path, host: str, port: int) -> list[Program]:
    """List them in the order of their start. They stop in reverse, so that the proxy can still write what it has."""
    found = own_programs(host, port)
    if not homes.is_embedded():
        return found
    # INT is Postgres' fast shutdown: with TERM it would wait until every client has left.
    options = as_user(account(postgres_cluster.data_folder(home)))
    postgres = Program("postgres", postgres_cluster.command(home), 10, signal.SIGINT, options)
    return [postgres, *found]


def own_programs(host: str, port: int) -> list[Program]:
    celery = [sys.executable, "-m", "celery", "-A", "festinger_site", "--quiet"]
    # A run of the resolver, the explaining of concepts, a backup and a slow receiver of notifications can each keep one
    # busy: the fifth is for statements. Threads, since they mostly wait: each process would have an encoder of its own.
    worker = ["worker", "--pool=threads", "--concurrency=5", "--hostname=worker@festinger", "--loglevel=INFO"]
    # Remote control, which these would need, does not work over PGMQ; the heartbeat is a row.
    worker += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    return [
        Program("worker", [*celery, *worker], stop_wait_s=7),
        Program("proxy", uvicorn(host, port), stop_wait_s=7),
    ]


def uvicorn(host: str, port: int) -> list[str]:
    """The proxy's server. The word with a colon is the application: tests serve another one in the same way."""
    served = [sys.executable, "-m", SERVER, "festinger_site.asgi:application"]
    return [*served, f"--host={host}", f"--port={port}"]


def main(words: list[str]) -> NoReturn:
    """Replaces this process by the named program; one line and status 1 where the environment cannot be used."""
    try:
        from festinger_site import settings
    except EnvironmentMistake as mistake:
        sys.exit(str(mistake))
    commands = {found.name: found.command for found in own_programs(settings.FESTINGER_HOST, settings.FESTINGER_PORT)}
    command = commands.get(words[0]) if len(words) == 1 else None
    if command is None:
        sys.exit(f"usage: python -m festinger_site.run.programs {'|'.join(commands)}")
    # Not a child: the container's signals must reach the program, and its exit status the container.
    os.execve(command[0], command, os.environ | homes.name_metrics_folder(settings.HOME))


if __name__ == "__main__":
    main(sys.argv[1:])
