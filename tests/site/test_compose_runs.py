"""What docker-compose.yml starts, started without Docker: the same commands with the same environment, users, secret
files, health checks and stop signals, on the files that the image would have. Only hosts, ports and folders differ."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql

from festinger_site import home as homes
from festinger_site.dev.scratch_instance import free_port
from festinger_site.run import postgres_cluster
from festinger_site.run.postgres_account import account, as_user, binaries
from tests.site.composed import (
    compose,
    copy_context,
    image_environment,
    instructions,
    make_secrets,
    seconds,
)
from tests.standin import StandIn

pytestmark = pytest.mark.slow

ONCE_S = 120
FILE = compose(FESTINGER_SECRETS="./secrets")["services"]
PROGRAMS = ("proxy", "worker")
HAS_REDIS = bool(shutil.which("redis-server") and shutil.which("redis-cli") and importlib.util.find_spec("redis"))


class Composed:
    """``with Composed(...) as site:`` has the folders and the secrets; ``start`` starts a service as compose would."""

    def __init__(self, upstream: str, *, with_redis: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="festinger-compose-")).resolve()
        self.folder.chmod(0o755)  # the services are other users
        self.with_redis = with_redis
        self.ports = {name: free_port() for name in ("postgres", "redis", "proxy")}
        self.url = f"http://127.0.0.1:{self.ports['proxy']}"
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.replacements = {
            "/run/secrets": str(self.folder / "run"),
            "@postgres:5432": f"@127.0.0.1:{self.ports['postgres']}",
            "@redis:6379": f"@127.0.0.1:{self.ports['redis']}",
            "redis-cli": f"redis-cli -p {self.ports['redis']}",
            image_environment()["FESTINGER_HOME"]: str(self.folder / "home"),
            "http://host.docker.internal:11434": upstream,
        }

    def __enter__(self) -> "Composed":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        postgres_cluster.remove(self.folder / "database")
        shutil.rmtree(self.folder)

    def lay_out(self) -> None:
        for name in ("app", "home", "run", "database"):
            (self.folder / name).mkdir(mode=0o755)
        copy_context(self.folder / "app")
        make_secrets(self.folder)
        for secret in (self.folder / "secrets").iterdir():
            mounted = Path(shutil.copy2(secret, self.folder / "run"))  # with its mode, as a bind mount has it
            mounted.write_text(self.replaced(mounted.read_text()))
        if owner := self.identity("proxy"):
            os.chown(self.folder / "home", owner["user"], owner["group"])
        (self.folder / "home").chmod(0o700)
        (self.folder / "database").chmod(homes.FOLDER_MODE)

    def replaced(self, text: str) -> str:
        for there, here in self.replacements.items():
            text = text.replace(there, here)
        return text

    def command(self, words: list[str]) -> list[str]:
        words = [self.replaced(word) for word in words]
        return [sys.executable, *words[1:]] if words[0] == "python" else words

    def environment(self, name: str) -> dict[str, str]:
        """Nothing of this test's own but the path."""
        given = image_environment() | FILE[name].get("environment", {})
        if not self.with_redis:
            del given["CELERY_BROKER_URL_FILE"]
        here = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home")}
        here |= {"FESTINGER_PORT": str(self.ports["proxy"])}
        return {variable: self.replaced(value) for variable, value in given.items()} | here

    def identity(self, name: str) -> dict[str, Any]:
        """The service's user, where this one may become it and that one may use this Python."""
        user, group = (int(part) for part in FILE[name]["user"].split(":"))
        other: dict[str, Any] = {"user": user, "group": group, "extra_groups": []}
        try:
            subprocess.run([sys.executable, "-c", ""], check=True, **other)
        except (PermissionError, subprocess.CalledProcessError):
            return {}
        return other

    def options(self, name: str) -> dict[str, Any]:
        app = self.folder / "app"
        return {"cwd": app, "env": self.environment(name), "stdin": subprocess.DEVNULL, **self.identity(name)}

    def once(self, name: str) -> str:
        """Runs a service to its end; what it said."""
        done = subprocess.run(
            self.command(FILE[name]["command"]),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=ONCE_S,
            check=False,
            **self.options(name),
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def prepare(self) -> None:
        """The service that prepares the database, twice; and what the checks say before anything else ran."""
        self.said_by_prepare = [self.once("prepare"), self.once("prepare")]
        self.checked_before_start = {name: self.check(name) for name in PROGRAMS}

    def start(self, name: str, *more: str) -> None:
        self.launch(name, [*self.command(FILE[name]["command"]), *more], **self.options(name))

    def launch(self, name: str, command: list[str], **options: Any) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(command, stdout=log, stderr=log, **options)

    def start_postgres(self) -> None:
        """The embedded one, over TCP and with the image's way of asking for a password."""
        home = self.folder / "database"
        hba = postgres_cluster.ensure_cluster(home, durable=False) / "pg_hba.conf"
        hba.write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        over_tcp = ["-c", "listen_addresses=127.0.0.1", "-c", f"port={self.ports['postgres']}"]
        self.launch("postgres", [*postgres_cluster.command(home), *over_tcp], **as_user(account(hba.parent)))
        self.wait_healthy("postgres")
        given = FILE["postgres"]["environment"]
        password = Path(self.replaced(given["POSTGRES_PASSWORD_FILE"])).read_text().strip()
        user, database = sql.Identifier(given["POSTGRES_USER"]), sql.Identifier(given["POSTGRES_DB"])
        address = {"host": str(homes.database_socket(home)), "port": self.ports["postgres"], "user": "postgres"}
        with psycopg.connect(**address, autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(user, sql.Literal(password)))
            admin.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, user))

    def check(self, name: str) -> subprocess.CompletedProcess[str]:
        """One run of the health check."""
        kind, *words = FILE[name]["healthcheck"]["test"]
        command = ["/bin/sh", "-c", self.replaced(words[0])] if kind == "CMD-SHELL" else self.command(words)
        options = {"env": {"PATH": os.environ["PATH"]}} if name in ("postgres", "redis") else self.options(name)
        if name == "postgres":
            client = str(binaries(account(postgres_cluster.data_folder(self.folder / "database"))) / command[0])
            command = [client, *command[1:], f"--port={self.ports['postgres']}"]
        limit = seconds(FILE[name]["healthcheck"]["timeout"])
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False, **options)

    def wait_healthy(self, name: str) -> None:
        """Returns when its check is content, within the time in which compose would not call it unhealthy."""
        check = FILE[name]["healthcheck"]
        patience = seconds(check.get("start_period", "0s")) + check["retries"] * seconds(check["interval"])
        deadline = time.monotonic() + patience
        while (done := self.check(name)).returncode:
            log = (self.folder / f"{name}.log").read_text()
            assert self.running[name].poll() is None, log
            assert time.monotonic() < deadline, done.stdout + done.stderr + log
            time.sleep(0.2)

    def stop(self, name: str) -> int:
        """Its exit status, after compose's stop signal. Raises TimeoutExpired where compose would kill it."""
        word = FILE[name].get("stop_signal", instructions("STOPSIGNAL")[0])
        self.running[name].send_signal(getattr(signal, word))
        return self.running[name].wait(seconds(FILE[name]["stop_grace_period"]))


