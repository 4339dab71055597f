"""What runs: the command lines of the supervised processes."""

import sys
from pathlib import Path

from festinger_site import home as homes
from festinger_site import postgres
from festinger_site.postgres_account import account
from festinger_site.supervision import Program


def programs(home: Path, host: str, port: int) -> list[Program]:
    """In the order of their start; they stop in reverse, so the proxy can still write what it has."""
    celery = [sys.executable, "-m", "celery", "-A", "festinger_site"]
    worker = ["worker", "--concurrency=2", "--hostname=worker@festinger", "--loglevel=INFO"]
    # Remote control, which these would need, does not work over PGMQ; the heartbeat is a row.
    worker += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    found = [
        Program("worker", [*celery, *worker], stop_wait_s=7),
        Program("beat", [*celery, "beat", "--pidfile=", "--loglevel=INFO"], stop_wait_s=2),
        Program("proxy", uvicorn(host, port), stop_wait_s=7),
    ]
    return [postgres_program(home), *found] if homes.is_embedded() else found


def postgres_program(home: Path) -> Program:
    user = account(postgres.data_folder(home))
    fast_shutdown = "INT"
    name = user.pw_name if user else None
    return Program("postgres", postgres.command(home), stop_wait_s=10, stop_signal=fast_shutdown, user=name)


def uvicorn(host: str, port: int) -> list[str]:
    """The proxy's server; the word with a colon is the application, so that another can be served alike."""
    served = [sys.executable, "-m", "festinger_site.serve", "festinger_site.asgi:application"]
    return [*served, f"--host={host}", f"--port={port}"]
