"""Measures how far two texts say the same in different words."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

COMPARED_MAX: Final = 8_000  # characters; longer texts are not compared

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
# What a text is about: names, numbers, files, quotations. Two texts that say the same never differ in these words.
_SUBJECT: Final = re.compile(
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


@dataclass(frozen=True, slots=True)
class ContentWords:
    """The content of a text, without how it is said."""

    text: int  # hash of it all
    words: frozenset[str]  # repeated ones are also there with a number for each further time
    subjects: frozenset[str]  # those without which the text would say something else

    @property
    def size(self) -> int:
        """Roughly the bytes that it takes."""
        return 200 + 120 * (len(self.words) + len(self.subjects))


def read_content_words(text: str) -> ContentWords | None:
    """Return None for a text that is too long."""
    if len(text) > COMPARED_MAX:
        return None
    said = _ATTEMPT.sub(" ", text)
    counts = Counter(_find_words(said))
    subjects = {word for word, count in counts.items() if count > 1 or word in _NUMBER_WORDS}
    subjects.update(_find_words(" ".join(_SUBJECT.findall(said))))
    again = [f"{word} {time}" for word, count in counts.items() for time in range(1, count)]
    return ContentWords(hash(text), frozenset([*counts, *again]), frozenset(subjects))


def _find_words(text: str) -> list[str]:
    # In a contraction only a negation changes the content: "isn't" counts as "not", "it's" as "it".
    words = (
        "not" if word.endswith(("n't", "n’t")) else word.partition("'")[0].partition("’")[0]
        for word in _WORD.findall(text.casefold())
    )
    return [word for word in words if word not in _FILLER_WORDS]


def similarity(one: ContentWords, other: ContentWords) -> float:
    """Return 1 for the same content words, even if both have none; 0 for different subjects."""
    # A file or a number that only one of them names makes it a different answer, however alike the rest is.
    if not (one.subjects <= other.words and other.subjects <= one.words):
        return 0.0
    total = len(one.words) + len(other.words)
    return 2 * len(one.words & other.words) / total if total else 1.0


def name_different_items(one: ContentWords, other: ContentWords, asked: ContentWords) -> bool:
    """True if each of the two texts names something that was asked for and that the other does not name."""
    named = one.words ^ other.words
    named &= asked.words
    return not (named.isdisjoint(one.words) or named.isdisjoint(other.words))
