"""What may differ where Festinger changes prompts: a text of its own stands at certain places, and that is all.

The request is compared as JSON, with the text put in here; the answer byte for byte, less the numbers that count the
prompt, and so is what the client made of it."""

import difflib
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import httpx
import orjson
import pytest

from tests.conformance.sides import PROMPTS, Call, Seen, Side
from tests.conformance.tap import Answer
from tests.standin import Recorded

BLOCK = "<recollection>\nsnark: [type] boojum\n</recollection>"
BOTH = "<recollection>\ngnommoweb: [type] repo\nsnark: [type] boojum\n</recollection>"
ANOTHER_BLOCK = "<recollection>\ngnommoweb: [type] repo\n</recollection>"
GAP = "\n\n"
OF_THE_PROMPT = (  # what follows from its length
    "total_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "context",
    "prompt_tokens",
    "input_tokens",
    "total_tokens",
    "text_tokens",
)
NUMBERS = re.compile(rb'"(%s)":\s*(\d+|\[[\d,]*\])' % "|".join(OF_THE_PROMPT).encode())
REPEATED = "instructions"  # Ollama's answers in /v1/responses show those that it got
INSTRUCTIONS = re.compile(rb'"instructions":(null|"(\\.|[^"\\])*")')
REQUEST = "x-festinger-request"
LOOP = "x-festinger-loop"

OPENINGS = count()  # by its first words one conversation is told from another

Payload = dict[str, Any]
Put = Callable[[Payload], None]  # changes a request's payload as Festinger has to


def assert_only_puts(direct: Side, festinger: Side, call: Call, *puts: Put) -> None:
    """Fails where anything but the ``puts``, one for each prompt of the call, differs between the two."""
    here, there = (side.run(call, besides=("/api/show",)) for side in (direct, festinger))
    assert_only_differ_in(here, there, *puts)


def assert_only_differ_in(here: Seen, there: Seen, *puts: Put, step: str | None = None) -> None:
    """``step``: what the last answer's header says was done against a loop."""
    assert [request.path in PROMPTS for request in here.requests] == [True] * len(puts), here.outcome
    put_in = [with_put(request, put) for request, put in zip(here.requests, puts, strict=True)]
    assert all(REQUEST in dict(answer.headers) for answer in there.answers)
    assert [dict(answer.headers).get(LOOP) for answer in there.answers] == [None] * (len(puts) - 1) + [step]
    written = [with_put(request, lambda payload: None) for request in there.requests]
    expected, found = (
        comparable(seen).lines() for seen in (replace(here, requests=put_in), replace(there, requests=written))
    )
    differing = difflib.unified_diff(expected, found, "expected", "through Festinger", lineterm="", n=1)
    shown = [line if len(line) < 3000 else f"{line[:3000]} ..." for line in differing]
    if shown:
        pytest.fail("\n".join(shown), pytrace=False)


def with_put(request: Recorded, put: Put) -> Recorded:
    payload = orjson.loads(request.body)
    put(payload)
    return replace(request, body=orjson.dumps(payload))


def own_headers(answer: Answer) -> list[str]:
    return sorted(name for name, _ in answer.headers if name.startswith("x-festinger"))


def comparable(seen: Seen) -> Seen:
    """Without Festinger's headers, and without what follows from the prompt: its numbers, and the instructions."""
    answers = [
        replace(
            answer,
            headers=[pair for pair in answer.headers if not pair[0].startswith("x-festinger")],
            body=INSTRUCTIONS.sub(b'"instructions":0', NUMBERS.sub(rb'"\1":0', answer.body)),
        )
        for answer in seen.answers
    ]
    return replace(seen, outcome=unprompted(seen.outcome), answers=answers)


def unprompted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: 0 if key in (*OF_THE_PROMPT, REPEATED) else unprompted(one) for key, one in value.items()}
    return [unprompted(one) for one in value] if isinstance(value, list) else value


# --- what is said ---
# In plain words: one that is not in the dictionary would be asked about, sooner or later.


def question() -> str:
    """Ask about what is known."""
    return f"where is the snark, é? ({next(OPENINGS)})"


def task() -> str:
    """Give a task that is about nothing known."""
    return f"list the files ({next(OPENINGS)})"


# --- where a text is put ---


def all_of(*puts: Put) -> Put:
    def put(payload: Payload) -> None:
        for one in puts:
            one(payload)

    return put


def before(*place: str | int, text: str = BLOCK) -> Put:
    """``place``: keys and indexes that lead to a text."""

    def put(payload: Payload) -> None:
        holder = at(payload, place[:-1])
        holder[place[-1]] = text + GAP + holder[place[-1]]

    return put


def after(*place: str | int, text: str = BLOCK) -> Put:
    def put(payload: Payload) -> None:
        holder = at(payload, place[:-1])
        holder[place[-1]] += GAP + text

    return put


def as_item(*place: str | int, index: int, item: Any) -> Put:
    """A new item of a list; an ``index`` of -1 is behind the last."""

    def put(payload: Payload) -> None:
        items = at(payload, place)
        items.insert(len(items) if index == -1 else index, item)

    return put


def under_the_header(payload: Payload) -> None:
    """In LiteLLM's flattened prompt."""
    header = "### System:\n"
    assert payload["prompt"].startswith(header)
    payload["prompt"] = payload["prompt"].replace(header, header + BLOCK + GAP, 1)


def at_the_flattened_end(text: str) -> Put:
    def put(payload: Payload) -> None:
        said: str = payload["prompt"].rstrip()
        payload["prompt"] = said + GAP + text + payload["prompt"][len(said) :]

    return put


def at(payload: Any, place: tuple[str | int, ...]) -> Any:
    for key in place:
        payload = payload[key]
    return payload


def load(side: Side, *models: str) -> None:
    """So that the other side, where they are used, shows no more models than this one."""
    with httpx.Client(base_url=side.ollama.url, trust_env=False, timeout=10) as client:
        for model in models:
            client.post("/api/chat", json={"model": model, "messages": []}).raise_for_status()
