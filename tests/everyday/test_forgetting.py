"""Requests to forget and not to remember, as a fresh hand wrote them, through a whole Festinger."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.everyday.running import player

DATA = Path(__file__).parents[1] / "memory" / "attribution" / "data" / "forget_requests.jsonl"


def as_row(number: int, asked: dict[str, Any]) -> dict[str, Any]:
    before = [{"say": text} for text in asked["before"]]
    before += [{"say": text, "chat": "c"} for text in asked.get("chat_before", ())]
    gone, kept = asked["gone"], [part for part in asked["kept"] if part.isascii()]  # JSON escapes the others
    steps = [
        *before,
        {"say": asked["text"], "chat": "c", "block_lacks": gone if asked["effect"] == "about" else []},
        {"ask": asked["ask"], "block_lacks": gone},
        {"search": asked["ask"], "lacks": gone},
        {"search": " ".join(gone), "lacks": gone},
        {"search": asked["ask_kept"], "has": kept},
    ]
    return {"class": asked["effect"], "id": f"forget-{number:03}", "steps": steps}


@pytest.mark.slow
def test_requests_in_plain_words_do_what_they_ask() -> None:
    asked = [json.loads(line) for line in DATA.read_text().splitlines()]

    with player() as plays:
        played = plays.play([as_row(number, one) for number, one in enumerate(asked)])

    failed = [f"{each.row['id']}: {failure}" for each in played for failure in each.failures[:1]]
    assert len(failed) <= len(asked) // 20, "\n".join(failed)
