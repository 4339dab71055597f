"""The one statement of a search. What users write reaches it only as parameters."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from memory.domain.channels import Channel
from memory.domain.text.tokenizer import find_words
from memory.search.ranking import ASKS_ONLY, NO_VECTOR_WEIGHT, SHARE_WEIGHT, asks_for_list
from memory.search.request import KINDS, Kind, SearchRequest, Types
from memory.semantic.domain import consolidation
from memory.semantic.domain.noise import Noise
from memory.semantic.vectors.schema import write_vector

WORDS_MAX: Final = 40  # lexemes of a query that count, the rarest first
NEEDLES_MAX: Final = 6  # of them, by which the full-text index is asked
HITS_MAX: Final = 300  # texts that the index returns, of each kind
HITS_KEPT: Final = 40  # of them, those with most of these words
NEAREST_MAX: Final = 40  # texts by their vectors, of each kind
FOUND_MAX: Final = 24  # of each kind, best first, that are read whole
EXACT_MAX: Final = 20_000  # texts in scope whose vectors are compared one by one; HNSW finds the nearest of more
ENGLISH_MESSAGES: Final = 1_000_000  # of which english_lexeme counts those that have a lexeme
ENDED_MAX: Final = 50  # superseded facts of the named concepts
PROFILE_MAX: Final = 40  # of a speaker's memories that are about themselves, the newest
RECENT_MAX: Final = 40  # of their messages, if they ask for a list
STATEMENTS_MAX: Final = 256  # that are kept, one for each project and kind of search
OWN_WORDS, OTHERS_WORDS = 0.8, 0.5  # confidence of a message: it is what somebody said, not what they said that it is

# As episode_words has them (memory.models.semantic.INDEXED_LEXEMES).
INDEXED: Final = "(episode.lexemes || array_to_tsvector(ARRAY[episode.agent || ' ' || episode.person]))"

_PARAMETER: Final = re.compile(r"%\((\w+)\)s")
# Set once a connection. The statement has no constants that a plan would depend on, and takes long to plan. HNSW has to
# go on where the filter on a scope leaves too few of the nearest.
FOR_THE_CONNECTION: Final = (
    "SET jit = off; SET plan_cache_mode = force_generic_plan; SET random_page_cost = 1.1;"
    "SET hnsw.iterative_scan = relaxed_order; SET hnsw.max_scan_tuples = 5000"
)
CURRENT_EMBEDDER: Final = """
    SELECT id, name, dimensions, noise_mean, noise_deviation FROM embedder
    WHERE is_current AND dimensions IS NOT NULL AND noise_deviation IS NOT NULL
        AND to_regclass('episode_vector') IS NOT NULL
"""
_WORDS: Final = f"""
    words AS MATERIALIZED (
        SELECT weight / sum(weight) OVER () AS share, query::tsquery AS anybodys, (query || ':A')::tsquery AS own
        FROM (
            SELECT '''' || replace(replace(word.lexeme, '\\', '\\\\'), '''', '''''') || '''' AS query,
                ln(1 + {ENGLISH_MESSAGES} / (coalesce(messages, 0) + 0.5::float8)) AS weight
            FROM unnest(to_tsvector('english', %(text)s)) word LEFT JOIN english_lexeme USING (lexeme)
            ORDER BY weight DESC LIMIT {WORDS_MAX}
        ) asked
    ),
    rarest AS MATERIALIZED (SELECT share, own, anybodys FROM words ORDER BY share DESC LIMIT {NEEDLES_MAX}),
    needles AS MATERIALIZED (
        SELECT string_agg(own::text, ' | ')::tsquery AS own, string_agg(anybodys::text, ' | ')::tsquery AS anybodys
        FROM rarest
    )
"""
# A user's message is visible if it is the speaker's own; the limit bounds what is compared one by one. Where a search
# has met the limit, later ones are told so: to count that far takes longer than all the rest.
_OWN: Final = f"""
    own_{{kind}} AS MATERIALIZED (
        SELECT id FROM {{kind}} WHERE %(counted_{{kind}})s = 0 AND {{visible}} LIMIT {EXACT_MAX + 1}
    ),
    size_{{kind}} AS MATERIALIZED (SELECT %(counted_{{kind}})s + count(*) AS texts FROM own_{{kind}})
