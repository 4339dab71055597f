"""Decides which texts of an index are given for a query, and in which order. docs/decisions/015-one-search.md has on
what each constant was chosen."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from math import log, sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.english.excerpts import find_content_words, states_ended
from memory.english.lexicon import read_pattern
from memory.english.telling import TEXTS_KEPT, join_sentences, keep_statements, split_sentences
from memory.memories.consolidation import fold_text
from memory.memories.scope import PERSONAL
from memory.search.found import ChanceLikeness, Found, Kind
from memory.search.index import Index, Query, Scores
from memory.types import Ended

UNKNOWN: Final = log(1 + 1_000_000 / 0.5)  # the weight of a lexeme that no English message has
LINES_MAX: Final = 5  # given unasked, of all kinds together
CHOSEN_MAX: Final = 10  # lines of which copies are dropped
CANDIDATES_MAX: Final = 100  # texts that are read whole until there are so many: people ask the same again and again
SHARE_WEIGHT: Final = 0.25  # of the share of the query's words that a text has, beside its cosine
NO_VECTOR_WEIGHT: Final = 0.8  # the same of a text without a vector
WORDS_WEIGHT, AROUND_WEIGHT = 0.2, 0.1  # of BM25 in the order, beside the likeness: of a text, and with its neighbours
TEXTS_MIN: Final = 10  # a smaller store counts as one of so many
LEAST_FACTOR: Final = 1.3  # k: how many deviations above chance the best text has to be, for each sqrt(2 ln N)
# The same where the encoder tells whether a query needs something said before: so many for each unit of its log odds.
NEED_WEIGHT, LEAST_WITH_NEED = 1 / 3, 2.2
SURE: Final = 1.8  # so many are enough, whatever the query needs
WEAK: Final = 0.75  # of the best text's likeness, or of the least: enough for one that comes with it
ASKED_FOR: Final = 2 / 3  # of the least likeness: enough on request
STANDING: Final = frozenset({"identity", "preference"})  # the categories of a profile
RECENT_MAX: Final = 40  # messages, if a query asks for a list
CHANGES_MAX: Final = 24
_ASKS_ONLY: Final = re.compile(r"\s*(\w+[!,.]\s+)?([^.!?]*\?)+\s*")
_CHANGES: Final = re.compile(read_pattern("outdating"))
_LISTS: Final = {kind: re.compile(read_pattern(f"lists_of_{kind}")) for kind in ("me", "talks")}
_REMEMBER: Final = re.compile(r"\s*(?:please )?(?:remember|note|keep in mind)(?: that|:)?\s+", re.IGNORECASE)
_NAMED_NUMBER: Final = re.compile(r"\b([A-Z][\w-]*) (\d[\d.]{0,5})\b")
_NUMBER: Final = re.compile(r"[$€£.:,/+-]*\d[\dt.:,/-]*[z%]?")  # or a time

FULL_TEXT: Final = ChanceLikeness(
    0.05, 0.08
)  # where there is no embedder, so that the least share of words grows the same way


class Candidate(NamedTuple):
    """A text of an index at ``row``, with its likeness."""

    row: int
    found: Found


class Asked(NamedTuple):
    """Says what is looked for.

    - ``at``: when the query came, in seconds since the epoch.
    - ``conversation``: the first eight bytes of the digest of the one it comes from, 0 for none.
    - ``need``: the logarithm of the odds that it needs something said before; None if nobody can tell.
    - ``find_ended``: returns facts and claims about what a text names that no longer hold.
    """

    text: str
    query: Query
    noise: ChanceLikeness
    at: float
    conversation: int = 0
    need: float | None = None
    find_ended: Callable[[str], Sequence[Ended]] = lambda text: ()


class ForPrompt(NamedTuple):
    """The finds that a prompt may be given: ``lines`` that belong to it, the best first; the speaker's ``profile``, and
    messages of theirs that say that something has changed (``changes``), the newest first. ``is_list``: the prompt asks
    for all that is known, or was talked about. ``unfit``: what operators do not want in such prompts."""

    lines: Sequence[Found] = ()
    profile: Sequence[Found] = ()
    changes: Sequence[Found] = ()
    is_list: bool = False
    unfit: Sequence[Found] = ()


def least_likeness(noise: ChanceLikeness, texts: int) -> float:
    """The likeness from which on a text hardly is as alike by chance. Of many chance likenesses the best one is larger,
    too: the expected maximum of N normal deviates is about sqrt(2 ln N) deviations above their mean."""
    return noise.at(LEAST_FACTOR * sqrt(2 * log(max(texts, TEXTS_MIN))))


def find_floor(texts: int, asked: Asked) -> float:
    """Return how alike the most alike of so many texts has to be for a prompt to be given something."""
    least = least_likeness(asked.noise, texts)
    if asked.need is None:
        return least
    deviations = min(SURE, LEAST_WITH_NEED - NEED_WEIGHT * asked.need)
    return max(asked.noise.mean + deviations / LEAST_FACTOR * (least - asked.noise.mean), 0.0)


def weigh(lexemes: Iterable[str], rarity: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each lexeme in the weight of all. What is no word of the language weighs the most."""
    weights = {lexeme: rarity.get(lexeme, UNKNOWN) for lexeme in lexemes}
    total = sum(weights.values()) or 1.0
    return {lexeme: weight / total for lexeme, weight in weights.items()}


