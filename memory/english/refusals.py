"""Says why a text does not teach what a reader might take for a statement in it."""

import re
from collections.abc import Collection
from operator import itemgetter
from typing import Final, NamedTuple

from memory.english.doubt import Modality
from memory.english.forms import APPOSITION, CALLED, MOVED, SEVERAL_ARE, Cue, find_forms
from memory.english.lexicon import read_pattern
from memory.english.machine_output import OutputFinder
from memory.english.noun_phrases import AnyName
from memory.english.sentences import MASK, SentenceFinder, mask
from memory.english.statements import CueMatch, find_cues

SENTENCE_MAX: Final = 300  # characters that are shown
REFUSALS_MAX: Final = 20  # of a text
# Commas and `are` are mostly no statements at all: nobody asks why.
_UNTELLING: Final = (APPOSITION, SEVERAL_ARE, CALLED, MOVED)
# `might be a` is no cue.
_WEAKENED: Final = re.compile(
    r"\b(?:(?:might|may|could|should|would|will|must|(?:seems?|appears?|ought) to) (?:\w+ )?be"
    rf"|is {read_pattern('maybe')}) (?:an?|the|our)\b",
    re.IGNORECASE,
)


class Refusal(NamedTuple):
    sentence: str
    why: str


def find_refusals(text: str, matches: Collection[CueMatch]) -> list[Refusal]:
    """Return the first sentences with a cue that states nothing, each with the reason. ``matches``: all statements
    found."""
    prose, found = mask(text), dict[str, str]()
    output = OutputFinder(prose)
    cues: list[tuple[int, int, Cue | None]] = [(one.start(), one.end(), None) for one in _WEAKENED.finditer(text)]
    cues += [(cue.start, cue.end, cue) for cue in find_forms(text) if cue.form not in _UNTELLING]
    for at, stop, cue in sorted(cues, key=itemgetter(0)):
        if any(match.start <= at <= match.end for match in matches):
            continue
        line = prose.rfind("\n", 0, at) + 1
        written = prose[line:].split("\n", 1)[0]
        within = SentenceFinder(written).sentence_at(at - line)
        start, end = line + within.start, line + within.end
        if MASK in prose[at : stop + 1]:
            why = "it is code, a link, or what was recalled"
        elif output.is_output(line, line + len(written)):
            why = "a program printed it, or it stands below such a line"
        elif within.is_question:
            why = "it is a question"
        elif cue is None:
            why = "it is only thought possible, a wish or a plan"
        else:
            why = _explain(prose[start:end], cue.shift(-start))
        found.setdefault(_cut(text, at, matches, start, end)[:SENTENCE_MAX], why)
        if len(found) == REFUSALS_MAX:
            break
    return [Refusal(*one) for one in found.items()]


def _cut(text: str, at: int, matches: Collection[CueMatch], start: int, end: int) -> str:
    """Return the sentence; if it states something as well, the part without that."""
    first = max((match.end for match in matches if start < match.end <= at), default=start)
    last = min((match.start for match in matches if at < match.start < end), default=end)
    return f"{'… ' * (first > start)}{text[first:last].strip(' ,;')}{' …' * (last < end)}"


def _explain(sentence: str, cue: Cue) -> str:
    modality = Modality(sentence, find_forms(sentence))
    if modality.is_doubted(cue.start):
        return "it is denied, doubted, or past"
    if modality.is_conditional(cue.start, cue.start):
        return "it is a condition, a wish or a plan"
    if modality.is_revoked(cue.end):
        return "it is doubted or taken back by what follows"
    read = find_cues(sentence, vocabulary=AnyName())
    subject = next((match.subject for match in read if match.start <= cue.start <= match.end), "")
    if subject:
        return f"“{subject}” is an ordinary word, no name of something"
    return "it names nothing that a fact could be about, or nothing definite that it is"
