"""What a request, and its model, is called."""

import random

import pytest

from memory import bounds
from memory.access.switches import Switch
from memory.types import Message
from proxy.formats.prefixes import count_answered
from tests.proxy.enriching import Enriching

SAID = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_nobody_can_reckon_the_id_of_a_request() -> None:
    ids = set()
    for _ in range(2):
        random.seed(1)
        ids.add(Enriching().ask("/api/chat", SAID).request)

    assert (len(ids), {len(request) for request in ids}) == (2, {16})


@pytest.mark.parametrize(("name", "bites"), [("llama3:8b", 0), ("m" * 201, 1), ("m\nforged", 1)])
def test_a_model_that_cannot_be_is_counted_and_shown_cut(name: str, bites: int) -> None:
    proxy, before = Enriching(), bounds.count_bites()["model_name"]

    proxy.ask("/api/chat", SAID | {"model": name})

    assert bounds.count_bites()["model_name"] == before + bites
    shown = proxy.events.added[-1]["model"]
    assert (len(shown) <= 200, shown.isprintable()) == (True, True)


TITLE = (
    "Provide a concise title for the conversation. Only return the title, 5 words or less.\n<chat>\nUser: {}\n</chat>"
)


@pytest.mark.parametrize(
    ("text", "off", "is_learned"),
    [
        ("kvasir is a repo. Restart gnommoweb.", {}, True),
        ("kvasir is a repo. Restart gnommoweb.", {"learn": "off"}, False),
        (TITLE.format("kvasir is a repo. Restart gnommoweb."), {}, False),
    ],
)
def test_a_helpers_prompt_and_a_switched_off_agent_get_facts_and_teach_nothing(
    text: str, off: dict[Switch, str], *, is_learned: bool
) -> None:
    proxy = Enriching()
    proxy.teach("gnommoweb", "worker")

    proxy.ask("/api/chat", {"model": "m", "messages": [{"role": "user", "content": text}]}, off)

    [event] = proxy.events.added
    assert "gnommoweb: [type] worker" in event["block"]
    assert ("learn" not in event["restrictions"]) is is_learned
    assert (proxy.cache.soas_by_token["gnommoweb"].encounter_count == 1) is is_learned


def test_where_recalling_is_off_blocks_of_earlier_turns_are_left_out_too() -> None:
    proxy = Enriching()
    proxy.teach("gnommoweb", "worker")
    said = {"model": "m", "messages": [{"role": "user", "content": "Restart gnommoweb."}]}
    longer = said | {"messages": [*said["messages"], {"role": "assistant", "content": "Done."}, SAID["messages"][0]]}

    assert b"gnommoweb: [type]" in proxy.ask("/api/chat", said).body
    assert b"gnommoweb: [type]" not in proxy.ask("/api/chat", longer, {"recall": "off"}).body
    assert b"gnommoweb: [type]" in proxy.ask("/api/chat", longer).body


@pytest.mark.parametrize(
    ("roles", "expected"),
    [("", 0), ("u", 0), ("sua", 0), ("suau", 3), ("suauauu", 5), ("suatu", 3), ("suaua", 3), ("a", 0), ("au", 1)],
)
def test_what_was_said_before_the_last_answer_is_told_from_what_is_said_now(roles: str, expected: int) -> None:
    names = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}

    assert count_answered([Message(names[role], "x") for role in roles]) == expected


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("### Task:\nGenerate a concise title.\n### Chat History:\n<chat_history>\nUSER: Hi\n</chat_history>", True),
        ("### Task:\nRespond to the user query using the provided context.\n<context>\n</context>\n\nHi", True),
        ("### Task:\nRead the log.", False),
    ],
)
@pytest.mark.parametrize("user", ["", "u-17"])
def test_a_prompt_of_open_webui_without_a_users_id_is_told(text: str, is_told: bool, user: str) -> None:
    proxy = Enriching()

    proxy.ask("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": text}], "user": user})

    restrictions = proxy.events.added[-1]["restrictions"]
    assert ("persons" in restrictions) == (is_told and not user)
