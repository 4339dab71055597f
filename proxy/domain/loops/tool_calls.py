"""Reads the tool calls that a model writes as text: Agent Zero's JSON, other JSON, Python's literals, ReAct, tags."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from proxy.domain.loops.normalization import NORMALISED_MAX, canonicalize, fold, join_lines

# Not orjson: models write raw line breaks into strings, and text after the object, which only this decoder accepts.
_DECODER: Final = json.JSONDecoder(strict=False)
_FAILURES_MAX: Final = 4  # braces that open no object
_CALLS_MAX: Final = 20

_OPENING_BRACE: Final = re.compile(r'\{\s*"')
_OPENING_LITERAL: Final = re.compile(r"\{\s*'")
_LITERAL: Final = re.compile(
    r"""\\.|(?P<quote>['"])(?P<text>(?:(?!(?P=quote))[^\\]|\\.)*+)(?P=quote)|\b(?:True|False|None)\b""", re.DOTALL
)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U(00(?:0[0-9a-f]|10)[0-9a-f]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t"}
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_NAMES: Final = ("tool_name", "tool", "name", "function", "function_name", "action")
_ARGUMENTS: Final = ("tool_args", "arguments", "args", "tool_input", "action_input", "parameters", "input", "params")
_WITHIN: Final = ("tool_calls", "tool_call", "function_call", "function", "command", "actions", "action")
_SURE: Final = frozenset({"tool_args", "tool_input", "tool_calls", "action_input"})  # keys that only a call has
_AGENT_ZERO: Final = re.compile(r'"tool_name"\s*:\s*"([^"\n]{1,100})"')

_TAGS: Final = ("tool_call", "function_call", "tool_code", "function_calls", "tools", "action")
_INVOKE: Final = re.compile(r'<(?:invoke|function)(?:\s+name)?="?([\w.:-]{1,100})"?\s*>')
_PRINTED: Final = re.compile(r"^(?:Tool Calls|Calling tools):\s*(?=[{\[])", re.MULTILINE)  # LiteLLM's, smolagents'
_MISTRAL: Final = "[TOOL_CALLS]"
_NAMED_TAG: Final = re.compile(r"^<([a-z]+(?:_[a-z]+){1,4})>", re.MULTILINE)

_ACTION: Final = re.compile(r"^[ \t*#]*action[ \t*]*:[ \t*]*([^\n]*)$", re.MULTILINE | re.IGNORECASE)
_INPUT: Final = re.compile(r"^[ \t*#]*action[ _]input[ \t*]*:[ \t*]*", re.MULTILINE | re.IGNORECASE)
_REACT_STOP: Final = re.compile(
    r"^[ \t*#]*(?:observation|thought|action|final answer)[ \t*]*:", re.MULTILINE | re.IGNORECASE
)
_INLINE_INPUT: Final = re.compile(r"\w+\s*[\[(].*[\])]\s*\Z")

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
    # Tags first, because they contain JSON. A tag named like a tool last, because it can be any markup.
    return _read_tags(text) or _read_json(text) or _read_react(text) or _read_named_tag(text) or NONE


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


def objects_in(text: str) -> Iterator[dict[str, Any]]:
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
        if isinstance(found, dict):
            yield found


def _read_json(text: str) -> Calls | None:
    if "{" not in text:
        return None
    found = list(objects_in(text))
    calls = _calls_in(found)
    if not calls and (literal := _OPENING_LITERAL.search(text)):
        literals = list(objects_in(_write_as_json(text[literal.start() :])))
        calls = _calls_in(literals)
        found = literals if calls else found
    if calls:
        is_agent_zero = isinstance(found[0].get("tool_name"), str)
        return Calls(calls, is_agent_zero, is_sure=is_agent_zero or _is_alone(text) or not _SURE.isdisjoint(found[0]))
    # Nothing but JSON, without a known name for a call: compare it by its content, order aside.
    if found and _is_alone(text):
        return Calls(tuple(Call("", canonicalize("", one)) for one in found), is_sure=False)
    return _read_broken_json(text)


def _calls_in(found: list[dict[str, Any]]) -> tuple[Call, ...]:
    return tuple(call for one in found for call in _calls_of(one))


def _write_as_json(literal: str) -> str:
    """Convert a Python literal, as ``repr`` writes it, to JSON."""
    return _LITERAL.sub(_write_token_as_json, literal)


def _write_token_as_json(token: re.Match[str]) -> str:
    text = token["text"]
    if text is None:
        return _WORDS.get(token[0], token[0])
    is_plain = "\\" not in text and '"' not in text  # most are, and this takes a tenth of the time
    return f'"{text}"' if is_plain else json.dumps(_ESCAPE.sub(_read_escape, text))


def _read_escape(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    return chr(int(code, 16)) if code else _ESCAPED.get(escape[4], escape[4])


def _is_alone(text: str) -> bool:
    """True if the text holds nothing but JSON, at most after a line that is printed before calls."""
    printed = _PRINTED.search(text)
    text = text[printed.end() if printed else 0 :].strip()
    return text.startswith(("{", "[", _FENCE)) and text.endswith(("}", "]", _FENCE))


def _read_broken_json(text: str) -> Calls | None:
    """Read malformed JSON, which Agent Zero accepts, too."""
    name = _AGENT_ZERO.search(text)
    if name is None:
        return None
    start = text.find('"tool_args"', name.end())
    rest = text[start:] if start >= 0 else text[name.end() :]
    return Calls((Call(join_lines(name[1]), join_lines(rest)),), is_agent_zero=True)


def _calls_of(found: dict[str, Any], depth: int = 0) -> Iterator[Call]:
    if call := _call_of(found):
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
                yield from _calls_of(one, depth + 1)


def _call_of(found: dict[str, Any]) -> Call | None:
    for key in _NAMES:
        name = found.get(key)
        if isinstance(name, str) and name:
            break
    else:
        return None
    for arguments in _ARGUMENTS:
        if arguments in found:
            return Call(join_lines(name), canonicalize(name, _parse_arguments(found[arguments])))
    if key not in ("tool_name", "tool"):
        return None
    return Call(join_lines(name), canonicalize(name, {other: found[other] for other in found if other != key}))


def _parse_arguments(arguments: object) -> object:
    """Parse arguments that come as JSON in a string."""
    if isinstance(arguments, str) and arguments.lstrip().startswith(("{", "[")):
        try:
            return _DECODER.decode(arguments)
        except (ValueError, RecursionError):
            return arguments
    return arguments


def _read_tags(text: str) -> Calls | None:
    if _MISTRAL in text:
        calls = tuple(call for found in objects_in(text.partition(_MISTRAL)[2]) for call in _calls_of(found))
        return Calls(calls) if calls else None
    if "<" not in text:
        return None
    calls = tuple(_read_invokes(text)) or tuple(_read_tag_pairs(text))
    return Calls(calls) if calls else None


def _read_tag_pairs(text: str) -> Iterator[Call]:
    for tag in _TAGS:
        at = 0
        for _ in range(_CALLS_MAX):
            start = text.find(f"<{tag}>", at)
            if start < 0:
                break
            at = text.find(f"</{tag}>", start)
            at = at if at >= 0 else len(text)
            inner = text[start + len(tag) + 2 : at]
            calls = [call for found in objects_in(inner) for call in _calls_of(found)]
            yield from calls or [Call(tag, join_lines(inner))]


def _read_invokes(text: str) -> Iterator[Call]:
    openings = [match for match, _ in zip(_INVOKE.finditer(text), range(_CALLS_MAX), strict=False)]
    for opening in openings:
        ends = [at for closing in ("</invoke>", "</function>") if (at := text.find(closing, opening.end())) >= 0]
        end = min(ends, default=len(text))
        yield Call(join_lines(opening[1]), join_lines(text[opening.end() : end]))


def _read_named_tag(text: str) -> Calls | None:
    """Read Cline's format: a tag named like the tool, with tags in it named like its arguments."""
    opening = _NAMED_TAG.search(text) if "<" in text else None
    if opening is None:
        return None
    end = text.find(f"</{opening[1]}>", opening.end())
    return Calls((Call(opening[1], join_lines(text[opening.end() : end])),)) if end >= 0 else None


def _read_react(text: str) -> Calls | None:
    calls = []
    is_sure = False
    for action in _ACTION.finditer(text):
        # The input is on the next line, or after an empty one.
        given = _INPUT.match(text, action.end() + 1) or _INPUT.match(text, action.end() + 2)
        arguments = ""
        if given:
            stop = _REACT_STOP.search(text, given.end())
            arguments = text[given.end() : stop.start() if stop else len(text)].strip()
        is_sure = is_sure or bool(given) or bool(_INLINE_INPUT.match(action[1]))
        name = join_lines(action[1].strip("`*\"' "))
        calls.append(Call(name, canonicalize(name, _parse_arguments(arguments.strip("`")))))
        # If the model makes up an observation, ignore what it writes after that.
        stop = _REACT_STOP.search(text, action.end())
        if len(calls) == _CALLS_MAX or (stop and "observation" in stop[0].lower()):
            break
    return Calls(tuple(calls)) if is_sure else None
