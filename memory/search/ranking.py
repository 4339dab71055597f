"""Decides what of the texts that were found is given, and in which order. Each constant was chosen on the weeks in
``benchmarks/weeks`` and ``benchmarks/retrieval_weeks.txt``; docs/decisions/015-one-search.md has what each is worth."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from math import log, sqrt
from typing import Any, Final, NamedTuple

from memory.domain.formatting import tell_fact
from memory.domain.language.english import changing
from memory.domain.language.english import requests as english
from memory.domain.recall.notes import find_content_words
from memory.domain.recall.requests import TEXTS_KEPT, keep_statements, split_sentences
from memory.domain.recall.retelling import Ended, states_ended
from memory.domain.text.tokenizer import tokenise
from memory.domain.types import TripleIds
from memory.search.request import Kind
from memory.search.results import Found
from memory.semantic.domain.noise import Noise

LINES_MAX: Final = 5  # given unasked, of all kinds together
SHARE_WEIGHT: Final = 0.25  # of the share of the query's words that a text has, beside its cosine
NO_VECTOR_WEIGHT: Final = 0.8  # the same of a text without a vector
TEXTS_MIN: Final = 20  # a smaller store counts as one of so many: the floor was measured on stores of 18 texts and more
LEAST_FACTOR: Final = 1.3  # k: how many deviations above chance the best text has to be, for each sqrt(2 ln N)
FACT_SHARE: Final = 0.5  # of the words of a prompt that a fact must have: then the prompt asks for it
WEAK: Final = 0.75  # of the least likeness: enough for a text that comes with a better one
ASKED_FOR: Final = 2 / 3  # of the least likeness: enough on request
STANDING: Final = frozenset({"identity", "preference"})  # the categories of a profile
STORED_AS: Final[dict[str, Kind]] = {"profile": "memory", "recent": "episode"}
DAY: Final = 86_400.0
ASKS_ONLY: Final = r"\s*(\w+[!,.]\s+)?([^.!?]*\?)+\s*"  # for Postgres, too, which leaves such messages out
_ASKS_ONLY: Final = re.compile(ASKS_ONLY)
_CHANGES: Final = re.compile(changing.DOUBTS, re.IGNORECASE)
_LISTS: Final = {kind: re.compile(forms) for kind, forms in english.LISTS.items()}
_REMEMBER: Final = re.compile(r"\s*(?:please )?(?:remember|note|keep in mind)(?: that|:)?\s+", re.IGNORECASE)
_NAMED_NUMBER: Final = re.compile(r"\b([A-Z][\w-]*) (\d[\d.]{0,5})\b")
_NUMBER: Final = re.compile(r"[\d.:,/-]*\d[\d.:,/-]*")
RECENCY_HALF_LIFE_S: Final = 30 * DAY


FULL_TEXT: Final = Noise(0.05, 0.08)  # where there is no embedder, so that the least share of words grows the same way


@dataclass(slots=True)
class Candidate:
    """``cosine`` is None for a text without a vector. ``share``: the part of the query's words that it has, by rarity.
    ``next``: the user's next message in the conversation."""

    found: Found
    cosine: float | None
    share: float
    next: Found | None = None

    @property
    def likeness(self) -> float:
        if self.cosine is None:
            return NO_VECTOR_WEIGHT * self.share
        return max(self.cosine, 0.0) + SHARE_WEIGHT * self.share


@dataclass(slots=True)
class Results:
    """All that a statement returned. ``texts``: how many are in the scope, counted up to a limit; ``by_kind``: of each
    kind. ``ended``: facts of the named concepts that are superseded. ``profile``: the speaker's standing memories,
    ``recent``: their last messages, if the query asks for a list; each the newest first."""

    candidates: list[Candidate]
    texts: int = 0
    by_kind: Mapping[str, int] = field(default_factory=dict)
    ended: Sequence[Ended] = ()
    profile: list[Found] = field(default_factory=list)
    recent: list[Found] = field(default_factory=list)


class ForPrompt(NamedTuple):
    """The finds that a prompt may be given: ``lines`` that belong to it, the best first; the speaker's ``profile``, and
    messages of theirs that say that something has changed (``changes``), the newest first. ``is_list``: the prompt asks
    for all that is known, or was talked about."""

    lines: Sequence[Found] = ()
    profile: Sequence[Found] = ()
    changes: Sequence[Found] = ()
    is_list: bool = False


