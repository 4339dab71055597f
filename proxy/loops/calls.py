"""Reads the tool calls that a model writes as text: JSON, XML tags, ReAct, and what clients print of a call."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from proxy.formats.base import Part, Role
from proxy.loops.normalization import NORMALISED_MAX, canonicalize, fold, join_lines

# Not orjson: models write raw line breaks into strings, and text after the object, which only this decoder accepts.
_DECODER: Final = json.JSONDecoder(strict=False)
_FAILURES_MAX: Final = 4  # braces that open no object
_CALLS_MAX: Final = 20

_OPENING_BRACE: Final = re.compile(r'\{\s*"')
_NAMES: Final = ("tool_name", "tool", "name", "action")
_ARGUMENTS: Final = ("tool_args", "arguments", "args", "action_input", "parameters")
_WITHIN: Final = ("tool_calls", "function", "command")
_SURE: Final = re.compile(r'<tool_call>|"(?:tool_name|tool_calls|action_input)"\s*:')  # what only a call has
_AGENT_ZERO: Final = re.compile(r'"tool_name"\s*:\s*"([^"\n]{1,100})"')

_PRINTED: Final = re.compile(r"^(?:Tool Calls|Calling tools):\s*(?=[{\[])", re.MULTILINE)  # LiteLLM's, smolagents'
_PRINTED_ID: Final = re.compile(r"'id': '[^'\n]{1,100}', (?:'type': 'function', )?")

# OpenHands' and Anthropic's tags, and those of Cline, which are named like the tool.
_TAG: Final = re.compile(
    r'^<(?:(?:function=|invoke name=")[\w.:-]{1,100}"?|[a-z]+(?:_[a-z]+){1,4})>(?!\s*[{\[])', re.MULTILINE
)

_REACT: Final = re.compile(
    r"^[ \t*#]*(Question|Thought|Action Input|Action|Observation|Final Answer)[ \t*]*:[ \t*]*", re.MULTILINE
)
# LangChain's agents send a whole ReAct run in the last text of the prompt.
SCRATCHPAD_MAX: Final = 200_000  # characters that are read
SCRATCHPAD_STEPS_MAX: Final = 500
_OBSERVATION: Final = "\nObservation:"
_SPEAKERS: Final[dict[str, Role]] = {"Question": "user", "Observation": "tool"}

_FENCE: Final = "```"
_FENCE_OPENS: Final = re.compile(r"^```[\w+-]*[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Call:
    """Both fields are as the model has written them, except for white space and the order of keys."""

    name: str
    arguments: str

    @property
    def folded(self) -> str:
        """The call in a form for comparison."""
        return f"{fold(self.name)} {fold(self.arguments)}"


@dataclass(frozen=True, slots=True)
class Calls:
    calls: tuple[Call, ...]
    is_agent_zero: bool = False  # an object with ``tool_name``
    is_sure: bool = True  # certainly a call, so that what follows it is its result


NONE: Final = Calls((), is_sure=False)


def read_calls(text: str) -> Calls:
    """Return the calls in a text, without the thoughts around them."""
    if len(text) > NORMALISED_MAX:
        return NONE
    if printed := _PRINTED.search(text):
        text = text[printed.end() :]
        if text.startswith("[{'"):  # Python's literals; only the id differs when the same call is made again
            return _build_call(_PRINTED_ID.sub("", text))
    return _read_json(text) or _read_tags(text) or _read_react(text) or NONE


def _build_call(text: str) -> Calls:
    return Calls((Call("", join_lines(text)),))


def without_thinking(text: str) -> str:
    """Return the text after the model's thoughts before its answer."""
    # The opening tag need not be there: some templates put it into the prompt.
    for closing in ("</think>", "</thinking>"):
        if closing in text:
            text = text.rpartition(closing)[2]
    return text


def get_fenced_code(text: str) -> str:
    """Return the code of a text that has one fenced block and ends with it; empty for other texts."""
    if text.count(_FENCE) != 2 or not text.rstrip().removesuffix("<end_code>").rstrip().endswith(_FENCE):
        return ""
    opening = _FENCE_OPENS.search(text)
    return text[opening.end() : text.rindex(_FENCE)] if opening else ""


# --- JSON ---


