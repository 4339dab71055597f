"""Searches over Django's connection: for HTTP, MCP, gutask and the admin."""

import time
from collections.abc import Sequence

from django.db import connection

from memory.llm.errors import LlmError
from memory.search import ranking
from memory.search.request import SearchRequest, Types
from memory.search.results import Found
from memory.search.statement import CURRENT_EMBEDDER, VectorSpace, compose
from memory.semantic.domain.scope import Scope
from memory.semantic.vectors import builtin, embedders

EMBEDDING_S = 3.0  # for the vector of a query; without it, full text answers


def search(scope: Scope, query: str, *, types: Types = "both", limit: int = 5, is_unasked: bool = False) -> list[Found]:
    """Find what belongs to the query among what the scope may see, the best first."""
    request = SearchRequest(scope, query, types, is_unasked)
    with connection.cursor() as cursor:
        cursor.execute(CURRENT_EMBEDDER)
        space = VectorSpace.of(cursor.fetchone())
        vector = embed_query(space.name, request.text) if space is not None else None
        cursor.execute(*compose(request, space, vector))
        results = ranking.read_rows(cursor.fetchall())
    noise = space.noise if space is not None and vector is not None else ranking.FULL_TEXT
    if is_unasked:
        return list(ranking.choose_for_prompt(results, noise, query, time.time()).lines[:limit])
    return ranking.choose_asked(results, noise, query, time.time(), limit)


def embed_query(embedder: str, text: str, timeout_s: float = EMBEDDING_S) -> Sequence[float] | None:
    """The vector of a query by the embedder of this name; None where it cannot be had in time. Blocks."""
    try:
        if embedder == builtin.NAME:
            return builtin.embed_query(text)
        [vector] = embedders.embed(embedders.setting_of(embedder), [text], timeout_s)
    except LlmError:  # the worker meets the same, and /health says so
        return None
    return vector
