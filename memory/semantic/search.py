"""Finds memories and episodes again: one search, for what is asked for and for what is given by itself.

It is written as a dialogue, which does not care who holds the connection: ``search`` leads it over Django's,
``Searcher`` (searcher.py) over those of a server's event loop.
"""

import json
import time
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from django.db import connection

from memory.domain.recall.notes import find_content_words
from memory.domain.recall.passages import find_general, only_asks, pick_passage, split_questions
from memory.domain.recall.retelling import Ended, is_withdrawn, repeats_memory
from memory.domain.text.tokenizer import find_words
from memory.llm.errors import LlmError
from memory.semantic import queries
from memory.semantic.domain.found import GIVEN_MAX, LEAST_CONFIDENCE, Found, FoundKind, Types
from memory.semantic.domain.oneself import NOTHING_OF_ONESELF, OfOneself, asks_of_own_things, find_oneself
from memory.semantic.domain.ranking.candidates import (
    DOCUMENTS_ASKED_MAX,
    DOCUMENTS_MAX,
    NEEDLES_ASKED_MAX,
    NEEDLES_MAX,
    Corpus,
    RankedText,
    Term,
    choose_needles,
    read_candidate,
)
from memory.semantic.domain.ranking.order import RELATED_WEIGHT, TERMS_MAX, rank
from memory.semantic.domain.scope import Scope
from memory.semantic.vectors import embedders

QUERY_CHARACTERS: Final = 2_000  # of what is searched for
EMBEDDING_S: Final = 3.0  # for the vector of a question; without it, words decide
# Of an episode: it is what somebody said, and not what they said that it is.
OWN_WORDS, ANOTHERS_WORDS = 0.8, 0.5


class Query(NamedTuple):
    """Answered by its rows."""

    statement: str
    arguments: Mapping[str, Any]


class Embed(NamedTuple):
    """Answered by the text's vector, or None."""

    embedder: str
    text: str


