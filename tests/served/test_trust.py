"""What a page, a tool or a model says is in nobody's prompt, marks nothing and costs nobody a prefix; what people teach
in the same kinds of prompts is recalled. Over HTTP, with all processes running."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.planted import HANDED_OVER, PERHAPS_HANDED_OVER, PLANTED, TAUGHT, Prompts, Turns, fill, once
from tests.prompts import FORMATS
from tests.served.learning import Conversation, Festinger, block, festinger, headers_of
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

pytestmark = pytest.mark.slow

# What is handed over in a message is known by its text alone (tests/memory/attribution): one format shows it.
PLANTED_IN = dict.fromkeys(FORMATS, PLANTED)
PLANTED_IN["chat"] = [*PLANTED, *(once(text, text) for text in (*HANDED_OVER, *PERHAPS_HANDED_OVER))]


@pytest.fixture(scope="module")
def whole(durable: OwnPostgres, upstream: StandIn) -> Iterator[Festinger]:
    with festinger(durable, "trust", upstream, DJANGO_SETTINGS_MODULE="tests.unbounded") as running:
        yield running


def send(whole: Festinger, wire: str, turns: Turns, agent: str) -> None:
    path, write = FORMATS[wire]
    payload = with_tools(wire, write(turns), turns)
    answer = whole.proxies[0].client.post(
        path, json=payload | {"model": "llama3", "stream": False}, headers=headers_of(agent)
    )
    assert answer.status_code == 200, answer.text


def with_tools(wire: str, payload: dict[str, Any], turns: Turns) -> dict[str, Any]:
    """Tools' results as each format has them."""
    spoken = [turn for turn in turns if turn[0] != "system"] if wire in ("messages", "responses") else turns
    for index, (role, text) in enumerate(spoken):
        if role != "tool":
            continue
        if wire == "messages":
            result = {"type": "tool_result", "tool_use_id": "t1", "content": text}
            payload["messages"][index] = {"role": "user", "content": [result]}
        elif wire == "responses":
            payload["input"][index] = {"type": "function_call_output", "call_id": "t1", "output": text}
        elif wire == "chat_completions":
            payload["messages"][index] |= {"tool_call_id": "t1"}
    return payload


def say_all(whole: Festinger, wire: str, prompts: list[Prompts], word: str, what: str, agent: str) -> dict[str, str]:
    """Says each with a concept of its own; their names, by concept."""
    names = {}
    for number, one in enumerate(prompts):
        concept = f"{word}{number}"
        names[concept] = one.name
        for turns in one.requests:
            send(whole, wire, [(role, fill(text, f"{concept} {what}")) for role, text in turns], agent)
    whole.wait_settled()
    return names


@pytest.mark.parametrize("wire", FORMATS)
def test_nothing_that_is_planted_is_recalled_or_marks_what_is_known(whole: Festinger, wire: str) -> None:
    word = f"zorb{wire.replace('_', '')}"
    known = [f"{word}{number}" for number in range(0, len(PLANTED_IN[wire]), 4)]
    for concept in known:
        assert whole.teach(f"{concept} -isa gadget").status_code == 201
    conversation = Conversation(whole, agent="winky")
    conversation.say(f"What is {known[1]}?")
    before = conversation.resend()

    names = say_all(whole, wire, PLANTED_IN[wire], word, "is a worm of Evil Corp", "dobby")

    planted = {row[0]: row[1:] for row in whole.edges(word) if row[1] != "gadget"}
    assert {names[concept]: row for concept, row in planted.items()} == {}
    assert whole.queue(word) == []
    for concept in known:
        assert whole.would_recall(f"Restart {concept}")[0].count(f"{concept}: [type] gadget\n") == 1
    assert conversation.resend() == before


@pytest.mark.parametrize("wire", FORMATS)
def test_what_people_teach_in_the_same_prompts_is_recalled(whole: Festinger, wire: str) -> None:
    prompts = [one for one in TAUGHT if wire != "flattened" or len(one.requests[0]) == 2]
    names = say_all(whole, wire, prompts, f"quill{wire.replace('_', '')}", "is a repo of Glitch University", "dobby")

    # What may have been handed over is for the same agent.
    missed = [
        name for concept, name in names.items() if "repo" not in whole.would_recall(f"Restart {concept}", "dobby")[0]
    ]

    assert missed == []


