"""Finds memories and episodes again: one search, for what is asked for and for what is given by itself.

It is written as a dialogue with the database, which does not care who holds the connection: ``search`` speaks over
Django's, ``Searcher`` (searcher.py) over those of a server's event loop.
"""

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from memory.semantic.domain.found import LEAST_CONFIDENCE, Found, Types
from memory.semantic.domain.ranking import (
    NEEDLES_ASKED_MAX,
    NEEDLES_MAX,
    TERMS_MAX,
    Candidate,
    Corpus,
    Term,
    choose_needles,
    rank,
)
from memory.semantic.domain.scope import PERSONAL, Scope

QUERY_CHARACTERS: Final = 2_000  # of what is searched for
HITS_MAX: Final = 500
COMPARED_MAX: Final = 60  # of the hits, by their rarest words, that are looked at closely

Rows = list[tuple[Any, ...]]
Dialogue = Generator[tuple[str, Mapping[str, Any]], Rows, list[Found]]

LEXEMES: Final = "SELECT lexeme, 0 FROM unnest(to_tsvector('english', %(text)s))"
# Only what the same speaker said in the same project.
OWN: Final = "{0}.project_id IS NOT DISTINCT FROM %(project)s AND {0}.agent = %(agent)s AND {0}.person = %(person)s"
EPISODES: Final = """
    WITH hits AS MATERIALIZED (
        SELECT id, conversation, lexemes FROM episode
        WHERE lexemes @@ %(needles)s::tsquery AND {own}
          AND (%(conversation)s::bytea IS NULL OR conversation <> %(conversation)s::bytea) {who}
        LIMIT %(hits)s
    ), best AS (
        SELECT * FROM hits ORDER BY {score} DESC, id DESC LIMIT %(compared)s
    )
    SELECT 'episode', id, text, 1.0, extract(epoch FROM said_at)::float8, agent, role, quoted,
        tsvector_to_array({words}),
        ARRAY(
            SELECT unnest(tsvector_to_array(near.lexemes)) FROM (
                (SELECT lexemes FROM episode one WHERE one.conversation = best.conversation AND one.id < best.id
                    AND {own_one} ORDER BY one.id DESC LIMIT 1)
                UNION ALL
                (SELECT lexemes FROM episode one WHERE one.conversation = best.conversation AND one.id > best.id
                    AND {own_one} ORDER BY one.id LIMIT 1)
            ) near
        )
    FROM best JOIN episode USING (id)
"""
MEMORIES: Final = """
    WITH hits AS MATERIALIZED (
        SELECT * FROM memory
        WHERE lexemes @@ %(needles)s::tsquery AND status = 'active' AND confidence >= %(least_confidence)s
          AND project_id IS NOT DISTINCT FROM %(project)s
          AND (category <> ALL(%(personal)s) OR agent = %(agent)s AND person = %(person)s)
          AND (%(conversation)s::bytea IS NULL OR conversation IS DISTINCT FROM %(conversation)s::bytea) {who}
        LIMIT %(hits)s
    )
    SELECT 'memory', id, text, confidence, extract(epoch FROM said_at)::float8, agent, channel, category, is_disputed,
        tsvector_to_array(lexemes)
    FROM hits ORDER BY {score} DESC, id DESC LIMIT %(compared)s
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is searched, for whom. ``conversation``: whose messages are left out. ``own_words_only``: only what users
    said themselves, and for what is given unasked."""

    scope: Scope
    text: str
    types: Types = "both"
    least_confidence: float = LEAST_CONFIDENCE
    own_words_only: bool = False
    conversation: bytes | None = None


def search(
    scope: Scope,
    query: str,
    *,
    types: Types = "both",
    limit: int = 5,
    least_confidence: float = LEAST_CONFIDENCE,
    own_words_only: bool = False,
) -> list[Found]:
    """The best first, over Django's connection. What the scope may not see is never among it."""
    dialogue = find(Wish(scope, query, types, least_confidence, own_words_only), time.time())
    with connection.cursor() as cursor:
        try:
            statement, arguments = next(dialogue)
            while True:
                cursor.execute(statement, arguments)
                statement, arguments = dialogue.send(cursor.fetchall())
        except StopIteration as end:
            found: list[Found] = end.value
    return found[:limit]


