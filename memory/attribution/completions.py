"""Recognises completion prompts: they end with the label of what the model is to write. Programs assemble them around a
question."""

import re
from collections.abc import Iterator
from typing import Final

from memory.english.lexicon import read_pattern
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
