"""Agents that loop, directly and through Festinger; and those that only look as if they did."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.served.agent import TASK, WIRES, Agent, History, objects
from tests.served.server import Served
from tests.standin import Recorded, StandIn
from tests.waiting import eventually

LONG_S = 86_400  # longer than any test
WITHIN_S = 60.0  # on a machine that has much else to do
LADDER = [None, None, None, "note", "temperature", "truncate", "break"]
MADE_UP = "Festinger has stopped a loop: "
NATIVE = ["chat", "generate"]

every_wire = pytest.mark.parametrize("wire", WIRES)
in_both_ways = pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])


class Cooldown:
    """The time that a model rests, by the servers' config.yaml."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.write(LONG_S)

    def write(self, seconds: float) -> None:
        new = self.file.with_name("new")
        new.write_text(f"loops: {{mitigations: {{cooldown_s: {seconds}}}}}\n# {time.monotonic()}\n")
        new.replace(self.file)

    def change(self, seconds: float, *servers: Served) -> None:
        """Returns when the servers know."""
        before = [loaded_at(server) for server in servers]
        self.write(seconds)
        assert eventually(lambda: not set(before) & set(map(loaded_at, servers)), within_s=WITHIN_S)


def loaded_at(server: Served) -> str:
    return str(server.client.get("/health").json()["config"]["loaded_at"])


@pytest.fixture(scope="module")
def cooldown(tmp_path_factory: pytest.TempPathFactory) -> Cooldown:
    return Cooldown(tmp_path_factory.mktemp("loops") / "config.yaml")


@pytest.fixture(scope="module")
def server(database: str, upstream: StandIn, cooldown: Cooldown) -> Iterator[Served]:
    served = Served(upstream=upstream.url, database=database, FESTINGER_CONFIG=str(cooldown.file))
    yield served.wait_ready()
    served.stop()


@pytest.fixture
def rests_long(server: Served, cooldown: Cooldown) -> Iterator[None]:
    """Whatever a test made of it, the next one finds it so."""
    yield
    cooldown.change(LONG_S, server)


def agent(client: httpx.Client, model: str, wire: str, task: str, **more: Any) -> Agent:
    """Each with a task of its own: the first words tell one conversation from another."""
    made = Agent(client, model, WIRES[wire], **more)
    made.history[1]["content"] = json.dumps({"user_message": f"{TASK} {task}"})
    return made


def steps(turns: list[Any]) -> list[str | None]:
    return [turn.step for turn in turns]


def prompts(ollama: StandIn) -> list[Recorded]:
    """Return what the model was asked, without what Festinger asks by itself."""
    return [request for request in ollama.settled() if request.path in {wire.path for wire in WIRES.values()}]


def stopped(said: dict[str, Any]) -> str:
    """Return what the breaker tells the human: the text of Agent Zero's response."""
    call = json.loads(said["content"])
    assert call["tool_name"] == "response"
    return call["tool_args"]["text"]


# --- a model that can be helped ---


@every_wire
@in_both_ways
def test_through_festinger_it_breaks_out(server: Served, wire: str, is_streamed: bool) -> None:
    stubborn = agent(server.client, "stubborn", wire, f"of {wire} {is_streamed}", is_streamed=is_streamed, extras=True)

    turns = stubborn.work(12)

    assert steps(turns) == [None, None, None, "note"]
    assert stopped(turns[-1].said) == "It is blue."


def test_so_does_one_that_calls_tools_in_the_api_s_own_way(server: Served) -> None:
    turns = agent(server.client, "stubborn", "chat", "with tools", uses_tools=True).work(12)

    assert steps(turns) == [None, None, None, "note"]
    assert "tool_calls" not in turns[-1].said


def test_the_model_is_told_what_it_must_not_do(server: Served, ollama: StandIn) -> None:
    agent(server.client, "stubborn", "chat", "to be told").work(12)

    *before, last = [request.json()["messages"] for request in prompts(ollama)]
    assert not any("loop_warning" in str(messages) for messages in before)
    assert last[-1]["content"].endswith("</loop_warning>")
    assert 'look({"path":"/nowhere"})' in last[-1]["content"]
    assert "3 times in a row" in last[-1]["content"]


# --- a model that cannot ---


@every_wire
@in_both_ways
def test_one_that_never_breaks_out_is_stopped_in_the_7th_turn(
    server: Served, ollama: StandIn, wire: str, is_streamed: bool
) -> None:
    stuck = agent(server.client, "stuck", wire, f"in {wire} {is_streamed}", is_streamed=is_streamed, extras=True)

    turns = stuck.work(12)

    assert steps(turns) == LADDER
    assert stopped(turns[-1].said).startswith(MADE_UP)
    assert "6 times in a row" in stopped(turns[-1].said)
    assert len(prompts(ollama)) == 6