"""
# Where the process holds the vectors, it has compared and counted them, but for those of the last moments.
_COMPARED: Final = f"""
    newer_{{kind}} AS MATERIALIZED (
        SELECT id FROM {{kind}} WHERE {{visible}} AND id > %(newest)s ORDER BY id DESC LIMIT {EXACT_MAX}
    ),
    size_{{kind}} AS MATERIALIZED (SELECT %(texts)s + count(*) AS texts FROM newer_{{kind}})
"""
_NEAR_COMPARED: Final = f"""
    SELECT id FROM {{kind}} WHERE id = ANY(string_to_array(%(nearest)s, ' ')::bigint[]) AND {{visible}}
    UNION ALL (SELECT id FROM newer_{{kind}} LIMIT {NEAREST_MAX})
"""
_TEXTS: Final = f"""
    {{own}},
    hit_{{kind}} AS MATERIALIZED (
        SELECT id FROM (
            SELECT id, (
                SELECT sum(rarest.share) FROM rarest WHERE {{kind}}.lexemes @@ rarest.{{column}}
            ) AS share
            FROM {{kind}} WHERE {{matches}} LIMIT {HITS_MAX}
        ) matched ORDER BY share DESC LIMIT {HITS_KEPT}
    ),
    near_{{kind}} AS MATERIALIZED ({{near}}),
    found_{{kind}} AS MATERIALIZED (
        SELECT {{kind}}.id, {{cosine}} AS cosine, matched.share
        FROM (SELECT id FROM hit_{{kind}} UNION SELECT id FROM near_{{kind}}) candidate
        JOIN {{kind}} ON {{kind}}.id = candidate.id {{join}}
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(words.share), 0) AS share FROM words WHERE {{kind}}.lexemes @@ words.{{column}}
        ) matched
        WHERE {{tells}}
        ORDER BY coalesce({{cosine}} + {SHARE_WEIGHT} * matched.share, {NO_VECTOR_WEIGHT} * matched.share) DESC
        LIMIT {FOUND_MAX}
    )
"""
_NEAR: Final = f"""
    (
        SELECT own.id FROM own_{{kind}} own
        JOIN {{kind}}_vector ON {{kind}}_vector.id = own.id AND embedder_id = {{embedder}}
        WHERE (SELECT texts FROM size_{{kind}}) <= {EXACT_MAX} ORDER BY {{distance}} LIMIT {NEAREST_MAX}
    ) UNION ALL (
        SELECT {{kind}}.id FROM {{kind}}_vector JOIN {{kind}} ON {{kind}}.id = {{kind}}_vector.id
        WHERE (SELECT texts FROM size_{{kind}}) > {EXACT_MAX} AND embedder_id = {{embedder}} AND {{visible}}
        ORDER BY {{distance}} LIMIT {NEAREST_MAX}
    )
"""
# With a disputed memory come those that dispute its slot, as far as they are visible.
_MEMORIES: Final = """
    SELECT 'memory', memory.id, text, {confidence}, extract(epoch FROM said_at)::float8, agent, '', channel, category,
        is_disputed, found.cosine, found.share, ARRAY[]::int[], slot, NULL::json
    FROM (
        SELECT * FROM found_memory UNION ALL
        SELECT DISTINCT ON (memory.id) memory.id, found.cosine, found.share
        FROM found_memory found JOIN memory one ON one.id = found.id AND one.is_disputed AND one.slot <> ''
        JOIN memory ON memory.slot = one.slot AND memory.category = one.category AND memory.is_disputed
            AND memory.project_id IS NOT DISTINCT FROM one.project_id AND {visible}
        WHERE memory.id NOT IN (SELECT id FROM found_memory)
    ) found JOIN memory ON memory.id = found.id
