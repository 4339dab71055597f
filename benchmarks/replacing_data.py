"""The statements of 300 slots (``replacing.txt``) and of six quiet weeks (``quiet_weeks.txt``), and their times.

``replacing.txt``: ``# kind`` before the sentences of each kind (``said``, ``changed`` with words of change or
correction, ``asked``; ``{s}`` is the subject, ``{v}`` the value, ``{o}`` the one before) and its slots, ``subject =
value``, or ``subject = value | later value``. ``quiet_weeks.txt``: ``# person``, ``== time`` before each conversation,
a message a line; nothing in it contradicts anything else in it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count, groupby
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

SLOTS: Final = Path(__file__).with_name("replacing.txt")
QUIET: Final = Path(__file__).with_name("quiet_weeks.txt")
POSTED: Final = 3  # every so many slots through POST /memory
DAY_S: Final = 86_400
DAYS: Final = 10  # in which all first values are told, and as many for the later ones
MINUTE_S: Final = 60
# What people write around a sentence; most write nothing.
AROUND: Final = (
    "{}", "{}", "{}", "Good morning! {}", "{}", "{} Can you write one line about it for the team?",
    "{}", "One thing before I forget it: {}", "{}", "{} Thanks for yesterday, by the way.",
)  # fmt: skip
CARELESS: Final = 7  # every so many messages begin small and have no full stop


class TimedMessage(NamedTuple):
    """``is_posted``: as ``POST /memory`` takes it, no message of a prompt; ``place``: in its conversation; ``at``:
    seconds since 1970."""

    text: str
    at: float
    conversation: str
    role: str = "user"
    place: int = 0
    is_posted: bool = False


@dataclass(frozen=True, slots=True)
class ToldSlot:
    """``said``: a text for each of ``values``, the oldest first; ``has_words``: the later one has words of change;
    ``has_same_form``: it has none, and says the same but for the value."""

    number: int
    kind: str
    subject: str
    values: tuple[str, ...]
    said: tuple[str, ...]
    asked: str
    has_words: bool
    has_same_form: bool
    is_posted: bool

    @property
    def newest(self) -> str:
        return self.values[-1]

    @property
    def older(self) -> tuple[str, ...]:
        return self.values[:-1]

    def conversation(self, number: int) -> str:
        return f"slot {self.number}, value {number}"


def read_slots() -> list[ToldSlot]:
    slots: list[ToldSlot] = []
    changing = count()
    for kind in SLOTS.read_text(encoding="utf-8").removeprefix("# ").split("\n# "):
        name, *lines = kind.splitlines()
        forms = {
            form: [line.removeprefix(f"{form}: ") for line in lines if line.startswith(f"{form}: ")]
            for form in ("said", "changed", "asked")
        }
        for line in lines:
            subject, is_slot, values = line.partition(" = ")
            if is_slot:
                number = len(slots)
                slots.append(_make_slot(number, name, subject, tuple(values.split(" | ")), forms, changing))
    return slots


def _make_slot(
    number: int, kind: str, subject: str, values: tuple[str, ...], forms: dict[str, list[str]], changing: Iterator[int]
) -> ToldSlot:
    change = next(changing) if len(values) > 1 else None
    has_words = change is not None and change % 2 == 0
    has_same_form = change is not None and change % 4 == 1
    is_posted = number % POSTED == 0
    said = []
    for place, value in enumerate(values):
        of_form = forms["changed" if place and has_words else "said"]
        form = of_form[(number // POSTED + (0 if has_same_form else place)) % len(of_form)]
        text = _fill(form, subject, value, values[place - 1])
        said.append(text if is_posted else _write_as_people_do(text, number + 3 * place))
    asked = _fill(forms["asked"][number // 2 % len(forms["asked"])], subject, "", "")
    return ToldSlot(number, kind, subject, values, tuple(said), asked, has_words, has_same_form, is_posted)


def _fill(form: str, subject: str, value: str, before: str) -> str:
    is_phrase = subject.split()[0] in ("the", "our", "my")
    filled = form.format(s=subject, S=_begin_large(subject) if is_phrase else subject, v=value, o=before)
    return _begin_large(filled) if value and filled.startswith(value) else filled


def _begin_large(text: str) -> str:
    return text[:1].upper() + text[1:]


def _write_as_people_do(text: str, number: int) -> str:
    if number % CARELESS == 0 and not text.startswith("I "):
        return (text[0].lower() + text[1:]).removesuffix(".")
    return AROUND[number % len(AROUND)].format(text)


def schedule(slots: Sequence[ToldSlot], now: float) -> list[list[TimedMessage]]:
    """Return what is told on each day, all first values before all later ones, those of different slots mixed."""
    days: list[list[TimedMessage]] = []
    for place in range(max(len(slot.values) for slot in slots)):
        telling = [slot for slot in slots if len(slot.values) > place]
        Random(place).shuffle(telling)
        size = -(-len(telling) // DAYS)
        days += [
            [
                TimedMessage(slot.said[place], 0.0, slot.conversation(place), is_posted=slot.is_posted)
                for slot in telling[start : start + size]
            ]
            for start in range(0, len(telling), size)
        ]
    first = now - (len(days) + 1) * DAY_S
    return [
        [told._replace(at=first + day * DAY_S + each * 10 * MINUTE_S) for each, told in enumerate(of_day)]
        for day, of_day in enumerate(days)
    ]


# --- values in texts ---


def fold(text: str) -> str:
    """As facts and sentences alike would have it."""
    return re.sub(r"[\s_-]+", " ", text).casefold()


def find(value: str, folded: str) -> tuple[int, int] | None:
    """Return from where to where a folded text has the value, its article aside."""
    core = re.escape(re.sub(r"^(?:the|an?) ", "", fold(value)))
    found = re.search(rf"(?<!\w)(?<!\d[.,:]){core}(?!\w|[.,:]\d)", folded)
    return found.span() if found else None


def has(value: str, text: str) -> bool:
    return find(value, fold(text)) is not None


# --- weeks ---


def read_quiet_weeks() -> dict[str, list[list[TimedMessage]]]:
    """Return what each person tells, by day."""
    weeks = {}
    for person in QUIET.read_text(encoding="utf-8").removeprefix("# ").split("\n# "):
        name, *lines = person.splitlines()
        told: list[TimedMessage] = []
        start, place = 0.0, 0
        for line in filter(None, lines):
            if line.startswith("== "):
                start, place = datetime.fromisoformat(line.removeprefix("== ")).timestamp(), 0
            else:
                told.append(TimedMessage(line, start + place * MINUTE_S, f"{name} {start}", place=place))
                place += 2  # the answer stands between
        weeks[name.partition(",")[0]] = group_days(told)
    return weeks


def post_statements(days: Sequence[Sequence[TimedMessage]]) -> list[list[TimedMessage]]:
    """Leave questions out: nobody has them remembered."""
    return [[told._replace(is_posted=True) for told in day if "?" not in told.text] for day in days]


def group_days(told: Sequence[TimedMessage]) -> list[list[TimedMessage]]:
    return [list(day) for _, day in groupby(told, key=lambda each: datetime.fromtimestamp(each.at).date())]


def bring_near(days: Sequence[Sequence[TimedMessage]], now: float) -> list[list[TimedMessage]]:
    """Move the last day to yesterday, as long ago as a new chat is from it."""
    late = now - DAY_S - max(told.at for day in days for told in day)
    return [[told._replace(at=told.at + late) for told in day] for day in days]