def test_one_that_calls_tools_is_stopped_with_a_text(server: Served) -> None:
    turns = agent(server.client, "stuck", "chat", "and tools", uses_tools=True).work(12)

    assert steps(turns) == LADDER
    assert turns[-1].said["content"].startswith(MADE_UP)


def test_each_step_is_in_what_the_model_is_sent(server: Served, ollama: StandIn) -> None:
    agent(server.client, "stuck", "chat", "step by step", options={"options": {"temperature": 0.2}}).work(12)

    asked = [request.json() for request in prompts(ollama)]
    assert [round(one["options"]["temperature"], 1) for one in asked] == [0.2] * 4 + [0.5] * 2
    assert ["seed" in one["options"] for one in asked] == [False] * 4 + [True] * 2
    assert [len(one["messages"]) for one in asked] == [2, 4, 6, 8, 10, 4]
    assert ["loop_warning" in str(one["messages"]) for one in asked] == [False] * 3 + [True] * 3


@pytest.mark.usefixtures("rests_long")
def test_while_the_model_rests_it_is_not_asked_and_then_may_try_once(
    server: Served, ollama: StandIn, cooldown: Cooldown
) -> None:
    resting = [agent(server.client, "stuck", wire, f"again and again in {wire}") for wire in NATIVE]
    for stuck in resting:
        stuck.work(12)
        stuck.history.pop()  # a client without a human at it goes on as if nothing had been said
    ollama.clear()

    assert [ask_again(stuck) for stuck in resting * 2] == ["break"] * 4
    assert prompts(ollama) == []

    cooldown.change(0, server)
    assert [ask_again(stuck) for stuck in resting] == ["break"] * 2  # with this the rest is over
    for stuck in resting:
        assert steps(stuck.work(1)) == ["truncate"]
        assert stuck.turn().step == "break"
    assert len(prompts(ollama)) == 2


def ask_again(stuck: Agent) -> str | None:
    """Whatever is said is forgotten."""
    step = stuck.turn().step
    stuck.history.pop()
    return step


@pytest.mark.usefixtures("rests_long")
def test_a_model_that_rests_in_one_process_rests_in_all_and_may_try_in_any(
    server: Served, database: str, upstream: StandIn, cooldown: Cooldown
) -> None:
    other = Served(upstream=upstream.url, database=database, FESTINGER_CONFIG=str(cooldown.file)).wait_ready()
    clients = [server.client, other.client]
    stuck = agent(server.client, "stuck", "chat", "here and there")

    try:
        taken = []
        for turn in range(len(LADDER)):
            stuck.client = clients[turn % 2]
            taken += steps(stuck.work(1))
        stuck.history.pop()
        stuck.client = other.client  # which has not tripped
        taken.append(ask_again(stuck))
        cooldown.change(0, server, other)
        taken.append(ask_again(stuck))  # with this the rest is over
        taken += steps(stuck.work(1))
        stuck.client = server.client
        taken += steps(stuck.work(1))
    finally:
        other.stop()

    assert taken == [*LADDER, "break", "break", "truncate", "break"]


def test_a_human_who_says_something_is_heard_at_once(server: Served, ollama: StandIn) -> None:
    stuck = agent(server.client, "stuck", "generate", "until somebody comes", extras=True)
    stuck.work(12)
    ollama.clear()

    stuck.hear("Look in /home instead.")
    turns = stuck.work(12)

    assert steps(turns) == LADDER  # it is as stuck as before
    assert len(prompts(ollama)) == 6


# --- what is told of it ---


def test_why_and_the_table_tell_what_was_done(server: Served, database: str) -> None:
    turns = agent(server.client, "stuck", "chat", "for the record").work(12)
    request = turns[5].request

    told = server.client.get(f"/why/{request}").json()

    done = {"kind": "same", "count": 5, "period": 1, "steps": ["note", "temperature", "truncate"]}
    assert told["loops"] == [done | {"repeated": ['look({"path":"/nowhere"})']}]
    assert row(database, request) == ("stuck", "chat", "same", 5, done["steps"])
    assert row(database, turns[6].request) == ("stuck", "chat", "same", 6, ["break"])
    assert server.client.get(f"/why/{turns[2].request}").json()["loops"] == []


def row(database: str, request: str | None) -> Any:
    """It is written off the hot path."""
    query = "SELECT model, wire, kind, count, steps FROM loop_event WHERE request = %s"
    with psycopg.connect(database, autocommit=True) as client:
        return eventually(lambda: client.execute(query, [request]).fetchone(), within_s=WITHIN_S)


