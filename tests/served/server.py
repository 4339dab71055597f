"""A real Festinger server process on a real socket, in front of a stand-in, on a database of its own."""

import functools
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import psycopg
from psycopg.conninfo import conninfo_to_dict

from festinger_site.dev.scratch_instance import free_port
from festinger_site.run.programs import uvicorn
from tests.prepared_postgres import PREPARED, prepare_database

PROJECT = Path(__file__).parent.parent.parent
READY_S = 120  # of a busy machine
STOP_S = 10


@functools.cache
def list_described() -> list[tuple[str, re.Pattern[str], set[int]]]:
    """Method, path and statuses of each route, as OpenAPI lists them."""
    from proxy.api.routes import api  # Django is set up by now

    return [
        (method.upper(), re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), set(map(int, route["responses"])))
        for path, routes in api.get_openapi_schema()["paths"].items()
        for method, route in routes.items()
    ]


@functools.cache
def find_described(method: str, path: str) -> set[int]:
    """Those of the first route that fits; none for a path that is not Festinger's own."""
    fitting = (statuses for each, route, statuses in list_described() if each == method and route.fullmatch(path))
    return next(fitting, set())


def check_status_is_described(response: httpx.Response) -> None:
    described = find_described(response.request.method, response.request.url.path)
    assert not described or response.status_code in described, f"OpenAPI does not list {response}"


def new_database(server: str, name: str) -> str:
    """A migrated and bootstrapped database beside the tests' own; its address."""
    url = make_url(server, name)
    with psycopg.connect(server, autocommit=True) as admin:
        prepared = admin.execute("SELECT FROM pg_database WHERE datname = %s", [PREPARED]).fetchone()
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE {"template1" if prepared is None else PREPARED}')
    if prepared is None:
        prepare_database(url)
    return url


def make_url(server: str, name: str) -> str:
    """The address of another database of the same server."""
    parts = conninfo_to_dict(server)
    query = "&".join(f"{key}={value}" for key, value in parts.items() if key not in ("dbname", "user", "password"))
    return f"postgresql://{parts.get('user', '')}:{parts.get('password', '')}@/{name}?{query}"


def manage(*arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=PROJECT,
        env=os.environ | environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


class Served:
    """``host`` is the address to bind. Started at once; ``wait_ready`` returns when ``/health`` says so. Unless told
    otherwise it lets this machine decide: only the tests of who may what bring tokens."""

    def __init__(
        self, *, upstream: str, database: str, host: str = "127.0.0.1", port: int = 0, **environment: str
    ) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        settings = {
            "FESTINGER_HOST": host,
            "FESTINGER_PORT": str(self.port),
            "FESTINGER_UPSTREAM": upstream,
            "DATABASE_URL": database,
            "FESTINGER_TRUST_LOOPBACK": "operator",
        }
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  a pipe that nobody reads would stop it
        self.process = subprocess.Popen(
            uvicorn(host, self.port),
            cwd=PROJECT,
            env=os.environ | settings | environment,
            stderr=self._errors,
        )
        self.client = httpx.Client(
            base_url=self.url, trust_env=False, timeout=30, event_hooks={"response": [check_status_is_described]}
        )

    def wait_ready(self) -> "Served":
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.client.get("/health").json()["ready"]:
                    return self
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError(f"the server did not become ready\n{self.stop()[-3000:]}")

    def teach(self, fact: str) -> Any:
        return self.client.post("/iknowthat", json={"fact": fact})

    def chat(self, *messages: tuple[str, str], model: str = "llama3", **more: Any) -> httpx.Response:
        said = [{"role": role, "content": content} for role, content in messages]
        headers = more.pop("headers", {})
        payload = {"model": model, "messages": said, "stream": False} | more
        return self.client.post("/api/chat", json=payload, headers=headers)

    def read_errors(self) -> str:
        """Return what it has written to standard error so far."""
        errors = self._errors.fileno()
        return os.pread(errors, os.fstat(errors).st_size, 0).decode(errors="replace")

    def stop(self) -> str:
        """Ends it as the supervisor does; what it wrote to standard error."""
        self.client.close()
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self._errors.closed:
            return ""
        with self._errors:
            self._errors.seek(0)
            return self._errors.read()
