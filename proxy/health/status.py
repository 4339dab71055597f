"""How Festinger does, part by part: what was found, judged, and what to do where something is not as it should be.

Pure: proxy/health/probes.py finds it out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from memory.domain.formatting import format_count, format_duration

# A pulse comes every 10 s, later on a busy machine (festinger_site/launcher/liveness_probe.py).
LATE_S: Final = 45.0
SILENT_S: Final = 120.0
# A statement is placed within a second: what has been due for so long waits for somebody.
OVERDUE_S: Final = 60.0
STUCK_S: Final = 600.0
WAKE_UPS_MAX: Final = 100  # that wait although a worker takes them
LOGS: Final = "its log ({0}.log in the folder log of Festinger's home, or docker compose logs {0})"


class SignState(StrEnum):
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"
    UNKNOWN = "unknown"  # because something else is not as it should be


@dataclass(frozen=True, slots=True)
class Sign:
    """``says`` is a sentence; ``advice`` what to do, where there is anything to be done."""

    part: str
    state: SignState
    says: str
    advice: str = ""

    @property
    def needs_someone(self) -> bool:
        return self.state in (SignState.WARNING, SignState.BAD)


@dataclass(frozen=True, slots=True)
class Broker:
    """``waiting``: wake-ups that no worker has taken; ``oldest_s`` 0 where that is not known."""

    name: str
    waiting: int = 0
    oldest_s: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Learning:
    """The queue of what was said. ``overdue_s``: for how long the statement that is due longest has been. ``failed``:
    of the ``looked_at`` newest rows of a day."""

    statements: int = 0
    concepts: int = 0
    is_counted_whole: bool = True
    overdue_s: float = 0.0
    failed: int = 0
    looked_at: int = 0


@dataclass(frozen=True, slots=True)
class Models:
    """``missing``: by what a model would do, why there is none. ``last_error``: of the newest call, empty if it went
    well."""

    names: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    last_error: str = ""
    asked_today: int = 0
    daily_calls: int = 0


@dataclass(frozen=True, slots=True)
class Findings:
    """``process``: what /health says of this process; None outside of a server. ``ages_s``: of the signs of life,
    by part, each process's last, the youngest first."""

    process: dict[str, Any] | None
    ages_s: dict[str, list[float]]
    broker: Broker
    learning: Learning
    models: Models
    config_mistakes: tuple[str, ...] = ()


def signs(found: Findings) -> list[Sign]:
    """What is worst comes first."""
    worker = of_worker(found.ages_s.get("worker", []))
    all_signs = [
        of_upstream(found.process),
        of_database(found.process),
        of_listener(found.process),
        of_servers(found.ages_s.get("proxy", []), found.process),
        worker,
        of_beat(found.ages_s.get("beat", []), worker),
        of_broker(found.broker, worker),
        of_learning(found.learning, found.process),
        of_models(found.models),
        of_config_file(found.process),
        of_settings(found.config_mistakes),
        of_losses(found.process),
    ]
    order = (SignState.BAD, SignState.WARNING, SignState.UNKNOWN, SignState.GOOD)
    return sorted(all_signs, key=lambda sign: order.index(sign.state))


def summary(all_signs: Iterable[Sign]) -> str:
    parts = [sign.part for sign in all_signs if sign.needs_someone]
    if not parts:
        return "All is well"
    things = "1 thing needs you" if len(parts) == 1 else f"{len(parts)} things need you"
    return f"{things}: {', '.join(parts)}"


def worst(all_signs: Sequence[Sign]) -> SignState:
    states = {sign.state for sign in all_signs}
    return next((state for state in (SignState.BAD, SignState.WARNING) if state in states), SignState.GOOD)


# --- the parts ---

NO_SERVER: Final = "Not known here: this page does not come from a running server."


def of_upstream(process: dict[str, Any] | None) -> Sign:
    part = "Upstream"
    if process is None:
        return Sign(part, SignState.UNKNOWN, NO_SERVER)
    upstream = process["upstream"]
    if upstream["reachable"]:
        version = f", version {upstream['version']}" if upstream.get("version") else ""
        return Sign(part, SignState.GOOD, f"{upstream['url']} answers{version}.")
    return Sign(
        part,
        SignState.BAD,
        f"{upstream['url']} does not answer: {end_sentence(upstream['error'])} Agents get errors.",
        "Start Ollama there, or change upstream.url in config.yaml (FESTINGER_UPSTREAM wins over it).",
    )


def of_database(process: dict[str, Any] | None) -> Sign:
    part = "Database"
    if process is None or process["database"]["reachable"]:
        return Sign(part, SignState.GOOD, "It answers.")
    return Sign(
        part,
        SignState.BAD,
        f"It does not answer this process: {end_sentence(process['database']['error'])} Prompts are served from the"
        " cache; nothing is learned.",
        "Look whether Postgres runs (postgres.log in the folder log of Festinger's home) and has connections left.",
    )


