"""Cuts a message into parts, each with the voice it is said in."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise
from typing import Final

from memory.attribution.doubts import find_doubts
from memory.attribution.pasted import find_pasted
from memory.attribution.quotations import find_quotations
from memory.attribution.templates import digest_words, find_completion
from memory.english.sentences import find_code
from memory.english.spans import merge_spans, replace_spans
from memory.english.unicode import reveal
from memory.types import Span
from memory.voice import SPEAKER_ONLY, STRONGEST_FIRST, Voice, VoicedSpan, weaker_of

SHORT_MAX: Final = 600  # characters of own words: longer messages may hold anything
_MARKS: Final = "\"'“„«「"
_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n\s*")
AT_ONCE_MAX: Final = 6_000  # characters
ANNOUNCING_MAX: Final = 600  # characters at the end of a message
_ANNOUNCES_PASTE: Final = re.compile(
    r"\b(?:send|paste|post|share|give|show)(?:ing)? you (?:an?|the|some|my|two|three)\b"
    r".*\b(?:next|then|after|now|soon|ready)\b"
)
_PARAGRAPH_ENDS: Final = re.compile(r"\n[ \t]*(?=\n|\Z)|\n(?=[ \t]*(?:[-*+•–]|\d{1,2}[.)]|\|)[ \t]*\S)")


@lru_cache(maxsize=4)  # the readers of a message call it one after the other
def find_voices(text: str) -> tuple[VoicedSpan, ...]:
    """Return the parts that are not simply the speaker's own, for all agents: ascending and disjoint. Linear in the
    length of the text."""
    folded = reveal(text)
    whole = folded.text.strip()
    start = folded.text.find(whole)
    # A message that is in quotation marks as a whole quotes nobody.
    spans = [
        span for span in find_quotations(folded.text) if span != (start, start + len(whole)) or whole[:1] not in _MARKS
    ]
    marked = [VoicedSpan(*span, Voice.QUOTED, "marked as the words of others") for span in spans]
    blocks = [span[:2] for span in marked if is_block(folded.text, *span[:2])]
    pasted = find_pasted(folded.text, blocks, list(find_code(folded.text)))
    found = _flatten([*marked, *pasted, *find_completion(folded.text)])
    found = _flatten([*found, *_find_beyond(folded.text, found), *find_doubts(folded.text, found)])
    return tuple(one._replace(start=start, end=end) for one in found for start, end in [folded.source_span(*one[:2])])


def find_voices_at_once(text: str) -> Sequence[VoicedSpan]:
    """Return ``find_voices`` in some 2 ms, for callers that a prompt waits for: text further down counts as unsure."""
    if len(text) <= AT_ONCE_MAX:
        return find_voices(text)
    found = find_voices(text[:AT_ONCE_MAX])
    return (*found, VoicedSpan(AT_ONCE_MAX, len(text), Voice.UNSURE, "far down in a long message"))


def is_block(text: str, start: int, end: int) -> bool:
    """False for a few quoted words within a line, which belong to what the line says."""
    return text.rfind("\n", 0, start + 1) + 1 >= start - 2 or "\n" in text[start:end]


def voice_of(spans: Iterable[VoicedSpan], start: int, end: int) -> Voice:
    """Return the weakest voice that has a part in ``text[start:end]``. A quoted span has to hold all of it: a name
    alone may be in quotation marks."""
    voice = Voice.SHARED
    for span in spans:
        holds = span.start <= start and end <= span.end
        if holds or (span.voice in SPEAKER_ONLY and span.start < end and start < span.end):
            voice = weaker_of(voice, span.voice)
    return voice


def own_words(text: str, weakest: Voice = Voice.FICTION) -> str:
    """Return what the speaker says in this voice or a stronger one, with a line break in place of the rest."""
    others = [span[:2] for span in find_voices(text) if weaker_of(span.voice, weakest) is not weakest]
    return replace_spans(text, others, lambda part: "\n")


def has_fiction(text: str) -> bool:
    """True if a part of the message belongs to a text that it asks for, or to a story."""
    return any(span.voice is Voice.FICTION for span in find_voices(text))


def quoted_spans(text: str) -> list[Span]:
    """Return the parts that are quoted or nobody's, ascending and disjoint."""
    return merge_spans(span[:2] for span in find_voices(text) if span.voice not in SPEAKER_ONLY)


def digest_paragraph(text: str, at: int) -> str:
    """Return 32 hexadecimal digits, equal for all paragraphs that differ only in case, white space and punctuation."""
    folded, place = reveal(text).text, len(reveal(text[:at]).text)
    start = max((end.end() for end in _BLANK_LINES.finditer(folded, 0, place)), default=0)
    blank = _BLANK_LINES.search(folded, place)
    return digest_words(folded[start : blank.start() if blank else len(folded)]).hex()


@lru_cache(maxsize=4_000)  # clients send a conversation again with each turn
def announces_paste(said: str) -> bool:
    """True if the speaker will send a text next, which may be anybody's."""
    return _ANNOUNCES_PASTE.search(said[-ANNOUNCING_MAX:].casefold()) is not None


def _find_beyond(text: str, found: Iterable[VoicedSpan]) -> Iterator[VoicedSpan]:
    """Yield all but the first paragraph of a long message."""
    own = len(text) - sum(span.end - span.start for span in found if span.voice not in SPEAKER_ONLY)
    if own > SHORT_MAX:
        begins = len(text) - len(text.lstrip())
        paragraph = _PARAGRAPH_ENDS.search(text, begins)
        end = min(paragraph.start() if paragraph else len(text), begins + SHORT_MAX)
        yield VoicedSpan(end, len(text), Voice.UNSURE, "beyond the first paragraph of a long message")


def _flatten(spans: Iterable[VoicedSpan]) -> list[VoicedSpan]:
    """Make spans ascending and disjoint: where they overlap, the weakest voice wins, then the first."""
    waiting = sorted((span for span in spans if span.start < span.end), reverse=True)
    flat: list[VoicedSpan] = []
    begun: list[tuple[int, VoicedSpan]] = []  # a heap
    for start, end in pairwise(sorted({edge for span in waiting for edge in span[:2]})):
        while waiting and waiting[-1].start <= start:
            span = waiting.pop()
            heappush(begun, (-STRONGEST_FIRST.index(span.voice), span))
        while begun and begun[0][1].end <= start:
            heappop(begun)
        if begun and flat and flat[-1].end == start and flat[-1][2:] == begun[0][1][2:]:
            flat[-1] = flat[-1]._replace(end=end)
        elif begun:
            flat.append(begun[0][1]._replace(start=start, end=end))
    return flat