def find_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the first outermost JSON objects of a text."""
    at = failures = 0
    for _ in range(_CALLS_MAX):
        brace = _OPENING_BRACE.search(text, at)
        if brace is None:
            return
        try:
            found, at = _DECODER.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            # Each failure may have read to the text's end, so only a few are allowed.
            at = brace.end()
            failures += 1
            if failures == _FAILURES_MAX:
                return
            continue
        yield found


def _read_json(text: str) -> Calls | None:
    if "{" not in text:
        return None
    found = list(find_objects(text))
    is_alone = text.strip().startswith(("{", "[", _FENCE)) and text.strip().endswith(("}", "]", _FENCE))
    if calls := tuple(call for one in found for call in _read_object(one)):
        is_agent_zero = isinstance(found[0].get("tool_name"), str)
        return Calls(calls, is_agent_zero, is_sure=is_alone or _SURE.search(text) is not None)
    # Nothing but JSON, without a known name for a call: compare it by its content, order aside.
    if found and is_alone:
        return Calls(tuple(Call("", canonicalize(one)) for one in found), is_sure=False)
    # Agent Zero accepts malformed JSON, too: its thoughts come before the name of the tool.
    name = _AGENT_ZERO.search(text)
    return Calls((Call(name[1], join_lines(text[name.end() :])),), is_agent_zero=True) if name else None


def _read_object(found: dict[str, Any], depth: int = 0) -> Iterator[Call]:
    if call := _read_call(found):
        yield call
        return
    # OpenAI nests a call two levels deep, as a function in tool_calls. Deeper objects are arguments, not calls.
    if depth == 2:
        return
    for key in _WITHIN:
        within = found.get(key)
        some = within[:_CALLS_MAX] if isinstance(within, list) else [within]
        for one in some:
            if isinstance(one, dict):
                yield from _read_object(one, depth + 1)


def _read_call(found: dict[str, Any]) -> Call | None:
    for key in _NAMES:
        name = found.get(key)
        if isinstance(name, str) and name:
            break
    else:
        return None
    for arguments in _ARGUMENTS:
        if arguments in found:
            return Call(join_lines(name), canonicalize(_parse_arguments(found[arguments])))
    if key not in ("tool_name", "tool"):
        return None
    return Call(join_lines(name), canonicalize({other: found[other] for other in found if other != key}))


def _parse_arguments(arguments: object) -> object:
    """Parse arguments that come as JSON in a string."""
    if isinstance(arguments, str) and arguments.lstrip().startswith(("{", "[")):
        try:
            return _DECODER.decode(arguments)
        except (ValueError, RecursionError):
            return arguments
    return arguments


# --- tags ---


def _read_tags(text: str) -> Calls | None:
    opening = _TAG.search(text) if "<" in text else None
    return _build_call(text[opening.start() :]) if opening and "</" in text[opening.end() :] else None


# --- ReAct ---


def _read_react(text: str) -> Calls | None:
    calls = list[Call]()
    is_sure = False
    labels = list(_REACT.finditer(text))
    ends = [*(label.start() for label in labels[1:]), len(text)]
    fields = [(label[1], text[label.end() : end].strip()) for label, end in zip(labels, ends, strict=False)]
    for (label, said), (following, arguments) in pairwise([*fields, ("", "")]):
        if label == "Observation" and calls:
            break  # the model has made it up: ignore what it writes after that
        if label != "Action":
            continue
        has_input = following == "Action Input"
        is_sure = is_sure or has_input
        given = _parse_arguments(arguments.strip("`")) if has_input else ""
        calls.append(Call(join_lines(said.partition("\n")[0].strip("`*\"' ")), canonicalize(given)))
    return Calls(tuple(calls[:_CALLS_MAX])) if is_sure else None


def unfold_scratchpad(parts: Sequence[Part]) -> Sequence[Part]:
    """Return the parts as if each step of a ReAct run had been sent on its own. All steps are of one place."""
    if not parts or parts[-1].text.count(_OBSERVATION) < 2 or parts[-1].role not in ("user", "assistant"):
        return parts
    last = parts[-1]
    steps = list(_split_scratchpad(last.text[-SCRATCHPAD_MAX:]))[-SCRATCHPAD_STEPS_MAX:]
    if not any(role == "assistant" for role, _ in steps):
        return parts
    return [*parts[:-1], *(Part(role, text, last.place) for role, text in steps)]


def _split_scratchpad(text: str) -> Iterator[tuple[Role, str]]:
    """Yield roles and texts: a question, then outputs and observations in turn."""
    role: Role = "user"
    start = 0
    for label in _REACT.finditer(text):
        begins = _SPEAKERS.get(label[1], "assistant")
        if begins == role:
            continue
        yield role, text[start : label.start()]
        role, start = begins, label.start()
    if role != "assistant":  # else the last step has only begun: the model is to write it
        yield role, text[start:]
