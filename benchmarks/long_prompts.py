"""Long prompts as agents have them: prose, code and the output of tools, no text twice, and many words that were
never seen before."""

import argparse
import http.client
import json.decoder
import logging
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from pydoc_data.topics import topics
from random import Random
from types import ModuleType

import orjson

from benchmarks import prompts
from benchmarks.prompts import identifier, says

TEXT_BYTES = 48_000
HISTORY_BYTES = 400_000
HISTORY_MESSAGES = 200
NEW_CHARACTERS = 1024
RESULT_CHARACTERS = 3000

SOURCES: tuple[ModuleType, ...] = (argparse, http.client, json.decoder, logging, subprocess)
LOG = (
    "2026-03-{day:02} {hour:02}:{minute:02}:07,{number} INFO worker[{number}] job {one} done in {number} ms",
    "2026-03-{day:02} {hour:02}:{minute:02}:12,{number} WARNING {one}: no answer from {two}, trying again",
    "-rw-r--r-- 1 agent agent {number} Mar {day:2} {hour:02}:{minute:02} /srv/{one}/reports/{two}.csv",
    "ERROR tests/{one}/test_{two}.py:{number} - AssertionError: {number} != {minute}",
    '{{"id": "{hex}", "queue": "{one}", "attempts": {minute}, "owner": "{two}"}}',
    "commit {hex} {one}: rename {two}, keep the old name until the next release",
)
SIZES = {"prose": 900, "code": 500, "log": 400}  # characters of one piece, roughly
LONGEST_PIECE = 1100
MIX = ("prose", "prose", "prose", "code", "log", "log")


def long_text(headers: str, seed: int = 4) -> Iterator[bytes]:
    """Requests with one message of TEXT_BYTES, all of it new."""
    random = Random(seed)
    while True:
        yield prompts.request([says("user", passage(random, TEXT_BYTES, prompts.NAMING))], headers)


def long_history(headers: str, seed: int = 5) -> Iterator[bytes]:
    """Requests that resend the same HISTORY_MESSAGES, HISTORY_BYTES in all, and add one new message."""
    random = Random(seed)
    past = history(random)
    while True:
        yield prompts.request([*past, says("user", user(prompts.text(random, NEW_CHARACTERS)))], headers)


def history(random: Random) -> list[dict[str, str]]:
    """A task, and then what the agent did and what its tools returned, in Agent Zero's JSON."""
    said = [says("user", user(prompts.text(random)))]
    while len(said) < HISTORY_MESSAGES:
        said.append(says("assistant", call(random)) if len(said) % 2 else says("user", result(random)))
    return said


def user(text: str) -> str:
    return orjson.dumps({"user_message": text}).decode()


def call(random: Random) -> str:
    thoughts = [piece(random, "prose")[:300], prompts.unseen(random)]
    arguments = {"runtime": "python", "code": piece(random, "code")[:300]}
    return orjson.dumps({"thoughts": thoughts, "tool_name": "code_execution", "tool_args": arguments}).decode()


def result(random: Random) -> str:
    return orjson.dumps({"tool_name": "code_execution", "tool_result": passage(random, RESULT_CHARACTERS)}).decode()


def passage(random: Random, size: int, sentences: Iterable[str] = ()) -> str:
    """So many characters of all kinds of pieces; the sentences stand among them."""
    pieces = list(sentences)
    left = size - sum(len(sentence) + 2 for sentence in pieces)
    while left > LONGEST_PIECE:
        pieces.append(piece(random, random.choice(MIX)))
        left -= len(pieces[-1]) + 2
    pieces.append(piece(random, "prose")[:left])
    random.shuffle(pieces)
    return "\n\n".join(pieces)


def piece(random: Random, kind: str) -> str:
    if kind == "log":
        return "\n".join(log_line(random) for _ in range(SIZES[kind] // 80))
    paragraphs = library()[kind]
    start = random.randrange(len(paragraphs))
    text = "\n\n".join(paragraphs[start : start + 4])[: SIZES[kind]]
    return f"```python\n{text}\n```" if kind == "code" else f"{text}\n{prompts.unseen(random)}"


def log_line(random: Random) -> str:
    return random.choice(LOG).format(
        day=random.randrange(1, 29),
        hour=random.randrange(24),
        minute=random.randrange(60),
        number=random.randrange(100, 100_000),
        hex=f"{random.getrandbits(160):040x}",
        one=identifier(random),
        two=identifier(random),
    )


@cache
def library() -> dict[str, list[str]]:
    """Paragraphs to quote: the reference pages that come with Python, and parts of its library."""
    code = [Path(str(module.__file__)).read_text() for module in SOURCES]
    return {"prose": paragraphs(topics.values()), "code": paragraphs(code)}


def paragraphs(pages: Iterable[str]) -> list[str]:
    return [part for page in pages for part in page.split("\n\n") if part.strip()]
