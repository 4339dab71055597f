"""Reads from Postgres what an index holds, and the facts and older texts that only searches on request look for."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import psycopg

from memory.channels import Channel
from memory.memories import consolidation
from memory.memories.scope import Scope
from memory.search.found import ChanceLikeness, Found, Kind
from memory.search.index import Index, Row
from memory.search.ranking import asks_only, tells_change
from memory.search.vectors.schema import write_vector

TEXTS_MAX: Final = 20_000  # of a scope, the newest; older ones are found on request
LEAST_CONFIDENCE: Final = 0.3  # of a memory that is given on request
LEAST_CONFIDENCE_UNASKED: Final = 0.5  # of one that is added to prompts: it has more
OWN_WORDS, OTHERS_WORDS = 0.8, 0.56  # confidence of a message: it is what somebody said, not what they said that it is
OLDER_BY_WORDS, OLDER_BY_VECTOR = 300, 40
# As episode_words has them (memory.models.semantic.INDEXED_LEXEMES).
INDEXED: Final = "(episode.lexemes || array_to_tsvector(ARRAY[episode.agent || ' ' || episode.person]))"
SPACES: Final = """
    SELECT id, name, dimensions, noise_mean, noise_deviation, is_current FROM embedder
    WHERE dimensions IS NOT NULL AND noise_deviation IS NOT NULL AND to_regclass('episode_vector') IS NOT NULL
"""
_CONFIDENCE: Final = (
    f"CASE WHEN channel = '{Channel.EXPLAINED}' THEN confidence * exp(-{consolidation.DECAY}"
    " * greatest(date_part('epoch', now() - last_updated) / 86400, 0)) ELSE confidence END"
)
_VECTOR: Final = "{kind}_vector.embedder_id, halfvec_send({kind}_vector.vector)"
_NO_VECTOR: Final = "0::bigint, NULL::bytea"
_WORDS: Final = "array_to_string(tsvector_to_array({lexemes}), ' ')"
_EPISODES: Final = f"""
    SELECT episode.id, text, CASE role WHEN 'user' THEN {OWN_WORDS} ELSE {OTHERS_WORDS} END::float8,
        extract(epoch FROM said_at)::float8, agent, role, role, '', false, quoted, '', unfit_for,
        substr(conversation, 1, 8), extract(epoch FROM said_at)::float8,
        role = 'user', is_fiction,
        {_WORDS.format(lexemes="ts_filter(lexemes, '{{a,c}}')")},
        {_WORDS.format(lexemes="ts_filter(lexemes, '{{d}}')")},
        agent, person, project_id, {{vector}}
    FROM episode {{join}} WHERE set_aside_at IS NULL AND hidden_by_id IS NULL AND {{which}}
"""
_MEMORIES: Final = f"""
    SELECT memory.id, text, {_CONFIDENCE}, extract(epoch FROM said_at)::float8, agent, '', channel, category,
        is_disputed, ARRAY[]::int[], slot, unfit_for,
        substr(conversation, 1, 8), extract(epoch FROM created_at)::float8,
        channel NOT IN ('assistant', 'quoted') AND {_CONFIDENCE} > {LEAST_CONFIDENCE_UNASKED}, false,
        {_WORDS.format(lexemes="lexemes")}, '',
        CASE WHEN is_personal THEN agent END, person, project_id, {{vector}}
    FROM memory {{join}} WHERE status = 'active' AND set_aside_at IS NULL AND {_CONFIDENCE} >= {LEAST_CONFIDENCE}
        AND {{which}}
