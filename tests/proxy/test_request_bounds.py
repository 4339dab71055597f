"""Requests beyond the bounds go on as they came, and nobody waits for them."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from memory import bounds
from memory.cache import loader
from proxy.formats import FORMATS as WIRES
from proxy.formats.base import PARTS_MAX
from proxy.formats.bounded_requests import JSON_MAX_BYTES, Excess
from proxy.formats.json_text import CONTAINERS_MAX
from proxy.prompts.enricher import BOUNDS
from tests.prompts import FORMATS, Turn
from tests.proxy.enriching import DOBBY, Enriching, count_slices

# Lines of Python in one piece, each some 20 to 70 ns. Most are for 5,000 messages that are all new, once in their
# conversation; were the time to grow with their square, there would be millions.
SLICE_STEPS = 500_000
BEGUN: list[Turn] = [("system", "You are helpful."), ("user", "look at gnommoweb")]
GOES_ON: list[Turn] = [*BEGUN, ("assistant", "Yes."), ("user", "ask kvasir")]
MORE: list[Turn] = [("assistant", "Done."), ("user", "and gnommoweb, kvasir?")]


def flood(turns: list[Turn]) -> list[Turn]:
    return turns + MORE * (PARTS_MAX // 2)


def inflate(turns: list[Turn]) -> list[Turn]:
    return [*turns, ("assistant", 'x "quoted" \\ ' * (JSON_MAX_BYTES // 10)), *MORE]


def make_dense(payload: dict[str, Any]) -> None:
    payload["tools"] = [{"a": [[]] * 10, "b": '"{[,'}] * (CONTAINERS_MAX // 10)


EXCESSES: dict[Excess, tuple[Callable[[list[Turn]], list[Turn]], Callable[[dict[str, Any]], None]]] = {
    Excess.PARTS: (flood, lambda payload: None),
    Excess.BYTES: (inflate, lambda payload: None),
    Excess.VALUES: (lambda turns: turns + MORE, make_dense),
}


def test_every_excess_is_a_bound() -> None:
    assert set(BOUNDS) == set(Excess)


@pytest.mark.parametrize("excess", EXCESSES)
def test_beyond_a_bound_a_request_goes_on_byte_for_byte(excess: Excess) -> None:
    say_more, add = EXCESSES[excess]
    proxy = Enriching()
    proxy.teach("kvasir", "worker")
    for path, write in FORMATS.values():
        proxy.ask(path, write(GOES_ON))
        proxy.heard.clear()
        sent = write(say_more(GOES_ON))
        add(sent)
        body, bites = orjson.dumps(sent, option=orjson.OPT_INDENT_2), bounds.count_bites()[excess]

        assert proxy.ask(path, body).body == body
        assert bounds.count_bites()[excess] == bites + 1
    assert proxy.heard == []


def test_up_to_the_bounds_prompts_are_enriched() -> None:
    proxy = Enriching()
    proxy.teach("gnommoweb", "repo")
    before = bounds.count_bites()
    turns: list[Turn] = [("user", "hi"), ("assistant", "{[ yes, ")] * (PARTS_MAX // 2 - 1) + GOES_ON[:2]

    for path, write in FORMATS.values():
        assert b"gnommoweb: [type] repo" in proxy.ask(path, write(turns)).body
    assert bounds.count_bites() == before


PLAIN_SAID = b'{"model":"m","messages":[%s{"role":"user","content":"hi"}]}'
HOSTILE: dict[str, tuple[str, bytes]] = {
    "empty messages": ("/api/chat", PLAIN_SAID % (b"{}," * 40_000)),
    "empty messages within bounds": ("/api/chat", PLAIN_SAID % (b"{}," * (PARTS_MAX - 1))),
    "empty lists": ("/v1/chat/completions", PLAIN_SAID % (b'"%s",' % (b"x" * JSON_MAX_BYTES) + b"[]," * 40_000)),
    "one message of lists": ("/v1/messages", PLAIN_SAID % (b'{"content":[' + b"[]," * 19_000 + b"1]},")),
    "one message of numbers": ("/v1/messages", PLAIN_SAID % (b'{"content":[' + b"1," * 99_000 + b"1]},")),
    "headers": ("/api/generate", b'{"model":"m","prompt":"' + b"### User:\\n" * 100_000 + b'"}'),
    "other headings": ("/api/generate", b'{"model":"m","prompt":"### User:\\n' + b"### A\\n" * 700_000 + b'"}'),
    "backslashes before headers": (
        "/api/generate",
        b'{"model":"m","prompt":"### User:\\n' + (b"\\\\" * 50_000 + b"\\n### User:\\n") * 50 + b'"}',
    ),
    "quotes": ("/api/chat", PLAIN_SAID % (b'{"content":"' + b'\\"' * 3_000_000 + b'"},')),
    "no end": ("/api/chat", b'{"model":"m","messages":[' + b'{"content":"' * 500_000),
    "new messages": (
        "/v1/responses",
        orjson.dumps({"input": [{"role": "user", "content": f"gnommoweb {number}"} for number in range(PARTS_MAX)]}),
    ),
    "new messages behind an answer": (
        "/api/chat",
        PLAIN_SAID
        % (
            b'{"role":"user","content":"hi"},{"role":"assistant","content":"%s"},' % (b"x" * 400)
            + b"".join(b'{"role":"user","content":"gnommoweb %d"},' % number for number in range(PARTS_MAX - 3))
        ),
    ),
    "one line of names": ("/api/chat", PLAIN_SAID % (b'{"role":"user","content":"%s"},' % (b"Kvasir " * 14_000))),
    "statements": (
        "/api/chat",
        PLAIN_SAID % (b'{"role":"user","content":"%s"},' % (b"Gnommoweb is a repo of Kvasir. " * 3_000)),
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_request_keeps_the_others_waiting(
    name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "SLICE_S", 0.0)  # the work rests wherever it may
    proxy = Enriching()
    proxy.teach("gnommoweb", "repo")
    path, body = HOSTILE[name]

    assert max(count_slices(proxy.enricher.enrich(path, body, DOBBY))) < SLICE_STEPS
    assert "enrich.failed" not in caplog.messages


def test_every_format_names_the_field_that_grows() -> None:
    for path, write in FORMATS.values():
        assert WIRES[path].long_field in write(GOES_ON)