def choose_for_prompt(index: Index, asked: Asked) -> ForPrompt:
    """Choose what a prompt may be given: no text unless one is more alike than by chance, then also those that are
    nearly so, and what the user said right after the best one: it often answers or corrects it. Messages that only ask,
    order, greet or thank are left out, but not what follows; so are such sentences of others."""
    columns = index.columns
    is_known = columns["known_at"] < asked.at
    profile = _list_newest(index, is_known & columns["is_memory"], lambda found: found.category in STANDING)
    is_others = is_known & ~((columns["conversation"] == asked.conversation) & (columns["conversation"] != 0))
    if is_list := asks_for_list(asked.text):
        own = _list_newest(index, is_known & columns["is_memory"], lambda found: found.category in PERSONAL)
        said = is_others & ~columns["is_memory"] & ~(columns["is_fiction"] & (is_list != "talks"))
        recent = _list_newest(index, said, lambda found: found.role == "user")[:RECENT_MAX]
        listed = [*([] if is_list == "talks" else own), *filter(None, map(_tell_own, recent))]
        return ForPrompt(list(drop_copies(listed, profile)), profile, is_list=True)
    is_asked = is_others & columns["is_unasked"] & ~columns["only_asks"]
    scores = index.score(asked.query, with_quoted=False)
    likeness, order = _join(scores, is_asked)
    fits = partial(_fits, index, likeness, least_likeness(asked.noise, int(is_asked.sum())))
    unfit = [found for found in profile if not fits(found)]
    profile, changes = [*filter(fits, profile)], [*filter(fits, _find_changes(index, is_asked, likeness))]
    _leave_out_questions(index, is_asked, likeness, asked.text)
    best, floor = float(likeness[is_asked].max(initial=0.0)), find_floor(int(is_asked.sum()), asked)
    if not is_asked.any() or best < floor:
        return ForPrompt([], profile, changes, unfit=unfit)
    least = WEAK * (best if asked.need is not None else floor)
    taken = _take(index, is_asked & (likeness >= least), likeness, order)
    chosen = [each for each in taken if fits(each.found)]
    unfit += [each.found for each in taken if not fits(each.found)]
    lines: list[Found] = []
    for at, each in enumerate(rank(chosen, asked, own_words=True)):
        if each.found.text:
            lines.append(each.found._replace(floor=floor if likeness[each.row] >= best else least))
        if at == 0 and (follower := _find_follower(index, each.row, is_asked)) is not None and fits(follower):
            lines.append(follower)
        if len(lines) >= CHOSEN_MAX:
            break
    copyless = drop_copies(_show_disputes_whole(lines), profile)
    return ForPrompt(list(copyless)[:LINES_MAX], profile, changes, unfit=unfit)