def of_listener(process: dict[str, Any] | None) -> Sign:
    part = "Listener"
    if process is None:
        return Sign(part, SignState.UNKNOWN, NO_SERVER)
    if not process["database"]["reachable"]:
        return Sign(part, SignState.UNKNOWN, "Unknown while the database does not answer.")
    if not process["ready"]:
        return Sign(
            part,
            SignState.BAD,
            "This process has not loaded the graph yet; prompts are forwarded without recollections.",
            f"It tries again every few seconds. If it stays so, look at {LOGS.format('proxy')} for cache.load_failed.",
        )
    cache = process["cache"]
    if not process["database"]["listening"]:
        return Sign(
            part,
            SignState.BAD,
            "Not receiving change notifications; recollections may be stale.",
            f"It connects again by itself. If it stays so, look at {LOGS.format('proxy')} for coherence.lost.",
        )
    knows = f"{cache['tokens']:,} words and {cache['edges']:,} facts"
    return Sign(part, SignState.GOOD, f"{knows} loaded; receiving changes.")


def of_servers(ages_s: Sequence[float], process: dict[str, Any] | None) -> Sign:
    part = "Server"
    if process is not None and not process["database"]["reachable"]:
        return Sign(part, SignState.UNKNOWN, "Unknown while the database does not answer.")
    if not ages_s:
        return Sign(part, SignState.UNKNOWN, "No heartbeat from a server process yet.")
    return of_processes(part, ages_s, "server process", "server processes", "proxy")


def of_processes(part: str, ages_s: Sequence[float], one: str, many: str, log: str) -> Sign:
    """Of a part with at least one process, whose others may have died."""
    late = [age_s for age_s in ages_s if age_s > LATE_S]
    if not late:
        who = "Alive" if len(ages_s) == 1 else f"All {len(ages_s)} {many} are alive"
        return Sign(part, SignState.GOOD, f"{who}; the last heartbeat was {format_duration(ages_s[0])} ago.")
    have = "has" if len(late) == 1 else "have"
    return Sign(
        part,
        SignState.WARNING,
        f"{len(late)} of {format_count(len(ages_s), one, many)} {have} sent no heartbeat"
        f" for {format_duration(late[0])}.",
        f"Look at {LOGS.format(log)}; the heartbeats say which. One that died while others go on is forgotten after"
        " an hour.",
    )


def of_worker(ages_s: Sequence[float]) -> Sign:
    part = "Worker"
    if ages_s and ages_s[0] <= LATE_S:
        return of_processes(part, ages_s, "worker", "workers", "worker")
    silence = f"for {format_duration(ages_s[0])}" if ages_s else "yet"
    return Sign(
        part,
        SignState.WARNING if ages_s and ages_s[0] <= SILENT_S else SignState.BAD,
        f"No heartbeat from a worker {silence}: statements are not placed, conflicts are not decided.",
        f"Look at {LOGS.format('worker')}, or start one: celery -A festinger_site worker.",
    )


def of_beat(ages_s: Sequence[float], worker: Sign) -> Sign:
    """Its sign goes through the broker to a worker, which writes it down."""
    part = "Beat"
    age_s = ages_s[0] if ages_s else None
    if age_s is not None and age_s <= LATE_S:
        return Sign(part, SignState.GOOD, f"Its messages arrive; the last {format_duration(age_s)} ago.")
    if worker.needs_someone:
        return Sign(part, SignState.UNKNOWN, "Unknown while no worker is running.")
    silence = "yet" if age_s is None else f"for {format_duration(age_s)}"
    return Sign(
        part,
        SignState.WARNING if age_s is not None and age_s <= SILENT_S else SignState.BAD,
        f"No heartbeat from beat {silence}: scheduled runs do not start, and old data is not deleted.",
        f"Look at {LOGS.format('beat')}, and whether the schedule “pulse of beat” is enabled.",
    )


def of_broker(broker: Broker, worker: Sign) -> Sign:
    part = "Broker"
    if broker.error:
        return Sign(
            part,
            SignState.BAD,
            f"{broker.name} does not answer: {end_sentence(broker.error)} Nothing wakes the workers.",
            "Check that it is running, and check CELERY_BROKER_URL.",
        )
    waiting = f"{format_count(broker.waiting, 'wake-up waits', 'wake-ups wait')} in {broker.name}"
    oldest = f", the oldest for {format_duration(broker.oldest_s)}" if broker.waiting and broker.oldest_s else ""
    if broker.waiting > WAKE_UPS_MAX and not worker.needs_someone:
        return Sign(
            part,
            SignState.WARNING,
            f"{waiting}{oldest}: the workers do not keep up.",
            f"Look at {LOGS.format('worker')}, or start another worker.",
        )
    return Sign(part, SignState.GOOD, f"{waiting}{oldest}.")


