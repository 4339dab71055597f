"""What a prompt would get is what is shown: over HTTP, by gutask, MCP, ``explain`` and *Try a text*. Asking leaves
nothing behind."""

import html
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError

from tests.arrange import learning
from tests.served.conftest import Command
from tests.served.learning import register_agent
from tests.served.server import Served, manage, new_database
from tests.served.test_mcp import call
from tests.standin import StandIn
from tests.waiting import eventually

GUTASK = Path(__file__).parents[2] / "clients" / "gutask" / "gutask"
QUESTION = "What runs on tyr-seven, and on which disk is the backup of quokkadb?"
FACT = "quokkasrv: [runs-on] tyr-seven"
WITHIN_S = 60.0
# Rows, of what is said at the beginning: of messages six, and an answer in each of three conversations.
WRITTEN = {"episode": 9, "recollection_event": 6, "heard_message": 0}
WRITTEN_S = 3.0  # by when all that a request counts is written
ACCOUNT = {"username": "olga", "password": "curiouser and curiouser"}
# Who comes by, and the pulse of the processes, changes without anybody asking.
MOVING = {"auth_user", "django_session", "heartbeat", "upstream_model"}


@pytest.fixture(scope="module")
def database() -> str:
    database = new_database(settings.DATABASE_URL, "festinger_shown")
    with psycopg.connect(database) as client:
        client.execute("UPDATE config SET value = 'on' WHERE key = 'recall_current'")
        client.execute("INSERT INTO project (slug, name, is_open) VALUES ('quokkas', 'Quokkas', true)")
    return database


@pytest.fixture(scope="module")
def server(database: str, upstream: StandIn) -> Iterator[Served]:
    served = Served(upstream=upstream.url, database=database, DJANGO_SETTINGS_MODULE="tests.unhurried")
    with learning(database):
        yield served.wait_ready()
    assert "Traceback" not in served.stop()


@pytest.fixture(scope="module")
def zero(database: str) -> dict[str, str]:
    """The headers of an agent that has a token."""
    return register_agent(database, "zero")


@pytest.fixture(scope="module", autouse=True)
def said(server: Served, database: str, zero: dict[str, str]) -> None:
    """A fact that the question names the parent of, a message of another conversation, a memory, and two new words, of
    which one is named in four messages, so that it may be asked about."""
    assert eventually(
        lambda: server.client.post("/recollect", json={"text": "x"}, headers=zero).is_success, within_s=WITHIN_S
    )
    server.client.post("/iknowthat", json={"fact": "quokkasrv -ispart tyr-seven in context of runs-on"}, headers=zero)
    server.chat(("user", "The backup of quokkadb is on the disk nas-nine."), headers=zero)
    memory = {"text": "The backup of quokkadb is made at night.", "category": "project"}
    server.client.post("/memory", json=memory, headers=zero)
    preference = {"text": "I prefer answers without tables.", "category": "preference"}
    server.client.post("/memory", json=preference, headers=zero)
    talk = [f"{number}: look at the numbatron." for number in range(4)]
    for number in range(4):
        turns = [turn for said in talk[:number] for turn in (("user", said), ("assistant", "Yes."))]
        server.chat(*turns, ("user", talk[number]), headers=zero)
    server.chat(("user", "Look at the bilbytron."), headers=zero)
    with psycopg.connect(database, autocommit=True) as client:
        counts = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in WRITTEN)
        written = tuple(WRITTEN.values())
        assert eventually(lambda: client.execute(counts).fetchone() == written, within_s=WITHIN_S)


def recollect(server: Served, text: str = QUESTION, headers: dict[str, str] | None = None, **more: Any) -> Any:
    answer = server.client.post("/recollect", json={"text": text} | more, headers=headers or {})
    answer.raise_for_status()
    return answer.json()


def send(server: Served, ollama: StandIn, text: str, headers: dict[str, str]) -> str:
    """Return what a new chat with the text was given, as the model server received it."""
    server.chat(("user", text), headers=headers)
    [message] = ollama.last("/api/chat").json()["messages"]
    return str(message["content"]).removeprefix(text).strip()


def run_gutask(server: Served, token: str, text: str) -> str:
    environment = os.environ | {"FESTINGER_URL": server.url, "FESTINGER_TOKEN": token}
    command = [sys.executable, str(GUTASK), "recall", text]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout


def submit(client: httpx.Client, page: str, **fields: str) -> str:
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get(page).text)[0]
    return client.post(page, data=fields | {"csrfmiddlewaretoken": token}).text


def try_in_admin(server: Served, database: str, text: str) -> str:
    """The block that *Try a text* shows."""
    environment = {"DJANGO_SUPERUSER_USERNAME": ACCOUNT["username"], "DJANGO_SUPERUSER_PASSWORD": ACCOUNT["password"]}
    manage("createsuperuser", "--noinput", "--email", "", DATABASE_URL=database, **environment)
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60, follow_redirects=True) as client:
        submit(client, "/admin/login/", **ACCOUNT)
        shown = submit(client, "/admin/try/", text=text, kind="user", agent="zero")
    return html.unescape(re.findall(r'<pre class="[^"]*">(<|&lt;.*?)</pre>', shown, re.DOTALL)[0])


def count_in_process(server: Served) -> dict[str, Any]:
    """Return what the server counts and holds, and has not written yet."""
    counted = re.compile("un(flushed|written)|stored|dropped|searches|conversations|requests|enriched")
    told = server.client.get("/health").json()
    return {name: value for name, value in told.items() if counted.match(name)}


