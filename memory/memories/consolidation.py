"""The rules of the nightly consolidation: the present confidence of a memory, what raises it, which memories say the
same, which contradict each other.

Nearness in meaning alone decides none of this: "likes coffee" and "does not like coffee" are nearer than most
paraphrases. So two memories are one only if their differences cannot change what they say."""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import exp
from typing import Final, NamedTuple

from memory.channels import Channel
from memory.english.claims.oppositions import (
    Opposition,
    differ_in_counts,
    find_numbered,
    find_opposition,
    find_things,
    have_other_numbers,
)
from memory.english.claims.stems import stem
from memory.english.claims.wording import differ_in_value
from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_groups, load_words, read_pattern
from memory.memories import slots

READ_MAX: Final = 10_000  # sentences: each is compared with all that are near it
DECAY: Final = 0.01  # a day
# Deviations above the mean of an embedder's noise. With the built-in one they are cosines of 0.75, 0.72 and 0.87; two
# developers of different sorts are 7.0 apart, who likes coffee and who drinks it daily are 7.5.
EVIDENCE_NEAR: Final = 7.3
NEAR: Final = 6.9  # two memories, of which a rule or a model may say more
KNOWN_NEAR: Final = 8.6  # a model's conclusion and what is known: it says nothing new
MERGE_LEAST: Final = 0.6  # of the higher confidence of two
DEPRECATED_BELOW: Final = 0.3

_PICTURES: Final = re.compile("[\u2190-\u21ff\u2300-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]+")  # emoji and arrows
_BEFORE_WORD: Final = re.compile(r"\A(?:[^\w.$€£¥#@%+<>=/\\°-]|_|-+$|[.]+$)+")
_BEHIND_WORD: Final = re.compile(r"(?:[^\w$€£¥#%+<>=/\\°]|_)+\Z")
_INTENSIFIERS: Final = load_words("intensifiers")
_EMPHATIC_END: Final = re.compile(r"(?: (?:a lot|much|too|as well))+$")
_CONTRACTIONS: Final = {"can't": ("can", "not"), "cannot": ("can", "not"), "won't": ("will", "not")}
_EDGES: Final = " \t\n.,;:!?\"'`()[]“”‘’…"
_JOINED: Final = re.compile(r"[a-z]{2,}(?:-[a-z]{2,})+")
_CALLED: Final = frozenset({"is", "are", "was", "were"})
_NEGATIONS: Final = load_words("negations")
_OPPOSED: Final = frozenset(stem(word) for pair in load_groups("antonyms") for word in pair) | _NEGATIONS
_ASIDE: Final = _OPPOSED | load_words("fillers")
_STEMMED: Final = {stem(word): stem(group[0]) for group in load_groups("synonyms") for word in group}
_NAMED: Final = {word: group[0] for group in load_groups("same_names") for word in group}
_BEFORE_INFINITIVES: Final = frozenset(map(stem, load_words("before_infinitives")))
_ASKING: Final = re.compile(
    r"(?:(?:ok|okay|so|and|but|hey|hi|please|well),? )*(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were"
    r"|am|do|does|did|have|has|can|could|would|should|will|shall|may|might) (?!not\b)",
    re.IGNORECASE,
)
_DECIDED: Final = re.compile(rf"\A(?:the team|we|the user|they) {read_pattern('decided')} that ", re.IGNORECASE)


class Word(NamedTuple):
    """A word of a sentence that counts. ``form``: as it is written; ``base``: what it has in common with its other
    forms and its synonyms, empty if no other word says the same (a name, a number, grammar); ``is_single``: after "a".
    """

    form: str
    base: str = ""
    is_single: bool = False


def fold_text(text: str) -> str:
    """Return what near-duplicates have in common: the words without case, punctuation, emoji and intensifiers. Signs
    within words and before numbers count: `C++`, `-5`, `$5`."""
    words = _PICTURES.sub("", text.casefold()).split()
    plain = (_BEFORE_WORD.sub("", _BEHIND_WORD.sub("", word.replace("’", "'"))) for word in words)
    return _EMPHATIC_END.sub("", " ".join(word for word in plain if word and word not in _INTENSIFIERS))


def decay(confidence: float, days: float) -> float:
    """Return the confidence so many days after the last evidence: computed from that day, so never applied twice."""
    return confidence * exp(-DECAY * max(days, 0.0))


