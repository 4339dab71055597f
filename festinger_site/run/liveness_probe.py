"""Health checks of containers: ``python -m festinger_site.run.liveness_probe proxy|worker`` exits with 0 if
that part is alive, or with 1 and a line that says why not. It runs every few seconds, so it leaves Django out (a fifth
of the processor time of a ``manage.py`` command), and it never starts a database.
"""

import http.client
import json
import socket
import sys
from typing import Any

import psycopg

from festinger_site.environment import EnvironmentMistake

ANSWER_S = 10
CONNECT_S = 5
OLDEST_S = 45.0  # a pulse comes every 10 s, later on a busy machine
# Of this machine, if it has one: a container asks for its own worker, whatever others do.
AGE = """
    SELECT extract(epoch FROM now() - at)::float8 FROM heartbeat WHERE name = %s
    ORDER BY host = %s DESC, at DESC LIMIT 1
"""
LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # where to reach what listens everywhere


def main(words: list[str]) -> None:
    if words not in (["proxy"], ["worker"]):
        sys.exit("usage: python -m festinger_site.run.liveness_probe proxy|worker")
    [part] = words
    try:
        why_not = complaint(part)
    except EnvironmentMistake as mistake:
        why_not = str(mistake)
    if why_not:
        sys.exit(f"{part}: {why_not}")


def complaint(part: str) -> str:
    """Why the part does not count as alive; empty where it does. Raises EnvironmentMistake."""
    # Not above: a mistake in the environment is raised by the import, and told in one line.
    from festinger_site import settings

    if part == "proxy":
        report = health(settings.FESTINGER_HOST, settings.FESTINGER_PORT)
        if not report:
            return f"does not answer on port {settings.FESTINGER_PORT}"
        return "" if report.get("ready") else "answers, but is not ready"
    try:
        with psycopg.connect(settings.DATABASE_URL, connect_timeout=CONNECT_S) as connection:
            row = connection.execute(AGE, [part, socket.gethostname()]).fetchone()
    except psycopg.Error as error:
        return f"the database cannot be asked ({str(error).strip().partition(chr(10))[0]})"
    if row is None:
        return "has given no sign of life yet"
    [age_s] = row
    return f"has given no sign of life for {age_s:.0f} s" if age_s > OLDEST_S else ""


def health(host: str, port: int) -> dict[str, Any]:
    """The report of /health; empty where there is no answer."""
    # Not urllib, which would go through an http_proxy.
    connection = http.client.HTTPConnection(LOOPBACK.get(host, host), port, timeout=ANSWER_S)
    try:
        connection.request("GET", "/health")
        report: dict[str, Any] = json.load(connection.getresponse())
        return report
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    finally:
        connection.close()


if __name__ == "__main__":
    main(sys.argv[1:])
