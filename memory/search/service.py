"""Composes queries, and searches on request over Django's connection: for HTTP, MCP, gutask and the admin."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from django.db import connection

from memory.cache.loader import ENDED, ENDED_OF_NAMES, LEXEMES, weigh_lexemes
from memory.english.phrases import as_sentence
from memory.english.tokenizer import find_words
from memory.llm.errors import LlmError
from memory.memories.scope import Scope
from memory.search import ranking
from memory.search.encoder import adapter
from memory.search.found import KINDS, Found, Types, cut_query
from memory.search.index import Index, Query, Vector, lexeme_id
from memory.search.lexemes import find_lexemes
from memory.search.loading import NEWEST, TEXTS_MAX, Space, read_alike, read_facts, read_index, read_older, read_spaces
from memory.search.ranking import Asked
from memory.search.vectors import builtin, embedders
from memory.types import Ended, TripleIds

EMBEDDING_S: Final = 3.0  # for the vector of a query; without it, words answer


def search(scope: Scope, query: str, *, types: Types = "both", limit: int = 5) -> list[Found]:
    """Find what belongs to the query among what the scope may see, the best first."""
    kinds = KINDS[types]
    with open_cursor() as cursor:
        index, asked, shares = prepare(cursor, scope, query)
        names = find_words(asked.text).tokens if "fact" in kinds else ()
        facts = [_tell(row, shares) for row in read_facts(cursor, names)]
    return ranking.choose_asked(index, asked, limit, kinds, facts)


def find_alike(query: str, limit: int) -> dict[str, list[int]]:
    """Return the keys of memories and episodes of all speakers that mean nearly the same as the query, the nearest
    first: for operators. Nothing without vectors."""
    text = cut_query(query)
    with open_cursor() as cursor:
        current = next((space for space in read_spaces(cursor) if space.is_current), None)
        if current is None or not text.strip() or (vector := embed_query(current.name, text, EMBEDDING_S)) is None:
            return {}
        least = ranking.ASKED_FOR * ranking.least_likeness(current.noise, TEXTS_MAX)
        return {kind: read_alike(cursor, kind, current, vector, least, limit) for kind in NEWEST}


@contextmanager
def open_cursor() -> Iterator[psycopg.Cursor[Any]]:
    """Open a cursor of Django's connection that takes binary results, which Django's own do not."""
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.format = psycopg.pq.Format.BINARY
        yield cursor


def prepare(cursor: psycopg.Cursor[Any], scope: Scope, query: str) -> tuple[Index, Asked, dict[str, float]]:
    """Return what the scope may see, what is looked for in it, and the shares of the query's lexemes."""
    text, now = cut_query(query), time.time()
    lexemes = find_lexemes(text)
    spaces = read_spaces(cursor)
    rarity = weigh_lexemes(cursor.execute(f"{LEXEMES} WHERE lexeme = ANY(%s)", [list(lexemes)]).fetchall())
    index = read_index(cursor, scope, spaces[0].dimensions if spaces else 0)
    vectors = embed_for(text, spaces, index, EMBEDDING_S)
    if len(index) >= TEXTS_MAX:
        near = (spaces[0], vectors[spaces[0].id]) if spaces and spaces[0].id in vectors else None
        index = index.replace("episode", (), read_older(cursor, scope, index, lexemes, near))
    asked = ask(text, spaces, vectors, rarity, now, find_ended=read_ended)
    return index, asked, ranking.weigh(lexemes, rarity)


def read_ended(text: str) -> list[Ended]:
    """Return what ended of the concepts that a text names."""
    with open_cursor() as cursor:
        rows = cursor.execute(ENDED.format(which=ENDED_OF_NAMES), [list(find_words(text).tokens)]).fetchall()
    return [Ended(*row) for _, *row in rows]


def ask(
    text: str,
    spaces: Sequence[Space],
    vectors: Mapping[int, Vector],
    rarity: Mapping[str, float],
    at: float,
    *,
    conversation: int = 0,
    find_ended: Callable[[str], Sequence[Ended]],
) -> Asked:
    """Compose what an index is searched for. ``spaces``: the current embedder first."""
    noise = spaces[0].noise if vectors else ranking.FULL_TEXT
    compared = {}
    for space in spaces:
        if (vector := vectors.get(space.id)) is not None:  # cosines of an earlier embedder count as much as its own
            factor = noise.deviation / space.noise.deviation
            compared[space.id] = vector, factor, noise.mean - factor * space.noise.mean
    lexemes = ranking.weigh(find_lexemes(text), rarity)
    query = Query(compared, {lexeme_id(lexeme): share for lexeme, share in lexemes.items()})
    need = None
    if spaces and spaces[0].name == builtin.ADAPTED and spaces[0].id in vectors:
        need = adapter.judge(vectors[spaces[0].id]).get(adapter.NEEDS)
    return Asked(text, query, noise, at, conversation, need, find_ended)


def embed_for(
    text: str, spaces: Sequence[Space], index: Index, timeout_s: float, *, is_patient: bool = True
) -> dict[int, Vector]:
    """Return the query's vector by the current embedder, and by earlier ones of which the index still has vectors, as
    far as they can be had in time. Blocks; if not ``is_patient``, neither for an encoder that is not loaded yet, nor
    for an embedder elsewhere."""
    vectors: dict[int, Vector] = {}
    for space in spaces if text.strip() else ():
        is_elsewhere = space.name not in builtin.FILES
        if not (space.is_current or index.has_space(space.id)) or (is_elsewhere and not is_patient):
            continue
        if not (is_patient or builtin.is_loaded(space.name)):
            builtin.load_in_background(space.name)
        elif (vector := embed_query(space.name, text, timeout_s)) is not None and any(vector):
            vectors[space.id] = vector
    return vectors


def embed_query(embedder: str, text: str, timeout_s: float) -> Vector | None:
    """Return the vector of a query by the embedder of this name; None if it cannot be had in time. Blocks."""
    try:
        if embedder in builtin.FILES:
            return builtin.embed_query(text, embedder)
        [vector] = embedders.embed(embedder, [text], timeout_s)
    except LlmError:  # the worker meets the same, and /health says so
        return None
    return vector


def _tell(row: Sequence[Any], shares: Mapping[str, float]) -> Found:
    """Return the fact of a row of ``read_facts``, as alike as it has words of the query."""
    key, confidence, said_at, agent, channel, concept, parent, dimension, is_isa, is_disputed, *ids = row
    text = f"{as_sentence(concept, parent, dimension, is_isa=is_isa)}."
    told = find_lexemes(f"{concept} {dimension.replace('-', ' ')} {parent}")
    alike = ranking.NO_VECTOR_WEIGHT * sum(shares.get(lexeme, 0.0) for lexeme in told)
    found = Found("fact", key, text, confidence, said_at, agent, "", channel, "", fact=TripleIds(*ids))
    return found._replace(score=alike, similarity=alike, is_disputed=is_disputed)
