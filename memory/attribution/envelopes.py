"""Opens what clients wrap around the words that a person typed, as ``envelopes.toml`` describes it."""

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

_CLIENTS: Final[list[dict[str, Any]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["client"]


def _list(key: str) -> list[Any]:
    return [one for client in _CLIENTS for one in client.get(key, ())]


def _alternatives(key: str) -> str:
    return "|".join(map(re.escape, _list(key)))


# Roles whose text only the model or a tool wrote: an envelope in it does not make it a person's.
_NEVER_A_PERSON: Final = frozenset({"assistant", "tool"})
_NAMES_TOOLS: Final = frozenset({"assistant", "system"})
_JSON_RULES: Final[list[dict[str, Any]]] = _list("json")
_JSON_MARKS: Final = tuple(f'"{(*rule.get("has", ()), *rule.get("is", {}).values())[0]}"' for rule in _JSON_RULES)
_PERSON: Final = "user_message"
_JOINED_MAX: Final = 100  # envelopes of one text
_AGENT_NUMBER: Final = re.compile(r"Agent Number: (\d{1,6})")
_BEGINS: Final = re.compile(r"\s*\{")
_DECODER: Final = json.JSONDecoder()

_WHOLE: Final = tuple(_list("whole"))
EXAMPLES_END: Final = "I switched to a new code base."  # aider: the turns before it are examples
_BEFORE: Final = re.compile(rf"\s*(?:{_alternatives('before')})")
_CUT: Final = re.compile(
    "|".join(re.escape(cut[0]) + (f".*?(?:{re.escape(cut[1])}|\\Z)" if cut[1:] else ".*") for cut in _list("cut")),
    re.DOTALL,
)
_LINES: Final = re.compile(rf"^(?:{'|'.join(_list('lines'))})[ \t]*\n?", re.MULTILINE)
# Open WebUI: the first precedes what a program asks about a chat, the second precedes the chat.
_TASK, _HISTORY = "### Task:\n", "<chat_history>"
_DOCUMENTS: Final = tuple(cut[0] for cut in _list("cut") if cut[0].startswith(_TASK))
_SYSTEM: Final = re.compile(r"<(system[\w-]{0,40})>")

_MARKS: Final = tuple(_list("marks"))
_ELEMENT: Final = rf"<(?P<tag>{_alternatives('typed')})>\n?(?P<typed>.*?)\n?</(?P=tag)>"
_ALONE: Final = re.compile(rf"\s*{_ELEMENT}\s*\Z", re.DOTALL)
_OPENS: Final = re.compile(rf"^<({_alternatives('typed')})>\n?", re.MULTILINE)
_RESULT: Final = re.compile(r"^\[(?P<tool>\w+)(?: [^\n]*)?\] Result:[ \t]*\n?", re.MULTILINE)
_ANSWERS: Final = frozenset(_list("asking"))
# What a person says about a call is all that the call then returns.
_ABOUT_CALL: Final = re.compile(rf"\s*(?:The user [^\n]{{1,100}}:\n)?{_ELEMENT}\s*\Z", re.DOTALL)

_STAMP: Final = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?\d{4}-\d\d-\d\d[ T]\d\d:\d\d"
_METADATA: Final = re.compile(
    rf"^(?:\[{_STAMP}[^\]\n]*\] )?(?:{_alternatives('metadata')})\n"
    r"(?:```json\n(?P<json>.*?)(?:\n```|\Z)|(?:[^\n]+(?:\n|\Z))+)\s*",
    re.DOTALL | re.MULTILINE,
)
_BRACKET: Final = re.compile(
    rf"\s*\[(?:(?P<channel>{_alternatives('channels')})\b(?P<about>[^\]\n]*)|{_STAMP}[^\]\n]*)\] ?"
)
_ELAPSED: Final = re.compile(rf"\s*(?:\+\d+[smhd])?\s*(?:{_STAMP}.*)?\Z")
_ID: Final = re.compile(r"\bid:(\S+)")
_GROUP_ID: Final = re.compile(r"-\d|.*@g\.us|group|#", re.IGNORECASE)
_SPEAKER: Final = re.compile(r"(?P<name>[^\n:(]{1,60}?)(?: \((?P<id>[^)\n]{1,60})\))?: ")
_SENDER, _NAMES, _GROUP = _list("sender"), _list("names"), _list("group")
_NOBODY: Final = frozenset(_list("nobody"))


class Sender(NamedTuple):
    """The person whom a bridge names, and whether they speak in a group; ``text`` without what says so."""

    person: str
    is_group: bool
    text: str


def is_open_webui(text: str) -> bool:
    """True if Open WebUI has written this message: a task about a chat, or documents around a question."""
    opening = text.lstrip()
    return opening.startswith(_DOCUMENTS) or _is_task(opening)


def _is_task(opening: str) -> bool:
    return opening.startswith(_TASK) and _HISTORY in opening


def remove_client_parts(text: str) -> str:
    """Return the part of a user's message that a person typed. Linear in its length."""
    text = read_sender(text).text
    if before := _BEFORE.match(text):
        text = text[before.end() :]
    opening = text.lstrip()
    if opening.startswith(_WHOLE) or _is_task(opening):
        return ""
    has_elements = any(mark in text for mark in _MARKS) or _RESULT.match(opening) is not None
    text = _CUT.sub("\n", text)
    if has_elements or _ALONE.match(text):
        text = "\n".join(_find_typed(text))
    return _remove_system(text) if "<system" in text else text


def read_sender(text: str) -> Sender:
    """Return who a bridge says has sent this message: by its blocks of metadata, else by its bracket."""
    if "(untrusted" not in text and "[" not in text[:200] and "\n[message_id:" not in text:
        return Sender("", False, text)
    person, is_group, names = "", False, list[str]()
    at, begins = 0, len(text) - len(text.lstrip())
    while (block := _METADATA.match(text, at or begins)) is not None:
        told = _read_object(block["json"] or "")
        at = block.end()
        ids = [str(told[key]) for key in _SENDER if isinstance(told.get(key), str | int)]
        person = person or next((one for one in ids if one and one not in _NOBODY), "")
        names += [told[key] for key in _NAMES if isinstance(told.get(key), str)]
        is_group = is_group or any(told.get(key) for key in _GROUP)
    text = _METADATA.sub("", text[at:]) if "(untrusted" in text else text[at:]
    if "[" in text:
        text = _LINES.sub("", text)
        if bracket := _BRACKET.match(text):
            text = text[bracket.end() :]
            person, is_group, text = _read_bracket(bracket["about"], person, is_group, text)
    name = next((name for name in names if text.startswith(f"{name}: ")), None)
    return Sender(person, is_group, text[len(name) + 2 :] if name else text)


def _read_bracket(about: str | None, person: str, is_group: bool, text: str) -> tuple[str, bool, str]:
    """Return the person, True for a group, and the text behind a bracket that tells this of the channel."""
    told = _ELAPSED.sub("", about or "").strip()
    number = _ID.search(told)
    if is_group or (number and _GROUP_ID.match(number[1])) or told.startswith("#"):
        speaker = _SPEAKER.match(text)
        return (
            person or (speaker["id"] or speaker["name"] if speaker else ""),
            True,
            text[speaker.end() :] if speaker else text,
        )
    return person or (number[1] if number else told), is_group, text


def _find_typed(text: str) -> Iterator[str]:
    """Yield what was typed of a message in which clients put it into elements, beside results of tools."""
    results = list(_RESULT.finditer(text))
    ends = [*(result.start() for result in results), len(text)]
    yield from _find_elements(text[: ends[0]])
    for result, end in zip(results, ends[1:], strict=True):
        said = text[result.end() : end]
        if result["tool"] in _ANSWERS:
            yield from _find_elements(said)
        elif about := _ABOUT_CALL.match(said):
            yield about["typed"]


def _find_elements(text: str) -> Iterator[str]:
    at = 0
    for tag in _OPENS.finditer(text):
        end = text.find(f"</{tag[1]}>", tag.end()) if tag.start() >= at else -1
        if end >= 0:
            yield text[tag.end() : end].removesuffix("\n")
            at = end


def _remove_system(text: str) -> str:
    """Leave out Claude Code's ``<system-reminder>`` and similar elements."""
    kept, at, unclosed = [], 0, set()
    for tag in _SYSTEM.finditer(text):
        if tag.start() < at or tag[1] in unclosed:
            continue
        end = text.find(f"</{tag[1]}>", tag.end())
        if end < 0:
            unclosed.add(tag[1])
            continue
        kept.append(text[at : tag.start()])
        at = end + len(tag[1]) + len("</>")
    return "\n".join([*kept, text[at:]]) if kept else text


def unwrap(text: str, role: str) -> tuple[str, str]:
    """Return the text inside an envelope of JSON and the role it was said in; any other text and role unchanged."""
    # Clients join consecutive messages: all envelopes of a text count, as a tool's if one of them is a tool's, because
    # a tool is believed least. Nobody has said what follows them: Agent Zero's ``[EXTRAS]``, what it remembers, rebuilt
    # each turn.
    said: list[str] = []
    roles = set()
    for envelope, whole in _open_envelopes(text):
        rule = _find_rule(envelope)
        if rule is None:
            continue
        said.append(_write(envelope.get(rule.get("said", ""), ""), whole))
        roles.add(role if role in _NEVER_A_PERSON else rule.get("role", "user"))
    if not said:
        return text, role
    return "\n".join(said), "tool" if "tool" in roles else roles.pop()


def is_envelope(text: str) -> bool:
    return any(_find_rule(envelope) is not None for envelope, _ in _open_envelopes(text)[:1])


def is_person_envelope(text: str) -> bool:
    """True if the text is an envelope of Agent Zero that holds what a person said, with nothing before it."""
    rules = [_find_rule(envelope) for envelope, _ in _open_envelopes(text)[:1]]
    return any(rule is not None and rule.get("said") == _PERSON for rule in rules)


def is_delegated(text: str) -> bool:
    """True if one agent tells this to another in such an envelope: only the first, number 0, talks with a person."""
    number = _AGENT_NUMBER.search(text) if is_person_envelope(text) else None
    return number is not None and int(number[1]) > 0


def unwrap_answer(text: str) -> str:
    """Return the text of the response in a model's Agent Zero JSON; "" if it calls another tool; any other text
    unchanged."""
    if not text[:1000].lstrip().startswith("{") or '"tool_name"' not in text:
        return text
    call = _read_object(text)
    if "tool_args" not in call:
        return text
    given = call["tool_args"] if call.get("tool_name") == "response" else None
    said = given.get("text") if isinstance(given, dict) else None
    return said if isinstance(said, str) else ""


def shows_tools(text: str, role: str) -> bool:
    """True if a message shows that the agent works as Agent Zero does: messages of people and tools come in an
    envelope, and the system text and the model name their tools in JSON."""
    if role in _NAMES_TOOLS:
        return '"tool_name"' in text
    return _BEGINS.match(text) is not None and ('"user_message"' in text or '"tool_name"' in text)


def _find_rule(envelope: dict[str, Any]) -> dict[str, Any] | None:
    for rule in _JSON_RULES:
        is_such = all(envelope.get(key) == value for key, value in rule.get("is", {}).items())
        if is_such and all(key in envelope for key in rule.get("has", ())):
            return rule if _is_readable(envelope, rule) else None
    return None


def _is_readable(envelope: dict[str, Any], rule: dict[str, Any]) -> bool:
    """True if what was said is a text, or is a tool's."""
    return "said" not in rule or "role" in rule or isinstance(envelope.get(rule["said"]), str)


def _write(said: object, envelope: str) -> str:
    """Return what was said, or the whole envelope if that is nested too deep to be written."""
    if isinstance(said, str):
        return said
    try:
        return orjson.dumps(said).decode()
    except orjson.JSONEncodeError:
        return envelope


def _open_envelopes(text: str) -> list[tuple[dict[str, Any], str]]:
    """Return the JSON objects that the text begins with, each with its own text."""
    # Parsing is for the few messages that can be envelopes; the first character rules out most.
    if _BEGINS.match(text) is None or not any(mark in text for mark in _JSON_MARKS):
        return []
    with suppress(orjson.JSONDecodeError):  # mostly one, which it reads twice as fast
        envelope = orjson.loads(text)
        return [(envelope, text)] if isinstance(envelope, dict) else []
    found: list[tuple[dict[str, Any], str]] = []
    at = 0
    while len(found) < _JOINED_MAX and (begins := _BEGINS.match(text, at)):
        start = begins.end() - 1
        try:
            envelope, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            break
        found.append((envelope, text[start:at]))
    return found


def _read_object(text: str) -> dict[str, Any]:
    """Return the JSON object that the text is; an empty one for any other text."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