KINDS: Final[Mapping[Types, Sequence[FoundKind]]] = {
    "both": ("memory", "episode"),
    "memories": ("memory",),
    "episodes": ("episode",),
}
Step = Query | Embed
Dialogue = Generator[Step, Any, list[Found]]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is searched, for whom. ``own_words_only``: only what users said themselves, for what is given unasked; then
    the messages of ``conversation`` are left out, and confidence must be above the least."""

    scope: Scope
    text: str
    types: Types = "both"
    least_confidence: float = LEAST_CONFIDENCE
    own_words_only: bool = False
    conversation: bytes | None = None

    @property
    def kinds(self) -> Sequence[FoundKind]:
        return KINDS[self.types]

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "agent": self.scope.speaker.agent,
            "person": self.scope.speaker.person,
            "least_confidence": self.least_confidence,
            "conversation": self.conversation,
        }

    def visible(self, kind: FoundKind) -> str:
        return queries.visible(kind, self.scope, own_words_only=self.own_words_only)


@dataclass(slots=True)
class SearchQuestion:
    """What is known of the wish before anything is looked for."""

    wish: Wish
    terms: dict[FoundKind, list[Term]] = field(default_factory=dict)
    corpora: dict[FoundKind, Corpus] = field(default_factory=dict)
    embedder: int = 0
    dimensions: int = 0
    vectors: list[Sequence[float]] = field(default_factory=list)  # of the whole, then of each of its questions
    parts: Sequence[frozenset[str]] = ()  # the lexemes of each of its questions, where it asks several
    general: frozenset[str] = frozenset()  # lexemes of what it speaks of only in general
    oneself: OfOneself = NOTHING_OF_ONESELF
    ended: Sequence[Ended] = ()
    follows: dict[int, list[int]] = field(default_factory=dict)  # messages that a correction comes right after


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
        answer: Any = None
        try:
            while True:
                match dialogue.send(answer):
                    case Query(statement, arguments):
                        cursor.execute(statement, arguments)
                        answer = cursor.fetchall()
                    case Embed(embedder, text):
                        answer = embed_question(embedder, text)
        except StopIteration as end:
            found: list[Found] = end.value
    return found[:limit]


def embed_question(embedder: str, text: str) -> Sequence[float] | None:
    try:
        [vector] = embedders.embed(embedders.setting_of(embedder), [text], EMBEDDING_S)
    except LlmError:  # the queue meets the same, and says so in /health
        return None
    return vector


def find(wish: Wish, now: float) -> Dialogue:
    """Yields steps, takes their answers; returns what was found, the best first."""
    question = yield from understand(wish)
    if not question.terms:
        return []
    ids = yield from collect(question)
    if not any(ids.values()):
        return []
    statement = queries.unite(describing(question, kind) for kind in wish.kinds if ids[kind])
    rows = yield Query(statement, wish.arguments | {f"{kind}_ids": ids[kind] for kind in wish.kinds})
    found: list[Found] = []
    for kind in wish.kinds:
        candidates = [read_candidate(row, own_words_only=wish.own_words_only) for row in rows if row[0] == kind]
        if wish.own_words_only and kind == "episode":  # what somebody once asked tells nobody anything
            candidates = [each for each in candidates if not only_asks(each.text)]
            for each in candidates:
                each.follows = question.follows.get(each.id, ())
        ranked = rank(
            candidates,
            question.terms[kind],
            question.corpora[kind],
            question.vectors,
            now,
            own_words_only=wish.own_words_only,
            parts=question.parts,
            general=question.general,
            oneself=question.oneself,
            is_own=asks_of_own_things(wish.text),
        )
        if wish.own_words_only and kind == "episode":
            ranked = list(pick_worthwhile(question, ranked, {each.id: each for each in candidates}, found[:GIVEN_MAX]))
        found += ranked
    return found if len(wish.kinds) == 1 else sorted(found, key=lambda each: -each.score)


def pick_worthwhile(
    question: SearchQuestion, ranked: Sequence[Found], known: Mapping[int, RankedText], memories: Sequence[Found]
) -> Iterator[Found]:
    """Of the messages, as many as are given of those that tell something which holds and which no memory tells: each
    with those of its sentences that do."""
    wanted = find_content_words(question.wish.text)
    left = GIVEN_MAX
    for found in ranked:
        source = known[found.id]
        # What answers the model's question is found by that: a memory of it, which lacks the question, is not.
        is_answer = wanted.isdisjoint(find_content_words(found.text))
        told = [memory.text for memory in memories if memory.id in source.made]
        told += [] if is_answer else source.told

        def is_left_out(sentence: str, source: RankedText = source, told: Collection[str] = told) -> bool:
            gone = is_withdrawn(sentence, source.said_at, source.withdrawn, question.ended)
            return gone or repeats_memory(sentence, told)

        passage = pick_passage(found.text, wanted, is_left_out)
        # Where only what is left out was asked for, the rest is beside the point.
        if passage and (is_answer or not wanted.isdisjoint(find_content_words(passage))):
            yield found._replace(text=passage)
            left -= 1
        if not left:
            return


def understand(wish: Wish) -> Generator[Step, Any, SearchQuestion]:
    """Its words, their frequencies, its vector."""
    question = SearchQuestion(wish)
    text = wish.text.replace("\0", "")[:QUERY_CHARACTERS]
    tokens = " ".join(sorted(find_words(text).tokens))  # hundreds of them as an array take psycopg a while
    parts, general = (split_questions(text), find_general(text)) if wish.own_words_only else ([], "")
    arguments = {"text": text, "tokens": tokens, "parts": parts, "general": general}
    [(raw,)] = yield Query(queries.prepare(wish.scope), arguments)
    known = json.loads(raw)
    asked = known["terms"] or []
    if not asked:
        return question
    question.oneself = find_oneself(text)
    question.general = frozenset(known["general"])
    question.parts = list(map(frozenset, known["parts"] or ()))
    question.ended = [Ended(*row) for row in known["ended"] or ()]
    named = {lexeme for lexeme, *_ in asked}
    related = [Term(lexeme, 0, 0, RELATED_WEIGHT) for lexeme in known["related"] or () if lexeme not in named]
    for at, kind in enumerate(KINDS["both"], 1):
        documents, mean_length = (known["sizes"] or {}).get(kind, (0, 0.0))
        terms = [Term(row[0], row[at], row[3]) for row in asked]
        question.terms[kind] = sorted(terms, key=lambda term: term.documents)[:TERMS_MAX] + related
        question.corpora[kind] = Corpus(documents, mean_length) if documents else Corpus()
    if known["embedder"] is not None:
        question.embedder, name, question.dimensions = known["embedder"]
        for part in (text, *parts):
            vector = yield Embed(name, part)
            if vector is not None and len(vector) == question.dimensions and any(vector):
                question.vectors.append(vector)
    return question


def collect(question: SearchQuestion) -> Generator[Step, Any, dict[FoundKind, list[int]]]:
    """The ids of what may belong to the question: by its words, their neighbours, its vector."""
    wish = question.wish
    ids: dict[FoundKind, list[int]] = {kind: [] for kind in wish.kinds}
    statements, arguments = [], wish.arguments
    bounds = (NEEDLES_MAX, DOCUMENTS_MAX) if wish.own_words_only else (NEEDLES_ASKED_MAX, DOCUMENTS_ASKED_MAX)
    for kind in wish.kinds:
        if needles := choose_needles(question.terms[kind], question.corpora[kind], *bounds):
            statements.append(looking(wish, kind, len(needles)))
            arguments |= needle_arguments(wish, kind, needles, question.corpora[kind])
    if question.oneself and "memory" in wish.kinds:
        statements.append(queries.ONESELF.format(visible=wish.visible("memory"), most=queries.ONESELF_MAX))
    for kind, key, follows in (yield Query(queries.unite(statements), arguments)) if statements else ():
        ids[kind].append(key)
        if follows is not None:
            question.follows.setdefault(key, []).append(follows)
    if not wish.own_words_only:  # else vectors, and what stands beside a message, only put these into order
        if ids.get("episode"):
            statement = queries.AROUND.format(visible=wish.visible("episode"))
            hits = ids["episode"][: queries.AROUND_MAX]
            ids["episode"] += ids_of((yield Query(statement, wish.arguments | {"ids": hits})))
        for kind in wish.kinds if question.vectors else ():
            ids[kind] += yield from collect_nearest(question, kind)
    return {kind: list(dict.fromkeys(found)) for kind, found in ids.items()}


def looking(wish: Wish, kind: FoundKind, needles: int) -> str:
    """The statement that finds texts by words."""
    score = queries.score_by(kind, needles)
    sql = {"kind": kind, "hits": queries.HITS_MAX, "score": score, "unpacked": queries.UNPACKED}
    if not wish.own_words_only:
        return queries.BY_WORDS.format(**sql, visible=wish.visible(kind), compared=queries.COMPARED_ASKED_MAX)
    sql |= {"visible": wish.visible(kind), "compared": queries.COMPARED_MAX}
    if kind == "memory":
        return queries.BY_WORDS.format(**sql)
    of_all = queries.visible(kind, wish.scope, own_words_only=True, of_all=True)
    return queries.BY_WORDS_OR_QUESTION.format(**sql, visible_of_all=of_all)


def collect_nearest(question: SearchQuestion, kind: FoundKind) -> Generator[Step, Any, list[int]]:
    wish = question.wish
    [(count,)] = yield Query(
        queries.COUNT.format(kind=kind, scope=queries.scope_of(kind, wish.scope), exact=queries.EXACT_MAX),
        wish.arguments,
    )
    query = queries.NEAREST_EXACTLY
    if count > queries.EXACT_MAX:
        query = queries.NEAREST
        yield Query(queries.GO_ON, {})
    statement = query.format(
        kind=kind,
        visible=wish.visible(kind),
        embedder=question.embedder,
        dimensions=question.dimensions,
        nearest=queries.NEAREST_MAX,
    )
    vector = f"[{','.join(f'{number:.4g}' for number in question.vectors[0])}]"
    return ids_of((yield Query(statement, wish.arguments | {"vector": vector})))


def ids_of(rows: Iterable[tuple[int]]) -> list[int]:
    return [key for (key,) in rows]


def needle_arguments(wish: Wish, kind: FoundKind, needles: Sequence[Term], corpus: Corpus) -> dict[str, Any]:
    # Of messages also what the model asked, but nothing that is quoted; a memory's words have no such weights.
    weight = ":AC" if wish.own_words_only and kind == "episode" else ""
    asked = [queries.quote(term.lexeme) + weight for term in needles]
    arguments: dict[str, Any] = {f"{kind}_needles": " | ".join(asked)}
    for at, (needle, term) in enumerate(zip(asked, needles, strict=True)):
        arguments |= {f"{kind}_needle{at}": needle, f"{kind}_weight{at}": corpus.weigh(term)}
    return arguments


def describing(question: SearchQuestion, kind: FoundKind) -> str:
    """The statement that reads candidates whole."""
    wish = question.wish
    own = {"kind": kind, "embedder": question.embedder}
    has_vector = bool(question.vectors)
    sql = {
        "kind": kind,
        "visible": wish.visible(kind),
        "vector": queries.VECTOR.format(alias="v") if has_vector else "NULL::bytea",
        "join": queries.JOIN.format(**own, alias="v", of=f"{kind}.id") if has_vector else "",
    }
    if kind == "memory":
        return queries.DESCRIBE_MEMORIES.format(**sql, confidence=queries.confidence())
    return queries.DESCRIBE_EPISODES.format(
        **sql,
        visible_one=queries.visible(kind, wish.scope, own_words_only=wish.own_words_only, table="one", of_all=True),
        vector_before=queries.VECTOR.format(alias="w") if has_vector else "NULL::bytea",
        join_before=queries.JOIN.format(**own, alias="w", of="near.before") if has_vector else "",
        made=queries.MADE_OF_IT if wish.own_words_only else queries.MADE_UNKNOWN,
        confidence=f"CASE role WHEN 'user' THEN {OWN_WORDS} ELSE {ANOTHERS_WORDS} END::float8",
        words="ts_filter(episode.lexemes, '{a}')" if wish.own_words_only else "episode.lexemes",
    )