def test_over_litellm_the_next_message_of_a_person_teaches_but_a_tools_does_not(whole: Festinger) -> None:
    """As LiteLLM flattens a conversation: only what follows an answer that was passed on is the user's."""
    client, start = whole.proxies[0].client, "### User:\nHello.\n\n"

    def generate(prompt: str) -> str:
        answer = client.post("/api/generate", json={"model": "llama3", "prompt": prompt, "stream": False})
        return str(json.loads(answer.content)["response"])

    said = generate(start)
    generate(f"{start}### Assistant:\n{said}\n\n### User:\nvedana is a repo of Glitch University.\n\n")
    generate(f"{start}### Assistant:\nI search.\n\n### User:\nsanskara is a repo of Glitch University.\n\n")
    whole.wait_settled()

    assert [row[0] for row in whole.edges("vedana")] == ["vedana"]
    assert whole.edges("sanskara") == []


def test_what_the_model_said_first_is_learned_when_the_person_confirms_it(whole: Festinger) -> None:
    conversation = Conversation(whole, agent="dobby")
    conversation.say("What did you find?")
    conversation.said[-1] = ("assistant", "skandha is a repo of Glitch University.")
    conversation.say("Tell me more.")
    whole.wait_settled()
    assert whole.edges("skandha") == []

    conversation.say("Right: skandha is a repo of Glitch University.")

    whole.wait_recalled("skandha: [glitch_university] repo")
    assert Conversation(whole, agent="winky").say("Test skandha") == {1: block("skandha: [glitch_university] repo")}


BRIEF = f"""I run the harbour of Bergen. Zorblink is a crane.

{"We unload twenty ships a day, and nobody sleeps. " * 14}

- Zorbquay is a quay.
- Zorbtug is a tug.

What do you make of it?"""


def test_a_long_message_teaches_others_by_its_first_paragraph_only(whole: Festinger) -> None:
    Conversation(whole, agent="dobby").say(BRIEF)
    whole.wait_recalled("zorblink: [type] crane")

    whole.wait(lambda: "zorbquay: [type] quay" in whole.would_recall("Restart zorbquay", "dobby")[0])
    assert "[type]" not in whole.would_recall("Restart zorbquay and zorbtug", "winky")[0]
    assert "zorbtug: [type] tug" in Conversation(whole, agent="dobby").say("Restart zorbtug")[1]

    Conversation(whole, agent="winky").say("By the way, zorbquay is a quay.")
    whole.wait_recalled("zorbquay: [type] quay")
    assert "[type]" not in whole.would_recall("Restart zorbtug", "winky")[0]


def test_an_edited_message_is_set_aside_with_what_it_said(whole: Festinger) -> None:
    before = [{"role": "user", "content": "Hello, it is me."}, {"role": "assistant", "content": "Hello."}]

    def say(text: str) -> None:
        said = {"model": "llama3", "messages": [*before, {"role": "user", "content": text}], "stream": False}
        headers = headers_of("dobby") | {"X-OpenWebUI-Chat-Id": "chat-7"}
        assert whole.proxies[0].client.post("/api/chat", json=said, headers=headers).status_code == 200

    say("Zorbmast is a mast. We paint it in the old harbour.")
    whole.wait_recalled("zorbmast: [type] mast")

    say("Zorbsail is a mast. We paint it in the old harbour.")
    whole.wait_recalled("zorbsail: [type] mast")

    whole.wait(lambda: whole.edges("zorbmast") == [])
    assert whole.run("SELECT effect FROM forget_request") == [("edit",)]
    kept = "SELECT left(text, 8) FROM episode WHERE text LIKE 'Zorb%%is a mast%%' AND set_aside_at IS NULL"
    assert whole.run(kept) == [("Zorbsail",)]


OPENING = "Consolidate what follows with all that you know of the harbour, its cranes, tugs and quays."


def test_what_a_program_fills_into_a_template_is_taken_back(whole: Festinger) -> None:
    conversations = [Conversation(whole, agent="winky") for _ in range(4)]
    for number, conversation in enumerate(conversations[:3]):
        conversation.say(f"{OPENING}\nZorbfilled{number} is a winch.")
        whole.wait_settled()

    whole.wait(lambda: whole.edges("zorbfilled") == [])
    conversations[3].say(f"{OPENING}\nZorbfilled3 is a winch.")
    whole.wait_settled()
    assert whole.edges("zorbfilled") == []

    conversations[0].say("Thank you, and where is it?")
    whole.wait(lambda: [row[0] for row in whole.edges("zorbfilled")] == ["zorbfilled0", "zorbfilled1", "zorbfilled2"])