def fades(channel: str) -> bool:
    """True if time lowers a memory's confidence: a model concluded it, and nobody has confirmed it since."""
    return channel == Channel.EXPLAINED


def supports(memory: str, said: str) -> bool:
    """True if what was said, which is near the memory in meaning, is evidence for it: not a question, not a
    contradiction, no other value of its slot, and about the same `edge1` or `room 5`."""
    if is_question(said) or find_opposition(memory, said) is not None:
        return False
    return not differ_in_value(memory, said) and find_numbered(memory) <= find_numbered(said)


def is_question(text: str) -> bool:
    return "?" in text or _ASKING.match(text) is not None


def says_same(one: str, other: str) -> bool:
    """True if the texts differ only in word forms, words without a meaning of their own, or a synonym. Symmetric."""
    begun, *said = one.split() or [""]
    begins, *says = other.split() or [""]
    if begun.lower() == begins.lower():  # a sentence may begin with a capital or not
        begin = max(begun, begins)
        one, other = " ".join([begin, *said]), " ".join([begin, *says])
    if one == other:
        return True
    if ("?" in one) != ("?" in other):
        return False
    first, second = read_words(one), read_words(other)
    return (
        bool(first)
        and len(first) == len(second)
        and all(
            ours.form == theirs.form or (ours.base != "" and ours[1:] == theirs[1:])
            for ours, theirs in zip(first, second, strict=True)
        )
    )


def states_same(one: str, other: str) -> bool:
    """True if two sentences say the same, even if one says that it was decided ("The team decided that ...")."""
    return says_same(_DECIDED.sub("", one), _DECIDED.sub("", other))


def find_contradiction(one: str, other: str, category: str, found: Sequence[slots.Slots]) -> Opposition | None:
    """Return the sign that two memories that are near in meaning contradict each other; None if there is none, or if
    rules cannot tell. ``found``: the slots of each."""
    if slots.meet(*found):
        clash = slots.contradicts(one, other, category)
        return (find_opposition(one, other) or Opposition.NAME) if clash else None
    sign = find_opposition(one, other)
    if sign in (None, Opposition.NAME):  # two servers may have two names
        return None
    # They must be about one thing: they share everything but the sign, and what one of them adds.
    first, second = (find_things(text) - _ASIDE for text in (one, other))
    if sign is Opposition.NUMBER:
        return sign if first == second and differ_in_counts(one, other) else None
    is_one = bool(first and second) and (first <= second or second <= first)
    return sign if is_one and not have_other_numbers(one, other) else None


@lru_cache(maxsize=READ_MAX)
def read_words(text: str) -> tuple[Word, ...]:
    """Return the words of a sentence on which its meaning depends, in order."""
    spelt = _split(text)
    has_negation = any(word in _NEGATIONS for word in map(str.lower, spelt))
    found: list[Word] = []
    is_single = False  # whether `a` came before
    for at, written in enumerate(spelt):
        small = written.lower()
        is_begin = at == 0
        if written == small or is_begin:
            if small in ("a", "an", "the"):
                is_single = small != "the"
                continue
            if small in load_words("fillers") and not has_negation:
                continue
            if small == "to" and found and found[-1].base in _BEFORE_INFINITIVES:
                continue
        if small == "called" and found and found[-1].form in _CALLED:
            small = "named"
        found.append(_read_word(written, small, is_single=is_single))
        is_single = False
    return tuple(found)


def _split(text: str) -> list[str]:
    words: list[str] = []
    for piece in text.replace("’", "'").split():
        written = piece.lstrip(_EDGES.replace(".", "")).rstrip(_EDGES)
        small = written.lower()
        if small in _CONTRACTIONS:
            words += _CONTRACTIONS[small]
        elif small.endswith("n't"):
            words += [written[:-3], "not"]
        elif _JOINED.fullmatch(written):
            words += written.split("-")
        elif written:
            words.append(written)
    return words


def _read_word(written: str, small: str, *, is_single: bool) -> Word:
    if small in _NAMED:
        return Word(_NAMED[small])
    if written != written.lower() or not small.isalpha():
        return Word(written)  # a name: in lower case it may be a word
    if is_closed_class(small) and small not in ("has", "have", "does", "do"):
        return Word(small)
    base = stem(small)
    # `Used` and `uses` are one word, but in different tenses.
    is_past = small in load_words("irregular_pasts") or (small.endswith("ed") and base != small)
    base = _STEMMED.get(base, base)
    return Word(small, f"{base} past" if is_past else base, is_single)
