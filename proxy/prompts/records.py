"""Describes requests for ``/why``, the live view and the log of loops."""

import time
from secrets import compare_digest, token_hex
from typing import Any, Final, TypedDict

from django.utils.crypto import salted_hmac

from memory import bounds, request_ids
from memory.access.switches import Restrictions
from memory.memories.scope import Scope
from proxy.formats.base import Prompt, WireFormat
from proxy.prompts.placement import Placed
from proxy.telemetry.events import shorten_reasons

SALT: Final = "festinger.request"
NAME_MAX: Final = 200  # characters of a model's name; names with registry and tag have some 60
NONCE_BYTES: Final = 5  # of the eight in an id
MODEL_NAME = bounds.define("model_name", f"prompts for models whose name has over {NAME_MAX} or unprintable characters")


class RequestInfo(TypedDict):
    """Identifies a request. ``at`` is in seconds since the epoch."""

    request: str
    agent: str
    model: str
    wire: str
    at: float


def new_request_info(prompt: Prompt, wire: WireFormat, agent: str, person: str, now: float) -> RequestInfo:
    model = prompt.model
    if len(model) > NAME_MAX or not model.isprintable():
        MODEL_NAME.count_hit(characters=len(model))
        model = "".join(character for character in model[:NAME_MAX] if character.isprintable())
    nonce = token_hex(NONCE_BYTES)  # so that nobody guesses an id to ask /why about
    request = f"{nonce}{_sign(nonce, person)}"
    return RequestInfo(request=request, agent=agent, model=model, wire=wire.name, at=now)


def is_request_of(request: str, person: str) -> bool:
    """True if the request with this id was made for that person."""
    nonce, signature = request[: 2 * NONCE_BYTES], request[2 * NONCE_BYTES :]
    return compare_digest(signature.encode(), _sign(nonce, person).encode())


def _sign(nonce: str, person: str) -> str:
    # Events do not name the person; the id lets a caller who knows the person verify it.
    return salted_hmac(SALT, nonce.encode() + person.encode("utf-8", "surrogatepass")).hexdigest()[: 16 - len(nonce)]


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
