"""Measures how far two texts say the same in different words."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

LIKENED_MAX: Final = 8_000  # characters; longer texts are not compared

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
# What a text is about: names, numbers, files, quotations. Two texts that say the same never differ in these words.
_FACT: Final = re.compile(
    r"`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|(?<!\S)\S*[0-9]\S*|(?<![\w-])[\w-]+(?:[./_\\@:]+[\w-]+)+"
    r"|(?<=[\w,;] )[A-Z][a-z][\w-]*",
    re.ASCII,
)
# Counts of attempts, which differ although the same is done again.
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
    """The content of a text, without how it is said."""

    text: int  # hash of it all
    words: frozenset[str]  # the content words; repeated ones are also there with a number for each further time
    subjects: frozenset[str]  # those without which the text would say something else


def gist(text: str) -> Gist | None:
    """Return None for a text that is too long."""
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
    """Return the stems of content words; numbers stay as they are."""
    found = []
    for spelled in _WORD.findall(text):
        word = spelled.casefold()
        # In a contraction only a negation changes the content: "isn't" counts as "not", "it's" as "it".
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
    """Return a likeness from 0 to 1: 1 for the same content words, even if both have none; 0 for different subjects."""
    # A file or a number that only one of them names makes it a different answer, however alike the rest is.
    if not (one.subjects <= other.words and other.subjects <= one.words):
        return 0.0
    total = len(one.words) + len(other.words)
    return 2 * len(one.words & other.words) / total if total else 1.0


def differ(one: Gist, other: Gist, asked: Gist) -> bool:
    """True if each of the two texts names something that was asked for and that the other does not name."""
    named = one.words ^ other.words
    named &= asked.words
    return not (named.isdisjoint(one.words) or named.isdisjoint(other.words))
