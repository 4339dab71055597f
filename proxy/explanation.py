"""Explains in words what a text or a whole request would do, for ``manage.py explain`` and the admin's *Try a text*."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Any, Final

import orjson
from asgiref.sync import async_to_sync
from django.conf import settings

from memory.attribution.parts import find_voices, has_fiction
from memory.cache.followers import OwnFactsFollower
from memory.cache.loader import load_cache
from memory.cache.state import Cache
from memory.db.connections import open_connection
from memory.english.doubt import SpeechAct
from memory.english.phrases import as_compact, format_count, format_triple
from memory.english.refusals import find_refusals
from memory.english.statements import CueMatch
from memory.graph.statement import Statement
from memory.llm.errors import LlmError
from memory.models import Episode
from memory.models.graph import CHANNELS
from memory.search.searcher import Searcher
from memory.search.vectors import builtin
from memory.search.vectors.embedders import BUILTIN
from memory.types import NAMES
from memory.voice import Voice, weaker_of
from proxy import runtime
from proxy.access.caller import Caller
from proxy.config.file import environment, read_file
from proxy.formats import FORMATS, guess_path
from proxy.formats.streams import parse_object
from proxy.prompts.dry_run import DryRun, Lesson, run_dry
from resolution.intake.place import Outcome
from resolution.memories.reading import preview_memories
from resolution.observations import preview_statements

CONNECT_S: Final = 5.0
EXCERPT_MAX: Final = 120  # characters
NAMES_MAX: Final = 100  # names that are listed beside the salient ones
# Descriptions of statements, if they do more than state something.
KINDS: Final = {
    SpeechAct.STATES: "",
    SpeechAct.RETRACTS: "is taken back",
    SpeechAct.CHANGES: "is so from now on",
    SpeechAct.CORRECTS: "corrects what was said",
    SpeechAct.ADDS: "is said beside another",
}
BECAME: Final = {
    "inserted": "new fact",
    "confirmed": "is known already, and confirmed",
    "superseded": "takes the place of: {}",
    "retired": "retires: {}",
    "outdated": "is not stored: a later statement stands, {}",
    "conflict": "contradicts: {}. It becomes a conflict, and the fact stays until that is decided",
    "candidate": "becomes a candidate",
    "needless": "is known already",
    "decided": "is not stored: it was decided before",
    "over_quota": "is not stored",
    "invalid": "is not stored",
}

# The outcomes for a sentence to be remembered.
REMEMBERED: Final = {
    "created": "becomes a memory",
    "promoted": "becomes a memory",
    "confirmed": "is remembered already",
    "candidate": "becomes a candidate",
    "outdated": "is kept, but something newer holds",
    "dismissed": "is not remembered: it was taken back before",
    "over_quota": "is not remembered: a quota is exhausted",
}
KEPT: Final = "is kept as an episode"

# The outcomes for a retraction.
RETRACTED: Final = {
    "conflict": "is to go: {}. It was stated on purpose, so people decide, and it stays until then",
    "needless": "takes nothing out",
    "decided": "takes nothing out",
}


class Untriable(ValueError):
    """The text is no request that can be tried; the message says why, in a sentence."""


@dataclass(frozen=True, slots=True)
class Stated:
    """One statement of the text, and its outcome. ``status`` is that of intake; empty if the statement does not get
    there."""

    fact: str
    match: CueMatch
    sentence: str
    became: str
    status: str = ""

    @property
    def how(self) -> str:
        channel = dict(CHANNELS)[self.match.channel]
        said = (KINDS[self.match.kind], "only believed" if self.match.is_hedged else "", channel)
        return ", ".join([*filter(None, said), f"{round(self.match.confidence * 100)} % sure"])


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a text or request.

    - ``concepts``: each with the reason why it is in or out.
    - ``remembered``: messages and sentences that would be kept as episodes and memories, each with its outcome; None
      for a caller who may not see them.
    - ``untold``: sentences that might seem to state something, each with the reason why they do not.
    """

    run: DryRun
    path: str
    place: str
    concepts: tuple[tuple[str, str], ...]
    remembered: tuple[tuple[str, str], ...] | None
    stated: tuple[Stated, ...]
    voices: tuple[tuple[str, str], ...]  # texts that are not simply the speaker's own, and why
    untold: tuple[tuple[str, str], ...]

    @property
    def asked(self) -> list[str]:
        return [word for word, why in self.concepts if why == "asked"]

    @property
    def sent(self) -> str:
        """The body as it would be sent, or the answer in place of the model's."""
        content = orjson.dumps(parse_object(self.run.answer or self.run.planned.body), option=orjson.OPT_INDENT_2)
        return content.decode()


