"""Recognises prompts that programs put together: those that end with the label of what the model is to write, and those
that fill in a template, which begin with the same words and go on with others."""

import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

from memory.english.lexicon import read_pattern
from memory.english.unicode import reveal
from memory.voice import Voice, VoicedSpan

ENDS_WITHIN: Final = 80  # characters
REASON: Final = "a prompt that a program has put together"
_ANSWER_NEXT: Final = re.compile(
    rf"(?:\n|[.?!][ \t]+)[#*\t ]*(?:[\w-]+ ){{0,3}}{read_pattern('completion_labels')}[*]*:[\"`*\s]*\Z", re.IGNORECASE
)
_ASKED: Final = re.compile(
    r"\n[#*\t ]*(?:[\w-]+ ){0,3}(?:question|query|human|user|input|request|task|message|instruction|q)[*]*:[* ]*",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(r"\n[#*\t ]*[A-Za-z][\w-]*(?: [\w-]+){0,3}[*]*:")

LEAST: Final = 80  # characters: shorter ones begin many messages of people
WITHIN: Final = 4_000  # characters of a message that are looked at
HEADS_MAX: Final = 4  # of one message
SHOWN_MAX: Final = 300  # characters
# It ends at a line break or a colon that something follows.
_ENDS: Final = re.compile(r"(?:\n|:(?=[ \t]))(?=\s*\S)")
_WORDS: Final = re.compile(r"\w+")


def find_completion(text: str) -> Iterator[VoicedSpan]:
    """Yield the parts of such a prompt that nobody has said; the question in it may be anybody's. Yields nothing for
    other texts."""
    tail = max(0, len(text.rstrip()) - ENDS_WITHIN)
    answer = _ANSWER_NEXT.search(text, tail)
    if answer is None:
        return
    *_, asked = (None, *_ASKED.finditer(f"\n{text[: answer.start()]}"))
    if asked is None:
        yield VoicedSpan(0, len(text), Voice.NOBODYS, REASON)
        return
    start = asked.end() - 1
    label = _LABEL.search(text, start)
    end = label.start() if label else answer.start()
    yield VoicedSpan(0, start, Voice.NOBODYS, REASON)
    yield VoicedSpan(start, end, Voice.UNSURE, "what is asked in such a prompt")
    yield VoicedSpan(end, len(text), Voice.NOBODYS, REASON)


class TemplateHead(NamedTuple):
    """The beginning of a message, as a template may have given it. ``digest``: of its words; ``rest``: of what follows;
    ``text``: its end, as it is shown."""

    digest: bytes
    rest: bytes
    text: str


def find_template_heads(text: str) -> list[TemplateHead]:
    folded = reveal(text).text
    begins = len(folded) - len(folded.lstrip())
    found: list[TemplateHead] = []
    for end in _ENDS.finditer(folded, begins + LEAST, begins + WITHIN):
        head = folded[begins : end.start()]
        found.append(TemplateHead(digest_words(head), digest_words(folded[end.end() :]), head[:SHOWN_MAX]))
        if len(found) == HEADS_MAX:
            break
    return found


def digest_words(text: str) -> bytes:
    """Return 16 bytes, equal for all texts that differ only in case, white space and punctuation."""
    words = " ".join(_WORDS.findall(text.casefold()))
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()
