"""Projects begin where they are named: by a prompt, a write or a command, of whoever may; never by a look."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import httpx
import psycopg
import pytest
from django.core.management import CommandError, call_command

from memory.access.projects import NAMED_PROJECTS_MAX
from memory.models import Project
from tests import waiting
from tests.served.learning import register_agent
from tests.served.server import Served, manage
from tests.standin import StandIn

eventually = partial(waiting.eventually, within_s=30.0)
NUMBERS = count()
WARNING = "x-festinger-warning"
SAID = "We moved the billing database to Postgres 17."


@pytest.fixture
def client(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as client:
        yield client


@pytest.fixture
def slug(client: psycopg.Connection[Any]) -> str:
    """A slug of no project so far."""
    return f"begun-{next(NUMBERS)}"


def is_open(client: psycopg.Connection[Any], slug: str) -> list[bool]:
    """Say of each project of this slug if it is open."""
    return [row[0] for row in client.execute("SELECT is_open FROM project WHERE slug = %s", [slug])]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def prompt(server: Served, slug: str, said: str = SAID, **headers: str) -> httpx.Response:
    answer = server.chat(("user", said), headers={"X-Festinger-Project": slug} | headers)
    assert answer.status_code == 200
    return answer


def test_a_prompt_from_this_machine_begins_a_project_that_all_processes_know(
    server: Served,
    strict: Served,
    tokens: dict[str, str],
    ollama: StandIn,
    client: psycopg.Connection[Any],
    slug: str,
) -> None:
    said = f"{SAID} It is that of {slug}."
    answer = prompt(server, slug.upper(), said)

    assert WARNING not in answer.headers
    assert is_open(client, slug) == [True]  # else nobody could name it again without a token
    kept = "SELECT slug FROM episode JOIN project ON project.id = project_id WHERE text = %s"
    assert eventually(lambda: client.execute(kept, [said]).fetchall() == [(slug,)])
    look = partial(strict.client.get, "/memory", params={"project": slug}, headers=bearer(tokens["agent"]))
    assert eventually(lambda: look().status_code == 200)


def test_of_many_who_name_it_at_once_one_makes_it(
    server: Served, ollama: StandIn, client: psycopg.Connection[Any], slug: str
) -> None:
    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda _: prompt(server, slug), range(12)))

    assert [answer for answer in answers if WARNING in answer.headers] == []
    assert is_open(client, slug) == [True]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/memory", {"text": "The mount is made of titanium."}),
        ("/project/state", {"category": "decision", "key": "material", "value": "PEEK"}),
    ],
)
@pytest.mark.parametrize("is_in_header", [False, True])
def test_what_is_written_to_a_project_begins_it(
    server: Served,
    tokens: dict[str, str],
    client: psycopg.Connection[Any],
    slug: str,
    path: str,
    body: dict[str, Any],
    *,
    is_in_header: bool,
) -> None:
    named = {"headers": bearer(tokens["operator"])}
    if is_in_header:
        named["headers"]["X-Festinger-Project"] = slug
    else:
        body = body | {"project": slug}
    answer = server.client.post(path, json=body, **named)

    assert (answer.status_code, answer.json()["project"]) == (201, slug)
    assert is_open(client, slug) == [False]  # its maker has a token


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("GET", "/memory", {}),
        ("GET", "/project/state", {}),
        ("POST", "/search_memory", {"query": "what is the mount made of?"}),
        ("POST", "/recollect", {"text": "the mount"}),
        ("POST", "/forget", {"fact": "The mount is made of titanium."}),
        ("POST", "/memory", {"text": "Forget that the mount is made of titanium."}),
    ],
)
def test_who_only_looks_or_forgets_begins_none_and_is_told_how(
    server: Served, client: psycopg.Connection[Any], slug: str, method: str, path: str, more: dict[str, Any]
) -> None:
    named = {"project": slug} | more
    answer = server.client.request(method, path, **{"params" if method == "GET" else "json": named})

    assert answer.status_code in (403, 404)
    assert "manage.py create_project" in answer.json()["error"]
    assert is_open(client, slug) == []


def test_what_is_refused_begins_none(server: Served, client: psycopg.Connection[Any], slug: str) -> None:
    answer = server.client.post("/memory", json={"text": "?!", "project": slug})

    assert (answer.status_code, is_open(client, slug)) == (422, [])


@pytest.mark.parametrize("allows_all", [False, True])
def test_an_agents_token_begins_projects_if_it_may_name_all(
    server: Served, client: psycopg.Connection[Any], database: str, slug: str, ollama: StandIn, *, allows_all: bool
) -> None:
    headers = register_agent(database, f"agent of {slug}")
    client.execute("UPDATE agent SET allows_all_projects = %s WHERE name = %s", [allows_all, f"agent of {slug}"])
    server.client.post("/reload")

    answer = prompt(server, slug, **headers)
    written = server.client.post("/memory", json={"text": "Lunch is at noon.", "project": slug}, headers=headers)

    assert answer.headers.get(WARNING) == (None if allows_all else "unknown project")
    assert written.status_code == (201 if allows_all else 403)
    assert is_open(client, slug) == ([False] if allows_all else [])
    restricted = server.client.get(f"/why/{answer.headers['x-festinger-request']}").json()["restrictions"]
    assert ("remember" in restricted) is not allows_all


@pytest.mark.parametrize(
    ("named", "headers"),
    [
        ("{slug}", {"X-Forwarded-For": "203.0.113.9"}),
        ("{slug}", bearer(f"fst_{'x' * 43}")),
        ("No slug: {slug}", {}),
    ],
)
def test_a_prompt_of_who_may_not_goes_on_with_a_warning(
    server: Served,
    client: psycopg.Connection[Any],
    slug: str,
    named: str,
    headers: dict[str, str],
    ollama: StandIn,
) -> None:
    answer = prompt(server, named.format(slug=slug), **headers)

    assert answer.headers[WARNING] == "unknown project"
    assert ollama.last().json()["messages"][-1]["content"].startswith(SAID)
    assert is_open(client, slug) == []


def test_beyond_the_limit_only_who_makes_it_on_purpose_does(
    server: Served, client: psycopg.Connection[Any], slug: str, ollama: StandIn
) -> None:
    client.execute(
        "INSERT INTO project (slug, name) SELECT 'filler-' || n, 'F' FROM generate_series(1, %s) AS n",
        [NAMED_PROJECTS_MAX],
    )
    before = server.client.get("/health").json()["bounds"]["named_projects"]
    try:
        warned = prompt(server, slug)
        refused = server.client.post("/memory", json={"text": "Lunch is at noon.", "project": slug})
        after = server.client.get("/health").json()["bounds"]["named_projects"]
        begun = is_open(client, slug)
        made = server.client.post("/projects", json={"slug": slug, "is_open": True})
    finally:
        client.execute("DELETE FROM project WHERE slug LIKE 'filler-%'")

    assert warned.headers[WARNING] == "unknown project"
    assert (refused.status_code, "manage.py create_project" in refused.json()["error"]) == (403, True)
    assert (begun, after) == ([], before + 2)
    assert made.status_code == 201
    assert WARNING not in prompt(server, slug).headers


def test_operators_make_projects_over_http(server: Served, strict: Served, tokens: dict[str, str], slug: str) -> None:
    said = {"slug": slug, "name": "Interferometer", "description": "For the etalon.", "is_open": False}
    made = server.client.post("/projects", json=said)
    state = {"project": slug, "category": "decision", "key": "material", "value": "PEEK"}

    assert (made.status_code, said.items() <= made.json().items()) == (201, True)
    assert server.client.post("/project/state", json=state).status_code == 201  # known at once
    assert server.client.post("/projects", json={"slug": slug}).status_code == 409
    refused = server.client.post("/projects", json={"slug": "Hog warts"})
    assert (refused.status_code, "small letters" in refused.json()["error"]) == (422, True)
    as_agent = strict.client.post("/projects", json={"slug": f"{slug}-2"}, headers=bearer(tokens["agent"]))
    assert as_agent.status_code == 403


def test_each_is_told_of_the_projects_that_they_may_name(
    server: Served, strict: Served, tokens: dict[str, str], slug: str
) -> None:
    server.client.post("/projects", json={"slug": f"{slug}-closed"})
    server.client.post("/projects", json={"slug": f"{slug}-open", "is_open": True})

    def list_begun(**more: Any) -> list[str]:
        told = strict.client.get("/projects", params={"limit": 500}, **more).json()
        assert told["count"] == len(told["items"])
        return [item["slug"] for item in told["items"] if item["slug"].startswith(slug)]

    assert eventually(lambda: len(list_begun(headers=bearer(tokens["operator"]))) == 2)
    assert list_begun(headers=bearer(tokens["agent"])) == [f"{slug}-open"]
    assert list_begun() == [f"{slug}-open"]


def test_commands_make_a_project(
    server: Served, database: str, client: psycopg.Connection[Any], slug: str, ollama: StandIn
) -> None:
    told = manage("create_project", slug, "--name", "Interferometer", "--open", DATABASE_URL=database).stdout
    settled = manage("set_state", f"{slug}-2", "decision", "material", "PEEK", DATABASE_URL=database)

    assert told == f"Made the project {slug}.\n"
    assert (settled.stdout, settled.stderr) == (
        "decision.material = PEEK\n",
        f"Made the project {slug}-2, open to requests without a token.\n",
    )
    assert is_open(client, slug) == is_open(client, f"{slug}-2") == [True]
    assert eventually(lambda: WARNING not in prompt(server, slug).headers)
    assert eventually(lambda: "state: decision.material = PEEK" in given(server, f"{slug}-2"))


def given(server: Served, slug: str) -> str:
    block = server.client.post("/recollect", json={"text": "Which material?", "project": slug}).json().get("block", "")
    return str(block)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["create_project", "Hog warts"], "small letters"),
        (["create_project", "heron", "--name", "x" * 121], "name: "),
        (["set_state", "Hog warts", "decision", "material", "PEEK"], "small letters"),
        (["set_state", "heron"], "manage.py create_project heron"),
        (["set_state", "heron", "decision", "material", "--remove"], "manage.py create_project heron"),
        (["mirror", "heron"], "manage.py create_project heron"),
        (["detect", "heron"], "manage.py create_project heron"),
    ],
)
def test_a_command_that_makes_none_says_why(command: list[str], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        call_command(*command)

    assert not Project.objects.exists()