def find(wish: Wish, now: float) -> Dialogue:
    """Yields statements, takes their rows, returns what was found, the best first."""
    text = wish.text.replace("\0", "")[:QUERY_CHARACTERS]
    terms = [Term(*row) for row in (yield LEXEMES, {"text": text})]
    corpus = Corpus()
    needles = choose_needles(terms, corpus, NEEDLES_MAX if wish.own_words_only else NEEDLES_ASKED_MAX)
    if not needles:
        return []
    candidates: list[Candidate] = []
    arguments = arguments_of(wish, needles, corpus)
    if wish.types != "episodes":
        candidates += map(read_memory, (yield memories_query(wish, len(needles)), arguments))
    if wish.types != "memories":
        rows = yield episodes_query(wish, len(needles)), arguments
        candidates += (read_episode(row, own_words_only=wish.own_words_only) for row in rows)
    return rank(candidates, terms[:TERMS_MAX], corpus, now)


def arguments_of(wish: Wish, needles: Sequence[Term], corpus: Corpus) -> dict[str, Any]:
    weight = "A" if wish.own_words_only else ""
    asked = [f"{quote(term.lexeme)}:{weight}" if weight else quote(term.lexeme) for term in needles]
    arguments: dict[str, Any] = {
        "needles": " | ".join(asked),
        "project": wish.scope.project,
        "agent": wish.scope.speaker.agent,
        "person": wish.scope.speaker.person,
        "personal": sorted(PERSONAL),
        "conversation": wish.conversation,
        "least_confidence": wish.least_confidence,
        "hits": HITS_MAX,
        "compared": COMPARED_MAX,
    }
    for at, (needle, term) in enumerate(zip(asked, needles, strict=True)):
        arguments |= {f"needle{at}": needle, f"weight{at}": corpus.weigh(term.documents)}
    return arguments


def score_by(count: int) -> str:
    """SQL that sums the weights of those needles that a row has."""
    return " + ".join(
        f"CASE WHEN lexemes @@ %(needle{at})s::tsquery THEN %(weight{at})s::float8 ELSE 0 END" for at in range(count)
    )


def episodes_query(wish: Wish, needles: int) -> str:
    return EPISODES.format(
        own=OWN.format("episode"),
        own_one=OWN.format("one"),
        score=score_by(needles),
        who="AND role = 'user'" if wish.own_words_only else "",
        words="ts_filter(episode.lexemes, '{a}')" if wish.own_words_only else "episode.lexemes",
    )


def memories_query(wish: Wish, needles: int) -> str:
    who = "AND channel NOT IN ('assistant', 'quoted')" if wish.own_words_only else ""
    return MEMORIES.format(score=score_by(needles), who=who)


def quote(lexeme: str) -> str:
    """As a word of a tsquery."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def read_memory(row: tuple[Any, ...]) -> Candidate:
    kind, key, text, confidence, said_at, agent, channel, category, is_disputed, lexemes = row
    return Candidate(kind, key, text, confidence, said_at, agent, "", channel, category, is_disputed, lexemes)


def read_episode(row: tuple[Any, ...], *, own_words_only: bool) -> Candidate:
    kind, key, text, confidence, said_at, agent, role, quoted, lexemes, around = row
    if own_words_only:
        text = cut_out(text, quoted)
    return Candidate(kind, key, text, float(confidence), said_at, agent, role, role, "", False, lexemes, around)


def cut_out(text: str, quoted: Sequence[int]) -> str:
    """The text without these parts: start and end of each, in characters."""
    kept, end = [], 0
    for start, stop in zip(quoted[::2], quoted[1::2], strict=True):
        kept.append(text[end:start])
        end = stop
    return " ".join((*kept, text[end:])).strip() if quoted else text