"""
# With each message the user's next one in its conversation.
_EPISODES: Final = f"""
    SELECT 'episode', episode.id, text, CASE role WHEN 'user' THEN {OWN_WORDS} ELSE {OTHERS_WORDS} END::float8,
        extract(epoch FROM said_at)::float8, agent, role, role, '', false,
        found.cosine, found.share, quoted, '', next.message
    FROM found_episode found JOIN episode ON episode.id = found.id
    LEFT JOIN LATERAL (
        SELECT json_build_array(one.id, one.text, extract(epoch FROM one.said_at)::float8, one.quoted) AS message
        FROM episode one
        WHERE one.conversation = episode.conversation AND one.id > episode.id AND one.role = 'user' AND {{visible_one}}
        ORDER BY one.id LIMIT 1
    ) next ON episode.role = 'user'
"""
_PROFILE: Final = f"""
    SELECT 'profile', memory.id, text, {{confidence}}, extract(epoch FROM said_at)::float8, agent, '', channel,
        category, is_disputed, NULL::float8, 0::float8, ARRAY[]::int[], slot, NULL::json
    FROM memory WHERE memory.agent = %(agent)s AND memory.person = %(person)s AND is_personal AND {{visible}}
    ORDER BY memory.id DESC LIMIT {PROFILE_MAX}
"""
_RECENT: Final = f"""
    SELECT 'recent', episode.id, text, {OWN_WORDS}::float8, extract(epoch FROM said_at)::float8, agent, role, role, '',
        false, NULL::float8, 0::float8, quoted, '', NULL::json
    FROM episode WHERE role = 'user' AND {{visible}} AND NOT (is_fiction AND %(is_about_speaker)s)
    ORDER BY said_at DESC LIMIT {RECENT_MAX}
"""


def _shown(word: str) -> str:
    return f"coalesce(nullif({word}.label, ''), {word}.token)"


# Facts about a concept that the query names, and those that have it as their parent.
_FACTS: Final = f"""
    SELECT 'fact', edge_id, '', confidence, extract(epoch FROM said_at)::float8, agent, '', channel, '',
        false, NULL::float8, matched.share, ARRAY[]::int[], '',
        json_build_array({_shown("concept")}, {_shown("parent")}, dimension.token, is_isa,
            concept.id, dimension.id, parent.id)
    FROM (
        SELECT urd.* FROM named JOIN urd ON urd.id = named.id
        UNION
        SELECT urd.* FROM named JOIN urd ON urd.parent_id = named.id
    ) edge
    JOIN soas concept ON concept.id = edge.id
    JOIN soas parent ON parent.id = edge.parent_id
    JOIN soas dimension ON dimension.id = edge.dim_id
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(words.share), 0) AS share FROM words
        WHERE to_tsvector('english', concat_ws(' ', concept.token, replace(dimension.token, '-', ' '), parent.token))
            @@ words.anybodys
    ) matched
    WHERE edge.id <> edge.parent_id AND NOT concept.is_muted AND confidence >= %(least_confidence)s
    ORDER BY matched.share DESC, confidence DESC LIMIT {FOUND_MAX}
"""
_NAMED: Final = """
    named AS MATERIALIZED (
        SELECT id FROM soas
        WHERE token = ANY(string_to_array(%(tokens)s, ' ')) AND NOT is_muted AND (NOT is_common OR NOT %(is_unasked)s)
    )
"""
_ENDED: Final = f"""
    SELECT 'ended', 0, '', 0, 0, '', '', '', '', false, NULL, 0, ARRAY[]::int[], '',
        json_agg(json_build_array(token, parent, until))
    FROM (
        SELECT concept.token, parent.token AS parent, extract(epoch FROM max(gone.at))::float8 AS until
        FROM soas concept
        JOIN edge_history gone ON gone.concept_id = concept.id AND gone.action IN ('retire', 'supersede')
        JOIN soas parent ON parent.id = (gone.before ->> 'parent_id')::bigint
        WHERE concept.token = ANY(string_to_array(%(tokens)s, ' '))
            AND NOT EXISTS (SELECT FROM urd WHERE urd.id = concept.id AND urd.parent_id = parent.id)
        GROUP BY concept.token, parent.token LIMIT {ENDED_MAX}
    ) past
"""
_SIZES: Final = """
    SELECT 'size', {sizes}::bigint, '', 0::float8, 0::float8, '', '', '', '', false, NULL::float8, 0::float8,
        ARRAY[]::int[], '', json_build_object({by_kind})