def read_body(text: str, path: str = "") -> tuple[str, bytes]:
    """Return the path of a whole request, and its body. Raises Untriable."""
    body = text.encode("utf-8", "replace")
    payload = parse_object(body)
    if not payload:
        raise Untriable("It is not a JSON object: a request's body begins with { and ends with }.")
    path = path or guess_path(payload) or ""
    if path not in FORMATS:
        fields = ", ".join(sorted({wire.long_field for wire in FORMATS.values()}))
        raise Untriable(f"It is no prompt: it has none of the fields {fields}.")
    return path, body


async def run_in_server(path: str, body: bytes, caller: Caller, *, searches: bool = True) -> DryRun:
    """Run the request with this server process's state. ``searches`` includes memories and episodes, for those who may
    see them."""
    current = runtime.current()
    searcher = current.searcher if searches else None
    return await run_dry(current.cache, current.enricher.planner.loops, searcher, path=path, body=body, caller=caller)


def explain_in_server(path: str, body: bytes, caller: Caller, *, searches: bool) -> Explanation:
    """Explain a request. Call it in a thread of the server."""
    # The event loop owns the cache, so the dry run has to be there.
    run = async_to_sync(run_in_server)(path, body, caller, searches=searches)
    return explain(runtime.current().cache, run, path, searches=searches)


async def read_graph() -> Cache:
    cache = Cache()
    async with open_connection(settings.DATABASE_URL, "explain") as connection:
        await load_cache(cache, connection)
        await OwnFactsFollower(cache).load(connection)
    return cache


async def run_alone(cache: Cache, path: str, body: bytes, caller: Caller) -> DryRun:
    """Run the request in a process that serves nothing, with a cache of its own. Raises RulesMistakes."""
    if cache.tuning.embedder == BUILTIN:
        with suppress(LlmError):  # like a server, which then searches by words
            await asyncio.to_thread(builtin.load)
    rules = read_file(settings.CONFIG_FILE).with_values(environment())
    searcher = Searcher(settings.DATABASE_URL, cache)
    try:
        await searcher.indexes.read_alone()
        return await run_dry(cache, lambda: rules.loops, searcher, path=path, body=body, caller=caller)
    finally:
        searcher.indexes.close()


def explain(cache: Cache, run: DryRun, path: str, *, searches: bool = True) -> Explanation:
    """Explain the run. Asks the database for the outcome of the statements and, with ``searches``, of what is to be
    remembered."""
    statements = [statement for lesson in run.lessons for statement in lesson.statements]
    outcomes = dict(zip(map(_key_of, statements), preview_statements(statements), strict=True))
    reasons = run.recollection.reasons
    concepts = sorted(reasons.items(), key=lambda one: (one[1] not in ("recalled", "asked"), one))
    return Explanation(
        run=run,
        path=path,
        place=_describe_place(run),
        concepts=(*concepts, *_find_unsalient(cache, run)),
        remembered=tuple(_describe_remembered(run)) if searches else None,
        stated=tuple(stated for lesson in run.lessons for stated in _describe_stated(lesson, outcomes)),
        voices=tuple(voiced for lesson in run.lessons for voiced in _describe_voices(lesson)),
        untold=tuple(
            (refusal.sentence, refusal.why)
            for lesson in run.lessons
            for refusal in find_refusals(lesson.message.text, lesson.message.read.triples)
        ),
    )


def _describe_place(run: DryRun) -> str:
    if run.plan is None or not run.block:
        return ""
    for index in run.plan.edit.tails:
        part = run.plan.prompt.parts[index]
        return f"at the end of message {part.place + 1} ({part.role})"
    return "before the first text"


