"""Describes requests for ``/why``, the live view and the log of loops."""

import time
from secrets import token_hex
from typing import Any, Final, TypedDict

from memory import bounds, request_ids
from memory.access.switches import Restrictions
from memory.memories.scope import Scope
from proxy.formats.base import Prompt, WireFormat
from proxy.prompts.placement import Placed
from proxy.telemetry.events import shorten_reasons

NAME_MAX: Final = 200  # characters of a model's name; names with registry and tag have some 60
ID_BYTES: Final = 8
MODEL_NAME = bounds.define("model_name", f"prompts for models whose name has over {NAME_MAX} or unprintable characters")


class RequestInfo(TypedDict):
    """Identifies a request. ``person``: for whom its agent asks, GROUP for several. ``at`` is in seconds since the
    epoch."""

    request: str
    agent: str
    person: str
    model: str
    wire: str
    at: float


def new_request_info(prompt: Prompt, wire: WireFormat, agent: str, person: str, now: float) -> RequestInfo:
    model = prompt.model
    if len(model) > NAME_MAX or not model.isprintable():
        MODEL_NAME.count_hit(characters=len(model))
        model = "".join(character for character in model[:NAME_MAX] if character.isprintable())
    request = token_hex(ID_BYTES)  # so that nobody guesses an id to ask /why about
    return RequestInfo(request=request, agent=agent, person=person, model=model, wire=wire.name, at=now)


def name_speaker(scope: Scope | None, agent: str) -> tuple[str, ...]:
    """Return what tells the conversations of one speaker from those of others: agent, person and project."""
    return (agent,) if scope is None else (*scope.speaker, str(scope.project or ""))


def request_event(
    asked: RequestInfo, placed: Placed | None, off: Restrictions, unread: int, started: float
) -> dict[str, Any]:
    """Return the request's event for ``/why`` and the live view."""
    reasons, left_out = shorten_reasons(placed.recollection.reasons if placed is not None else {})
    return {
        **asked,
        "client_request": "" if request_ids.current() == asked["request"] else request_ids.current(),
        "block": placed.text if placed is not None else "",
        "style": placed.recollection.style if placed is not None else "",
        "reasons": reasons,
        "reasons_left_out": left_out,
        "restrictions": dict(off),
        "unread_characters": unread,
        "enrich_ms": round((time.perf_counter() - started) * 1000, 3),
    }
