"""Finds what a writer says for themselves alone: about what is theirs, in texts asked for, in stories, in jokes.
Works on a folded text of which the quotations are known."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from memory.english.function_words import is_closed_class
from memory.english.lexicon import read_pattern
from memory.english.sentences import iter_sentences
from memory.english.spans import replace_spans
from memory.voice import SPEAKER_ONLY, Voice, VoicedSpan

LOOKED_AT: Final = 1_000  # characters at the beginning of a message and at its end: there people say what they want
SYSTEM_MAX: Final = 20_000  # characters of a system text that are looked at
LONG: Final = 4_000  # characters of a system text, from which one word alone does not make it a story
_BETWEEN: Final = r"(?: [\w'’&/-]+){0,6}?"  # words between a verb and the kind of text that it asks for

_SENTENCE_START: Final = rf"(?:\A|[.!?:;,\n*>(\"-])[ \t*_\"(>-]{{0,4}}(?:{read_pattern('request_openings')}\b[,:]? *)*"
# Not `an email field`: the kind of text ends its phrase.
_ENDS_PHRASE: Final = rf"(?![\w-])(?= *(?:\Z|[^\w\s]|\n| {read_pattern('after_kinds')}\b))"
_REQUEST: Final = re.compile(
    rf"{_SENTENCE_START}(?:{read_pattern('requested_tasks')}(?!\w)"
    rf"|(?:{read_pattern('requested_verbs')}|{read_pattern('making_verbs')})\b{_BETWEEN} "
    rf"{read_pattern('requested_stories')}{_ENDS_PHRASE}"
    rf"|{read_pattern('requested_verbs')}\b{_BETWEEN} {read_pattern('requested_letters')}{_ENDS_PHRASE})"
)
_FICTION: Final = re.compile(rf"(?<!\w){read_pattern('fiction')}(?!\w)")
# `*I bow.*`, as players write what they do.
_ACTION: Final = re.compile(r"(?:^|(?<=\s))\*(?:i|she|he|they|[a-z]+s) [^*\n]{2,200}\*(?=\s|\Z)", re.MULTILINE)
_WORKS: Final = read_pattern("works")
_WORK: Final = re.compile(rf"\b{_WORKS}\b")
_EMOJI: Final = "\U0001f602\U0001f923\U0001f606\U0001f639"
_LIGHT: Final = re.compile(
    rf"(?<!\w)(?:{read_pattern('laughs')}|{read_pattern('made_up')}|{_WORKS})\b|(?<!\S)/s(?!\S)|[{_EMOJI}]"
)
_MY: Final = re.compile(r"\b(?:my|of mine|i(?: have|'ve)(?: got)? (?:an?|two|three))\b", re.IGNORECASE)
_NAME: Final = re.compile(r"(?<![\w-])[A-Z][\w-]+")
_REFERS: Final = re.compile(
    r"\s*(?:(?:and|but|also)\s+)?(?:s?he|they|it|her|his|their|its|that|this|who)\b", re.IGNORECASE
)


def find_doubts(text: str, found: Sequence[VoicedSpan]) -> Iterator[VoicedSpan]:
    """Yield the spans that hold for the writer alone. ``found``: the spans known so far, ascending and disjoint."""
    others = [span[:2] for span in found if span.voice not in SPEAKER_ONLY]
    own = replace_spans(text, others, lambda part: " " * len(part))
    is_long = len(own) > 2 * LOOKED_AT
    seen = (f"{own[:LOOKED_AT]}\n{own[-LOOKED_AT:]}" if is_long else own).lower()
    if _REQUEST.search(seen) or _FICTION.search(seen) or ("*" in seen and _ACTION.search(seen)):
        yield VoicedSpan(0, len(text), Voice.FICTION, "in a message that asks for a text, or tells a story")
    elif _LIGHT.search(seen):
        yield VoicedSpan(0, len(text), Voice.UNSURE, "in a message that laughs, or speaks of what may be made up")
    else:
        yield from _find_personal(own, found)


@lru_cache(maxsize=2_000)  # clients send a conversation again with each turn
def asks_for_made_up(said: str) -> bool:
    """True if a message asks for a text, or tells a story: the next one may go on with it."""
    seen = (said if len(said) <= 2 * LOOKED_AT else f"{said[:LOOKED_AT]}\n{said[-LOOKED_AT:]}").lower()
    return _REQUEST.search(seen) is not None or _FICTION.search(seen) is not None


@lru_cache(maxsize=256)
def is_about_work(opening: str) -> bool:
    """True if the first message of a conversation says that its speaker is at work on something made up."""
    return _WORK.search(opening[:LOOKED_AT].lower()) is not None


@lru_cache(maxsize=256)  # clients send the same system text with each request
def is_fiction(system: str) -> bool:
    """True if a system text sets up a story or a role to be played."""
    small = system[:SYSTEM_MAX].lower()
    return sum(1 for _ in _FICTION.finditer(small)) >= (2 if len(small) > LONG else 1)


def _find_personal(own: str, found: Sequence[VoicedSpan]) -> Iterator[VoicedSpan]:
    """Yield the sentences about what is the writer's (`my`), those that go on about it, and others with its names."""
    end = next((span.start for span in found if span.end == len(own) and span.voice in SPEAKER_ONLY), len(own))
    if _MY.search(own, 0, end) is None:
        return
    sentences = [span[:2] for span in iter_sentences(own[:end]) if own[span.start : span.end].strip()]
    personal = [_MY.search(own, *span) is not None for span in sentences]
    names: set[str] = set()
    for place, span in enumerate(sentences):
        refers = place > 0 and _REFERS.match(own, *span) is not None
        if refers and personal[place]:
            personal[place - 1] = True  # "Ingrun is a surgeon. She is my wife."
        elif refers and personal[place - 1]:
            personal[place] = True
    for span, is_personal in zip(sentences, personal, strict=True):
        if is_personal:
            names |= {name for name in _NAME.findall(own, *span) if not is_closed_class(name.lower())}
    for span, is_personal in zip(sentences, personal, strict=True):
        if is_personal or not names.isdisjoint(_NAME.findall(own, *span)):
            yield VoicedSpan(*span, Voice.UNSURE, "about what is the speaker's")