def count_everything(database: str) -> dict[str, Any]:
    """The number of rows of each table, and all that words and memories have counted."""
    with psycopg.connect(database, autocommit=True) as client:
        tables = client.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        names = sorted(name for (name,) in tables if name not in MOVING)
        counts: dict[str, Any] = {
            name: client.execute(f'SELECT count(*) FROM "{name}"'.encode()).fetchone() for name in names
        }
        counts["words"] = client.execute("SELECT sum(encounter_count), sum(asked_count), max(last_seen) FROM soas")
        return counts | {"words": counts["words"].fetchone()}


def test_all_show_the_block_that_the_prompt_then_gets_and_leave_nothing_behind(
    server: Served, ollama: StandIn, database: str, command: Command, zero: dict[str, str]
) -> None:
    before, in_process = count_everything(database), count_in_process(server)

    asked = recollect(server, headers=zero)
    token = zero["Authorization"].removeprefix("Bearer ")
    shown = {
        "gutask": run_gutask(server, token, QUESTION).strip(),
        "mcp": call(server, "recall", {"text": QUESTION}, **zero)["text"],
        "admin": try_in_admin(server, database, QUESTION),
    }
    explained = command("explain", QUESTION, "--agent", "zero")
    time.sleep(WRITTEN_S)
    after = count_everything(database)
    changed = {name: (before[name], after[name]) for name in before if after[name] != before[name]}
    assert (changed, count_in_process(server)) == ({}, in_process)
    given = send(server, ollama, QUESTION, zero)

    assert asked["block"] == given
    assert shown == dict.fromkeys(shown, given)
    assert "".join(f"  {line}\n" for line in given.splitlines()) in explained
    assert FACT in given
    assert re.search(r"^memory \d{4}-\d\d-\d\d: The backup of quokkadb is made at night\.$", given, re.MULTILINE)
    assert "user: The backup of quokkadb is on the disk nas-nine." in given


def test_each_note_is_told_with_why_it_is_in_or_out(server: Served, zero: dict[str, str]) -> None:
    told = recollect(server, headers=zero)

    notes = {re.sub(r"\b\d{4}-\d\d-\d\d ?", "", note["text"]): (note["kind"], note["why"]) for note in told["notes"]}
    assert notes["memory : The backup of quokkadb is made at night."] == ("memory", "given")
    assert notes["user: The backup of quokkadb is on the disk nas-nine."] == ("episode", "given")
    assert notes["memory : I prefer answers without tables."] == ("memory", "given")
    assert (told["search"], told["restrictions"]) == ("found", {})


def test_nobody_is_shown_what_another_has_said(server: Served, zero: dict[str, str]) -> None:
    asked = "Is the backup of quokkadb made at night?"
    others = recollect(server, text=asked)
    persons = recollect(server, headers=zero, user="eve", text=asked)

    assert "at night" in others["block"]
    assert "at night" in persons["block"]
    assert "nas-nine" not in str(others)
    assert "nas-nine" not in str(persons)


def test_a_project_is_chosen_in_the_body(server: Served, zero: dict[str, str]) -> None:
    unknown = server.client.post("/recollect", json={"text": "x", "project": "wallabies"}, headers=zero)

    memory = {"text": "The backup of quokkadb goes to Perth, too.", "category": "project", "project": "quokkas"}
    server.client.post("/memory", json=memory, headers=zero).raise_for_status()

    inside = recollect(server, headers=zero, project="quokkas")
    outside = recollect(server, headers=zero)

    assert FACT in inside["block"]
    assert "Perth" in inside["block"]
    assert "Perth" not in str(outside)
    assert unknown.status_code == 403


def test_nothing_is_shown_where_prompts_get_nothing(server: Served) -> None:
    answer = server.client.post("/agent/dobby,recall=off/recollect", json={"text": QUESTION}).json()

    assert (answer["block"], answer["restrictions"]["recall"]) == ("", "off in the address")


def test_gutask_tells_how_a_name_that_was_taught_in_quotes_has_to_be_spelled(server: Served) -> None:
    server.teach('"pygmy possum" -isa team')

    assert run_gutask(server, "", "pygmy possum").splitlines() == [
        "Nothing would be added. A prompt that says pygmy_possum or Pygmy Possum is given facts:",
        "  pygmy_possum -isa team in context of type",
    ]
    assert "pygmy_possum" in recollect(server, "Pygmy Possum")["block"]
    assert run_gutask(server, "", "pygmy marmot") == "Nothing is known about that.\n"


def test_asking_neither_counts_a_word_nor_keeps_it_from_being_asked_about(
    server: Served, ollama: StandIn, zero: dict[str, str]
) -> None:
    unknown = [recollect(server, f"{number}: the bilbytron?", headers=zero)["block"] for number in range(9)]
    salient = [recollect(server, "And the numbatron?", headers=zero)["block"] for _ in range(3)]

    assert "? bilbytron" not in "".join(unknown)
    assert "? numbatron: no recollection." in salient[0]
    assert salient == [send(server, ollama, "And the numbatron?", zero)] * 3


def test_explain_tells_what_would_be_remembered(database: str, command: Command) -> None:
    text = "Remember that I prefer tabs to spaces. The numbats meet every second Tuesday at the old bakery."

    told = command("explain", text, "--agent", "zero")

    assert f"  {text}: is kept as an episode.\n" in told
    assert "  I prefer tabs to spaces.: becomes a memory.\n" in told
    with psycopg.connect(database) as client:
        assert client.execute("SELECT 1 FROM memory WHERE text LIKE '%tabs%'").fetchone() is None


def test_explain_knows_no_project_of_that_name(command: Command) -> None:
    with pytest.raises(CommandError, match="there is no project 'wallabies'"):
        command("explain", "x", "--project", "wallabies")
