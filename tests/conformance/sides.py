"""The two ways to a stand-in, directly and through Festinger, and what may differ between them: nothing."""

import asyncio
import difflib
import inspect
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from proxy.formats import FORMATS
from tests.conformance.tap import Answer, Tap
from tests.standin import Recorded, StandIn

OFF = {"X-Festinger": "off"}
PROMPTS = tuple(FORMATS)
# What each hop computes for itself: RFC 9110 section 7.6.1, and the framing of bodies.
OF_A_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "te", "trailer", "upgrade"}
OF_THE_PROXY = {"host", "accept-encoding", "via", "expect"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
BOUNDARY = re.compile(r"boundary=([\w-]+)")

Call = Callable[[str], Any]  # takes the server's address


@dataclass(frozen=True, slots=True)
class Side:
    """``tap`` stands in front of all, ``ollama`` behind it."""

    tap: Tap
    ollama: StandIn

    def run(self, call: Call, *, besides: tuple[str, ...] = ()) -> "Seen":
        """``besides``: paths that are asked for at no certain time, and not looked at."""
        self.tap.answers()  # to what was asked after the last call had returned
        self.ollama.load_only("llama3")  # some calls are made to one of the two sides only
        self.ollama.clear()
        outcome = outcome_of(call, self.tap.url)
        answers = [answer for answer in self.tap.answers() if not answer.asked.endswith(besides)]
        requests = [request for request in self.ollama.settled() if not request.path.endswith(besides)]
        return Seen(self.tap, outcome, answers, requests)


@dataclass(frozen=True, slots=True)
class Seen:
    """What one call led to: for the client, on the wire, at the upstream."""

    tap: Tap
    outcome: Any
    answers: list[Answer]
    requests: list[Recorded]

    def lines(self) -> list[str]:
        """All of it as text that is equal for two sides if they are."""
        parts = [
            "--- the client's result",
            *json.dumps(self.outcome, indent=1, default=str, ensure_ascii=False).splitlines(),
            *(line for answer in self.answers for line in answer_lines(answer)),
            *(line for request in self.requests for line in request_lines(request)),
        ]
        return [UUID.sub("UUID", line.replace(f":{self.tap.port}", ":PORT")) for line in parts]


def answer_lines(answer: Answer) -> list[str]:
    left_out = OF_A_HOP | {"date"}
    return [
        f"--- an answer to {answer.asked}: {answer.status}, {'complete' if answer.is_complete else 'broken off'}",
        *sorted(f"{name}: {value}" for name, value in answer.headers if name not in left_out),
        *body_lines(answer.body),
    ]


def request_lines(request: Recorded) -> list[str]:
    named = {name.strip().lower() for name in request.headers.get("connection", "").split(",")}
    left_out = OF_A_HOP | OF_THE_PROXY | named
    headers = [(name.lower(), value) for name, value in request.headers.multi_items()]
    kept = [pair for pair in headers if pair[0] not in left_out and not pair[0].startswith("x-festinger")]
    boundary = BOUNDARY.search(request.headers.get("content-type", ""))
    lines = [
        f"--- a request: {request.method} {request.path}?{request.query}",
        *sorted(f"{name}: {value}" for name, value in kept),
        *body_lines(request.body),
    ]
    return [line.replace(boundary[1], "BOUNDARY") for line in lines] if boundary else lines


def body_lines(body: bytes) -> list[str]:
    return [repr(line) for line in body.splitlines(keepends=True)]


def assert_nothing_differs(direct: Side, proxied: Side, call: Call, *, besides: tuple[str, ...] = ()) -> None:
    """Fails with what differs between the two."""
    here, there = direct.run(call, besides=besides), proxied.run(call, besides=besides)
    if not here.answers:
        pytest.fail(f"nothing was asked: {here.outcome}", pytrace=False)
    for request in here.requests:
        assert request.path not in PROMPTS or "x-festinger" in request.headers, "the client lost the header"
    found = difflib.unified_diff(here.lines(), there.lines(), "directly", "through Festinger", lineterm="", n=1)
    shown = [line if len(line) < 400 else f"{line[:400]} ..." for line in found]
    if shown:
        pytest.fail("\n".join(shown), pytrace=False)


# --- what a client returned or raised, as plain values ---


def outcome_of(call: Call, url: str) -> Any:
    try:
        result = call(url)
        return plain(asyncio.run(result) if inspect.iscoroutine(result) else result)
    except Exception as error:
        return raised(error)


def raised(error: Exception) -> dict[str, Any]:
    status = getattr(error, "status_code", None)
    return {"raised": type(error).__name__, "status": status, "message": str(error)}


def plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", warnings=False)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def drained(stream: Iterator[Any]) -> list[Any]:
    """All that a stream gave, and the error that ended it."""
    found = []
    try:
        found.extend(plain(chunk) for chunk in stream)
    except Exception as error:
        found.append(raised(error))
    return found


async def adrained(stream: AsyncIterator[Any]) -> list[Any]:
    found: list[Any] = []
    try:
        async for chunk in stream:
            found.append(plain(chunk))  # noqa: PERF401 - a list made at once would lose what came before an error
    except Exception as error:
        found.append(raised(error))
    return found
