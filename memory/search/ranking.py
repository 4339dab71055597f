"""Decides what of the texts that were found is given, and in which order. Each constant was chosen on the weeks in
``benchmarks/weeks`` and ``benchmarks/retrieval_weeks.txt``; docs/decisions/015-one-search.md has what each is worth."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any, Final

from memory.domain.formatting import tell_fact
from memory.domain.recall.notes import find_content_words
from memory.domain.recall.retelling import Ended, is_withdrawn, repeats_memory
from memory.domain.text.sentences import SentenceFinder, iter_passages
from memory.domain.types import TripleIds
from memory.search.results import Found
from memory.semantic.domain.noise import Noise

LINES_MAX: Final = 6  # given unasked, of all kinds together
SHARE_WEIGHT: Final = 0.25  # of the share of the query's words that a text has, beside its cosine
NO_VECTOR_WEIGHT: Final = 0.8  # the same of a text without a vector
TEXTS_MIN: Final = 20  # a smaller store counts as one of so many: the floor was measured on stores of 18 texts and more
LEAST_FACTOR: Final = 1.3  # k: how many deviations above chance the best text has to be, for each sqrt(2 ln N)
FACT_SHARE: Final = 0.5  # of the words of a prompt that a fact must have: then the prompt asks for it
WEAK: Final = 0.75  # of the least likeness: enough for a text that comes with a better one, or that is asked for
DAY: Final = 86_400.0
ASKS_ONLY: Final = r"\s*(\w+[!,.]\s+)?([^.!?]*\?)+\s*"  # for Postgres, too, which leaves such messages out
_ASKS_ONLY: Final = re.compile(ASKS_ONLY)
RECENCY_HALF_LIFE_S: Final = 30 * DAY


FULL_TEXT: Final = Noise(0.05, 0.08)  # where there is no embedder, so that the least share of words grows the same way


@dataclass(slots=True)
class Candidate:
    """``cosine`` is None for a text without a vector. ``share``: the part of the query's words that it has, by rarity.
    ``told`` and ``withdrawn``: memories that were made of this message, in force and no more. ``next``: the user's next
    message in the conversation."""

    found: Found
    cosine: float | None
    share: float
    told: Sequence[str] = ()
    withdrawn: Sequence[str] = ()
    next: Found | None = None

    @property
    def likeness(self) -> float:
        if self.cosine is None:
            return NO_VECTOR_WEIGHT * self.share
        return max(self.cosine, 0.0) + SHARE_WEIGHT * self.share


@dataclass(slots=True)
class Results:
    """All that a statement returned. ``texts``: how many are in the scope, counted up to a limit; ``by_kind``: of each
    kind. ``ended``: facts of the named concepts that are superseded."""

    candidates: list[Candidate]
    texts: int = 0
    by_kind: Mapping[str, int] = field(default_factory=dict)
    ended: Sequence[Ended] = ()


def least_likeness(noise: Noise, texts: int) -> float:
    """The likeness from which on a text hardly is as alike by chance. Of many chance likenesses the best one is larger,
    too: the expected maximum of N normal deviates is about sqrt(2 ln N) deviations above their mean."""
    return noise.at(LEAST_FACTOR * sqrt(2 * log(max(texts, TEXTS_MIN))))


def read_rows(rows: Iterable[Sequence[Any]]) -> Results:
    """From the rows of the statement."""
    results = Results([])
    for row in rows:
        kind, key, text, confidence, said_at, agent, role, channel, category, is_disputed, cosine, share = row[:12]
        quoted, slot, told, withdrawn, detail = row[12:]
        if kind == "size":
            results.texts, results.by_kind = key, detail
        elif kind == "ended":
            results.ended = [Ended(*one) for one in detail or ()]
        else:
            fact = None
            if kind == "fact":
                concept, parent, dimension, is_isa, *ids = detail
                fact, text = TripleIds(*ids), f"{tell_fact(concept, parent, dimension, is_isa=is_isa)}."
            found = Found(
                kind, key, text, confidence, said_at, agent, role, channel, category, is_disputed, tuple(quoted), slot,
                fact,
            )  # fmt: skip
            after = None
            if kind == "episode" and detail is not None:
                next_key, next_text, next_at, next_quoted = detail
                after = found._replace(id=next_key, text=next_text, said_at=next_at, quoted=tuple(next_quoted))
            results.candidates.append(Candidate(found, cosine, share, told or (), withdrawn or (), after))
    return results


def choose_unasked(results: Results, noise: Noise, query: str, now: float) -> list[Found]:
    """Choose what is added to a prompt, the best first: no text unless one is more alike than by chance, then also
    those that are nearly so, and what the user said right after the best one: it often answers or corrects it."""
    least = least_likeness(noise, results.texts)
    ranked = rank(results, query, now, own_words=True)
    facts = [each.found for each in ranked if each.found.kind == "fact" and each.share >= FACT_SHARE]
    texts = [each for each in ranked if each.found.kind != "fact" and each.likeness >= WEAK * least]
    if not texts or texts[0].likeness < least:
        return facts
    lines = [each.found for each in texts]
    if (follower := texts[0].next) is not None and follower.own_text:
        others = [found for found in lines[1:] if (found.kind, found.id) != (follower.kind, follower.id)]
        lines = [lines[0], follower._replace(text=follower.own_text, quoted=()), *others]
    return [*facts, *lines[:LINES_MAX]]


def choose_asked(results: Results, noise: Noise, query: str, now: float, limit: int) -> list[Found]:
    """The answer to a search on request: what is surely alike, then what is weakly so, marked."""
    least = least_likeness(noise, results.texts)
    chosen = (each for each in rank(results, query, now, own_words=False) if each.likeness >= WEAK * least)
    return [each.found._replace(is_weak=each.likeness < least) for each, _ in zip(chosen, range(limit), strict=False)]


def rank(results: Results, query: str, now: float, *, own_words: bool) -> list[Candidate]:
    """The candidates, the most alike first, each with its score; without repetitions and what is superseded. Of the
    memories of one slot only the newest stays."""
    kept: list[Candidate] = []
    asked, wanted = normalise(query), find_content_words(query)
    memories = [each.found.text for each in results.candidates if each.found.kind == "memory"]
    for each in results.candidates:
        if each.found.kind == "episode":
            if each.found.role == "user" and normalise(each.found.text) == asked:
                continue
            told = [memory for memory in each.told if memory in memories]
            text = each.found.own_text if own_words else each.found.text
            left = drop_sentences(text, each.found.said_at, told, each.withdrawn, results.ended)
            # What was alike may be what was cut: the rest counts where it has a word of the query.
            if not left or (left != text and find_content_words(left).isdisjoint(wanted)):
                continue
            text = left
            if own_words:
                each.found = each.found._replace(text=text, quoted=())
        recency = 0.5 ** (max(0.0, now - each.found.said_at) / RECENCY_HALF_LIFE_S)
        score = 0.6 * each.likeness + 0.3 * each.found.confidence + 0.1 * recency
        each.found = each.found._replace(similarity=min(each.likeness, 1.0), score=min(score, 1.0))
        kept.append(each)
    # Equals to two places: then the more confident and the newer one comes first.
    kept.sort(key=lambda each: (-round(each.likeness, 2), -each.found.score, -each.found.id))
    return list(_drop_repetitions(kept))


def _drop_repetitions(ranked: Sequence[Candidate]) -> Iterator[Candidate]:
    newest: dict[tuple[str, str], int] = {}
    for each in ranked:
        found = each.found
        if found.slot and not found.is_disputed:
            key = (found.category, found.slot)
            newest[key] = max(newest.get(key, 0), found.id)
    seen: set[str] = set()
    for each in ranked:
        found, words = each.found, normalise(each.found.text)
        is_older = newest.get((found.category, found.slot), found.id) > found.id and not found.is_disputed
        if words not in seen and not (found.slot and is_older):
            seen.add(words)
            yield each


def drop_sentences(
    text: str, said_at: float, told: Sequence[str], withdrawn: Sequence[str], ended: Sequence[Ended]
) -> str:
    """The text without the sentences that a memory beside it tells, or that hold no more."""
    if not (told or withdrawn or ended):
        return text
    sentences = split_sentences(text)
    kept = [
        sentence
        for sentence in sentences
        if not (is_withdrawn(sentence, said_at, withdrawn, ended) or repeats_memory(sentence, told))
    ]
    return text if len(kept) == len(sentences) else " ".join(kept)


def split_sentences(text: str) -> list[str]:
    sentences = []
    for begin, stop in iter_passages(text):
        line = text[begin:stop].replace("\n", " ")
        finder, at = SentenceFinder(line), 0
        while at < len(line):
            found = finder.sentence_at(at)
            at = max(found.end, at + 1)
            if sentence := line[found.start : found.end].strip():
                sentences.append(sentence)
    return sentences


def asks_only(text: str) -> bool:
    """True if the text is nothing but questions, after a word of greeting at most."""
    return _ASKS_ONLY.fullmatch(text) is not None


def normalise(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!?")