def of_learning(learning: Learning, process: dict[str, Any] | None) -> Sign:
    part = "Observations"
    least = "" if learning.is_counted_whole else "at least "
    waiting = (
        f"{least}{format_count(learning.statements, 'statement')} and"
        f" {format_count(learning.concepts, 'concept')} wait to be learned"
    )
    if learning.overdue_s > OVERDUE_S:
        return Sign(
            part,
            SignState.BAD if learning.overdue_s > STUCK_S else SignState.WARNING,
            f"{capital(waiting)}; the oldest statement has been due for {format_duration(learning.overdue_s)}.",
            f"If the worker does well, look at {LOGS.format('worker')} for learning.interrupted.",
        )
    journaled = 0 if process is None else process["journaled_observations"]
    if journaled:
        return Sign(
            part,
            SignState.WARNING,
            f"{format_count(journaled, 'statement waits', 'statements wait')} in the journal on the disk: Postgres does"
            " not take them.",
            "They are replayed by themselves when it does. If it stays so, look at"
            f" {LOGS.format('proxy')} for journal.not_replayed.",
        )
    if learning.failed:
        return Sign(
            part,
            SignState.WARNING,
            f"{learning.failed:,} of the last {learning.looked_at:,} observations of a day failed for good. {waiting}.",
            "Look at the errors of those with the state failed.",
        )
    return Sign(part, SignState.GOOD, f"{capital(waiting)}.")


def of_models(models: Models) -> Sign:
    part = "Models"
    if models.missing:
        return Sign(
            part,
            SignState.WARNING,
            " ".join(models.missing.values()),
            "Add a language model, and choose it in the settings: " + " and ".join(models.missing) + ".",
        )
    if models.asked_today >= models.daily_calls:
        return Sign(
            part,
            SignState.WARNING,
            f"The {models.daily_calls:,} calls for today are used up: nothing is explained or decided until midnight.",
            "Wait, or raise llm_daily_calls in the settings.",
        )
    names = " and ".join(dict.fromkeys(models.names))
    if models.last_error:
        return Sign(
            part,
            SignState.WARNING,
            f"The last call failed: {end_sentence(models.last_error)}",
            "Test the connection of the language model, and look at its calls.",
        )
    return Sign(part, SignState.GOOD, f"{names}; {models.asked_today:,} of {models.daily_calls:,} calls used today.")


def of_config_file(process: dict[str, Any] | None) -> Sign:
    part = "config.yaml"
    if process is None:
        return Sign(part, SignState.UNKNOWN, NO_SERVER)
    config = process["config"]
    if config["error"]:
        return Sign(
            part,
            SignState.BAD,
            f"It was rejected: {end_sentence(config['error'])} The previous settings stay in effect.",
            f"Correct {config['path']}: it is read again when it changes.",
        )
    says = "It is in effect" if config["exists"] else "There is no file; the defaults are in effect"
    overridden = f"; the environment overrides {', '.join(config['overridden'])}" if config["overridden"] else ""
    return Sign(part, SignState.GOOD, f"{says}{overridden}.")


def of_settings(mistakes: Sequence[str]) -> Sign:
    part = "Settings"
    if not mistakes:
        return Sign(part, SignState.GOOD, "All are valid.")
    return Sign(
        part,
        SignState.BAD,
        f"{end_sentence('; '.join(mistakes))} The default is used instead.",
        "Correct the value in the settings.",
    )


LOSSES: Final = {
    "dropped_observations": ("statement", "statements"),
    "dropped_encounters": ("message that was not counted", "messages that were not counted"),
    "dropped_events": ("event", "events"),
    "dropped_injections": ("block of a conversation", "blocks of conversations"),
    "enrich_errors": ("request forwarded without a recollection", "requests forwarded without a recollection"),
}


def of_losses(process: dict[str, Any] | None) -> Sign:
    part = "Losses"
    if process is None:
        return Sign(part, SignState.UNKNOWN, NO_SERVER)
    lost = [format_count(process[key], *words) for key, words in LOSSES.items() if process[key]]
    if not lost:
        return Sign(part, SignState.GOOD, "Nothing was lost since this process started.")
    return Sign(
        part,
        SignState.WARNING,
        f"Lost since this process started: {', '.join(lost)}.",
        f"Look at {LOGS.format('proxy')} for dropped, refused and enrich.failed. A new process counts anew.",
    )


# --- words ---


def end_sentence(sentence: str) -> str:
    """With a full stop; what others say is kept to a length that can be read."""
    text = " ".join(sentence.split())
    text = text if len(text) <= 300 else f"{text[:299]}…"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
