"""``manage.py explain`` against the bootstrapped vocabulary."""

import io
import json
import sys
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.served.server import Served


@pytest.fixture(autouse=True)
def on_the_served_database(settings: Any, database: str) -> None:
    settings.DATABASE_URL = database


def explain(*arguments: str, stdin: str = "", monkeypatch: pytest.MonkeyPatch | None = None) -> str:
    out = io.StringIO()
    if monkeypatch is not None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
    call_command("explain", *arguments, stdout=out, no_color=True)
    return out.getvalue()


def test_it_tells_tokens_cues_concepts_and_the_block(server: Served) -> None:
    server.teach("uffish -isa thought in context of poem")

    said = explain("uffish runs on Docker")

    assert "uffish runs on docker" in said
    assert "uffish ISPART docker [runs-on]  confidence 0.80, characters 0-21" in said
    assert "uffish: recalled" in said
    assert "uffish: [poem] thought" in said


def test_it_answers_a_batch_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [{"text": "frumious is a monorepo"}, {"text": "Is it?", "role": "assistant"}]

    said = explain("--jsonl", stdin="\n".join(map(json.dumps, lines)), monkeypatch=monkeypatch)

    first, second = map(json.loads, said.splitlines())
    triple = {"subject": "frumious", "parent": "monorepo", "dimension": "type", "is_isa": True}
    assert first == {
        "tokens": ["frumious", "is", "a", "monorepo"],
        "cues": [
            triple | {"confidence": 0.8, "span": [0, 22], "channel": "user"} | {"kind": "states", "is_hedged": False}
        ],
    }
    assert second == {"tokens": ["is", "it"], "cues": []}


def test_it_tells_how_something_is_said() -> None:
    said = explain("uffish is not a poem but a song. I think frumious runs on Docker.")

    assert "uffish ISA poem [type]  is taken back, confidence 0.80" in said
    assert "uffish ISA song [type]  is so from now on, confidence 0.80" in said
    assert "frumious ISPART docker [runs-on]  confidence 0.56, only believed" in said


def test_it_stores_nothing(server: Served) -> None:
    before = server.client.get("/health").json()["cache"]["tokens"]

    explain("galumphing is a gait")

    assert server.client.post("/reload").json()["cache"]["tokens"] == before


@pytest.mark.parametrize("line", ["nonsense", '{"role": "user"}', '{"text": 5}', '{"text": "x", "role": "king"}', "[]"])
def test_it_names_a_bad_line(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    with pytest.raises(CommandError, match="line 2"):
        explain("--jsonl", stdin='{"text": "fine"}\n' + line, monkeypatch=monkeypatch)
