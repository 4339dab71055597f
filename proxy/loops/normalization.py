"""Normalises texts and arguments of calls for comparison: without white space, case, volatile ids and times."""

import marshal
import re
from typing import Any, Final

import orjson

# Characters. Longer texts are compared as they are, because all streams wait meanwhile.
NORMALISED_MAX: Final = 65_536
IDS_MAX: Final = 2_000  # characters of all ids in a text

TIME_MARK: Final = "\x00time"
ID_MARK: Final = "\x00id"

# Each begins with something that is found fast: a digit, or the edge of a word.
_TIME: Final = re.compile(
    r"[0-9](?<![\w.:/-][0-9])(?:[0-9]{3}-[0-9]{2}-[0-9]{2}"
    r"(?:[t ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?\s?(?:z\b|utc\b|[+-][0-9]{2}:?[0-9]{2})?)?"
    r"|[0-9]?:[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?(?:\s?[ap]m\b)?"
    r"|(?<=1)[5-9][0-9]{8}(?:[0-9]{3})?)(?![\w:])"
)
_DURATION: Final = re.compile(r"[0-9](?<![\w.][0-9])[0-9]*(?:\.[0-9]+)?\s?(?:ms|s|secs?|seconds?|µs|minutes?|min)\b")
_COUNTERS: Final = ("pid", "process", "port", "attempt", "retry", "try")
_COUNTED: Final = re.compile(rf"\b({'|'.join(_COUNTERS)})(\W{{1,3}})[0-9]+(?:(?: of |/)[0-9]+)?\b")
_PROCESS: Final = re.compile(r"(?<=[\w.-]\[)[0-9]+(?=\]:)")  # as syslog has it: `sshd[4100]: `
# In arguments, a full hour or a day is part of the question; a time with seconds is the time of asking.
_MOMENT: Final = re.compile(
    r"[0-9](?<![\w.:/-][0-9])[0-9]{3}-[0-9]{2}-[0-9]{2}[t ][0-9]{2}:[0-9]{2}:(?!00(?![0-9.,]|[.,]0*[^0-9]))[0-9]{2}"
    r"(?:[.,][0-9]+)?(?:z\b|[+-][0-9]{2}:?[0-9]{2})?"
)
_ID: Final = re.compile(
    r"\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|0x[0-9a-f]{6,64}"
    r"|(?=[a-f]{0,64}[0-9])[0-9a-f]{12,64}|[a-z]{2,12}[_-](?=[a-z]{0,64}[0-9])[0-9a-z]{10,64}"
    r"|(?<!-)tmp[._-]?(?:[0-9a-z_]{8}|[0-9a-z]{6}|[0-9a-z]{10}))\b"
)

_ESCAPED_WHITE: Final = ("\\n", "\\t", "\\r")
_WHOLE: Final = re.compile(r"\.0(?<=[0-9]\.0)(?=[,}\]])")

# Arguments that give the reason for a call, not its effect.
_THOUGHTS: Final = frozenset(
    {"thought", "thoughts", "thinking", "reasoning", "rationale", "reflection", "reflections", "explanation"}
    | {"justification", "headline", "criticism", "speak", "toolsummary", "tool_summary", "task_progress"}
    | {"evaluation_previous_goal", "memory", "next_goal", "current_state", "security_risk", "requires_approval"}
)
# Arguments that are new for every call.
_VOLATILE: Final = frozenset(
    {"request_id", "requestid", "call_id", "callid", "tool_call_id", "trace_id", "traceid", "correlation_id"}
    | {"idempotency_key", "nonce", "timestamp", "ts", "now", "current_time", "message_id"}
)
_COMMANDS: Final = frozenset({"command", "cmd", "code", "script"})


def join_lines(text: str) -> str:
    """Return the text with single spaces; a text longer than ``NORMALISED_MAX`` unchanged."""
    return " ".join(text.split()) if len(text) <= NORMALISED_MAX else text


def fold(text: str) -> str:
    """Return the text in lower case with single spaces; a text longer than ``NORMALISED_MAX`` unchanged."""
    return join_lines(text).casefold() if len(text) <= NORMALISED_MAX else text


def without_times(text: str, *, only_moments: bool = False) -> str:
    """Replace times by a mark. ``only_moments`` is for arguments, where only points in time to the second are
    volatile."""
    if len(text) > NORMALISED_MAX:
        return text
    return (_MOMENT if only_moments else _TIME).sub(TIME_MARK, text)


def split_ids(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a folded text without its ids, and the ids. The text stays as it is if it is mainly ids: ``IDS_MAX``
    characters of them or more."""
    if len(text) > NORMALISED_MAX:
        return text, ()
    # Most texts have none, and searching only long words is three times as fast as searching everything.
    long_words = " ".join([word for word in text.split(" ") if len(word) > 7 and not word.isalpha()])
    if _ID.search(long_words) is None:
        return text, ()
    ids = tuple(_ID.findall(text))
    if sum(map(len, ids)) >= IDS_MAX:
        return text, ()
    return _ID.sub(ID_MARK, text), ids


def essence_of_error(text: str) -> str:
    """Return a folded error without what differs each time the same error occurs."""
    if len(text) > NORMALISED_MAX:
        return text
    text = _PROCESS.sub("#", _DURATION.sub("#", split_ids(without_times(text))[0]))
    return _COUNTED.sub(r"\1\2#", text) if any(word in text for word in _COUNTERS) else text


def canonicalize(arguments: Any) -> str:
    """Return the arguments of a call in one line: with sorted keys, without thoughts and volatile values."""
    if isinstance(arguments, str):
        return join_lines(arguments)
    if isinstance(arguments, dict):
        arguments = _drop_thoughts(arguments)
    text = dump_sorted(arguments)
    if len(text) > NORMALISED_MAX:
        return text
    for white in _ESCAPED_WHITE:
        text = text.replace(white, " ")
    text = join_lines(text).replace('" ', '"').replace(' "', '"')
    return _WHOLE.sub("", text)


def _drop_thoughts(arguments: dict[Any, Any]) -> dict[Any, Any]:
    dropped = _THOUGHTS | _VOLATILE
    if not _COMMANDS.isdisjoint(arguments):
        dropped |= {"description"}
    left = {key: value for key, value in arguments.items() if str(key).lower() not in dropped and value is not None}
    return left or arguments


def dump_sorted(value: Any) -> str:
    """Serialize to JSON with sorted keys. A value that JSON cannot hold is written in another way, the same for equal
    values."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, RecursionError):
        pass  # lone surrogates, great depth
    try:
        return marshal.dumps(value, 2).hex(" ")  # version 2 has no back references
    except ValueError:
        return type(value).__name__
