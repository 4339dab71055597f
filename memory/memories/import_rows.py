"""Adds memories and episodes of another database, or of an earlier time, as a file has them. All functions run inside
the caller's transaction."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.db import connection

from memory.db.connections import columns, fetch_rows
from memory.memories.episodes import EpisodeText, write_spans
from memory.memories.scope import Scope
from memory.memories.store import Action, Change, describe_change, is_personal
from memory.models import Memory, MemoryHistory
from memory.search.lexemes import LEXEMES, fold

# The texts that a memory says: a personal one of the same person, the rest anywhere in the project. In SQL, because
# Python lower-cases some characters differently from Postgres.
FIND_SAME: Final = """
    SELECT DISTINCT place
    FROM unnest(%(texts)s::text[], %(projects)s::int8[], %(agents)s::text[], %(persons)s::text[],
                %(personal)s::bool[]) WITH ORDINALITY AS given (text, project, agent, person, is_personal, place)
    JOIN memory ON lower(memory.text) = lower(given.text) AND project_id IS NOT DISTINCT FROM project
    WHERE memory.id <= %(last)s AND ((memory.agent, memory.person) = (given.agent, given.person)
        OR NOT (memory.is_personal OR given.is_personal))
"""
LEAVE_OUT_EPISODES: Final = """
    SELECT digest, 'known' FROM episode WHERE digest = ANY(%(digests)s)
    UNION ALL SELECT digest, 'forgotten' FROM forgotten_episode WHERE digest = ANY(%(digests)s)
"""
# It was read for memories where it was said: the results are in the file, or were decided about.
INSERT_EPISODES: Final = f"""
    INSERT INTO episode
        (digest, conversation, agent, person, project_id, role, text, quoted, lexemes, said_at, read_at)
    SELECT digest, conversation, agent, person, project, role, text, quoted::int[], {LEXEMES}, at, now()
    FROM unnest(
        %s::bytea[], %s::bytea[], %s::text[], %s::text[], %s::int8[], %s::text[], %s::text[], %s::text[], %s::text[],
        %s::text[], %s::timestamptz[]
    ) WITH ORDINALITY AS said
        (digest, conversation, agent, person, project, role, text, quoted, own, passed_on, at, place)
    ORDER BY place ON CONFLICT (digest) DO NOTHING
"""


class EpisodeCopy(NamedTuple):
    """An episode as a file has it."""

    digest: bytes
    conversation: bytes
    scope: Scope
    role: str
    said: EpisodeText
    at: Any


def lock_memories() -> None:
    """Keep others from writing memories, or from reading them in order to write, until the end of the transaction.
    Locks the whole table: Postgres has no room for a lock on each place of a large file."""
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE memory IN EXCLUSIVE MODE")


def find_same(memories: Sequence[Memory], last: int) -> set[int]:
    """Return the positions in the sequence of what existing memories, up to the id ``last``, say already."""
    said = columns([(one.text, one.project_id, one.agent, one.person, is_personal(one)) for one in memories], 5)
    names = ("texts", "projects", "agents", "persons", "personal")
    rows = fetch_rows(FIND_SAME, {**dict(zip(names, said, strict=True)), "last": last})
    return {place - 1 for (place,) in rows}


def add(memories: Sequence[Memory], by: Change) -> None:
    """Add memories as they describe themselves; the queue embeds them."""
    Memory.objects.bulk_create(memories)
    MemoryHistory.objects.bulk_create([describe_change(memory, Action.CREATE, by, None) for memory in memories])


def leave_out_episodes(digests: Iterable[bytes]) -> dict[bytes, str]:
    """Return the digests that are known here, or that somebody has forgotten, with the reason: they stay so."""
    return {bytes(digest): why for digest, why in fetch_rows(LEAVE_OUT_EPISODES, {"digests": list(digests)})}


def add_episodes(episodes: Sequence[EpisodeCopy]) -> None:
    rows = [
        (
            *(one.digest, one.conversation, *one.scope.speaker, one.scope.project, one.role, one.said.text),
            *(write_spans(one.said.quoted), fold(one.said.own), fold(one.said.passed_on), one.at),
        )
        for one in episodes
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(INSERT_EPISODES, columns(rows, len(rows[0])))