def least_likeness(noise: Noise, texts: int) -> float:
    """The likeness from which on a text hardly is as alike by chance. Of many chance likenesses the best one is larger,
    too: the expected maximum of N normal deviates is about sqrt(2 ln N) deviations above their mean."""
    return noise.at(LEAST_FACTOR * sqrt(2 * log(max(texts, TEXTS_MIN))))


def read_rows(rows: Iterable[Sequence[Any]]) -> Results:
    """From the rows of the statement."""
    results = Results([])
    for row in rows:
        kind, key, text, confidence, said_at, agent, role, channel, category, is_disputed, cosine, share = row[:12]
        quoted, slot, detail = row[12:]
        if kind == "size":
            results.texts, results.by_kind = key, detail
            continue
        if kind == "ended":
            results.ended = [Ended(*one) for one in detail or ()]
            continue
        fact = None
        if kind == "fact":
            concept, parent, dimension, is_isa, *ids = detail
            fact, text = TripleIds(*ids), f"{tell_fact(concept, parent, dimension, is_isa=is_isa)}."
        found = Found(
            STORED_AS.get(kind, kind), key, text, confidence, said_at, agent, role, channel, category, is_disputed,
            tuple(quoted), slot, fact,
        )  # fmt: skip
        if kind == "profile":
            results.profile.append(found)
        elif kind == "recent":
            results.recent.append(found)
        else:
            after = None
            if kind == "episode" and detail is not None:
                next_key, next_text, next_at, next_quoted = detail
                after = found._replace(id=next_key, text=next_text, said_at=next_at, quoted=tuple(next_quoted))
            results.candidates.append(Candidate(found, cosine, share, after))
    return results


def choose_for_prompt(results: Results, noise: Noise, query: str, now: float) -> ForPrompt:
    """Choose what a prompt may be given: no text unless one is more alike than by chance, then also those that are
    nearly so, and what the user said right after the best one: it often answers or corrects it. Messages that only ask,
    order, greet or thank are left out, but not what follows; so are such sentences of others."""
    least = least_likeness(noise, results.texts)
    ranked = rank(results, query, now, own_words=True)
    changes = [each.found for each in ranked if each.found.kind == "episode" and _CHANGES.search(each.found.text)]
    changes.sort(key=lambda found: found.said_at, reverse=True)
    profile = [found for found in results.profile if found.category in STANDING]
    if is_list := asks_for_list(query):
        listed = [] if is_list == "talks" else results.profile
        recent = filter(None, map(_tell_own, results.recent))
        return ForPrompt(list(drop_copies([*listed, *recent])), profile, changes, is_list=True)
    facts = [each.found for each in ranked if each.found.kind == "fact" and each.share >= FACT_SHARE]
    texts = [each for each in ranked if each.found.kind != "fact" and each.likeness >= WEAK * least]
    if not texts or texts[0].likeness < least:
        return ForPrompt(facts, profile, changes)
    lines = [each.found for each in texts if each.found.text]
    if texts[0].next is not None and (follower := _tell_own(texts[0].next)) is not None:
        lines.insert(1 if texts[0].found.text else 0, follower)
    lines = list(drop_copies(_show_disputes_whole(lines)))
    return ForPrompt([*facts, *lines[:LINES_MAX]], profile, changes)


def choose_asked(results: Results, noise: Noise, query: str, now: float, limit: int) -> list[Found]:
    """The answer to a search on request: what is surely alike, then what is weakly so, marked."""
    if is_list := asks_for_list(query):
        return list(drop_copies([*([] if is_list == "talks" else results.profile), *results.recent]))[:limit]
    least = least_likeness(noise, results.texts)
    chosen = (each for each in rank(results, query, now, own_words=False) if each.likeness >= ASKED_FOR * least)
    found = drop_copies(each.found._replace(is_weak=each.likeness < least) for each in chosen)
    return list(islice(found, limit))


def asks_for_list(query: str) -> str:
    """Return ``me`` for a question about all that is known of the asker, ``talks`` for one about what was talked about;
    "" for any other."""
    small = " ".join(re.findall(r"[\w']+", query.casefold().replace("’", "'")))
    return next((kind for kind, forms in _LISTS.items() if forms.fullmatch(small)), "")