@pytest.mark.parametrize("wire", NATIVE)
def test_an_answer_whose_tail_repeats_is_ended(server: Served, ollama: StandIn, wire: str) -> None:
    history: History = [{"role": "user", "content": "tell me"}]
    format_ = WIRES[wire]

    answer = server.client.post(format_.path, json={"model": "babbler", **format_.payload(history), "stream": True})

    lines = objects(answer.text)
    assert (answer.status_code, lines[-1]["done"], lines[-1]["done_reason"]) == (200, True, "stop")
    assert 100 < len("".join(map(format_.part, lines))) < 8_000
    assert "x-festinger-loop" not in answer.headers
    [asked] = prompts(ollama)
    assert asked.disconnected
    [told] = server.client.get(f"/why/{answer.headers['x-festinger-request']}").json()["loops"]
    assert (told["kind"], told["steps"]) == ("tail", ["stop"])
    assert told["count"] > 1


# --- what is no loop ---


def exchanges(*pairs: tuple[str, str]) -> History:
    """Return what an agent called, and what came of it."""
    history: History = [
        {"role": "system", "content": "You are an agent. Answer in JSON."},
        {"role": "user", "content": json.dumps({"user_message": "do the work"})},
    ]
    for called, result in pairs:
        history.append({"role": "assistant", "content": called})
        history.append({"role": "user", "content": json.dumps({"tool_name": "shell", "tool_result": result})})
    return history


def call(command: str) -> str:
    return json.dumps({"thoughts": ["I go on."], "tool_name": "shell", "tool_args": {"command": command}})


TURNS = 12
NO_LOOPS = {
    "polling": [(call("status"), f"{turn * 7} of 100 done") for turn in range(TURNS)],
    "paging": [(call(f"list --page {turn}"), "ten more names follow") for turn in range(TURNS)],
    "build and edit": [
        pair
        for turn in range(TURNS // 2)
        for pair in (
            (call(f"edit line {turn * 3}"), "saved"),
            (call("make"), f"error in line {turn * 3 + 3}: a word is missing"),
        )
    ],
    "the same words to different questions": [
        ("I can not do that.", f"then do this: number {turn} of the list") for turn in range(TURNS)
    ],
    "a long list": [("\n".join(f"- item {row} of {turn}" for row in range(200)), f"more, from {turn}")
                    for turn in range(3)],
    "code": [("```\n" + "    return 0\n" * 100 + f"```\nversion {turn}", f"now for {turn}") for turn in range(3)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("case", "wire"), [*((case, "chat") for case in NO_LOOPS), *(("polling", wire) for wire in WIRES if wire != "chat")]
)
def test_what_is_no_loop_goes_on_as_it_came(server: Served, ollama: StandIn, case: str, wire: str) -> None:
    format_, pairs = WIRES[wire], NO_LOOPS[case]
    sent: list[bytes] = []

    for turn in range(1, len(pairs) + 1):
        payload = {"model": "llama3", **format_.payload(exchanges(*pairs[:turn])), "stream": False}
        sent.append(json.dumps(payload).encode())
        answer = server.client.post(format_.path, content=sent[-1])
        assert (answer.status_code, answer.headers.get("x-festinger-loop")) == (200, None)

    assert [request.body for request in prompts(ollama)] == sent


@pytest.mark.parametrize("wire", WIRES)
def test_a_person_who_hears_the_same_again_is_helped_but_never_cut_off(server: Served, wire: str) -> None:
    asked = "Could you look for the lost invoice once more, in the folder of last year and in that of the year before?"
    format_, pair = WIRES[wire], ("I have looked and found nothing.", asked)

    def step_after(*pairs: tuple[str, str]) -> str | None:
        said = ["look for it", *(text for pair in pairs for text in pair)]
        history = [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(said)]
        payload = {"model": "llama3", **format_.payload([*exchanges()[:1], *history]), "stream": False}
        answer = server.client.post(format_.path, json=payload)
        assert answer.status_code == 200
        return answer.headers.get("x-festinger-loop")

    taken = [step_after(*[pair] * turns) for turns in range(1, 9)]

    assert taken == [None, None, "note", *["temperature"] * 5]
    assert step_after(*[pair] * 8, (pair[0], "look in /home instead")) is None


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("answer", "command"),
    [
        ("Skipping to the next song.", "Next song"),
        ("The build is green and all tests have passed.", "Is the build green?"),
    ],
)
def test_a_person_may_repeat_a_command(server: Served, ollama: StandIn, wire: str, answer: str, command: str) -> None:
    format_ = WIRES[wire]

    def step_after(turns: int) -> str | None:
        said = [command, *[answer, command] * turns]
        history = [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(said)]
        payload = {"model": "llama3", **format_.payload([*exchanges()[:1], *history]), "stream": False}
        return server.client.post(format_.path, json=payload).headers.get("x-festinger-loop")

    assert [step_after(turns) for turns in range(1, 9)] == [*[None] * 5, "note", "note", "note"]
    note = ollama.last().body.decode()
    assert "asked the same 8 times" in note
    assert "forbidden" not in note
