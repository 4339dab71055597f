"""The statements of a search. ``{own}`` and the like become conditions that name the scope's columns as an index has
them; what users write only ever comes as a parameter."""

from collections.abc import Iterable
from typing import Final

from memory.domain.language.english import memory_phrases
from memory.semantic.domain import consolidation
from memory.semantic.domain.found import FoundKind
from memory.semantic.domain.scope import PERSONAL, Scope

HITS_MAX: Final = 500  # by their words, of each kind
COMPARED_MAX: Final = 30  # of them, by their rarest words, that are looked at closely
COMPARED_ASKED_MAX: Final = 60
NEAREST_MAX: Final = 40  # by their vectors
AROUND_MAX: Final = 20  # hits whose neighbours in the conversation are looked at, too
EXACT_MAX: Final = 2_000  # vectors that are compared one by one; of more an index knows the nearest
RELATED_MAX: Final = 8  # concepts beside those that are named

ENDED_MAX: Final = 50  # facts of the named concepts that hold no more

# What is known before the search: the question's lexemes with their frequencies, those of its parts, those of what it
# speaks of only in general, those of the named concepts' neighbours in the graph, facts of theirs that hold no more,
# sizes, the embedder.
PREPARE: Final = """
    SELECT json_build_object(
        'terms', (
            SELECT json_agg(json_build_array(
                asked.lexeme, {memory_frequency}, {episode_frequency}, {english_frequency}
            ))
            FROM unnest(to_tsvector('english', %(text)s)) AS asked
        ),
        'related', (
            SELECT json_agg(DISTINCT near.lexeme) FROM (
                SELECT other.token FROM soas named
                JOIN LATERAL (
                    (SELECT parent_id AS id FROM urd WHERE urd.id = named.id AND parent_id <> named.id LIMIT {related})
                    UNION
                    (SELECT id FROM urd WHERE parent_id = named.id AND urd.id <> named.id LIMIT {related})
                ) edge ON true
                JOIN soas other ON other.id = edge.id
                WHERE named.token = ANY(string_to_array(%(tokens)s, ' ')) AND NOT named.is_common LIMIT {related}
            ) known, unnest(to_tsvector('english', known.token)) AS near
        ),
        'general', tsvector_to_array(to_tsvector('english', %(general)s)),
        'parts', (SELECT json_agg(tsvector_to_array(to_tsvector('english', part))) FROM unnest(%(parts)s::text[]) part),
        'ended', (
            SELECT json_agg(json_build_array(token, parent, until)) FROM (
                SELECT named.token, was.token AS parent, extract(epoch FROM max(gone.at))::float8 AS until
                FROM soas named
                JOIN edge_history gone ON gone.concept_id = named.id AND gone.action IN ('retire', 'supersede')
                JOIN soas was ON was.id = (gone.before ->> 'parent_id')::bigint
                WHERE named.token = ANY(string_to_array(%(tokens)s, ' '))
                    AND NOT EXISTS (SELECT FROM urd WHERE urd.id = named.id AND urd.parent_id = was.id)
                GROUP BY named.token, was.token LIMIT {ended}
            ) past
        ),
        'sizes', (
            SELECT json_object_agg(kind, json_build_array(documents, mean_length)) FROM text_statistics WHERE {project}
        ),
        'embedder', (
            SELECT json_build_array(id, name, dimensions) FROM embedder
            WHERE is_current AND dimensions IS NOT NULL AND to_regclass('episode_vector') IS NOT NULL
        )
    )::text
"""
FREQUENCY: Final = (
    "coalesce((SELECT documents FROM lexeme_frequency"
    " WHERE kind = '{kind}' AND {project} AND lexeme = asked.lexeme), 0)"
)
# Of a long text they are stored compressed, and each look would unpack them anew.
UNPACKED: Final = "lexemes || ''::tsvector AS lexemes"
CORRECTED_WITHIN: Final = 6  # messages of the user, after the one that they correct
# Of what is given unasked: what a user said, with what corrects it soon after, and their answers to questions of the
# model that have these words. Its words are only looked at, and nothing but the user's are given. With what comes right
# after a user's message, that message, which it may correct without naming anything.
BY_WORDS_OR_QUESTION: Final = f"""
    SELECT 'episode', found.id, found.follows FROM (
        SELECT id, conversation, role FROM (
            SELECT id, conversation, role, {{unpacked}} FROM episode
            WHERE lexemes @@ %({{kind}}_needles)s::tsquery AND {{visible_of_all}} LIMIT {{hits}}
        ) hits ORDER BY {{score}} DESC, id DESC LIMIT {{compared}}
    ) best
    CROSS JOIN LATERAL (
        SELECT best.id, NULL::bigint AS follows WHERE best.role = 'user'
        UNION ALL
        SELECT id, CASE WHEN best.role = 'user' AND place = 1 THEN best.id END FROM (
            SELECT id, text, row_number() OVER (ORDER BY id) AS place FROM (
                SELECT id, text FROM episode
                WHERE conversation = best.conversation AND id > best.id AND {{visible}}
                ORDER BY id LIMIT CASE best.role WHEN 'user' THEN {CORRECTED_WITHIN} ELSE 1 END
            ) near
        ) next
        WHERE best.role <> 'user'
            OR text ~* '^\\W*({memory_phrases.BEFORE_CORRECTIONS}\\W+)*{memory_phrases.CORRECTIONS}\\M'
    ) found
"""
BY_WORDS: Final = """
    SELECT '{kind}', id, NULL::bigint FROM (
        SELECT id, {unpacked} FROM {kind} WHERE lexemes @@ %({kind}_needles)s::tsquery AND {visible} LIMIT {hits}
    ) hits ORDER BY {score} DESC, id DESC LIMIT {compared}
"""
# Who somebody is and what they prefer, the newest first: asked for by what it is about, with no word in common.
ONESELF_MAX: Final = 40
ONESELF: Final = """
    SELECT 'memory', id, NULL::bigint FROM memory
    WHERE agent = %(agent)s AND person = %(person)s AND category IN ('identity', 'preference') AND {visible}
    ORDER BY id DESC LIMIT {most}
"""
# The messages before and after each in its conversation, as far as they may be seen.
AROUND: Final = """
    SELECT near.id FROM unnest(%(ids)s::bigint[]) AS hit (id) JOIN episode one ON one.id = hit.id
    JOIN LATERAL (
        (SELECT id FROM episode WHERE conversation = one.conversation AND id < one.id AND {visible}
            ORDER BY id DESC LIMIT 1)
        UNION ALL
        (SELECT id FROM episode WHERE conversation = one.conversation AND id > one.id AND {visible}
            ORDER BY id LIMIT 1)
    ) near ON true
"""
# A small scope is read whole: an index of everything would find nothing of it among the nearest.
COUNT: Final = "SELECT count(*) FROM (SELECT FROM {kind} WHERE {scope} LIMIT {exact} + 1) own"
NEAREST_EXACTLY: Final = """
    WITH own AS MATERIALIZED (SELECT id FROM {kind} WHERE {visible})
    SELECT v.id FROM own JOIN {kind}_vector v ON v.id = own.id AND v.embedder_id = {embedder}
    ORDER BY v.vector::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) LIMIT {nearest}
"""
# Where a condition leaves too few of the nearest, the index goes on.
GO_ON: Final = """
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', false), set_config('hnsw.max_scan_tuples', '5000', false)
"""
NEAREST: Final = """
    SELECT v.id FROM {kind}_vector v JOIN {kind} ON {kind}.id = v.id
    WHERE v.embedder_id = {embedder} AND {visible}
    ORDER BY v.vector::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) LIMIT {nearest}
"""
DESCRIBE_MEMORIES: Final = """
    SELECT 'memory', memory.id, text, {confidence}, extract(epoch FROM said_at)::float8, agent, '', channel, category,
        is_disputed, ARRAY[]::int[], ARRAY[]::bigint[], ARRAY[]::text[], ARRAY[]::text[], tsvector_to_array(lexemes),
        ARRAY[]::text[], {vector}, NULL::bytea
    FROM memory {join} WHERE memory.id = ANY(%({kind}_ids)s) AND {visible}
"""
DESCRIBE_EPISODES: Final = """
    SELECT 'episode', episode.id, text, {confidence}, extract(epoch FROM said_at)::float8, agent, role, role, '',
        false, quoted, made.ids, made.told, made.withdrawn, tsvector_to_array({words}),
        near.lexemes, {vector}, {vector_before}
    FROM episode {join}
    {made}
    LEFT JOIN LATERAL (
        SELECT array_agg(lexeme) AS lexemes, min(id) FILTER (WHERE id < episode.id) AS before FROM (
            (SELECT id, lexemes FROM episode one WHERE one.conversation = episode.conversation AND one.id < episode.id
                AND {visible_one} ORDER BY one.id DESC LIMIT 1)
            UNION ALL
            (SELECT id, lexemes FROM episode one WHERE one.conversation = episode.conversation AND one.id > episode.id
                AND {visible_one} ORDER BY one.id LIMIT 1)
        ) around, unnest(tsvector_to_array(around.lexemes)) AS lexeme
    ) near ON true
    {join_before}
    WHERE episode.id = ANY(%({kind}_ids)s) AND {visible}
"""
# The memories that a message is the source of; the texts of those that tell who somebody is and what they prefer, and
# of those that hold no more.
MADE_OF_IT: Final = """
    CROSS JOIN LATERAL (
        SELECT array_agg(memory.id) AS ids,
            array_agg(memory.text) FILTER (
                WHERE memory.status = 'active' AND memory.category IN ('identity', 'preference')
            ) AS told,
            array_agg(memory.text) FILTER (WHERE memory.status IN ('superseded', 'invalid')) AS withdrawn
        FROM memory_lineage line JOIN memory ON memory.id = line.memory_id
        WHERE line.kind = 'episode' AND line.row = episode.id
    ) made
"""
MADE_UNKNOWN: Final = """
    CROSS JOIN (SELECT ARRAY[]::bigint[] AS ids, ARRAY[]::text[] AS told, ARRAY[]::text[] AS withdrawn) made
"""
VECTOR: Final = "halfvec_send({alias}.vector)"
JOIN: Final = "LEFT JOIN {kind}_vector {alias} ON {alias}.id = {of} AND {alias}.embedder_id = {embedder}"