"""


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The current embedder: only vectors of the same one are compared."""

    id: int
    name: str
    dimensions: int
    noise: Noise

    @classmethod
    def of(cls, row: Sequence[Any] | None) -> "VectorSpace | None":
        """From a row of CURRENT_EMBEDDER; None where there is none."""
        if row is None:
            return None
        key, name, dimensions, mean, deviation = row
        return cls(key, name, dimensions, Noise(mean, deviation))


class Nearest(NamedTuple):
    """The episodes that are nearest to a query, in no order; how many were compared, and the newest of all."""

    ids: Sequence[int]
    texts: int
    newest: int


def compose(
    request: SearchRequest,
    space: VectorSpace | None,
    vector: Sequence[float] | None,
    nearest: Nearest | None = None,
    large: Collection[Kind] = (),
) -> tuple[str, dict[str, Any]]:
    """The statement and its parameters; without a vector of the query, what is found has no cosine. Postgres compares
    the vectors of episodes where ``nearest`` is None. ``large``: kinds of which the scope has more than EXACT_MAX."""
    if vector is None or space is None or len(vector) != space.dimensions or not any(vector):
        space = nearest = None
    asked = Asked.of(request, space, is_compared=nearest is not None)
    counted = {f"counted_{kind}": EXACT_MAX + 1 if kind in large else 0 for kind in request.kinds}
    arguments = (
        request.arguments
        | counted
        | {
            "text": request.text,
            "tokens": " ".join(sorted(find_words(request.text).tokens)),  # psycopg is slow with arrays of hundreds
            "is_unasked": request.is_unasked,
            "is_about_speaker": asks_for_list(request.query) != "talks",  # in a story, "I" is somebody else
        }
    )
    if space is not None and vector is not None:
        arguments["vector"] = write_vector(vector)
    if nearest is not None:
        ids = " ".join(map(str, nearest.ids))
        arguments |= {"nearest": ids, "texts": nearest.texts, "newest": nearest.newest}
    return write_statement(asked), arguments


class Asked(NamedTuple):
    """The choices that the statement depends on, beside parameters. ``space``: id and dimensions of the embedder."""

    types: Types
    project: int | None
    is_unasked: bool
    has_conversation: bool
    is_list: bool
    space: tuple[int, int] | None = None
    is_compared: bool = False

    @classmethod
    def of(cls, request: SearchRequest, space: VectorSpace | None = None, *, is_compared: bool = False) -> "Asked":
        embedder = None if space is None else (space.id, space.dimensions)
        has_conversation = request.conversation is not None
        is_list = bool(asks_for_list(request.query))
        return cls(
            request.types, request.scope.project, request.is_unasked, has_conversation, is_list, embedder, is_compared
        )


@lru_cache(STATEMENTS_MAX)
def write_statement(asked: Asked) -> str:
    kinds = [kind for kind in KINDS[asked.types] if kind != "fact"]
    parts = [_WORDS]
    parts += [_find_texts(asked, kind) for kind in kinds]
    sizes = {kind: f"(SELECT texts FROM size_{kind})" for kind in kinds}
    by_kind = ", ".join(f"'{kind}', {size}" for kind, size in sizes.items())
    selects = [_SIZES.format(sizes=" + ".join(sizes.values()) or "0", by_kind=by_kind)]
    if "memory" in kinds:
        seen = visible("memory", asked)
        selects.append(_MEMORIES.format(confidence=confidence(), visible=seen))
        selects.append(_PROFILE.format(confidence=confidence(), visible=seen))
    if "episode" in kinds:
        selects += [_EPISODES.format(visible_one=visible("episode", asked, table="one")), _ENDED]
        if asked.is_list:
            selects.append(_RECENT.format(visible=visible("episode", asked)))
    if "fact" in KINDS[asked.types]:
        parts.append(_NAMED)
        selects.append(_FACTS)
    return f"WITH {', '.join(parts)} {' UNION ALL '.join(f'({select})' for select in selects)}"


