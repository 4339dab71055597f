"""Composes episodes: the text of a message with its quotations, without long code and secrets."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from memory.attribution.envelopes import unwrap_answer
from memory.attribution.parts import find_voices, quoted_spans
from memory.attribution.pasted import PRINTED
from memory.attribution.prose import find_listings, mask_all_but_prose
from memory.english.excerpts import says_something
from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_words, read_pattern
from memory.english.sentences import MASK, SentenceFinder, find_code, mask
from memory.english.spans import Within, merge_spans
from memory.graph.statement import make_storable
from memory.secrets.redaction import mask_secrets
from memory.types import Span
from memory.voice import SPEAKER_ONLY, Voice

ROLES: Final = frozenset({"user", "assistant"})
KEPT_MAX: Final = 4_000  # characters
CODE_LINES_MAX: Final = 20
QUOTED_MAX: Final = 500  # characters of each quotation, if a message is too long
CONTENT_WORDS_MIN: Final = 3  # different words
ANSWER_MAX: Final = 120  # characters
QUESTION_MAX: Final = 120  # characters
# A message this short means little alone: it is embedded, and searched for, together with the user's message before it.
SHORT_MAX: Final = 100  # characters
GAP: Final = "[…]"  # in place of what is left out
READ_MAX: Final = 20_000  # characters
SECRET_MAX: Final = 5_000  # characters at the end of the read part that may be half a secret: a key of 4,096 bits

# Quoted names, titles and values are part of what somebody says; longer quotations are somebody else's.
INLINE_QUOTATION_MAX: Final = 60  # characters
_QUOTED_INLINE: Final = re.compile(r"[\"'“”„«»‘’][^\n]*[\"'“”„«»‘’]\Z")

_OFFERS: Final = re.compile(read_pattern("offers"))
_WORD: Final = re.compile(r"[^\W\d_]{2,}(?:['’][^\W\d_]+)?")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")


class EpisodeText(NamedTuple):
    """The text of an episode. ``quoted``: the parts that only pass on the words of others; ``unsure``: those that may.
    Each ascending and disjoint."""

    text: str
    quoted: tuple[Span, ...] = ()
    unsure: tuple[Span, ...] = ()

    @property
    def own(self) -> str:
        """The text without the quotations."""
        starts = [0, *(end for _, end in self.quoted)]
        ends = [*(start for start, _ in self.quoted), len(self.text)]
        return "\n".join(self.text[start:end] for start, end in zip(starts, ends, strict=True))

    @property
    def passed_on(self) -> str:
        return "\n".join(self.text[start:end] for start, end in self.quoted)


def write_spans(spans: Sequence[Span]) -> str:
    """Return starts and ends of the spans, as Postgres writes an array."""
    return f"{{{','.join(str(place) for span in spans for place in span)}}}"


def compose_episode(said: str, role: str, before: str = "") -> EpisodeText | None:
    """Compose what is kept of a message without its envelope; None if it says too little, or its role's messages are
    not kept. A user's message without a word of their own is not kept: programs write those. For an answer that says
    too little alone, the question is kept, too, with which the model's words ``before`` it end. Linear in the length.
    """
    said = unwrap_answer(said) if role == "assistant" else said
    if role not in ROLES:
        return None
    text = make_storable(mask_secrets(said[:READ_MAX])).rstrip()
    if len(said) > READ_MAX:
        text = text[: max(len(text) - SECRET_MAX, 0)]
    quoted = tuple(quoted_spans(text))
    if role == "user" and quoted and not EpisodeText(text, quoted).own.strip():
        return None
    quoted = tuple(merge_spans([*quoted, *find_listings(text)]))
    unsure = tuple((start, end) for start, end, voice, _ in find_voices(text) if voice in SPEAKER_ONLY)
    prose = mask_all_but_prose(text)
    of_people = [span[:2] for span in find_voices(text) if span.voice is Voice.QUOTED and span.reason not in PRINTED]
    episode = leave_out(EpisodeText(text, quoted, unsure), list(_find_long_code(text, prose, of_people)))
    if len(episode.text) > KEPT_MAX:  # own words before those of others
        long = [(start + QUOTED_MAX, end) for start, end in episode.quoted if end - start > QUOTED_MAX + len(GAP)]
        episode = leave_out(episode, long)
    episode = shorten(episode)
    if has_content(mask(episode.text)):
        return episode
    is_short = role == "user" and len(episode.text) <= ANSWER_MAX and MASK not in mask(episode.text)
    if not is_short or not says_more_than_yes(episode.text):
        return None
    question = find_question(mask_secrets(unwrap_answer(before))) if before else ""
    if not answers(episode.text, question):  # it may still correct what was said before: `sorry, at ten`
        return episode
    return EpisodeText(make_storable(f'Asked "{question}": {episode.text}'))


def says_more_than_yes(text: str) -> bool:
    """True if the text has a number or a content word that is more than assent, thanks or `continue`."""
    words = set(re.findall(r"[\w'’-]+", text.lower())) - load_words("assent") - load_words("tasks")
    return any(word.isdigit() or says_something(word) for word in words)


def find_question(said: str) -> str:
    """Return the question that a message of the model ends with, if it asks for something and is not just an offer."""
    last = said.strip().strip("*_\"'”’) ").rpartition("\n")[2]
    if not last.endswith("?"):
        return ""
    sentence = SentenceFinder(last).sentence_at(len(last) - 1)
    question = last[sentence.start : sentence.end].strip(" *_\"'“”").replace('"', "'")
    is_offer = _OFFERS.match(question.lower().replace("’", "'")) is not None
    return question if len(question) <= QUESTION_MAX and not is_offer and says_something(question) else ""


def answers(text: str, question: str) -> bool:
    """True if the text answers the question, and asks or orders nothing itself."""
    words = re.findall(r"[\w'’-]+", text.lower())
    return bool(question) and "?" not in text and words[0] not in load_words("tasks")


def has_content(text: str) -> bool:
    """True if the text has enough different content words."""
    found = set()
    for word in _WORD.finditer(text):
        lower = word[0].lower().replace("’", "'")
        if not is_closed_class(lower):
            found.add(lower)
            if len(found) == CONTENT_WORDS_MIN:
                return True
    return False


def leave_out(episode: EpisodeText, cuts: Sequence[Span], mark: str = GAP) -> EpisodeText:
    """Return the episode with the mark in place of each cut; the cuts ascend and do not overlap."""
    ends, starts = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(episode.text)]
    kept = [slice(end, start) for end, start in zip(ends, starts, strict=True)]

    def move(spans: Sequence[Span]) -> tuple[Span, ...]:
        is_within = bytearray(len(episode.text))
        for start, end in spans:
            is_within[start:end] = b"\1" * (end - start)
        rest = bytes(len(mark)).join(is_within[part] for part in kept)
        return tuple(run.span() for run in re.finditer(b"\1+", rest))

    return EpisodeText(mark.join(episode.text[part] for part in kept), move(episode.quoted), move(episode.unsure))


def shorten(episode: EpisodeText) -> EpisodeText:
    """Cut an episode to the length that is kept."""
    length = len(episode.text)
    start = length - len(episode.text.lstrip())
    return leave_out(episode, [(0, start), (min(len(episode.text.rstrip()), start + KEPT_MAX), length)], "")


def _find_long_code(text: str, prose: str, said: Sequence[Span]) -> Iterator[Span]:
    """Yield code and program output of more than CODE_LINES_MAX lines. ``prose`` is the result of
    ``mask_all_but_prose``; ``said``: quotations of people in the text."""
    is_fenced, is_of_others = Within(find_code(text)), Within(said)
    start = end = lines = 0
    for line in _LINE.finditer(text):
        at, shown = line.start(), prose[line.start() : line.end()]
        is_data = MASK in shown and not shown.strip(f"{MASK} \t\n\r")
        if is_data and (is_fenced(at) or not is_of_others(at)):
            start, end, lines = (start if lines else at), at + len(line[0].rstrip()), lines + 1
        elif shown.strip():
            if lines > CODE_LINES_MAX:
                yield start, end
            lines = 0
    if lines > CODE_LINES_MAX:
        yield start, end


def cut_out(text: str, quoted: Sequence[int]) -> str:
    """Return the text without its quotations, given by start and end, except for short ones within a line."""
    kept, end = [], 0
    for start, stop in zip(quoted[::2], quoted[1::2], strict=True):
        if stop - start > INLINE_QUOTATION_MAX or not _QUOTED_INLINE.match(text[start:stop]):
            kept.append(text[end:start])
            end = stop
    return " ".join((*kept, text[end:])).strip() if quoted else text
