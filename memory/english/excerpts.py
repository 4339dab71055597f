"""Excerpts of what people wrote: the words that say what a text is about, the sentences around them, and the text as
one line in which nothing can be taken for more than words."""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from memory.english.function_words import is_closed_class, split_words
from memory.english.lexicon import load_words, read_pattern
from memory.english.telling import TEXTS_KEPT
from memory.types import Ended

CHARACTERS_PER_TOKEN: Final = 4
CUT: Final = "…"

# The beginning of a speaker's part in prompts that models are trained on, or that clients flatten conversations into.
_HEADING: Final = re.compile(
    r"^(?P<before>\W{0,8}(?:\w+[ \t]+)?"
    r"(?:system|user|assistant|human|ai|tool|developer|function|instructions?))[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_TAG: Final = re.compile(r"<(?![>=]|\s?\d)")  # anything but `<>`, `<=`, `< 5`
_MARKUP: Final = re.compile(r"#{2,}|\[/?[A-Z_]{2,20}\]")  # `### User`, `[INST]`
_TITLE: Final = re.compile(r"^[ \t#]*#(?=\s)", re.MULTILINE)


@lru_cache(maxsize=TEXTS_KEPT)
def make_harmless(text: str) -> str:
    """Return the text on one line, without anything that a model or a client could take for the end of the block, a
    tag, or the beginning of another speaker's words."""
    lines = "\n".join(map(_make_printable, _NEXT_ITEM.sub("; ", text).splitlines()))
    return _TAG.sub("‹", _make_plain(_make_plain(lines)))  # joined, lines may make a new heading


def _make_printable(line: str) -> str:
    if line.isprintable():  # nearly always; character by character it takes fifty times as long
        return line
    return "".join([each if each.isprintable() else " " for each in line])


def _make_plain(lines: str) -> str:
    return " ".join(_HEADING.sub(r"\g<before> -", _TITLE.sub("", _MARKUP.sub(" ", lines))).split())


_NEXT_ITEM: Final = re.compile(r"(?<=[\w)])[ \t]*\n\s*(?:[-*+•]|\d+[.)])[ \t]+")  # of a list
_WORD: Final = re.compile(r"[^\W_]+(?:['’_.@+-][^\W_]+)*")
_CAPITALISED: Final = re.compile(r"(?:(?<=[\w,;:)]\s)|(?<=\w\W))(?!I\b)(?:[A-Z]|\w*\d)\w*")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+")
_APART: Final = str.maketrans(dict.fromkeys("_-.'’@+", " "))
# Shorter words say nothing, unless they have a digit: `of`, but not `17`.
_WORD_MIN: Final = 3
_KEPT_WORD, _KEPT_WORDS_MAX = 40, 16_384  # characters; words


class _Contents(dict[str, str]):
    """Maps each word to its content: itself in the singular, or "". A dict, because a prompt looks up thousands of
    words, and a look-up takes a fifth of a call. Words too long to be kept are computed each time."""

    def __missing__(self, word: str) -> str:
        content = word.removesuffix("'s").removesuffix("’s")
        if (len(content) < _WORD_MIN and not any(map(str.isdigit, content))) or is_closed_class(content):
            content = ""
        elif len(content) > _WORD_MIN and content.endswith("s") and not content.endswith("ss"):
            content = content[:-1]
        if len(word) <= _KEPT_WORD:
            if len(self) >= _KEPT_WORDS_MAX:
                self.clear()
            self[word] = content
        return content


_CONTENTS: Final = _Contents()


def find_content_words(text: str) -> set[str]:
    """Return the words that say what a text is about, in lower case and without the s of a plural or a possessive."""
    words = set(map(_CONTENTS.__getitem__, _WORD.findall(text.casefold())))
    words.discard("")
    return words


def split_content_words(text: str) -> set[str]:
    """Return the content words of a key or a sentence, with compounds split."""
    return find_content_words(text.translate(_APART))


def list_capitalised(text: str) -> set[str]:
    """Return in lower case the words that are written as names: capitalised inside a sentence, or with a digit."""
    return {word.casefold() for word in _CAPITALISED.findall(text)}


def says_something(text: str) -> bool:
    """True if the text has any content word."""
    return any(_CONTENTS[found[0]] for found in _WORD.finditer(text.casefold()))


# --- sentences that say again what is told anyway, or what is superseded ---

# The subjects of memories, and filler words.
_EMPTY: Final = split_words(
    "user team assistant now actually currently way just well also still already nowadays remember note mind"
)
_NEGATIONS: Final = "|".join(sorted(load_words("negations")))
_CHANGE: Final = re.compile(
    rf"\b(?:{read_pattern('ended')}|{read_pattern('moved_away')}|{_NEGATIONS}|\w+n't|stopped|forget|used to)\b",
    re.IGNORECASE,
)


def says_no_more(sentence: str, told: Collection[str]) -> bool:
    """True if the told words contain everything that the sentence says."""
    said = split_content_words(sentence) - _EMPTY
    return bool(said) and said <= set().union(*map(split_content_words, told))


def states_ended(sentence: str, said_at: float, ended: Collection[Ended]) -> bool:
    """True if the sentence states one of these facts, which ended after it was said."""
    said = split_content_words(sentence)
    gone = (
        each for each in ended if said_at < each.until and split_content_words(f"{each.concept} {each.parent}") <= said
    )
    return any(gone) and not _CHANGE.search(sentence)  # a sentence about the change is still true


# --- cutting ---


def cut_around(text: str, wanted: Collection[str], length_max: int) -> str:
    """Cut a text of one line to at most ``length_max`` characters: whole consecutive sentences, unless a single one is
    too long."""
    if len(text) <= length_max:
        return text
    sentences = _SENTENCE_END.split(text)
    counts = [len(find_content_words(sentence).intersection(wanted)) for sentence in sentences]
    first = last = max(range(len(sentences)), key=lambda index: counts[index])
    size, room = len(sentences[first]), length_max - 2 * (len(CUT) + 1)
    if size > room:
        return _cut_within(sentences[first], wanted, length_max)
    while True:
        # What follows explains more than what comes before.
        if last + 1 < len(sentences) and size + 1 + len(sentences[last + 1]) <= room:
            last += 1
            size += 1 + len(sentences[last])
        elif first and size + 1 + len(sentences[first - 1]) <= room:
            first -= 1
            size += 1 + len(sentences[first])
        else:
            break
    before, after = [CUT] if first else [], [CUT] if last + 1 < len(sentences) else []
    return " ".join([*before, *sentences[first : last + 1], *after])


def _cut_within(sentence: str, wanted: Collection[str], length_max: int) -> str:
    """Return part of one long sentence, from shortly before its first wanted word."""
    hits = (word.start() for word in _WORD.finditer(sentence) if find_content_words(word[0]).intersection(wanted))
    hit = next(hits, 0)
    start = sentence.find(" ", max(0, hit - length_max // 3)) + 1 if hit > length_max // 2 else 0
    opening = f"{CUT} " if start else ""
    end = start + length_max - len(opening)
    if end >= len(sentence):
        return opening + sentence[start:]
    piece = sentence[start : end - len(CUT) - 1]
    whole, _, _ = piece.rpartition(" ")
    return f"{opening}{whole or piece} {CUT}"
