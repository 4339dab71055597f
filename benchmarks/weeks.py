"""Weeks of a person's chats with an assistant, and what later requests need of them.

A file of ``benchmarks/weeks`` is a mapping::

    name: short-slug
    person: one line
    conversations:
      - at: 2026-03-02T08:40
        messages:
          - user: the text
            id: t1                # where a request needs it, or would be misled by it
          - assistant: the answer
    requests:
      - kind: single              # of KINDS
        at: 2026-03-07T10:00
        text: the first message of a new chat
        evidence: [t1]            # the messages of users that it needs
        values:                   # of each inner list one must be in what the model gets
          - ["17.2", "17.2 LTS"]
        outdated: ["16.1"]        # was true before
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.plan import WEEKS

HELD_OUT: Final = "held_out"
NOTHING: Final = "nothing"
# Requests a week.
KINDS: Final = {"single": 3, "two": 2, "newest": 3, "preference": 1, "rule": 1, NOTHING: 10}
CHARACTERS_OF_A_TOKEN: Final = 4

Alternatives = tuple[str, ...]


class WeekMistake(Exception):
    """A file is no week; the message names it and each mistake."""


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    text: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Chat:
    at: datetime
    messages: tuple[Message, ...]

    def turns(self) -> Iterator[tuple[list[Message], str]]:
        """Yield for each message of the user what the client sends, oldest first, and the answer; empty where the
        script has none."""
        for place, message in enumerate(self.messages):
            if message.role == "user":
                following = self.messages[place + 1 : place + 2]
                answer = following[0].text if following and following[0].role == "assistant" else ""
                yield list(self.messages[: place + 1]), answer


@dataclass(frozen=True, slots=True)
class Request:
    """``values``: of each, one alternative must be given; ``outdated``: what must not be given without them."""

    kind: str
    at: datetime
    text: str
    evidence: tuple[str, ...] = ()
    values: tuple[Alternatives, ...] = ()
    outdated: tuple[Alternatives, ...] = ()


@dataclass(frozen=True, slots=True)
class Week:
    name: str
    chats: tuple[Chat, ...]
    requests: tuple[Request, ...]

    def users_messages(self) -> list[Message]:
        """Return them in the order in which they were sent."""
        chats = sorted(self.chats, key=lambda chat: chat.at)
        return [message for chat in chats for message in chat.messages if message.role == "user"]


def holds(text: str, alternatives: Iterable[str]) -> bool:
    """True if the text has one of them, in whatever case and however its lines are broken."""
    folded = fold(text)
    return any(fold(each) in folded for each in alternatives)


def fold(text: str) -> str:
    return " ".join(text.split()).casefold()


# --- reading ---


def read_weeks(folder: Path = WEEKS, *, held_out: bool = False) -> list[Week]:
    """Raises WeekMistake; also where the folder has none."""
    files = sorted((folder / HELD_OUT if held_out else folder).glob("*.yaml"))
    if not files:
        raise WeekMistake(f"no weeks in {folder}{f'/{HELD_OUT}' if held_out else ''}")
    return [read_week(file) for file in files]


def read_week(file: Path) -> Week:
    """Raises WeekMistake."""
    try:
        # As strings, all of them: 8443 and 14:30 are no numbers here.
        week = parse(yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.BaseLoader))
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise WeekMistake(f"{file.name}: {type(error).__name__}: {error}") from error
    if mistakes := list(find_mistakes(week)):
        raise WeekMistake("\n".join(f"{file.name}: {mistake}" for mistake in mistakes))
    return week


def parse(content: Mapping[str, Any]) -> Week:
    chats = [Chat(moment(chat["at"]), tuple(map(parse_message, chat["messages"]))) for chat in content["conversations"]]
    return Week(content["name"], tuple(chats), tuple(map(parse_request, content["requests"])))


def parse_message(content: Mapping[str, str]) -> Message:
    [role] = {"user", "assistant"} & content.keys()
    return Message(role, content[role].strip(), content.get("id", ""))


def parse_request(content: Mapping[str, Any]) -> Request:
    return Request(
        content["kind"],
        moment(content["at"]),
        content["text"].strip(),
        tuple(content.get("evidence") or ()),
        alternatives_of(content.get("values") or ()),
        alternatives_of(content.get("outdated") or ()),
    )


def alternatives_of(content: Iterable[str | Sequence[str]]) -> tuple[Alternatives, ...]:
    """Take a string for the only alternative."""
    return tuple((each,) if isinstance(each, str) else tuple(each) for each in content)


def moment(text: str) -> datetime:
    """Drop the time zone: only the distances count."""
    return datetime.fromisoformat(text).replace(tzinfo=None)


def find_mistakes(week: Week) -> Iterator[str]:
    said = week.users_messages()
    of_id = {message.id: message.text for message in said if message.id}
    for twice in (id for id, count in Counter(message.id for message in said if message.id).items() if count > 1):
        yield f"the id {twice} stands at several messages"
    last = max(chat.at for chat in week.chats)
    for number, request in enumerate(week.requests, 1):
        for mistake in find_mistakes_of(request, of_id, said):
            yield f"request {number} ({request.kind}): {mistake}"
        if request.at <= last:
            yield f"request {number} comes before the last conversation"


def find_mistakes_of(request: Request, of_id: Mapping[str, str], said: Sequence[Message]) -> Iterator[str]:
    if request.kind not in KINDS:
        yield "no such kind"
    if (request.kind == NOTHING) == bool(request.values):
        yield "values are due, except where nothing is needed"
    if request.values and not request.evidence:
        yield "no evidence"
    if unknown := [id for id in request.evidence if id not in of_id]:
        yield f"no message of a user has the id {', '.join(unknown)}"
        return
    evidence = "\n".join(of_id[id] for id in request.evidence)
    for place, value in enumerate(request.values, 1):
        if not holds(evidence, value):
            yield f"value {place} is not in its evidence"
    for place, value in enumerate(request.outdated, 1):
        if not any(holds(message.text, value) for message in said):
            yield f"outdated value {place} was never said"


def miscounted(week: Week) -> dict[str, int]:
    """The kinds that a whole week has another number of."""
    found = Counter(request.kind for request in week.requests)
    return {kind: found[kind] for kind, due in KINDS.items() if found[kind] != due}


# --- scoring ---


@dataclass(frozen=True, slots=True)
class Given:
    """``text``: all that was added to a request."""

    request: Request
    text: str

    @property
    def missing(self) -> list[Alternatives]:
        return [value for value in self.request.values if not holds(self.text, value)]

    @property
    def is_needed(self) -> bool:
        return self.request.kind != NOTHING

    @property
    def has_all(self) -> bool:
        return self.is_needed and not self.missing

    @property
    def misleads(self) -> bool:
        """True if an outdated value was given, and the one in force was not."""
        return bool(self.missing) and any(holds(self.text, value) for value in self.request.outdated)

    @property
    def is_noise(self) -> bool:
        return not self.is_needed and bool(self.text.strip())

    @property
    def tokens(self) -> float:
        return len(self.text) / CHARACTERS_OF_A_TOKEN


@dataclass(slots=True)
class Score:
    given: list[Given] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        """Whole numbers count requests; ``tokens`` are the mean."""
        needed = [each for each in self.given if each.is_needed]
        needless = [each for each in self.given if not each.is_needed]
        row: dict[str, float] = {"needed": len(needed), "all given": sum(each.has_all for each in needed)}
        for kind in KINDS:
            if kind != NOTHING:
                row[kind] = sum(each.has_all for each in needed if each.request.kind == kind)
        return row | {
            "outdated": sum(each.misleads for each in needed),
            "tokens": mean(each.tokens for each in needed),
            NOTHING: len(needless),
            "noise": sum(each.is_noise for each in needless),
            "noise tokens": mean(each.tokens for each in needless),
        }


def mean(numbers: Iterable[float]) -> float:
    """0 of none."""
    found = list(numbers)
    return sum(found) / len(found) if found else 0.0
