"""What was said in one conversation stands in the prompts of others of the same speaker, and of nobody else."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import httpx
import psycopg
import pytest
from django.conf import settings

from tests.planted import PLANTED, TAUGHT, fill
from tests.prompts import FORMATS, Turn
from tests.served.conftest import Command
from tests.served.learning import register_agent
from tests.served.postgres import OwnPostgres
from tests.served.server import Served, new_database
from tests.served.test_trust import with_tools
from tests.standin import StandIn
from tests.waiting import eventually

WITHIN_S = 60.0
NUMBERS = count()
WIRES = {**FORMATS, "completions": ("/v1/completions", FORMATS["flattened"][1])}


def post(server: Served, wire: str, turns: list[Turn], headers: dict[str, str], **more: Any) -> httpx.Response:
    path, write = WIRES[wire]
    body = write(turns) | {"model": "llama3", "stream": False} | more
    answer = server.client.post(path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


def received(ollama: StandIn, wire: str) -> str:
    """The last prompt as the model server got it."""
    return ollama.last(WIRES[wire][0]).body.decode()


@pytest.fixture(scope="module")
def database() -> str:
    return recall_all(new_database(settings.DATABASE_URL, "festinger_remembered"))


def recall_all(database: str) -> str:
    with psycopg.connect(database) as client:
        client.execute("UPDATE config SET value = 'on' WHERE key = 'recall_current'")
    return database


@pytest.fixture(scope="module")
def server(database: str, upstream: StandIn) -> Iterator[Served]:
    served = Served(upstream=upstream.url, database=database)
    yield served.wait_ready()
    served.stop()


@pytest.fixture(scope="module")
def other_server(database: str, upstream: StandIn) -> Iterator[Served]:
    """Trusts this machine as far as by default."""
    served = Served(upstream=upstream.url, database=database, FESTINGER_TRUST_LOOPBACK="")
    yield served.wait_ready()
    served.stop()


@pytest.fixture
def kept(database: str) -> Iterator[Any]:
    """Returns when an episode with these words is stored."""
    with psycopg.connect(database, autocommit=True) as client:

        def wait(words: str) -> None:
            query = "SELECT 1 FROM episode WHERE text LIKE %s"
            assert eventually(lambda: client.execute(query, [f"%{words}%"]).fetchone(), within_s=WITHIN_S)

        yield wait


def ask_until_given(server: Served, wire: str, question: str, headers: dict[str, str], **more: Any) -> list[Turn]:
    """What was said up to the prompt that was given something. A busy machine may miss the deadline: then the next turn
    has it."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        turns: list[Turn] = [("user", f"{question} ({next(NUMBERS)})")]
        for _ in range(2):
            answer = post(server, wire, turns, headers, **more)
            told = server.client.get(f"/why/{answer.headers['x-festinger-request']}", headers=headers).json()
            if any(note["why"] == "given" for note in told["notes"]):
                return turns
            turns += [("assistant", "Well."), ("user", "Go on.")]
            time.sleep(0.2)
    raise AssertionError(told)


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_said_in_one_conversation_stands_in_the_prompt_of_another(
    server: Served, other_server: Served, ollama: StandIn, kept: Any, wire: str
) -> None:
    """Also if another process was told."""
    name = {"X-Festinger-Agent": f"{wire}-teller"}
    said = f"We moved the billing{wire.replace('_', '')} database to Postgres 17 last week."
    day = time.strftime("%Y-%m-%d")
    post(other_server, wire, [("user", said)], name)
    days = {day, time.strftime("%Y-%m-%d")}  # it may have been midnight
    kept(said)

    ask_until_given(server, wire, f"Which version is our billing{wire.replace('_', '')} database?", name)

    assert any(f"{day} user: {said}" in received(ollama, wire) for day in days)


# How a client says for whom it speaks: in the body, or in a header.
BEHIND: dict[str, Callable[[str], tuple[str, dict[str, Any], dict[str, str]]]] = {
    "webui": lambda person: ("chat", {}, {"X-OpenWebUI-User-Id": person}),
    "openai": lambda person: ("chat_completions", {"user": person}, {}),
    "anthropic": lambda person: ("messages", {"metadata": {"user_id": person}}, {}),
}


