"""The settings that operators change while Festinger runs: the rows of ``config``.

``Tuning`` is both the registry (each field's group, type, default, range and help, here and nowhere else) and the
typed picture that a process keeps of the stored rows.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Protocol

SOURCES = frozenset({"cloud_llm", "inferred", "festinger", "gutask", "operator"})


class ConfigMistake(ValueError):
    """A key is unknown, or its value is not of its type or range. The message says what it takes."""


class Parse(Protocol):
    """What a setting takes: said for people, and as a function from the stored text, stripped, to the typed value.
    The function raises ConfigMistake."""

    @property
    def takes(self) -> str: ...

    def __call__(self, raw: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class Number:
    low: float
    high: float

    @property
    def takes(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"

    def __call__(self, raw: str) -> float:
        try:
            value = float(raw)
        except ValueError:
            value = float("nan")
        if not self.low <= value <= self.high:
            raise ConfigMistake(f"takes {self.takes}, not {raw!r}")
        return value


@dataclass(frozen=True, slots=True)
class WholeNumber:
    low: int
    high: int

    @property
    def takes(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def __call__(self, raw: str) -> int:
        try:
            value = int(raw)
        except ValueError:
            value = self.low - 1
        if not self.low <= value <= self.high:
            raise ConfigMistake(f"takes {self.takes}, not {raw!r}")
        return value


@dataclass(frozen=True, slots=True)
class ModelId:
    """The row of a language model; whether there is one is for who asks it to find out."""

    takes: str = "a language model, or none"

    def __call__(self, raw: str) -> int | None:
        return WholeNumber(1, 2**31 - 1)(raw) if raw else None


@dataclass(frozen=True, slots=True)
class SourceSet:
    @property
    def takes(self) -> str:
        return f"some of {', '.join(sorted(SOURCES))}"

    def __call__(self, raw: str) -> frozenset[str]:
        words = frozenset(part.strip() for part in raw.split(",") if part.strip())
        if unknown := sorted(words - SOURCES):
            raise ConfigMistake(f"takes {self.takes}, not {', '.join(unknown)}")
        return words


@dataclass(frozen=True, slots=True)
class Cron:
    takes: str = "five cron fields (minute hour day month weekday)"

    def __call__(self, raw: str) -> str:
        from celery.schedules import ParseException, crontab

        try:
            minute, hour, day, month, weekday = raw.split()
            crontab(minute=minute, hour=hour, day_of_month=day, month_of_year=month, day_of_week=weekday)
        except (ValueError, ParseException):
            raise ConfigMistake(f"takes {self.takes}, not {raw!r}") from None
        return raw


@dataclass(frozen=True, slots=True)
class OneOf:
    choices: tuple[str, ...]

    @property
    def takes(self) -> str:
        return " or ".join(self.choices)

    def __call__(self, raw: str) -> str:
        if raw not in self.choices:
            raise ConfigMistake(f"takes {self.takes}, not {raw!r}")
        return raw


def setting(group: str, default: Any, parse: Parse, help: str) -> Any:
    return field(default=default, metadata={"group": group, "parse": parse, "help": help})


# In the order in which operators see them.
RECOLLECTING = "Recollecting"
LEARNING = "Learning"
RESOLVING = "Resolving conflicts"
MODELS = "Language models"
LIMITS = "Limits of a request"
WATCHING = "Live view"


@dataclass(frozen=True, slots=True)
class Tuning:
    """All settings with their values; without arguments, the defaults."""

    saliency_read_threshold: float = setting(
        RECOLLECTING,
        0.5,
        Number(0, 10),
        "How salient a concept must be to be recalled: log10 of the messages naming it.",
    )
    saliency_write_threshold: float = setting(
        LEARNING,
        1.2,
        Number(0, 10),
        "How salient an unknown concept must be before a language model is asked about it.",
    )
    write_model_id: int | None = setting(
        MODELS, None, ModelId(), "The language model that is asked about unknown concepts; without one they wait."
    )
    resolve_model_id: int | None = setting(
        MODELS, None, ModelId(), "The language model that decides conflicts; without one they wait for an operator."
    )
    resolution_schedule: str = setting(
        RESOLVING, "0 2 * * *", Cron(), "When the resolver runs: five cron fields, in FESTINGER_TIME_ZONE."
    )
    resolution_mode: str = setting(
        RESOLVING,
        "auto",
        OneOf(("auto", "propose")),
        "auto: the resolver applies what the model decides; propose: an operator approves it first.",
    )
    resolution_trigger: str = setting(
        RESOLVING,
        "schedule",
        OneOf(("schedule", "on_collision")),
        "schedule: conflicts wait for the resolver's run; on_collision: each is also decided minutes after it arose.",
    )
    resolution_delay_minutes: float = setting(
        RESOLVING, 5.0, Number(0, 1440), "With on_collision: how many minutes after the collision it is decided."
    )
    resolution_max_changes: int = setting(
        RESOLVING, 200, WholeNumber(1, 100_000), "Conflicts that one run of the resolver decides, at most."
    )
    llm_daily_calls: int = setting(
        MODELS, 1000, WholeNumber(0, 1_000_000), "Calls of language models that Festinger makes in one day, at most."
    )
    llm_timeout_s: float = setting(
        MODELS, 60.0, Number(1, 3600), "How long a language model may take for one answer, in seconds."
    )
    recollection_confidence_floor: float = setting(
        RECOLLECTING, 0.6, Number(0, 1), "Facts below this confidence are not recalled."
    )
    recollection_recency_days: float = setting(
        RECOLLECTING, 90.0, Number(0, 36500), "Facts not confirmed for this many days are not recalled."
    )
    recollection_recency_exempt: frozenset[str] = setting(
        RECOLLECTING,
        frozenset({"gutask", "operator"}),
        SourceSet(),
        "Facts from these sources are recalled however old.",
    )
    recollection_max_concepts: int = setting(
        RECOLLECTING, 8, WholeNumber(0, 100), "Concepts with facts in one recollection block, at most."
    )
    recollection_max_tokens: int = setting(
        RECOLLECTING, 350, WholeNumber(0, 10_000), "Length of one block, in model tokens of four characters."
    )
    recollection_max_total_tokens: int = setting(
        RECOLLECTING,
        1000,
        WholeNumber(0, 100_000),
        "Length of all blocks of one conversation, in model tokens of four characters.",
    )
    recollection_placement: str = setting(
        RECOLLECTING,
        "append_only",
        OneOf(("append_only", "system")),
        "append_only: what was said stays where it was, new facts go to the prompt's end, so that the model need not"
        " read all anew; system: always one block at the top.",
    )
    zero_hit_max: int = setting(
        RECOLLECTING, 3, WholeNumber(0, 20), "Unknown concepts asked about in one block, at most; 0 asks nothing."
    )
    enrichment_max_characters: int = setting(
        LIMITS,
        100_000,
        WholeNumber(1_000, 10_000_000),
        "New text that is read for one request, in characters; the rest is read when it is sent again.",
    )
    enrichment_max_ms: float = setting(
        LIMITS,
        50.0,
        Number(1, 10_000),
        "For how long new text is read for one request, in milliseconds; the rest when it is sent again.",
    )
    recency_half_life_days: float = setting(
        RECOLLECTING, 14.0, Number(0.01, 36500), "After how many days out of sight a concept's priority is halved."
    )
    live_prompt_text: str = setting(
        WATCHING,
        "off",
        OneOf(("off", "on")),
        "on: what the last message of a user said is kept with each request for 7 days, secrets masked, and shown in"
        " the live view; off: it is not kept, and what was kept is deleted within a minute.",
    )

    @property
    def keeps_prompt_text(self) -> bool:
        return self.live_prompt_text == "on"


REGISTRY: dict[str, Field[Any]] = {entry.name: entry for entry in fields(Tuning)}


def parse(key: str, raw: str) -> Any:
    """The typed value of a stored text. Raises ConfigMistake."""
    if key not in REGISTRY:
        raise ConfigMistake(f"{key} is not a setting")
    try:
        return REGISTRY[key].metadata["parse"](raw.strip())
    except ConfigMistake as mistake:
        raise ConfigMistake(f"{key} {mistake}") from None


def as_text(value: Any) -> str:
    """How a typed value is stored."""
    if value is None:
        return ""
    if isinstance(value, frozenset):
        return ",".join(sorted(value))
    return str(value)


def defaults() -> dict[str, str]:
    return {key: as_text(entry.default) for key, entry in REGISTRY.items()}


def tuning(rows: Mapping[str, str]) -> tuple[Tuning, list[str]]:
    """The typed picture of stored rows, and what is wrong with them. A bad value is replaced by its
    default: a mistake in one row must not stop recollection."""
    values: dict[str, Any] = {}
    mistakes = []
    for key, raw in rows.items():
        try:
            values[key] = parse(key, raw)
        except ConfigMistake as mistake:
            mistakes.append(str(mistake))
    return Tuning(**values), mistakes