"""
_STATEMENTS: Final[Mapping[Kind, str]] = {"episode": _EPISODES, "memory": _MEMORIES}
_IN_PROJECT: Final = "(project_id IS NULL OR project_id = %(project)s)"
_OWN: Final = "agent = %(agent)s AND person = %(person)s"
NEWEST: Final[dict[Kind, str]] = {
    "episode": f"{_OWN} AND {_IN_PROJECT} ORDER BY episode.id DESC LIMIT {TEXTS_MAX}",
    "memory": f"(NOT is_personal OR {_OWN}) AND {_IN_PROJECT} ORDER BY memory.id DESC LIMIT {TEXTS_MAX}",
}
_OLDER: Final = f"""
    episode.id < %(oldest)s AND {_OWN} AND {_IN_PROJECT} AND episode.id IN (
        (SELECT id FROM episode WHERE {INDEXED} @@ (%(words)s::tsquery && %(speaker)s::tsquery)
            ORDER BY id DESC LIMIT {OLDER_BY_WORDS}){{near}}
    )
"""
_NEAR: Final = """ UNION ALL (
    SELECT v.id FROM episode_vector v JOIN episode one ON one.id = v.id AND one.agent = %(agent)s
        AND one.person = %(person)s
    WHERE v.embedder_id = {space} ORDER BY v.vector::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    LIMIT {most})
"""
_ALIKE: Final = """
    SELECT id FROM (
        SELECT id, 1 - (vector::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})) AS likeness
        FROM {kind}_vector WHERE embedder_id = {space}
        ORDER BY vector::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) LIMIT %(most)s
    ) near WHERE likeness >= %(least)s
"""
# Facts about a concept that the query names, and those that have it as their parent.
_FACTS: Final = """
    SELECT edge_id, confidence, extract(epoch FROM said_at)::float8, agent, channel,
        coalesce(nullif(concept.label, ''), concept.token), coalesce(nullif(parent.label, ''), parent.token),
        dimension.token, is_isa, EXISTS (
            SELECT FROM conflict_member AS member JOIN conflict ON conflict.id = conflict_id
            WHERE member.kind = 'edge' AND object_id = edge_id AND status = 'open'
        ), concept.id, dimension.id, parent.id
    FROM urd JOIN soas concept ON concept.id = urd.id JOIN soas parent ON parent.id = parent_id
    JOIN soas dimension ON dimension.id = dim_id
    WHERE urd.id <> parent_id AND NOT concept.is_muted AND confidence >= %(least)s
        AND (concept.token = ANY(%(tokens)s) OR parent.token = ANY(%(tokens)s) AND NOT parent.is_muted)
    LIMIT 200