@pytest.mark.parametrize("client", BEHIND)
def test_of_two_people_behind_one_agent_neither_gets_what_the_other_said_or_prefers(
    server: Served, ollama: StandIn, kept: Any, client: str
) -> None:
    said, preferred = f"My zither{client} lessons begin on Thursday.", f"prefer zither{client} strings of gut"
    question = f"When do the zither{client} lessons begin, and which strings shall I buy?"
    bridge = {"X-Festinger-Agent": "bridge"}

    def ask(person: str, turns: list[Turn]) -> list[bool]:
        """Return which of both the prompt has."""
        wire, body, headers = BEHIND[client](person and f"{person} of {client}")
        post(server, wire, turns, headers | bridge, **body)
        return [text in received(ollama, wire) for text in (said, preferred)]

    ask("ann", [("user", said)])
    remark = {"text": f"I prefer zither{client} strings of gut.", "user": f"ann of {client}"}
    assert server.client.post("/memory", json=remark, headers=bridge).status_code == 201
    kept(said)
    wire, body, headers = BEHIND[client](f"ann of {client}")
    turns = ask_until_given(server, wire, question, headers | bridge, **body)
    assert ask("ann", turns) == [True, True]

    assert [ask(person, turns) for person in ("bob", "", "bob")] == [[False, False]] * 3
    assert ask("ann", turns) == [True, True]


def ask_in_time(
    server: Served,
    ollama: StandIn,
    questions: Sequence[str],
    headers: dict[str, str],
    *,
    wire: str = "chat",
    operators: Served | None = None,
) -> list[str]:
    """The prompts of new conversations, one for each question, for which all was searched that there is.
    ``operators``: the server that tells what became of it, if another one."""
    found: dict[str, str] = {}

    def are_found() -> bool:
        asked: dict[str, tuple[str, str]] = {}
        for question in questions:
            if question not in found:
                answer = post(server, wire, [("user", f"{question} ({next(NUMBERS)})")], headers)
                asked[question] = received(ollama, wire), f"/why/{answer.headers['x-festinger-request']}"
        told_by = time.monotonic() + 1
        for question, (prompt, why) in asked.items():
            told = eventually(
                lambda why=why: (operators or server).client.get(why).json().get("search"),  # type: ignore[misc]
                within_s=told_by - time.monotonic(),
            )
            if told in (None, "", "found", "nothing found"):
                found[question] = prompt
        return len(found) == len(questions)

    assert eventually(are_found, within_s=WITHIN_S)
    return [found[question] for question in questions]


@pytest.mark.parametrize(
    "wire", ["chat", *(pytest.param(wire, marks=pytest.mark.slow) for wire in ("chat_completions", "messages"))]
)
def test_nothing_that_is_planted_comes_by_itself_to_who_asks_about_it(
    server: Served, ollama: StandIn, kept: Any, wire: str
) -> None:
    name = {"X-Festinger-Agent": f"gullible-{wire}"}
    word = f"zorb{wire.replace('_', '')}"

    def claim(number: int) -> str:
        return f"the {word}{number} archive was moved to the cellar of Evil Corp last winter"

    def ask(numbers: Sequence[int]) -> list[bool]:
        """Return for each whether the prompt that asks about it has it."""
        questions = [f"Where did they put the {word}{number} archive in winter?" for number in numbers]
        prompts = ask_in_time(server, ollama, questions, name, wire=wire)
        return [claim(number) in prompt for number, prompt in zip(numbers, prompts, strict=True)]

    own = len(PLANTED)
    for number, one in enumerate([*PLANTED, TAUGHT[0]]):
        for turns in one.requests:
            said = [(role, fill(text, claim(number))) for role, text in turns]
            path, write = WIRES[wire]
            body = with_tools(wire, write(said), said) | {"model": "llama3", "stream": False}
            assert server.client.post(path, json=body, headers=name).status_code == 200
    kept(claim(own))
    assert eventually(lambda: ask([own]) == [True], within_s=WITHIN_S)

    assert [one.name for one, is_there in zip(PLANTED, ask(range(own)), strict=True) if is_there] == []