def rank(results: Results, query: str, now: float, *, own_words: bool) -> list[Candidate]:
    """Return the candidates, the most alike first, each with its score; without the query itself and what is
    superseded. ``own_words``: with nothing but what their speakers state; the text is empty where that is nothing."""
    kept: list[Candidate] = []
    asked, wanted = normalise(query), find_content_words(query)
    for each in results.candidates:
        if each.found.kind == "episode":
            if each.found.role == "user" and normalise(each.found.text) == asked:
                continue
            text = each.found.own_text if own_words else each.found.text
            left = drop_ended(keep_statements(text) if own_words else text, each.found.said_at, results.ended)
            if left != text:
                shared = wanted & find_content_words(text)
                if shared and shared.isdisjoint(find_content_words(left)):
                    left = ""  # what was alike is cut
            if not (left or own_words):
                continue
            each.found = each.found._replace(text=left, quoted=() if own_words else each.found.quoted)
        recency = 0.5 ** (max(0.0, now - each.found.said_at) / RECENCY_HALF_LIFE_S)
        score = 0.6 * each.likeness + 0.3 * each.found.confidence + 0.1 * recency
        each.found = each.found._replace(similarity=min(each.likeness, 1.0), score=min(score, 1.0))
        kept.append(each)
    # Equals to two places: then the more confident and the newer one comes first.
    kept.sort(key=lambda each: (-round(each.likeness, 2), -each.found.score, -each.found.id))
    return kept


def _tell_own(found: Found) -> Found | None:
    """Return a message with nothing but what its speaker states; None if they state nothing."""
    text = keep_statements(found.own_text)
    return found._replace(text=text, quoted=()) if text else None


def _show_disputes_whole(lines: Sequence[Found]) -> list[Found]:
    """Return the lines without disputed memories that nothing here disputes: half a dispute tells a value as true."""
    slots = Counter((found.category, found.slot) for found in lines if found.is_disputed)
    return [found for found in lines if not found.is_disputed or slots[found.category, found.slot] > 1]


def drop_copies(lines: Iterable[Found]) -> Iterator[Found]:
    """Yield the lines; of near-copies only the newest, in the place of the first. Members of a dispute are no
    copies."""
    found = list(lines)
    told = {copy_key(each.text) for each in found if each.kind == "memory"}
    groups: dict[object, list[Found]] = {}
    for each in found:
        key = (each.kind, each.id) if each.is_disputed or each.kind == "fact" else copy_key(each.text)
        if each.kind != "episode" or key not in told:  # else it is the message that a memory was made of
            groups.setdefault(key, []).append(each)
    for copies in groups.values():
        yield max(copies, key=lambda each: each.said_at)


@lru_cache(maxsize=TEXTS_KEPT)
def copy_key(text: str) -> tuple[str, ...]:
    """Return what is equal for texts that differ only in case, punctuation, emoji, intensifiers, a request to remember
    them, or numbers that belong to no name."""
    # A number behind a capital letter belongs to a name, whatever follows.
    text = _NAMED_NUMBER.sub(r"\1_\2", _REMEMBER.sub("", text, count=1))
    tokens = [token.text for token in tokenise(text)]
    words = chain.from_iterable(map(_split_capitals, tokens))
    return tuple(word for word in words if word not in english.INTENSIFIERS and not _NUMBER.fullmatch(word))


def _split_capitals(token: str) -> Sequence[str]:
    """Return the words that capitals have joined; a number that is joined belongs to the name before it."""
    parts = token.split("_")
    return [token] if any(map(_NUMBER.fullmatch, parts[1:])) else parts


def drop_ended(text: str, said_at: float, ended: Sequence[Ended]) -> str:
    """The text without the sentences that state a superseded fact."""
    if not ended:
        return text
    sentences = list(split_sentences(text))
    kept = [sentence for sentence in sentences if not states_ended(sentence, said_at, ended)]
    return text if len(kept) == len(sentences) else " ".join(kept)


def asks_only(text: str) -> bool:
    """True if the text is nothing but questions, after a word of greeting at most."""
    return _ASKS_ONLY.fullmatch(text) is not None


def normalise(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!?")