"""


class Space(NamedTuple):
    """An embedder that has vectors: only vectors of the same one are compared."""

    id: int
    name: str
    dimensions: int
    noise: ChanceLikeness
    is_current: bool


def read_spaces(cursor: psycopg.Cursor[Any]) -> list[Space]:
    """Return the calibrated embedders, the current one first."""
    spaces = [
        Space(key, name, dimensions, ChanceLikeness(mean, deviation), is_current)
        for key, name, dimensions, mean, deviation, is_current in cursor.execute(SPACES).fetchall()
    ]
    return sorted(spaces, key=lambda space: not space.is_current)


def read_index(cursor: psycopg.Cursor[Any], scope: Scope, dimensions: int) -> Index:
    """Read the newest texts of a scope. ``cursor`` is binary; ``dimensions``: of the vectors, 0 without any."""
    rows = [
        row
        for kind, which in NEWEST.items()
        for _, row in _read(cursor, kind, which, _name(scope), has_vectors=bool(dimensions))
    ]
    rows.sort(key=lambda row: row.found.said_at)
    return Index.of(rows[-TEXTS_MAX:], dimensions)


def read_changed(
    cursor: psycopg.Cursor[Any], kind: Kind, ids: Collection[int], scopes: Collection[Scope], *, has_vectors: bool
) -> dict[Scope, list[Row]]:
    """Read the rows with these ids, by the scopes that may be given them."""
    agents = sorted({scope.speaker.agent for scope in scopes})
    mine = "agent = ANY(%(agents)s)" if kind == "episode" else "(NOT is_personal OR agent = ANY(%(agents)s))"
    arguments = {"ids": list(ids), "agents": agents}
    found = list(_read(cursor, kind, f"{kind}.id = ANY(%(ids)s) AND {mine}", arguments, has_vectors=has_vectors))
    return {scope: [row for whose, row in found if _may_see(scope, *whose)] for scope in scopes}


def read_older(
    cursor: psycopg.Cursor[Any], scope: Scope, index: Index, lexemes: Collection[str], query: tuple[Space, Any] | None
) -> list[Row]:
    """Read those of a speaker's messages that an index is too small for, as far as they have words of the query or are
    near its vector."""
    agent, person = scope.speaker
    arguments = _name(scope) | {
        "oldest": min(index.columns["id"][~index.columns["is_memory"]].tolist(), default=0),
        "words": " | ".join(map(_quote, lexemes)),
        "speaker": _quote(f"{agent} {person}"),
    }
    near = ""
    if query is not None:
        space, vector = query
        near = _NEAR.format(space=space.id, dimensions=space.dimensions, most=OLDER_BY_VECTOR)
        arguments["vector"] = write_vector(vector)
    has_vectors = index.vectors.shape[1] > 0
    return [row for _, row in _read(cursor, "episode", _OLDER.format(near=near), arguments, has_vectors=has_vectors)]


def read_alike(
    cursor: psycopg.Cursor[Any], kind: Kind, space: Space, vector: Sequence[float], least: float, limit: int
) -> list[int]:
    """Return the keys of the texts whose cosine with the vector is the largest, and at least ``least``."""
    arguments = {"vector": write_vector(vector), "least": least, "most": limit}
    query = _ALIKE.format(kind=kind, space=space.id, dimensions=space.dimensions)
    return [key for (key,) in cursor.execute(query.encode(), arguments)]


def read_facts(cursor: psycopg.Cursor[Any], tokens: Collection[str]) -> Sequence[tuple[Any, ...]]:
    return cursor.execute(_FACTS, {"tokens": list(tokens), "least": LEAST_CONFIDENCE}).fetchall()


def _name(scope: Scope) -> dict[str, Any]:
    return {"agent": scope.speaker.agent, "person": scope.speaker.person, "project": scope.project}


def _quote(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _may_see(scope: Scope, agent: str | None, person: str, project: int | None) -> bool:
    is_own = agent is None or (agent, person) == scope.speaker
    return is_own and (project is None or project == scope.project)


def _read(
    cursor: psycopg.Cursor[Any], kind: Kind, which: str, arguments: Mapping[str, Any], *, has_vectors: bool
) -> Iterator[tuple[tuple[Any, ...], Row]]:
    vector = _VECTOR.format(kind=kind) if has_vectors else _NO_VECTOR
    join = f"LEFT JOIN {kind}_vector ON {kind}_vector.id = {kind}.id" if has_vectors else ""
    cursor.execute(_STATEMENTS[kind].format(vector=vector, join=join, which=which).encode(), arguments)
    shared: dict[str, str] = {}
    for row in cursor:
        key, text, confidence, said_at, agent, role, channel, category, is_disputed, quoted, slot, unfit_for = row[:12]
        conversation, known_at, is_unasked, is_fiction, own, passed_on, *whose, space, raw = row[12:]
        words = agent, role, channel, category, slot
        agent, role, channel, category, slot = (shared.setdefault(word, word) for word in words)
        found = Found(
            kind, key, text, confidence, said_at, agent, role, channel, category, is_disputed, tuple(quoted), slot,
            unfit_for=tuple(unfit_for),
        )  # fmt: skip
        yield (
            tuple(whose),
            Row(
                found,
                int.from_bytes(conversation or b""),
                known_at,
                is_unasked,
                is_fiction,
                kind == "episode" and role == "user" and tells_change(text),
                kind == "episode" and role == "user" and asks_only(text),
                [*map(hash, filter(None, own.split(" ")))],
                [*map(hash, filter(None, passed_on.split(" ")))],
                space or 0,
                # Postgres sends a halfvec as two 16-bit numbers, then its own.
                None if raw is None else np.frombuffer(raw, dtype=">f2", offset=4),
            ),
        )