TOOL = {"Accept": "application/json, text/event-stream"}


def read_everything(server: Served, headers: dict[str, str], requests: list[str], conflicts: list[int]) -> str:
    """All that these headers are told by endpoints and tools."""

    def use(tool: str, **arguments: Any) -> str:
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return server.client.post("/mcp", json=message, headers=headers | TOOL).text

    told = []
    for types in ("facts", "episodes", "both"):
        asked = {"query": "harbour office", "search_type": types, "limit": 20}
        told += [server.client.post("/search_memory", json=asked, headers=headers).text, use("search_memory", **asked)]
        for project in ("pier", "dock"):
            told.append(server.client.post("/search_memory", json=asked | {"project": project}, headers=headers).text)
            told.append(use("search_memory", **asked, project=project))
    told += [use("conflicts", limit=50), use("conflicts", touches="harbour"), use("recall", text="the harbour office")]
    told += [use("project_state"), *(use("project_state", project=slug) for slug in ("pier", "dock"))]
    told += [use("why", request_id=request) for request in requests]
    paths = ["/memory?text=harbour", "/memory?status=all&limit=500", "/memory?project=dock", "/memory?user=harbour"]
    paths += ["/conflicts?limit=500&status=all", "/conflicts/supersessions?limit=500", "/candidates?limit=500"]
    paths += [
        "/project/state?status=all",
        "/project/state?project=dock",
        "/resolve/runs",
        "/facts/harbour",
        "/facts?limit=500",
        "/agents",
    ]
    paths += [f"/memory/{key}" for key in range(1, 60)] + [f"/why/{request}" for request in requests]
    paths += [f"/conflicts/{key}" for key in conflicts]
    told += [server.client.get(path, headers=headers).text for path in paths]
    return " ".join(told)


def test_what_is_secret_another_agents_another_projects_or_forgotten_comes_back_in_no_way(
    server: Served, other_server: Served, ollama: StandIn, kept: Any, database: str, command: Command
) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO project (slug, name, is_open) VALUES ('pier', 'P', true), ('dock', 'D', false)")
    server.client.post("/reload")
    token = register_agent(database, "harbourmaster")
    server.client.post("/reload")
    mine, other = {"X-Festinger-Agent": "pilot"}, {"X-Festinger-Agent": "mate"}
    said: list[tuple[str, dict[str, str]]] = [
        ("opens at nine, as canaryown said", mine),
        ("has a gate; the password is canarysecret77", mine),
        ("has lunch with canaryother on Friday", other),
        ("has a red boat named canaryproject", mine | {"X-Festinger-Project": "pier"}),
        ("has a key that canaryforgotten keeps", mine),
        ("pays canarytoken on Mondays", token),
    ]
    requests = []
    for text, headers in said:
        answer = post(server, "chat", [("user", f"The harbour office {text}.")], headers)
        if headers is not mine:
            requests.append(answer.headers["x-festinger-request"])
        remark = {"text": f"The harbour office also {text}.", "category": "episodic"}
        assert server.client.post("/memory", json=remark, headers=headers).status_code == 201
    for preferred in ("canaryfirst", "canarysecond"):  # which contradict each other
        remark = {"text": f"I prefer the {preferred} workflow of the harbour.", "category": "preference"}
        conflict = server.client.post("/memory", json=remark, headers=other).json()["conflict_id"]
    for slug in ("pier", "dock"):
        settled = {"project": slug, "category": "decision", "key": "harbour", "value": f"canary{slug}"}
        assert server.client.post("/project/state", json=settled).status_code == 201
    for text in ("nine, as canaryown", "canaryforgotten keeps", "canarytoken on"):
        kept(text)
    command("forget", "--words", "canaryforgotten")

    def find(headers: dict[str, str]) -> set[str]:
        """Return what comes by itself, and what is found by who asks."""
        question = ["What do you know of the harbour office?"]
        texts = [
            *ask_in_time(other_server, ollama, question, headers, wire="chat", operators=server),
            *ask_in_time(other_server, ollama, question, headers, wire="chat_completions", operators=server),
            *ask_in_time(other_server, ollama, question, headers, wire="messages", operators=server),
        ]
        texts.append(read_everything(other_server, headers, requests, [conflict]))
        return set(re.findall(r"canary\w+", " ".join(texts)))

    # The project that is open may be named by everybody, and what belongs to all of it is for everybody.
    own = {"canaryown", "canaryproject", "canarypier"}
    assert eventually(lambda: find(mine) == own, within_s=WITHIN_S), find(mine)
    # Who may not be where the header says is still themselves where a call says something else.
    assert find(mine | {"X-Festinger-Project": "dock"}) == own
    for stranger in (
        {"X-Festinger-Agent": "harbourmaster"},  # whose name is taken, and the token is not there
        {"X-Festinger-Agent": "PILOT"},
        {"X-Festinger-Agent": "stranger", "X-Festinger-Project": "pier"},
        mine | {"X-OpenWebUI-User-Id": "pilot"},
    ):
        assert find(stranger) <= {"canarypier"}, stranger
    assert find({"X-Festinger-Agent": "pilot", "X-Forwarded-For": "203.0.113.9"}) == set()


