"""Reads what follows an output: who said it, if it is a result, and in what form to compare it."""

import re
from dataclasses import dataclass
from typing import Final

from proxy.loops.calls import find_objects
from proxy.loops.normalization import NORMALISED_MAX, essence_of_error, fold, join_lines

AUTOMATIC_MIN: Final = 40  # characters: people repeat only shorter texts word for word
AUTOMATIC_ERROR_MIN: Final = 15  # characters, the same for a report of an error
_ENVELOPE_MAX: Final = 500_000  # characters of JSON that are parsed
_COMPLAINT: Final = "you have sent the same message again"  # Agent Zero, when it notices a repetition itself
_COMPLAINT_MAX: Final = 1_000  # characters; a longer text only quotes a complaint
_UNDER_WAY_MAX: Final = 400  # characters; a longer result says more than that work is under way
_ERROR_EDGE: Final = 400  # characters at either end of a long result, where an error is reported

_PERSONS: Final = ("user_message", "user_intervention")
_WARNINGS: Final = ("system_warning", "system_message", "warning")
_ENVELOPES: Final = (*_PERSONS, *_WARNINGS, "tool_result")

_ANSWERED: Final = re.compile(r"^<(?:answer|feedback)>$", re.MULTILINE)  # a person's words in results of Cline and Roo

_EXTRAS: Final = "[EXTRAS]"  # begins the end of each of Agent Zero's prompts, which is rebuilt every time
_SURROUNDINGS: Final = ("environment_details", "system-reminder", "recollection", "loop_warning")
_RUN: Final = re.compile(r"^(?:Wall time|Chunk ID|Call id)\b.*$", re.MULTILINE)  # of what Codex or smolagents has run

# A service's id of a request is no news.
_IDENTITY: Final = re.compile(
    r'"(?:request|trace|correlation|call|tool_call)_id"\s*:\s*(?:"[^"\n]{0,200}"|[0-9]{1,30})'
)

