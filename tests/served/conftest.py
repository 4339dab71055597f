"""One database, one stand-in and one server for all served tests; each test speaks of words of its own."""

import io
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.db import connection
from django.urls import reverse
from psycopg.conninfo import conninfo_to_dict

from tests.arrange import learning
from tests.served.postgres import OwnPostgres
from tests.served.server import Served, manage, new_database
from tests.served.wire import RawUpstream
from tests.standin import StandIn

Command = Callable[..., str]


@pytest.fixture(scope="session")
def database() -> str:
    return new_database(settings.DATABASE_URL, "festinger_served")


@pytest.fixture(scope="session")
def upstream() -> Iterator[StandIn]:
    with StandIn() as standin:
        yield standin


@pytest.fixture
def on_the_served_database(settings: Any, database: str, django_db_blocker: Any) -> Iterator[None]:
    """What Django does in this process it does there."""
    settings.DATABASE_URL = database
    address = connection.settings_dict
    before = address["NAME"]
    with django_db_blocker.unblock():
        connection.close()
        address["NAME"] = conninfo_to_dict(database)["dbname"]
        yield
        connection.close()
        address["NAME"] = before


@pytest.fixture
def command(on_the_served_database: None) -> Command:
    """Runs ``manage.py`` there, without a process of its own; returns what it says."""

    def run(*words: str) -> str:
        out = io.StringIO()
        call_command(*words, stdout=out, no_color=True)
        return out.getvalue()

    return run


@pytest.fixture(scope="session")
def server(database: str, upstream: StandIn) -> Iterator[Served]:
    """What it hears is counted and read, but no worker places it or remembers it."""
    served = Served(upstream=upstream.url, database=database)
    with learning(database):
        yield served.wait_ready()
        served.stop()


AWAY = "http://127.0.0.1:9"
SMALL_BODY = 10_000  # bytes


@pytest.fixture(scope="session")
def strict(database: str) -> Iterator[Served]:
    """Asks for a token, trusts this machine as far as by default, takes small bodies, and its model server is away."""
    settings = {"FESTINGER_REQUIRE_TOKEN": "1", "FESTINGER_MAX_BODY_BYTES": str(SMALL_BODY)}
    served = Served(upstream=AWAY, database=database, FESTINGER_TRUST_LOOPBACK="", **settings)
    yield served.wait_ready()
    assert "Traceback" not in served.stop()


@pytest.fixture(scope="session")
def tokens(database: str) -> dict[str, str]:
    """By their scope: agent, operator."""
    return {
        scope: manage("create_agent", f"{scope} of served", "--scope", scope, DATABASE_URL=database).stdout.strip()
        for scope in ("agent", "operator")
    }


PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="session")
def account(database: str) -> str:
    """The name of a superuser."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO auth_user (username, password, is_staff, is_active, is_superuser, first_name, last_name,"
            " email, date_joined) VALUES ('minerva', %s, true, true, true, '', '', '', now()) ON CONFLICT DO NOTHING",
            [make_password(PASSWORD)],
        )
    return "minerva"


def logged_in(served: Served, account: str) -> httpx.Client:
    client = httpx.Client(base_url=served.url, trust_env=False, timeout=30)
    client.get(reverse("admin:login"))
    form = {"username": account, "password": PASSWORD, "csrfmiddlewaretoken": client.cookies["festinger_csrf"]}
    assert client.post(reverse("admin:login"), data=form).status_code == 302
    return client


@pytest.fixture(scope="session")
def durable() -> Iterator[OwnPostgres]:
    """For whole Festingers (tests/served/learning.py), each on a copy of its database."""
    with OwnPostgres(durable=True) as own:
        yield own


@pytest.fixture
def ollama(upstream: StandIn) -> StandIn:
    upstream.clear()
    return upstream


@pytest.fixture(scope="session")
def raw_upstream() -> Iterator[RawUpstream]:
    raw = RawUpstream()
    yield raw
    raw.stop()


@pytest.fixture(scope="session")
def raw_server(database: str, raw_upstream: RawUpstream) -> Iterator[Served]:
    served = Served(upstream=raw_upstream.url, database=database)
    yield served.wait_ready()
    served.stop()


@pytest.fixture
def model(raw_upstream: RawUpstream) -> Iterator[RawUpstream]:
    """Behind ``raw_server``; answers OK until it is told otherwise."""
    raw_upstream.clear()
    yield raw_upstream
    raw_upstream.clear()  # the next test may ask ``raw_server`` only


@pytest.fixture
def port(raw_server: Served, model: RawUpstream) -> int:
    """Where ``raw_server`` listens."""
    return raw_server.port