def _describe_remembered(run: DryRun) -> Iterator[tuple[str, str]]:
    """Yield the texts to be remembered with their outcomes, which the database is asked for."""
    episodes = [row for lesson in run.lessons if (row := _compose_episode(lesson)) is not None]
    yield from ((row.text, KEPT) for row in episodes)
    for remark, outcome in preview_memories(episodes):
        became = REMEMBERED[outcome.status]
        if outcome.superseded:
            became += f", in the place of: {' '.join(memory.text for memory in outcome.superseded)}"
        if outcome.disputed:
            became += f", and contradicts: {' '.join(memory.text for memory in outcome.disputed)}"
        yield remark.text, became


def _compose_episode(lesson: Lesson) -> Episode | None:
    """Return the message as an unsaved row; None if it would not be kept."""
    heard = lesson.message
    kept = heard.compose_episode()
    if heard.scope is None or kept is None:
        return None
    (agent, person), project = heard.scope
    return Episode(
        agent=agent,
        person=person,
        project_id=project,
        role=heard.role,
        text=kept.text,
        quoted=[place for span in kept.quoted for place in span],
        unsure=[place for span in kept.unsure for place in span],
        is_fiction=heard.voice is Voice.FICTION or has_fiction(heard.text),
        conversation=lesson.message.conversation,
        said_at=datetime.fromtimestamp(heard.at, UTC),
    )


def _describe_voices(lesson: Lesson) -> Iterator[tuple[str, str]]:
    heard = lesson.message
    if heard.role not in ("user", "system"):
        return
    if heard.voice is not Voice.SHARED or heard.role == "system":
        voice = weaker_of(heard.voice, Voice.UNSURE if heard.role == "system" else heard.voice)
        yield shorten(heard.text), f"{voice}: {'the system text' if heard.role == 'system' else 'by who says it'}"
    for start, end, voice, reason in find_voices(heard.text):
        if (said := heard.text[start:end].strip()) and voice is not heard.voice:
            yield shorten(said), f"{voice}: {reason}"


def shorten(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= EXCERPT_MAX else f"{said[:EXCERPT_MAX]}…"


def _find_unsalient(cache: Cache, run: DryRun) -> Iterator[tuple[str, str]]:
    """Yield the names that are not concepts yet, and why nothing is recalled or asked about them."""
    names = {name for lesson in run.lessons for name in lesson.message.names}
    needed = ceil(10**cache.tuning.saliency_read_threshold)
    for name in sorted(names - run.recollection.reasons.keys())[:NAMES_MAX]:
        row = cache.soas_by_token.get(name)
        if row is not None and row.is_muted:
            yield name, "muted"
        elif row is None or not row.is_common:
            met = row.encounter_count if row is not None else 0
            yield name, f"not salient: met {format_count(met, 'time')}, {needed} are needed"


def _describe_stated(lesson: Lesson, outcomes: dict[Any, Outcome]) -> Iterator[Stated]:
    known = {(one.subject, one.parent, one.dimension, one.is_isa): one for one in lesson.statements}
    for match in lesson.message.read.triples:
        triple = (match.subject, match.parent, match.dimension, match.is_isa)
        statement = known.get(triple)
        fact = as_compact(*triple[:3], is_isa=match.is_isa)
        if statement is None:
            yield Stated(fact, match, lesson.message.text[match.start : match.end], _explain_silence(match, lesson))
            continue
        outcome = outcomes[_key_of(statement)]
        existing = format_triple(outcome.existing) if outcome.existing is not None else "another fact"
        became = BECAME.get(outcome.status, outcome.status).format(existing)
        if match.dimension == NAMES and outcome.status in ("inserted", "superseded"):
            became = "becomes another name"
        if match.kind is SpeechAct.RETRACTS and outcome.status in RETRACTED:
            became = RETRACTED[outcome.status].format(existing)
        sentence = f"{became}. {outcome.reason}" if outcome.reason else f"{became}."
        yield Stated(fact, match, statement.evidence, sentence, outcome.status)


def _explain_silence(match: CueMatch, lesson: Lesson) -> str:
    """Explain why a statement that was found is not passed on."""
    if match.kind is SpeechAct.RETRACTS and any(one.instead_of == match.parent for one in lesson.statements):
        return "is replaced by what the same sentence says next."
    if match.kind is SpeechAct.RETRACTS:
        return "takes nothing out: only what a user says after the model's last answer does."
    return "is not learned: there are too many statements in this message."


def _key_of(statement: Statement) -> Any:
    return statement.key, statement.subject, statement.parent, statement.dimension, statement.is_isa