@pytest.fixture(scope="module")
def ollama() -> Iterator[StandIn]:
    with StandIn() as standin:
        yield standin


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("redis", marks=pytest.mark.skipif(not HAS_REDIS, reason="no redis-server, or no redis package")),
        "pgmq",
    ],
)
def prepared(request: pytest.FixtureRequest, ollama: StandIn) -> Iterator[Composed]:
    """With a database, which is prepared, and with a broker; none of the programs was ever started."""
    with Composed(ollama.url, with_redis=request.param == "redis") as composed:
        composed.lay_out()
        composed.start_postgres()
        if composed.with_redis:
            composed.start("redis", "--port", str(composed.ports["redis"]), "--bind", "127.0.0.1")
            composed.wait_healthy("redis")
        composed.prepare()
        yield composed


@pytest.fixture
def site(prepared: Composed) -> Composed:
    """All of it runs, since each health check was content."""
    missing = [name for name in PROGRAMS if name not in prepared.running]
    for name in missing:
        prepared.start(name)
    for name in missing:
        prepared.wait_healthy(name)
    return prepared


def test_prepare_shows_the_password_of_the_first_operator_once(prepared):
    first, second = prepared.said_by_prepare

    assert "Admin account: admin, password: " in first
    assert "password" not in second
    # The database's owner may install no extension here, as in a Postgres that belongs to somebody else.
    assert [line for line in second.splitlines() if "pgvector" not in line] == ["The database is ready."]
    assert ("PGMQ installed" in first) is not prepared.with_redis


@pytest.mark.parametrize(
    ("name", "why_not"),
    [
        ("proxy", "proxy: does not answer on port"),
        ("worker", "worker: has given no sign of life yet"),
    ],
)
def test_what_was_not_started_is_not_healthy(prepared, name, why_not):
    done = prepared.checked_before_start[name]

    assert done.returncode == 1
    assert done.stderr.startswith(why_not)


def test_what_is_started_becomes_healthy(site):
    assert {name: site.check(name).returncode for name in PROGRAMS} == dict.fromkeys(PROGRAMS, 0)


def test_a_prompt_reaches_the_model_with_its_recollection(site, ollama):
    ollama.clear()
    fact = httpx.post(f"{site.url}/iknowthat", json={"fact": "gnommoweb -isa repo"}, trust_env=False, timeout=10)
    prompt = {"model": "llama3", "stream": False, "messages": [{"role": "user", "content": "Test gnommoweb."}]}

    answer = httpx.post(f"{site.url}/api/chat", json=prompt, trust_env=False, timeout=10)

    assert (fact.status_code, answer.status_code) == (201, 200)
    [forwarded] = [request for request in ollama.settled() if request.path == "/api/chat"]
    assert "gnommoweb is a repo." in forwarded.body.decode()


def test_a_name_that_was_pointed_at_the_port_is_turned_away(site):
    answer = httpx.get(f"{site.url}/api/tags", headers={"Host": "evil.example"}, trust_env=False, timeout=10)

    assert answer.status_code == 403


def test_gutask_is_served(site):
    assert httpx.get(f"{site.url}/gutask", trust_env=False, timeout=10).text.startswith("#!")


def test_the_home_is_the_services_own_and_holds_no_database_and_no_secret(site):
    owner = site.identity("proxy").get("user", os.geteuid())
    kept = list((site.folder / "home").rglob("*"))

    assert {file.stat().st_uid for file in kept} <= {owner}
    assert not {"postgres", "secret_key", "encryption_keys"} & {file.name for file in kept}


def test_nothing_was_written_beside_the_home(site):
    assert not list((site.folder / "app").rglob("__pycache__"))


def test_told_to_stop_each_ends_before_it_would_be_killed(site):  # the last one, as it stops the database, too
    by_signal = -getattr(signal, instructions("STOPSIGNAL")[0])

    for name in reversed(site.running):
        assert site.stop(name) in (0, by_signal), name