def in_project(project: int | None) -> str:
    # Not IS NOT DISTINCT FROM, which no index answers.
    return "project_id IS NULL" if project is None else f"project_id = {project:d}"


def confidence(table: str = "memory") -> str:
    """SQL of how sure a memory still is: see memory.semantic.store.current_confidence."""
    categories, channels = (
        ", ".join(f"'{each}'" for each in sorted(lasting))
        for lasting in (consolidation.LASTING_CATEGORIES, consolidation.LASTING_CHANNELS)
    )
    days = f"greatest(extract(epoch FROM now() - {table}.last_updated)::float8 / 86400, 0)"
    return (
        f"CASE WHEN {table}.category IN ({categories}) OR {table}.channel IN ({channels}) THEN {table}.confidence"
        f" ELSE {table}.confidence * exp(-{consolidation.DECAY} * {days}) END"
    )


def visible(kind: FoundKind, scope: Scope, *, own_words_only: bool, table: str = "", of_all: bool = False) -> str:
    """The condition of every statement that reads texts: what this scope may be given; ``of_all``: also what only
    others said in the speaker's conversations. Parameters: agent, person, least_confidence, conversation."""
    column = f"{table or kind}."
    spoken_by = f"{column}agent = %(agent)s AND {column}person = %(person)s"
    conditions = [f"{column}{in_project(scope.project)}"]
    if kind == "episode":
        conditions.append(spoken_by)
        if own_words_only and not of_all:
            conditions.append(f"{column}role = 'user'")
    else:
        personal = ", ".join(f"'{category}'" for category in sorted(PERSONAL))
        conditions += [
            f"({column}category NOT IN ({personal}) OR {spoken_by})",
            f"{column}status = 'active'",
            f"{confidence(table or kind)} {'>' if own_words_only else '>='} %(least_confidence)s",
        ]
        if own_words_only:
            conditions.append(f"{column}channel NOT IN ('assistant', 'quoted')")
    if own_words_only:
        conditions.append(f"{column}conversation IS DISTINCT FROM %(conversation)s")
    return " AND ".join(conditions)


