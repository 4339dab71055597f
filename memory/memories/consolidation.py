"""The rules of the nightly consolidation: the present confidence of a memory, what raises it, which memories say the
same, which contradict each other.

Nearness in meaning alone decides none of this: "likes coffee" and "does not like coffee" are nearer than most
paraphrases. So two memories are one only if their differences cannot change what they say."""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import exp
from typing import Final

from memory.channels import Channel
from memory.english.claims import differ_in_value
from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_groups, load_words, read_pattern
from memory.english.opposites import Opposition, find_numbered, find_opposition, find_things, list_numbers
from memory.english.stems import stem
from memory.memories import slots

READ_MAX: Final = 10_000  # sentences: each is compared with all that are near it
DECAY: Final = 0.01  # a day
# Deviations above the mean of an embedder's noise. With the built-in one they are cosines of 0.75, 0.69 and 0.87; two
# developers of different sorts are 6.8 or 7.0 apart, by processor, who likes coffee and who drinks it daily are 7.5.
EVIDENCE_NEAR: Final = 7.3
NEAR: Final = 6.6  # two memories, of which a rule or a model may say more
KNOWN_NEAR: Final = 8.6  # a model's conclusion and what is known: it says nothing new
MERGE_LEAST: Final = 0.6  # of the higher confidence of two
DEPRECATED_BELOW: Final = 0.3

_PICTURES: Final = re.compile("[\u2190-\u21ff\u2300-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]+")  # emoji and arrows
_BEFORE_WORD: Final = re.compile(r"\A(?:[^\w.$€£¥#@%+<>=/\\°-]|_|-+$|[.]+$)+")
_BEHIND_WORD: Final = re.compile(r"(?:[^\w$€£¥#%+<>=/\\°]|_)+\Z")
_INTENSIFIERS: Final = load_words("intensifiers")
_EMPHATIC_END: Final = re.compile(r"(?: (?:a lot|much|too|as well))+$")
_EDGES: Final = ",;:!?\"'`()[]“”‘’…"
_JOINED: Final = re.compile(r"[a-z]{2,}(?:-[a-z]{2,})+")
_EMPTY: Final = frozenset({"the", "to"})
_NEGATIONS: Final = load_words("negations")
_OPPOSED: Final = frozenset(stem(word) for pair in load_groups("antonyms") for word in pair) | _NEGATIONS
_ASIDE: Final = _OPPOSED | load_words("fillers")
_STEMMED: Final = {stem(word): stem(group[0]) for group in load_groups("synonyms") for word in group}
_NAMED: Final = {word: group[0] for group in load_groups("same_names") for word in group}
_ASKING: Final = re.compile(
    r"(?:(?:ok|okay|so|and|but|hey|hi|please|well),? )*(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were"
    r"|am|do|does|did|have|has|can|could|would|should|will|shall|may|might) (?!not\b)",
    re.IGNORECASE,
)
_DECIDED: Final = re.compile(rf"\A(?:the team|we|the user|they) {read_pattern('decided')} that ", re.IGNORECASE)


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
    first, second = read_words(one), read_words(other)
    return one == other or (("?" in one) == ("?" in other) and first == second != ())


def states_same(one: str, other: str) -> bool:
    """True if two sentences say the same, even if one says that it was decided ("The team decided that ...")."""
    return says_same(_DECIDED.sub("", one), _DECIDED.sub("", other))


def find_contradiction(one: str, other: str, category: str, found: Sequence[slots.Slots]) -> Opposition | None:
    """Return the sign that two memories that are near in meaning contradict each other; None if there is none, or if
    rules cannot tell. ``found``: the slots of each."""
    if slots.share_slot(*found):
        clash = slots.contradicts(one, other, category)
        return (find_opposition(one, other) or Opposition.NAME) if clash else None
    sign = find_opposition(one, other)
    if sign in (None, Opposition.NAME):  # two servers may have two names
        return None
    # They must be about one thing: they share everything but the sign, and what one of them adds.
    first, second = (find_things(text) - _ASIDE for text in (one, other))
    if sign is Opposition.NUMBER:
        return sign if first == second else None
    if not first or not second:
        return None
    first, second = first.union(list_numbers(one)), second.union(list_numbers(other))
    return sign if first <= second or second <= first else None


@lru_cache(maxsize=READ_MAX)
def read_words(text: str) -> tuple[str, ...]:
    """Return the words of a sentence on which its meaning depends, in order: names, numbers and grammar as they are
    written, others as their forms and synonyms have them in common."""
    plain = text.replace("’", "'").replace("can't", "can not").replace("cannot", "can not").replace("won't", "will not")
    pieces = (piece.lstrip(_EDGES).rstrip(f"{_EDGES}.") for piece in plain.replace("n't", " not").split())
    spelt = [word for piece in pieces for word in (piece.split("-") if _JOINED.fullmatch(piece) else [piece]) if word]
    if spelt and spelt[0].istitle():  # a sentence may begin with a capital or not
        spelt[0] = spelt[0].lower()
    is_denied = not _NEGATIONS.isdisjoint(map(str.lower, spelt))
    left_out = _EMPTY if is_denied else _EMPTY | load_words("fillers")
    return tuple(_read_word(word, is_first=at == 0) for at, word in enumerate(spelt) if word not in left_out)


def _read_word(word: str, *, is_first: bool) -> str:
    if word.lower() in _NAMED:
        return _NAMED[word.lower()]
    # A name in lower case may be a word, and the first word a name.
    if is_first or word != word.lower() or not word.isalpha() or is_closed_class(word):
        return "a" if word == "an" else word
    base = stem(word)
    # `Used` and `uses` are one word, but in different tenses.
    tense = " past" if word.endswith("ed") and base != word else ""
    return f"{_STEMMED.get(base, base)}{tense}"
