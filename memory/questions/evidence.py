"""Stores the newest sentences that name a concept: a language model sees them when it is asked what the concept is."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memory.attribution.parts import own_words
from memory.cache.state import Cache
from memory.db.connections import PAST, Connection, chunks, columns, insert_in_parts
from memory.graph.saliency import is_salient
from memory.learning.messages import NewMessage
from memory.questions.snippets import sentences_naming
from memory.types import SoasRow
from memory.voice import Voice

KEPT = 5  # sentences per concept, the newest
NAMES_MAX = 40  # per message: each costs some 50 microseconds
ROWS_A_STATEMENT = 1_000
# Not the assistant: a model's own invention would become its own evidence.
SPEAKERS = frozenset({"user", "system", "tool"})
OWN_VOICES = frozenset({"user", "system"})  # whose sentences count as what people said

KEEP = f"""
    INSERT INTO evidence (concept_id, sentence, role, agent, person, said_at)
    SELECT soas.id, said.sentence, said.role, said.agent, said.person, {PAST.format("said.at")}
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::float8[])
        AS said (token, sentence, role, agent, person, at)
    JOIN soas USING (token)
    ORDER BY soas.id
    ON CONFLICT (concept_id, sentence) DO UPDATE SET said_at = greatest(evidence.said_at, excluded.said_at),
        agent = CASE WHEN evidence.set_aside_at IS NULL THEN evidence.agent ELSE excluded.agent END,
        person = CASE WHEN evidence.set_aside_at IS NULL THEN evidence.person ELSE excluded.person END,
        set_aside_at = NULL, set_aside_by_id = NULL
    RETURNING concept_id
"""
TRIM = """
    DELETE FROM evidence USING (
        SELECT id, row_number() OVER (PARTITION BY concept_id ORDER BY said_at DESC, id DESC) AS place
        FROM evidence WHERE concept_id = ANY(%s)
    ) AS ranked
    WHERE evidence.id = ranked.id AND place > %s
"""


class Snippet(NamedTuple):
    """A sentence that names a concept. ``at``: seconds since the epoch."""

    concept: str
    sentence: str
    role: str
    agent: str
    person: str
    at: float


async def store_snippets(
    connection: Connection, cache: Cache, new: Iterable[NewMessage], rows: Mapping[str, SoasRow]
) -> None:
    """Store the newest sentences in which new messages name concepts; ``rows``: those of their words. What Postgres
    refuses is logged and dropped."""

    async def insert(some: Sequence[Snippet]) -> None:
        async with connection.transaction():
            cursor = await connection.execute(KEEP, columns(some, 6))
            concepts = {concept for (concept,) in await cursor.fetchall()}
            await connection.execute(TRIM, [sorted(concepts), KEPT])

    for some in chunks(collect_snippets(cache, new, rows), ROWS_A_STATEMENT):
        await insert_in_parts(some, insert, "evidence")


def collect_snippets(cache: Cache, new: Iterable[NewMessage], rows: Mapping[str, SoasRow]) -> list[Snippet]:
    """Return at most ``KEPT`` different sentences per concept, the newest first."""
    found: dict[tuple[str, str], Snippet] = {}
    counts: Counter[str] = Counter()
    for message in sorted(new, key=lambda message: message.at, reverse=True):
        person = message.scope.speaker.person if message.scope is not None else ""
        names = [name for name in select_names(cache, message, rows) if counts[cache.canonical(name)] < KEPT]
        # Sentences that others may have written are no evidence of what a concept is.
        is_own = bool(names) and message.role in OWN_VOICES
        text = own_words(message.text, Voice.SHARED) if is_own else message.text
        for name, sentence in sentences_naming(text, names).items():
            concept = cache.canonical(name)
            if (concept, sentence) not in found:
                role = "tool" if message.is_quoted else message.role
                found[concept, sentence] = Snippet(concept, sentence, role, message.agent, person, message.at)
                counts[concept] += 1
    return list(found.values())


def select_names(cache: Cache, message: NewMessage, rows: Mapping[str, SoasRow]) -> list[str]:
    """Return the salient tokens of the message that are neither common nor muted, those without facts first; at most
    ``NAMES_MAX``."""
    if message.role not in SPEAKERS:
        return []
    threshold = cache.tuning.saliency_read_threshold
    salient = (
        name
        for name in sorted(message.names)
        if (row := rows.get(name)) and is_salient(row, threshold) and not (row.is_common or cache.is_muted(name, row))
    )
    return sorted(salient, key=lambda name: rows[name].id in cache.urd_by_concept)[:NAMES_MAX]