def choose_asked(
    index: Index, asked: Asked, limit: int, kinds: Collection[Kind], facts: Collection[Found] = ()
) -> list[Found]:
    """Choose the answer to a search on request among texts of these kinds and ``facts``: what is surely alike, facts
    first, which leave texts up to half of the room, then what is weakly so, marked."""
    is_memory, is_wanted = index.columns["is_memory"], [kind == "memory" for kind in kinds if kind != "fact"]
    is_asked = ~index.columns["only_asks"] & np.isin(is_memory, is_wanted)
    if is_list := asks_for_list(asked.text):
        own = _list_newest(index, is_asked & is_memory, lambda found: found.category in PERSONAL)
        recent = _list_newest(index, is_asked & ~is_memory, lambda found: found.role == "user")[:RECENT_MAX]
        return list(drop_copies([*([] if is_list == "talks" else own), *recent]))[:limit]
    likeness, order = _join(index.score(asked.query, with_quoted=True), is_asked)
    least = least_likeness(asked.noise, int(is_asked.sum()))
    texts = rank(_take(index, is_asked & (likeness >= ASKED_FOR * least), likeness, order), asked, own_words=False)
    told = sorted(facts, key=lambda fact: (-fact.similarity, -fact.confidence))
    found = [*told, *(each.found for each in texts)]
    alike = [each._replace(is_weak=each.similarity < least) for each in found if each.similarity >= ASKED_FOR * least]
    alike = sorted(drop_copies(alike), key=lambda each: each.is_weak)
    sure = [each for each in alike if each.kind == "fact" and not each.is_weak]
    others = [each for each in alike if each.kind != "fact" and not each.is_weak]
    first = limit - min(len(others), limit // 2)  # what only names what is asked about is alike, too
    return [*sure[:first], *others, *sure[first:], *alike[len(sure) + len(others) :]][:limit]


def asks_for_list(query: str) -> str:
    """Return ``me`` for a question about all that is known of the asker, ``talks`` for one about what was talked about;
    "" for any other."""
    small = " ".join(re.findall(r"[\w']+", query.casefold().replace("’", "'")))
    return next((kind for kind, forms in _LISTS.items() if forms.fullmatch(small)), "")


def rank(chosen: Iterable[Candidate], asked: Asked, *, own_words: bool) -> Iterator[Candidate]:
    """Yield the candidates without the query itself and what is superseded. ``own_words``: with nothing but what their
    speakers state; the text is empty where that is nothing."""
    query, wanted = normalise(asked.text), find_content_words(asked.text)
    for each in chosen:
        found = each.found
        if found.kind == "episode":
            if found.role == "user" and normalise(found.text) == query:
                continue
            text = found.own_text if own_words else found.text
            stated = keep_statements(text) if own_words else text
            left = drop_ended(stated, found.said_at, asked.find_ended(stated))
            is_ended = left != stated
            if left != text:
                shared = wanted & find_content_words(text)
                if shared and shared.isdisjoint(find_content_words(left)):
                    left = ""  # what was alike is cut
            if not left and (is_ended or not own_words):
                continue
            found = found._replace(text=left, quoted=() if own_words else found.quoted)
        yield each._replace(found=found)


def _join(scores: Scores, is_asked: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the likeness, which decides whether anything is given, and the joined score, which decides what."""
    has_vector = ~np.isnan(scores.cosine)
    likeness = np.where(
        has_vector,
        np.maximum(np.nan_to_num(scores.cosine), 0) + SHARE_WEIGHT * scores.share,
        NO_VECTOR_WEIGHT * scores.share,
    )
    if not is_asked.any():
        return likeness, likeness
    joined = sum(
        weight * (part - part[is_asked].mean()) / (part[is_asked].std() + 1e-6)
        for weight, part in ((1.0, likeness), (WORDS_WEIGHT, scores.words), (AROUND_WEIGHT, scores.around))
    )
    return likeness, np.asarray(joined, dtype=np.float32)


def _take(
    index: Index, is_chosen: NDArray[np.bool_], likeness: NDArray[np.float32], order: NDArray[np.float32]
) -> list[Candidate]:
    """Return the best of them in their order; among equals the more confident, then the newer. With a disputed memory
    come those that dispute its slot."""
    rows = np.flatnonzero(is_chosen)
    rows = rows[np.argsort(-order[rows], kind="stable")][:CANDIDATES_MAX]
    slots = {
        (index.texts[row].category, index.texts[row].slot) for row in rows.tolist() if index.texts[row].is_disputed
    }
    if slots:
        known = set(rows.tolist())
        rivals = [
            row
            for row in np.flatnonzero(index.columns["is_memory"]).tolist()
            if row not in known and (one := index.texts[row]).is_disputed and (one.category, one.slot) in slots
        ]
        rows = np.array([*rows.tolist(), *rivals], dtype=rows.dtype)
    taken = []
    for row in rows.tolist():
        alike = min(float(likeness[row]), 1.0)
        taken.append(Candidate(row, index.texts[row]._replace(similarity=alike, score=alike)))
    taken.sort(key=lambda each: (-round(float(order[each.row]), 2), -each.found.confidence, -each.found.said_at))
    return taken


def _fits(index: Index, likeness: NDArray[np.float32], least: float, found: Found) -> bool:
    """False if the query is like a prompt for which an operator does not want the text: more than by chance, and at
    least as much as it is like the text."""
    if not found.unfit_for:
        return True
    is_prompt = np.isin(index.columns["id"], found.unfit_for) & ~index.columns["is_memory"]
    return float(likeness[is_prompt].max(initial=0.0)) < max(least, found.similarity)


def _leave_out_questions(index: Index, is_asked: NDArray[np.bool_], likeness: NDArray[np.float32], query: str) -> None:
    """Take out of ``is_asked`` what is most alike as long as it only repeats the query or tells nothing: it would hide
    how alike everything else is."""
    said = normalise(query)
    for row in np.argsort(np.where(is_asked, -likeness, 1))[:CANDIDATES_MAX].tolist():
        found = index.texts[row]
        if found.kind == "memory" or (normalise(found.text) != said and keep_statements(found.own_text)):
            break
        is_asked[row] = False


def _list_newest(index: Index, is_listed: NDArray[np.bool_], fits: Callable[[Found], bool]) -> list[Found]:
    found = filter(fits, (index.texts[row] for row in np.flatnonzero(is_listed).tolist()))
    return sorted(found, key=lambda each: (each.said_at, each.id), reverse=True)


def _find_changes(index: Index, is_asked: NDArray[np.bool_], likeness: NDArray[np.float32]) -> list[Found]:
    """Return the messages most like the query that say that something has changed, the newest first."""
    rows = np.flatnonzero(is_asked & index.columns["is_change"])
    rows = rows[np.argsort(-likeness[rows])][:CHANGES_MAX]
    return sorted((index.texts[row] for row in rows.tolist()), key=lambda found: found.said_at, reverse=True)


def _find_follower(index: Index, row: int, is_asked: NDArray[np.bool_]) -> Found | None:
    """Return the user's next message in the conversation, with nothing but what it states."""
    after = int(index.columns["after"][row])
    while after != row and index.texts[after].role != "user":
        row, after = after, int(index.columns["after"][after])
    return _tell_own(index.texts[after]) if after != row and is_asked[after] else None


def _tell_own(found: Found) -> Found | None:
    """Return a message with nothing but what its speaker states; None if they state nothing."""
    text = keep_statements(found.own_text)
    return found._replace(text=text, quoted=()) if text else None


def _show_disputes_whole(lines: Sequence[Found]) -> list[Found]:
    """Return the lines without disputed memories that nothing here disputes: half a dispute tells a value as true."""
    slots = Counter((found.category, found.slot) for found in lines if found.is_disputed)
    return [found for found in lines if not found.is_disputed or slots[found.category, found.slot] > 1]


def drop_copies(lines: Iterable[Found], profile: Iterable[Found] = ()) -> Iterator[Found]:
    """Yield the lines; of near-copies only the newest, in the place of the first, and no message of which each sentence
    is a memory that is a line, too, or in the profile. Members of a dispute are no copies."""
    found = list(lines)
    told = {copy_key(each.text) for each in (*found, *profile) if each.kind == "memory"}
    groups: dict[object, list[Found]] = {}
    for each in found:
        key = (each.kind, each.id) if each.is_disputed or each.kind == "fact" else copy_key(each.text)
        sentences = split_sentences(each.text) if told and each.kind == "episode" else [""]
        if not told.issuperset(map(copy_key, sentences)):
            groups.setdefault(key, []).append(each)
    for copies in groups.values():
        yield max(copies, key=lambda each: each.said_at)


@lru_cache(maxsize=TEXTS_KEPT)
def copy_key(text: str) -> tuple[str, ...]:
    """Return what is equal for texts that differ only in case, punctuation, emoji, intensifiers, a request to remember
    them, or numbers that belong to no name."""
    # A number behind a capital letter belongs to a name, whatever follows.
    folded = fold_text(_NAMED_NUMBER.sub(r"\1_\2", _REMEMBER.sub("", text, count=1)))
    return tuple(word for word in folded.split() if not _NUMBER.fullmatch(word))


def drop_ended(text: str, said_at: float, ended: Sequence[Ended]) -> str:
    """The text without the sentences that state a superseded fact."""
    if not ended:
        return text
    sentences = list(split_sentences(text))
    kept = [sentence for sentence in sentences if not states_ended(sentence, said_at, ended)]
    return text if len(kept) == len(sentences) else join_sentences(kept)


def asks_only(text: str) -> bool:
    """True if the text is nothing but questions, after a word of greeting at most."""
    return _ASKS_ONLY.fullmatch(text) is not None


def tells_change(text: str) -> bool:
    return _CHANGES.search(text.lower()) is not None


def normalise(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!?")
