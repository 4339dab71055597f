"""Judges part by part what was found of how Festinger does, and says what to do where something is not as it should
be. Asks nobody itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.conf import settings

from memory import bounds
from memory.domain.formatting import format_count, format_duration
from proxy.health.findings import Findings

# A pulse comes every 10 s, later on a busy machine (festinger_site/launcher/liveness_probe.py).
LATE_S: Final = 45.0
SILENT_S: Final = 120.0
# What is said is learned within a second: what has been due for so long waits for somebody.
OVERDUE_S: Final = 60.0
STUCK_S: Final = 600.0
NEARLY_FULL_BYTES: Final = 100_000_000  # little more than the reserve (festinger_site/launcher/reserve.py)
WAKE_UPS_MAX: Final = 100  # that wait although a worker takes them
LOGS: Final = "its log ({0}.log in the folder log of Festinger's home, or docker compose logs {0})"


class SignState(StrEnum):
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"
    UNKNOWN = "unknown"  # because something else is not as it should be


GOOD, WARNING, BAD, UNKNOWN = SignState
ALL_WELL: Final = "All is well"
Assessment = tuple[SignState, str, str]  # a sign without its part
WITHOUT_DATABASE: Final[Assessment] = (UNKNOWN, "Unknown while the database does not answer.", "")
# What /health counts, in words.
LOSSES: Final = {
    "dropped_messages": ("message", "messages"),
    "dropped_events": ("event", "events"),
    "dropped_injections": ("block of a conversation", "blocks of conversations"),
    "enrich_errors": ("request forwarded without a recollection", "requests forwarded without a recollection"),
}


@dataclass(frozen=True, slots=True)
class Sign:
    """``says`` is a sentence; ``advice`` what to do, where there is anything to be done."""

    part: str
    state: SignState
    says: str
    advice: str = ""

    @property
    def needs_someone(self) -> bool:
        return self.state in (WARNING, BAD)


def signs(found: Findings) -> list[Sign]:
    """Return the signs of all parts, the worst first."""
    all_signs = []
    for part, judge in PARTS.items():
        if found.process is None and part in SERVER_PARTS:
            all_signs.append(Sign(part, UNKNOWN, "Not known here: this page does not come from a running server."))
        else:
            all_signs.append(Sign(part, *judge(found)))
    order = (BAD, WARNING, UNKNOWN, GOOD)
    return sorted(all_signs, key=lambda sign: order.index(sign.state))


def summary(all_signs: Iterable[Sign], conflicts: int = 0) -> str:
    """Return one line; ``conflicts`` that wait are told, too."""
    parts = [sign.part for sign in all_signs if sign.needs_someone]
    if parts:
        things = "1 thing needs you" if len(parts) == 1 else f"{len(parts)} things need you"
        told = f"{things}: {', '.join(parts)}"
    else:
        told = "All works" if conflicts else ALL_WELL
    return f"{told}; {format_count(conflicts, 'conflict waits', 'conflicts wait')}" if conflicts else told


def worst(all_signs: Iterable[Sign]) -> SignState:
    states = {sign.state for sign in all_signs}
    return next((state for state in (BAD, WARNING) if state in states), GOOD)


# --- the parts ---


def judge_upstream(found: Findings) -> Assessment:
    upstream = found.server["upstream"]
    if upstream["reachable"]:
        version = f", version {upstream['version']}" if upstream.get("version") else ""
        return GOOD, f"{upstream['url']} answers{version}.", ""
    return (
        BAD,
        f"{upstream['url']} does not answer: {end_sentence(upstream['error'])} Agents get errors.",
        "Start Ollama there, or change upstream.url in config.yaml (FESTINGER_UPSTREAM wins over it).",
    )


def judge_database(found: Findings) -> Assessment:
    # Outside of a server, Django's own connection has just answered: else there would be no findings to judge.
    if not found.lacks_database:
        return GOOD, "It answers.", ""
    return (
        BAD,
        f"It does not answer this process: {end_sentence(found.server['database']['error'])} Prompts are served from"
        " the cache; nothing is learned.",
        "Look whether Postgres runs (postgres.log in the folder log of Festinger's home) and has connections left.",
    )


def judge_disk(found: Findings) -> Assessment:
    return assess_disk(found.disk)


def assess_disk(disk: Mapping[str, Any]) -> Assessment:
    free = f"{disk['free_bytes'] // 1_000_000:,} MB are free on the disk of Festinger's home"
    if not disk["is_low"]:
        return GOOD, f"{free}.", ""
    return (
        WARNING if disk["free_bytes"] > NEARLY_FULL_BYTES else BAD,
        f"Only {free}: when it is full, prompts are still answered, but nothing is stored or logged.",
        "Make room there. What waits in the journal is learned then; nothing has to be restarted.",
    )


def judge_listener(found: Findings) -> Assessment:
    if found.lacks_database:
        return WITHOUT_DATABASE
    if not found.server["ready"]:
        return (
            BAD,
            "This process has not loaded the graph yet; prompts are forwarded without recollections.",
            f"It tries again every few seconds. If it stays so, look at {LOGS.format('proxy')} for cache.load_failed.",
        )
    if not found.server["database"]["listening"]:
        return (
            BAD,
            "Not receiving change notifications; recollections may be stale.",
            f"It connects again by itself. If it stays so, look at {LOGS.format('proxy')} for coherence.lost.",
        )
    cache = found.server["cache"]
    return GOOD, f"{cache['tokens']:,} words and {cache['edges']:,} facts loaded; receiving changes.", ""


def judge_servers(found: Findings) -> Assessment:
    ages_s = found.ages_s.get("proxy", [])
    # A server writes its heartbeat over a connection like the one that just failed: old ones say nothing about it.
    if found.lacks_database:
        return WITHOUT_DATABASE
    if not ages_s:
        return UNKNOWN, "No heartbeat from a server process yet.", ""
    return judge_processes(ages_s, "server process", "server processes", "proxy")


def judge_processes(ages_s: Sequence[float], one: str, many: str, log: str) -> Assessment:
    """Judge a part with at least one process, whose others may have died."""
    late = [age_s for age_s in ages_s if age_s > LATE_S]
    if not late:
        who = "Alive" if len(ages_s) == 1 else f"All {len(ages_s)} {many} are alive"
        return GOOD, f"{who}; the last heartbeat was {format_duration(ages_s[0])} ago.", ""
    have = "has" if len(late) == 1 else "have"
    return (
        WARNING,
        f"{len(late)} of {format_count(len(ages_s), one, many)} {have} sent no heartbeat"
        f" for {format_duration(late[0])}.",
        f"Look at {LOGS.format(log)}; the heartbeats say which. One that died while others go on is forgotten after"
        " an hour.",
    )


def judge_worker(found: Findings) -> Assessment:
    ages_s = found.ages_s.get("worker", [])
    if ages_s and ages_s[0] <= LATE_S:  # at least one is at work, however many others have died
        return judge_processes(ages_s, "worker", "workers", "worker")
    silence = f"for {format_duration(ages_s[0])}" if ages_s else "yet"
    return (
        WARNING if ages_s and ages_s[0] <= SILENT_S else BAD,
        f"No heartbeat from a worker {silence}: statements are not placed, conflicts are not decided.",
        f"It is started again by itself. If it stays away, look at {LOGS.format('worker')}.",
    )


def judge_beat(found: Findings) -> Assessment:
    age_s = next(iter(found.ages_s.get("beat", [])), None)
    if age_s is not None and age_s <= LATE_S:
        return GOOD, f"Its messages arrive; the last {format_duration(age_s)} ago.", ""
    # Beat's sign goes through the broker to a worker, which writes it down: without a worker, silence proves nothing.
    if judge_worker(found)[0] != GOOD:
        return UNKNOWN, "Unknown while no worker is running.", ""
    silence = "yet" if age_s is None else f"for {format_duration(age_s)}"
    return (
        WARNING if age_s is not None and age_s <= SILENT_S else BAD,
        f"No heartbeat from beat {silence}: scheduled runs do not start, and old data is not deleted.",
        f"Look at {LOGS.format('worker')}, and whether the schedule “pulse of beat” is enabled.",
    )


def judge_broker(found: Findings) -> Assessment:
    broker = found.broker
    if broker.error:
        return (
            BAD,
            f"{broker.name} does not answer: {end_sentence(broker.error)} Nothing wakes the workers.",
            "Check that it is running, and check CELERY_BROKER_URL.",
        )
    waiting = f"{format_count(broker.waiting, 'wake-up waits', 'wake-ups wait')} in {broker.name}"
    oldest = f", the oldest for {format_duration(broker.oldest_s)}" if broker.waiting and broker.oldest_s else ""
    # Where no worker runs, wake-ups pile up as well: then that is what needs somebody, and the worker's sign says so.
    if broker.waiting > WAKE_UPS_MAX and judge_worker(found)[0] == GOOD:
        return (
            WARNING,
            f"{waiting}{oldest}: the workers do not keep up.",
            f"Look at {LOGS.format('worker')}, or start another worker.",
        )
    return GOOD, f"{waiting}{oldest}.", ""


def judge_learning(found: Findings) -> Assessment:
    learning = found.learning
    least = "" if learning.is_counted_whole else "at least "
    waiting = (
        f"{least}{format_count(learning.messages, 'message')}, {format_count(learning.statements, 'statement')} and"
        f" {format_count(learning.concepts, 'concept')} wait to be learned"
    )
    sentence = waiting[:1].upper() + waiting[1:]
    # Concepts wait for a model for as long as it takes: only messages and statements can be overdue.
    if learning.overdue_s > OVERDUE_S:
        return (
            BAD if learning.overdue_s > STUCK_S else WARNING,
            f"{sentence}; the oldest has been due for {format_duration(learning.overdue_s)}.",
            f"If the worker does well, look at {LOGS.format('worker')} for learning.interrupted.",
        )
    journaled = 0 if found.process is None else found.process["journaled_messages"]
    if journaled:
        return (
            WARNING,
            f"{format_count(journaled, 'message waits', 'messages wait')} in the journal on the disk: Postgres does"
            " not take them.",
            "They are replayed by themselves when it does. If it stays so, look at"
            f" {LOGS.format('proxy')} for journal.not_replayed.",
        )
    if learning.set_aside:
        return (
            WARNING,
            f"{format_count(learning.set_aside, 'message was', 'messages were')} set aside: reading failed five times."
            f" {sentence}.",
            "Look at them and their errors under Messages that wait; they can be tried again there.",
        )
    if learning.failed:
        return (
            WARNING,
            f"{learning.failed:,} of the last {learning.looked_at:,} observations of a day failed for good. {waiting}.",
            "Look at the errors of those with the state failed.",
        )
    return GOOD, f"{sentence}.", ""


def judge_models(found: Findings) -> Assessment:
    models = found.models
    if models.missing:
        return (
            WARNING,
            " ".join(models.missing.values()),
            "The chosen one is gone: choose another in the settings: " + " and ".join(models.missing) + ".",
        )
    if not models.names:
        return GOOD, " ".join(models.unchosen), ""
    if models.asked_today >= models.daily_calls:
        return (
            WARNING,
            f"The {models.daily_calls:,} calls for today are used up: nothing is explained or decided until midnight.",
            "Wait, or raise llm_daily_calls in the settings.",
        )
    if models.last_error:
        return (
            WARNING,
            f"The last call failed: {end_sentence(models.last_error)}",
            "Test the connection of the language model, and look at its calls.",
        )
    names = " and ".join(dict.fromkeys(models.names))  # several uses may have chosen the same one
    used = f"{names}; {models.asked_today:,} of {models.daily_calls:,} calls used today."
    return GOOD, " ".join([used, *models.unchosen]), ""


def judge_search(found: Findings) -> Assessment:
    search = found.search
    waiting = format_count(search.waiting, "text waits for its vector", "texts wait for their vectors")
    if search.is_off:
        return GOOD, "What was said is found by its words only: the setting embedder is none.", ""
    if not search.error:
        return GOOD, f"{search.embedder or 'The embedder'} is at work; {waiting}.", ""
    if not search.embedder:
        return (
            WARNING,
            f"{end_sentence(search.error)} What was said is found by its words only.",
            f"Install pgvector 0.8 or newer for this Postgres and run {settings.MANAGE} prepare, or set embedder to"
            " none.",
        )
    return (
        WARNING,
        f"{search.embedder} fails: {end_sentence(search.error)} Words are searched, and {waiting}.",
        "Mend it, or choose another embedder in the settings: the vectors are then made by themselves.",
    )


def judge_config_file(found: Findings) -> Assessment:
    config = found.server["config"]
    if config["error"]:
        return (
            BAD,
            f"It was rejected: {end_sentence(config['error'])} The previous settings stay in effect.",
            f"Correct {config['path']}: it is read again when it changes.",
        )
    says = "It is in effect" if config["exists"] else "There is no file; the defaults are in effect"
    overridden = f"; the environment overrides {', '.join(config['overridden'])}" if config["overridden"] else ""
    return GOOD, f"{says}{overridden}.", ""


def judge_settings(found: Findings) -> Assessment:
    if not found.config_mistakes:
        return GOOD, "All are valid.", ""
    mistakes = end_sentence("; ".join(found.config_mistakes))
    return BAD, f"{mistakes} The default is used instead.", "Correct the value in the settings."


def judge_losses(found: Findings) -> Assessment:
    lost = [format_count(found.server[key], *words) for key, words in LOSSES.items() if found.server[key]]
    if not lost:
        return GOOD, "Nothing was lost.", ""
    return (
        WARNING,
        f"Lost so far: {', '.join(lost)}.",
        f"Look at {LOGS.format('proxy')} for dropped, refused and enrich.failed.",
    )


def judge_bounds(found: Findings) -> Assessment:
    bites = {name: count for name, count in found.server["bounds"].items() if count}
    # Nothing is wrong where a bound holds: this tells who wonders why a request was cut or refused.
    reached = ", ".join(f"{bounds.describe(name)} ({count:,})" for name, count in bites.items())
    requests = f"Reached so far: {reached}." if reached else "No request has reached one."
    exceeded = found.server.get("over_quota_today")
    waiting = (
        f" {format_count(exceeded, 'statement')} of the last day exceeded a quota: see Candidates." if exceeded else ""
    )
    return GOOD, f"{requests}{waiting}", ""


def end_sentence(sentence: str) -> str:
    """With a full stop; what others say is kept to a length that can be read."""
    text = " ".join(sentence.split())
    text = text if len(text) <= 300 else f"{text[:299]}…"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


PARTS: Final[dict[str, Callable[[Findings], Assessment]]] = {
    "Upstream": judge_upstream,
    "Database": judge_database,
    "Disk": judge_disk,
    "Listener": judge_listener,
    "Server": judge_servers,
    "Worker": judge_worker,
    "Beat": judge_beat,
    "Broker": judge_broker,
    "Observations": judge_learning,
    "Models": judge_models,
    "Search": judge_search,
    "config.yaml": judge_config_file,
    "Settings": judge_settings,
    "Losses": judge_losses,
    "Bounds": judge_bounds,
}
# Known to a server process about itself, and to nobody else.
SERVER_PARTS: Final = frozenset({"Upstream", "Listener", "config.yaml", "Losses", "Bounds"})
