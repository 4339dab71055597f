"""The settings that operators change while Festinger runs: the rows of ``config``.

``Tuning`` is both the registry (each field's type, default, range and help, here and nowhere else) and the
typed picture that a process keeps of the stored rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, cast

SOURCES = frozenset({"cloud_llm", "inferred", "festinger", "gutask", "operator"})


class ConfigMistake(ValueError):
    """A key is unknown, or its value is not of its type or range. The message says what it takes."""


Parse = Callable[[str], Any]  # from the stored text, stripped; raises ConfigMistake with what it takes


def number(low: float, high: float) -> Parse:
    def parse(raw: str) -> float:
        try:
            value = float(raw)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise ConfigMistake(f"takes a number from {low:g} to {high:g}, not {raw!r}")
        return value

    return parse


def whole_number(low: int, high: int) -> Parse:
    def parse(raw: str) -> int:
        try:
            value = int(raw)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise ConfigMistake(f"takes a whole number from {low} to {high}, not {raw!r}")
        return value

    return parse


def optional_id(raw: str) -> int | None:
    return cast(int, whole_number(1, 2**31 - 1)(raw)) if raw else None


def source_set(raw: str) -> frozenset[str]:
    words = frozenset(part.strip() for part in raw.split(",") if part.strip())
    if unknown := sorted(words - SOURCES):
        raise ConfigMistake(f"takes some of {', '.join(sorted(SOURCES))}, not {', '.join(unknown)}")
    return words


def cron(raw: str) -> str:
    from celery.schedules import ParseException, crontab

    try:
        minute, hour, day, month, weekday = raw.split()
        crontab(minute=minute, hour=hour, day_of_month=day, month_of_year=month, day_of_week=weekday)
    except (ValueError, ParseException):
        raise ConfigMistake(f"takes five cron fields (minute hour day month weekday), not {raw!r}") from None
    return raw


def one_of(*choices: str) -> Parse:
    def parse(raw: str) -> str:
        if raw not in choices:
            raise ConfigMistake(f"takes {' or '.join(choices)}, not {raw!r}")
        return raw

    return parse


def setting(default: Any, parse: Parse, help: str) -> Any:
    return field(default=default, metadata={"parse": parse, "help": help})


@dataclass(frozen=True, slots=True)
class Tuning:
    """All settings with their values; without arguments, the defaults."""

    saliency_read_threshold: float = setting(
        0.5, number(0, 10), "How salient a concept must be to be recalled: log10 of the messages naming it."
    )
    saliency_write_threshold: float = setting(
        1.2,
        number(0, 10),
        "How salient an unknown concept must be before a language model is asked about it.",
    )
    write_model_id: int | None = setting(
        None, optional_id, "The row of models that is asked about unknown concepts; empty for none."
    )
    resolve_model_id: int | None = setting(
        None, optional_id, "The row of models that decides conflicts; empty for none."
    )
    resolution_schedule: str = setting(
        "0 2 * * *", cron, "When the resolver runs: five cron fields, in FESTINGER_TIME_ZONE."
    )
    resolution_mode: str = setting(
        "auto",
        one_of("auto", "propose"),
        "auto: the resolver applies what the model decides; propose: an operator approves it first.",
    )
    resolution_trigger: str = setting(
        "schedule",
        one_of("schedule", "on_collision"),
        "schedule: conflicts wait for the resolver's run; on_collision: each is also decided minutes after it arose.",
    )
    resolution_delay_minutes: float = setting(
        5.0, number(0, 1440), "With on_collision: how many minutes after the collision it is decided."
    )
    resolution_max_changes: int = setting(
        200, whole_number(1, 100_000), "Conflicts that one run of the resolver decides, at most."
    )
    llm_daily_calls: int = setting(
        1000, whole_number(0, 1_000_000), "Calls of language models that Festinger makes in one day, at most."
    )
    llm_timeout_s: float = setting(
        60.0, number(1, 3600), "How long a language model may take for one answer, in seconds."
    )
    recollection_confidence_floor: float = setting(0.6, number(0, 1), "Facts below this confidence are not recalled.")
    recollection_recency_days: float = setting(
        90.0, number(0, 36500), "Facts not confirmed for this many days are not recalled."
    )
    recollection_recency_exempt: frozenset[str] = setting(
        frozenset({"gutask", "operator"}), source_set, "Facts from these sources are recalled however old."
    )
    recollection_max_concepts: int = setting(
        8, whole_number(0, 100), "Concepts with facts in one recollection block, at most."
    )
    recollection_max_tokens: int = setting(
        350, whole_number(0, 10_000), "Length of one block, in model tokens of four characters."
    )
    recollection_max_total_tokens: int = setting(
        1000, whole_number(0, 100_000), "Length of all blocks of one conversation, in model tokens of four characters."
    )
    recollection_placement: str = setting(
        "append_only",
        one_of("append_only", "system"),
        "append_only: what was said stays where it was, new facts go to the prompt's end, so that the model need not"
        " read all anew; system: always one block at the top.",
    )
    zero_hit_max: int = setting(
        3, whole_number(0, 20), "Unknown concepts asked about in one block, at most; 0 asks nothing."
    )
    enrichment_max_characters: int = setting(
        100_000,
        whole_number(1_000, 10_000_000),
        "New text that is read for one request, in characters; the rest is read when it is sent again.",
    )
    enrichment_max_ms: float = setting(
        50.0,
        number(1, 10_000),
        "For how long new text is read for one request, in milliseconds; the rest when it is sent again.",
    )
    recency_half_life_days: float = setting(
        14.0, number(0.01, 36500), "After how many days out of sight a concept's priority is halved."
    )


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
