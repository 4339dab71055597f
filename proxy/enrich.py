"""The part of the hot path between a request's body and the upstream's: read, observe, recall, inject.

It only reads and writes this process's memory. Whatever goes wrong in it is logged and counted, and the
original request goes on.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import getrandbits
from typing import NamedTuple

import orjson

from memory.cache import Cache
from memory.domain.messages import Message
from memory.encounters import Encounters
from memory.reading import Allowance, Reader, Reading, digest_of
from memory.recall import Recollection, disputes, recollect
from proxy.domain.native import Prompt, WireFormat
from proxy.events import Events, shortened
from proxy.modelfiles import Modelfiles

logger = logging.getLogger(__name__)

WARM_UP = ("The Glitch University repo is a part of Agent Zero.", "Größe ist kein Cue. Gnommoweb is a repo of Zürich.")
MODEL_NAME_MAX = 200  # characters


@dataclass(slots=True)
class Counts:
    """Since the process started. ``partial``: new text was left unread, because it was beyond the allowance."""

    requests: int = 0
    enriched: int = 0
    partial: int = 0
    errors: int = 0


class Enriched(NamedTuple):
    """The body to send; ``request`` is the id to ask ``/why`` with, empty where there is nothing to ask."""

    body: bytes
    request: str = ""


class Enricher:
    def __init__(
        self, cache: Cache, reader: Reader, encounters: Encounters, modelfiles: Modelfiles, events: Events
    ) -> None:
        self.counts = Counts()
        self._cache = cache
        self._reader = reader
        self._encounters = encounters
        self._modelfiles = modelfiles
        self._events = events

    def warm_up(self) -> None:
        """Compiles the patterns that the first prompt would otherwise wait for, some 20 ms; counts nothing."""
        for text in WARM_UP:
            reading = self._reader.read(Message("user", text))
            recollect(self._cache, [reading], time.time())

    def enrich(self, wire: WireFormat, body: bytes, agent: str) -> Enriched:
        """The body with its recollection, or the very same body where there is nothing to add."""
        self.counts.requests += 1
        if self._cache.loaded_at is None:
            return Enriched(body)
        try:
            return self._enrich(wire, body, agent)
        except Exception:
            self.counts.errors += 1
            logger.exception("enrich.failed", extra={"wire": wire.name, "bytes": len(body)})
            return Enriched(body)

    def _enrich(self, wire: WireFormat, body: bytes, agent: str) -> Enriched:
        started, now = time.perf_counter(), time.time()
        payload = parse(body)
        prompt = wire.read(payload) if payload is not None else None
        if payload is None or prompt is None:
            return Enriched(body)
        recollection, unread = self._recollect(prompt, agent, now)
        enriched = self._inject(wire, payload, prompt, recollection.block)
        if enriched is not None:
            self._note_asked(recollection, now)
            self.counts.enriched += 1
        reasons, left_out = shortened(recollection.reasons)
        request = f"{getrandbits(64):016x}"  # not a secret, and without a call of the system
        event = {
            "request": request,
            "agent": agent,
            "model": printable(prompt.model),
            "wire": wire.name,
            "block": recollection.block if enriched is not None else "",
            "reasons": reasons,
            "reasons_left_out": left_out,
            "unread_characters": unread,
            "enrich_ms": round((time.perf_counter() - started) * 1000, 3),
            "at": now,
        }
        self._events.add(event)
        return Enriched(body if enriched is None else enriched, request)

    def _inject(self, wire: WireFormat, payload: dict[str, object], prompt: Prompt, block: str) -> bytes | None:
        """The body with the block; None where there is none, or no place for it."""
        system = "" if prompt.has_system else self._modelfiles.system_of(prompt.model)
        if not block or not wire.place(payload, block, system):
            return None
        return orjson.dumps(payload)

    def _recollect(self, prompt: Prompt, agent: str, now: float) -> tuple[Recollection, int]:
        """The recollection, and how many characters of new text were left unread."""
        readings = self._reader.read_within(prompt.messages, Allowance.of(self._cache))
        pairs = list(zip(prompt.messages, readings, strict=True))
        read = [reading for reading in readings if reading is not None]
        conversation = opening(prompt.messages, readings)
        new = self._encounters.observe(conversation, pairs, now, agent)
        disputes(self._cache, new, now, agent=agent, conversation=conversation)
        unread = sum(len(message.text) for message, reading in pairs if reading is None)
        if unread:
            self.counts.partial += 1
            logger.warning("enrich.partial", extra={"unread_characters": unread})
        return recollect(self._cache, read, now), unread

    def _note_asked(self, recollection: Recollection, now: float) -> None:
        for row in recollection.asked:
            row.asked_count += 1
            row.asked_at = now
        self._encounters.note_asked([row.id for row in recollection.asked], now)


def parse(body: bytes) -> dict[str, object] | None:
    """The JSON object in the body, whatever its Content-Type says; None for anything else."""
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return payload if isinstance(payload, dict) else None


def opening(messages: Sequence[Message], readings: Sequence[Reading | None]) -> bytes:
    """What tells one conversation from another: the digest of its first message that is not the system's, which
    clients rebuild from turn to turn; that of the first where there is no other."""
    first = next((index for index, message in enumerate(messages) if message.role != "system"), 0)
    reading = readings[first]
    return digest_of(messages[first]) if reading is None else reading.digest


def printable(name: str) -> str:
    return "".join(character for character in name[:MODEL_NAME_MAX] if character.isprintable())