@lru_cache(STATEMENTS_MAX)
def number_parameters(statement: str) -> tuple[bytes, Sequence[str]]:
    """The statement with its parameters as Postgres numbers them, and their names in that order: so that psycopg need
    not look through all of it each time."""
    names = list(dict.fromkeys(_PARAMETER.findall(statement)))
    numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
    return _PARAMETER.sub(lambda match: numbers[match[1]], statement).encode(), names


def _find_texts(asked: Asked, kind: Kind) -> str:
    own_label = asked.is_unasked and kind == "episode"  # a memory's lexemes have no labels
    is_compared = asked.is_compared and kind == "episode"
    sql = {
        "kind": kind,
        "visible": (seen := visible(kind, asked)),
        "own": (_COMPARED if is_compared else _OWN).format(kind=kind, visible=seen),
        "column": (column := "own" if own_label else "anybodys"),
        "matches": f"lexemes @@ (SELECT {column} FROM needles) AND {seen}",
        "near": "SELECT 0::bigint AS id WHERE false",
        "cosine": "NULL::float8",
        "join": "",
        "tells": "true",
    }
    if kind == "episode":
        by_index = f"{INDEXED} @@ (SELECT {column} && %(speaker)s::tsquery FROM needles)"
        sql["matches"] = f"{by_index} AND {visible(kind, asked, is_indexed=False)}"
        # What somebody once asked tells nobody anything.
        sql["tells"] = f"(role <> 'user' OR text !~ '^({ASKS_ONLY})$')"
    if asked.space is not None:
        embedder, dimensions = asked.space
        cast = f"halfvec({dimensions})"
        distance = f"{kind}_vector.vector::{cast} <=> (SELECT %(vector)s::{cast})"
        near = _NEAR_COMPARED if is_compared else _NEAR
        sql["near"] = near.format(kind=kind, embedder=embedder, distance=distance, visible=seen)
        sql["cosine"] = f"(1 - ({distance}))"
        sql["join"] = f"LEFT JOIN {kind}_vector ON {kind}_vector.id = {kind}.id AND embedder_id = {embedder}"
    return _TEXTS.format(**sql)


def visible(kind: Kind, asked: Asked, *, table: str = "", is_indexed: bool = True) -> str:
    """The condition on every text that is read. Parameters: those of ``SearchRequest.arguments``. Without
    ``is_indexed`` Postgres looks nothing up by it: to list all that one speaker said, or all of one project, takes
    longer than the rest where that is a million messages."""
    column = f"{table or kind}."
    equals = "=" if is_indexed else "IS NOT DISTINCT FROM"  # for which no index is used
    spoken_by = f"{column}agent {equals} %(agent)s AND {column}person {equals} %(person)s"
    shared = f"{column}project_id IS NULL"
    conditions = [shared if asked.project is None else f"({shared} OR {column}project_id {equals} {asked.project:d})"]
    conditions.append(f"{column}set_aside_at IS NULL")
    if kind == "episode":
        conditions += [spoken_by, f"{column}hidden_by_id IS NULL"]
        if asked.is_unasked:
            # Not what this very prompt says: it may be stored before the search ends.
            conditions += [f"{column}role = 'user'", f"{column}said_at < to_timestamp(%(asked_at)s)"]
    else:
        conditions += [
            f"(NOT {column}is_personal OR {spoken_by})",
            f"{column}status = 'active'",
            f"{confidence(table or kind)} {'>' if asked.is_unasked else '>='} %(least_confidence)s",
        ]
        if asked.is_unasked:
            conditions += [
                f"{column}channel NOT IN ('assistant', 'quoted')",
                f"{column}created_at < to_timestamp(%(asked_at)s)",
            ]
    if asked.has_conversation:
        conditions.append(f"{column}conversation IS DISTINCT FROM %(conversation)s")
    return " AND ".join(conditions)


def confidence(table: str = "memory") -> str:
    """SQL of a memory's confidence today: memory.semantic.store.current_confidence."""
    days = f"greatest(date_part('epoch', now() - {table}.last_updated) / 86400, 0)"  # extract is slow: it is numeric
    return (
        f"CASE WHEN {table}.channel = '{Channel.EXPLAINED}' THEN {table}.confidence"
        f" * exp(-{consolidation.DECAY} * {days}) ELSE {table}.confidence END"
    )