def scope_of(kind: FoundKind, scope: Scope) -> str:
    """Of how many rows a scope can have at most: what an index alone can tell."""
    return in_project(scope.project) if kind == "memory" else "agent = %(agent)s AND person = %(person)s"


def prepare(scope: Scope) -> str:
    project = in_project(scope.project)
    return PREPARE.format(
        project=project,
        related=RELATED_MAX,
        ended=ENDED_MAX,
        memory_frequency=FREQUENCY.format(kind="memory", project=project),
        episode_frequency=FREQUENCY.format(kind="episode", project=project),
        english_frequency=FREQUENCY.format(kind="english", project=in_project(None)),
    )


def score_by(kind: FoundKind, needles: int) -> str:
    """SQL that sums the weights of those needles that a row has."""
    terms = (
        f"CASE WHEN lexemes @@ %({kind}_needle{at})s::tsquery THEN %({kind}_weight{at})s ELSE 0 END"
        for at in range(needles)
    )
    return " + ".join(terms)


def unite(statements: Iterable[str]) -> str:
    """One statement with the rows of all: each takes a way to Postgres and back, which is long on a busy machine."""
    return " UNION ALL ".join(f"({statement})" for statement in statements)


def quote(lexeme: str) -> str:
    """As a word of a tsquery."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
