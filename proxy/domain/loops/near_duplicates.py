"""Measures how far two texts say the same in other words."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

LIKENED_MAX: Final = 8_000  # characters; longer texts are like none

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
# What a text is about: names, numbers, files, what is quoted. In such words no two texts that say the same differ.
_FACT: Final = re.compile(
    r"`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|(?<!\S)\S*[0-9]\S*|(?<![\w-])[\w-]+(?:[./_\\@:]+[\w-]+)+"
    r"|(?<=[\w,;] )[A-Z][a-z][\w-]*",
    re.ASCII,
)
# The how many-th time it is says that it is the same again.
_ATTEMPT: Final = re.compile(
    r"\b(?:(?:re)?try|attempt)\b(?: number| no\.)?\W{0,3}[0-9]+(?:(?: of |/)[0-9]+)?\b"
    r"|\b(?:[0-9]+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last)"
    r" (?:(?:re)?try|attempt|time)\b",
    re.IGNORECASE,
)
_AROUND: Final = '.,;:!?()[]{}*`"'
_NUMBERS: Final = """
    one two three four five six seven eight nine ten eleven twelve
    first second third fourth fifth sixth seventh eighth ninth tenth last
"""
# Words that say how something is said, not what.
_FILLERS: Final = """
    a an the this that these those it its i me my we our us you your he she they them their is am are was were be been
    being do does did done has have had having will would can could shall should may might must let to of in on at by
    for from with into as about and or but so if then than there here now again once more still also just please okay
    ok well yes sure alright right going go gonna try trying need want like next time another further continue
    continuing proceed proceeding however therefore thus sorry apologize apologise apologies apology confusion
    really actually currently already very too some any else anything which what how when who where while before after
    back over up out
"""
_NUMBER_WORDS: Final = frozenset(_NUMBERS.split())
_FILLER_WORDS: Final = frozenset(_FILLERS.split())
_ENDINGS: Final = ("ing", "ed", "es", "s", "ly", "e")


@dataclass(frozen=True, slots=True)
class Gist:
    """What a text says, less how it says it."""

    text: int  # hash of it all
    words: frozenset[str]  # the content words, those that come up more than once with each time numbered
    subjects: frozenset[str]  # those of them without which it would say something else


def gist(text: str) -> Gist | None:
    """None for a text that is too long."""
    if len(text) > LIKENED_MAX:
        return None
    said = _ATTEMPT.sub(" ", text)
    counts = Counter(_content_words(said))
    subjects = {word for word, count in counts.items() if count > 1 or word in _NUMBER_WORDS}
    facts = " ".join(_FACT.findall(said))
    subjects.update(_content_words(facts))
    subjects.update(fact.strip(_AROUND) for fact in facts.casefold().split())
    subjects.discard("")
    again = [f"{word} {time}" for word, count in counts.items() for time in range(1, count)]
    return Gist(hash(text), frozenset([*counts, *subjects, *again]), frozenset(subjects))


def _content_words(text: str) -> list[str]:
    """Stems, and numbers as they are."""
    found = []
    for spelled in _WORD.findall(text):
        word = spelled.casefold()
        # Of a contraction only a negation changes what is said: "isn't" counts as "not", "it's" as "it".
        word = "not" if word.endswith(("n't", "n’t")) else word.partition("'")[0].partition("’")[0]
        if word in _FILLER_WORDS:
            continue
        if word not in _NUMBER_WORDS:
            for ending in _ENDINGS:
                if len(word) - len(ending) >= 3 and word.endswith(ending):
                    word = word[: -len(ending)]
                    break
        found.append(word)
    return found


def likeness(one: Gist, other: Gist) -> float:
    """From 0 to 1: 1 for the same content words, also for none; 0 where they speak of different things."""
    # A file or a number that only one of them names makes it another answer, however alike the rest is.
    if not (one.subjects <= other.words and other.subjects <= one.words):
        return 0.0
    total = len(one.words) + len(other.words)
    return 2 * len(one.words & other.words) / total if total else 1.0


def differ(one: Gist, other: Gist, asked: Gist) -> bool:
    """Whether each of two texts speaks of something that was asked for and that the other does not speak of."""
    named = one.words ^ other.words
    named &= asked.words
    return not (named.isdisjoint(one.words) or named.isdisjoint(other.words))