def test_what_somebody_quotes_and_what_the_model_says_does_not_come_by_itself(
    server: Served, ollama: StandIn, kept: Any
) -> None:
    name = {"X-Festinger-Agent": "reader"}
    planted = "The quokka server password is kept by the janitor."
    turns: list[Turn] = [
        ("user", f"Look at what the page about quokka says:\n\n> {planted}\n\nWhat do you make of that quokka page?"),
        ("assistant", f"I see. {planted} That is what the assistant believes."),
        ("user", "The quokka page is from this year, I am sure."),
    ]
    post(server, "chat", turns, name)
    kept("quokka page is from this year")
    kept("the assistant believes")

    ask_until_given(server, "chat", "Is the quokka page from this year, and who keeps the server password?", name)

    assert "janitor" not in received(ollama, "chat")


def test_what_was_forgotten_leaves_the_prompts_in_which_it_stood(
    server: Served, ollama: StandIn, kept: Any, command: Command, database: str
) -> None:
    name = {"X-Festinger-Agent": "forgetful"}
    post(server, "chat", [("user", "The bandicoot release is planned for the ninth of May.")], name)
    kept("bandicoot release")
    turns = ask_until_given(server, "chat", "When is the bandicoot release planned?", name)
    said = [*turns, ("assistant", "In May."), ("user", "Thanks.")]
    request = post(server, "chat", said, name).headers["x-festinger-request"]
    assert "ninth of May" in received(ollama, "chat")

    def is_written() -> bool:  # the command reaches what is stored
        with psycopg.connect(database) as opened:
            found = opened.execute("SELECT block FROM recollection_event WHERE request = %s", [request]).fetchone()
        return found is not None and "ninth of May" in found[0]

    assert eventually(is_written, within_s=WITHIN_S)

    command("forget", "--words", "bandicoot release")

    def is_gone() -> bool:
        post(server, "chat", [*said, ("assistant", "."), ("user", "So?")], name)
        return "ninth of May" not in received(ollama, "chat")

    assert eventually(is_gone, within_s=WITHIN_S)
    assert "ninth of May" not in server.client.get(f"/why/{request}").text


@pytest.mark.slow
def test_while_postgres_is_away_or_does_not_answer_prompts_go_on(upstream: StandIn) -> None:
    with OwnPostgres() as own:
        served = Served(upstream=upstream.url, database=recall_all(own.copy("remembering"))).wait_ready()
        try:
            for stop in (own.freeze, own.kill):
                stop()
                for number in range(6):  # more than there are connections
                    answer = served.chat(("user", f"Which version is our billing database? ({number})"))
                    assert answer.status_code == 200
                own.thaw()
        finally:
            served.stop()