# The openings of results and errors that clients send in the user's name.
_OBSERVED: Final = re.compile(
    r"\s*(?:observation\b|\[?tool[ _](?:result|output|response|error)|(?:results?|outputs?|error)\s*:"
    r"|\[(?:error\]|system\]|[\w ]+ for '[^\n]*\] result)|<(?:tool_(?:response|result)|output)\b)",
    re.IGNORECASE,
)
_FAILURES: Final = "error|exception|traceback|fail|denied|invalid|refused|forbidden|rejected|aborted|fatal|panic"
_FAILURE: Final = re.compile(_FAILURES)
_ERROR: Final = re.compile(
    rf"{_FAILURES}|not found|no such|unauthori[sz]ed|timed? ?out|cannot|can't|could ?n[o']t|unable|unknown|unexpected"
    r"|missing|not (?:allowed|recogni[sz]ed)|does(?: not|n't) exist|illegal|unavailable|unreachable|misformat|malformed"
)
_NO_ERROR: Final = re.compile(
    r"\b(?:0|no|zero) (?:errors?|failures?|failed|exceptions?)\b"
    r"""|\b(?:errors?|fail(?:ed|ures?)|exceptions?)["']?\s*[:=]\s*(?:0(?![\d.])|null|none|false|\[\]|""|'')"""
)
_DOING: Final = (
    "running|waiting|awaiting|processing|building|compiling|initiali[sz]ing|provisioning|deploying|downloading|uploading"
    "|installing|syncing|loading|indexing|warming|booting|starting|restarting|creating|pulling|working|updating|rendering"
    "|training|transferring|copying|scanning|analy[sz]ing|generating|stopping|terminating|connecting|preparing"
)
# A state, alone or after words that announce one: "status: building", not "a tall building".
_UNDER_WAY: Final = re.compile(
    rf"(?:^|[:=\"'>(|\[\]] ?|\b(?:is|are|be|been|still|currently|status|state|phase|stage|task|job) )(?:{_DOING})\b"
    r"(?! (?:on|at|as|under|with)\b)"
    rf"|\b(?!building)(?:{_DOING})(?: up)?\W*\Z|\b(?:{_DOING})\s?(?:\.\.\.|…)"
    r"|\b(?:container|pod)(?:creating|initializing)\b"
    r"|(?<!no )\bpending\b|\b(?:in[ _-]?progress|queued|enqueued|ongoing|unfinished|incomplete|busy|slept|please wait"
    r"|check back)\b|\bnot (?:yet|ready|finished|done)\b|\bno new\b|\bno (?:updates?|changes?) (?:yet|so far|since)\b"
    r"|\bwait(?:ed)? (?:a|for)\b|\btry again (?:later|in)\b|\bstill (?:in|being|not|to|\w+ing)\b"
    r"|(?<![\d.])\d{1,2}(?:\.\d+)?\s?%(?= (?:complete|done|finished)|\W*\Z)"
    r"|\b(?:progress|complete|done)\W{1,4}\d{1,2}(?:\.\d+)?\s?%"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to an output, or one text of it."""

    texts: tuple[int, ...] | None  # hashes; None for nothing of its own: a complaint about the output, or nothing yet
    verbatim: int = 0  # a hash of all words; only for one text, as all up to ``is_error``
    characters: int = 0
    is_blank: bool = False  # it holds nothing but what the client adds to every prompt
    is_program: bool = False  # only a program says such a thing
    is_question: bool = False
    is_error: bool = False
    is_person: bool = False  # it comes in a person's envelope; of a whole reply: nothing shows that a program sent it
    is_envelope: bool = False
    is_complaint: bool = False
    is_under_way: bool = False  # the work goes on, so asking again is right


def read_reply(text: str) -> Reply:
    text = without_surroundings(text)
    if not text.strip():
        return Reply((0,), is_blank=True)
    keys, complains = _read_envelopes(text)
    normal = join_lines(text)
    low = fold(normal)
    is_error = _is_error(low)
    is_observed = _OBSERVED.match(text) is not None
    return Reply(
        # An error without what differs each time; in another result a single digit may be news.
        (hash(essence_of_error(low) if is_error else normal),),
        verbatim=hash(normal),
        characters=len(normal),
        is_program=bool(keys) or is_observed,
        is_question=normal.endswith("?"),
        is_error=is_error,
        # If a result comes before a person's words, the person counts.
        is_person=not keys.isdisjoint(_PERSONS) or _ANSWERED.search(text) is not None,
        is_envelope=bool(keys),
        # Not in a tool's result: a page could make the next prompt forbid what the model has just done.
        is_complaint=complains or (not keys and not is_observed and _complains(low)),
        is_under_way=_is_under_way(low),
    )


def without_surroundings(text: str) -> str:
    """Return the text without what the client, or Festinger, adds around it each turn."""
    if _EXTRAS in text:
        text = text.partition(_EXTRAS)[0]
    for tag in _SURROUNDINGS:
        if f"<{tag}>" in text:
            text = _without(text, f"<{tag}>", f"</{tag}>")
    # Everything removed below has a colon in it, and a colon is found fast.
    if len(text) > NORMALISED_MAX or ":" not in text:
        return text
    if "Wall time" in text or "Chunk ID" in text or "Call id" in text:
        text = _RUN.sub("", text)
    return _IDENTITY.sub("", text) if '_id"' in text else text


def _without(text: str, opening: str, closing: str) -> str:
    kept, at = [], 0
    while (start := text.find(opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
        kept.append(text[at:start])
        at = end + len(closing)
    return "".join([*kept, text[at:]])


def _read_envelopes(text: str) -> tuple[set[str], bool]:
    """Return the kinds of Agent Zero's envelopes in a text, and True if one of them complains."""
    if len(text) > _ENVELOPE_MAX or not text[:1000].lstrip().startswith("{"):
        return set(), False
    envelopes = list(find_objects(text))
    keys = {key for envelope in envelopes for key in _ENVELOPES if envelope.get(key)}
    warnings = [envelope[key] for envelope in envelopes for key in _WARNINGS if key in envelope]
    return keys, any(_complains(fold(str(warning))) for warning in warnings)


def _complains(low: str) -> bool:
    return len(low) <= _COMPLAINT_MAX and _COMPLAINT in low


def _is_error(low: str) -> bool:
    # In the middle of a long result, such as a file, words about errors say nothing about the call.
    if len(low) > 2 * _ERROR_EDGE:
        low = f"{low[:_ERROR_EDGE]} {low[-_ERROR_EDGE:]}"
    return _ERROR.search(_NO_ERROR.sub("", low)) is not None


def _is_under_way(low: str) -> bool:
    # "Build failed while waiting for ..." is over, in spite of its other words.
    if len(low) > _UNDER_WAY_MAX or not _UNDER_WAY.search(low):
        return False
    return _FAILURE.search(_NO_ERROR.sub("", low)) is None
