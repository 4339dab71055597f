"""The checks: each judges the facts about one part, and says what to do where it is not as it should be. They ask
nobody themselves. Doctor adds those of an installation (festinger_site/doctor.py)."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.conf import settings

from memory import bounds, llm
from memory.english.phrases import format_count, format_duration
from memory.running.bootstrap import DAILY, SCHEDULE
from memory.search.vectors.embedders import read_condition
from proxy.health.facts import COUNTED_MAX, DATABASE, NOTHING, RUNNING, SERVER, Facts, Needs

# A pulse comes every 10 s, later on a busy machine (festinger_site/run/liveness_probe.py).
LATE_S: Final = 45.0
SILENT_S: Final = 120.0
# What is said is learned within a second: what has been due for so long waits for somebody.
OVERDUE_S: Final = 60.0
STUCK_S: Final = 600.0
CLOCKS_DIFFER_S: Final = 5.0
DAY_S: Final = 86_400.0
NEARLY_FULL_BYTES: Final = 100_000_000  # little more than the reserve (festinger_site/run/reserve.py)
WAKE_UPS_MAX: Final = 100  # that wait although a worker takes them
ERROR_MAX: Final = 300  # characters of what others say
LOG: Final = "{0}.log (in the folder log of Festinger's home, or docker compose logs {0})"
PROXY_LOG, WORKER_LOG = LOG.format("proxy"), LOG.format("worker")
WORKS: Final = "Everything works"
UNMET: Final = {
    DATABASE: "Unknown while the database does not answer.",
    RUNNING: "Unknown while Festinger is not running.",
    SERVER: "Only a server process knows.",
}


class Level(StrEnum):
    OK = "ok"
    NOTE = "note"  # worth knowing, or not known: nobody has to do anything
    WARNING = "warning"
    PROBLEM = "problem"


OK, NOTE, WARNING, PROBLEM = Level
Outcome = tuple[Level, str] | tuple[Level, str, str]  # what was found, and what to do about it
Judge = Callable[[Facts], Outcome]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """``message`` is a sentence; ``hint`` what to do, where there is anything to be done."""

    part: str
    level: Level
    message: str
    hint: str = ""

    @property
    def has_failed(self) -> bool:
        return self.level in (WARNING, PROBLEM)


@dataclass(frozen=True, slots=True)
class Check:
    """``hint``: what to do if it fails and does not say so itself."""

    part: str
    needs: Needs
    hint: str
    judge: Judge

    def run(self, facts: Facts) -> CheckResult:
        if facts.available < self.needs:
            return CheckResult(self.part, NOTE, UNMET[Needs(facts.available + 1)])
        level, message, *own = self.judge(facts)
        hint = self.hint if level in (WARNING, PROBLEM) else ""
        return CheckResult(self.part, level, message, own[0] if own else hint)


CHECKS: Final[list[Check]] = []


def check(part: str, needs: Needs = NOTHING, *, hint: str = "") -> Callable[[Judge], Judge]:
    """Add a function to the checks of this process."""

    def add(judge: Judge) -> Judge:
        CHECKS.append(Check(part, needs, hint, judge))
        return judge

    return add


def run_checks(facts: Facts) -> list[CheckResult]:
    """Return the results of all checks, the worst first."""
    results = [each.run(facts) for each in CHECKS]
    return sorted(results, key=lambda result: list(Level).index(result.level), reverse=True)


def find_worst(results: Iterable[CheckResult]) -> Level:
    """Return the worst level that anybody has to do something about, or OK."""
    levels = {result.level for result in results}
    return next((level for level in (PROBLEM, WARNING) if level in levels), OK)


def summarise(results: Iterable[CheckResult], conflicts: int = 0) -> str:
    """Return one line about the results, and the conflicts that are open."""
    failed = [result.part for result in results if result.has_failed]
    told = f"{format_count(len(failed), 'check')} failed: {', '.join(failed)}" if failed else WORKS
    return f"{told}; {format_count(conflicts, 'open conflict')}" if conflicts else told


# --- what needs nothing ---


@check("Upstream", hint="Start Ollama there, or change upstream.url in config.yaml (FESTINGER_UPSTREAM wins over it).")
def check_upstream(facts: Facts) -> Outcome:
    upstream = facts.upstream
    if not upstream["reachable"]:
        return PROBLEM, f"{upstream['url']} does not answer: {end_sentence(upstream['error'])} Agents get errors."
    if upstream.get("is_proxy"):
        return WARNING, f"{upstream['url']} is itself a proxy.", "Name the Ollama behind it, not a Festinger."
    if upstream.get("models") == 0:
        return WARNING, f"{upstream['url']} answers, but has no models.", "ollama pull llama3.1"
    version = f", version {upstream['version']}" if upstream.get("version") else ""
    models = f", with {format_count(upstream['models'], 'model')}" if "models" in upstream else ""
    return OK, f"{upstream['url']} answers{version}{models}."


@check(
    "Database",
    hint="Look whether Postgres runs (postgres.log in the folder log of Festinger's home) and has connections left, or"
    " check DATABASE_URL.",
)
def check_database(facts: Facts) -> Outcome:
    if facts.available == NOTHING:
        if not facts.database_error:
            return NOTE, "There is none yet.", "Start Festinger once."
        error = end_sentence(facts.database_error)
        return PROBLEM, f"It cannot be asked: {error} Prompts are served from the cache; nothing is learned."
    if facts.stored.encoding != "UTF8":
        return PROBLEM, f"Its encoding is {facts.stored.encoding}.", "Make a database with ENCODING 'UTF8'."
    if (apart_s := abs(facts.stored.clock_ahead_s)) > CLOCKS_DIFFER_S:
        return WARNING, f"Its clock and this machine's are {format_duration(apart_s)} apart.", "Set both by NTP."
    return OK, f"PostgreSQL {facts.stored.postgres} answers."


@check("Disk", hint="Make room there. What waits in the journal is learned then; nothing has to be restarted.")
def check_disk(facts: Facts) -> Outcome:
    free = f"{facts.disk['free_bytes'] // 1_000_000:,} MB are free on the disk of Festinger's home"
    if not facts.disk["is_low"]:
        return OK, f"{free}."
    level = WARNING if facts.disk["free_bytes"] > NEARLY_FULL_BYTES else PROBLEM
    return level, f"Only {free}: when it is full, prompts are still answered, but nothing is stored or logged."


@check("config.yaml", hint="Correct the file: it is read again when it changes.")
def check_config_file(facts: Facts) -> Outcome:
    config = facts.config
    if config["error"]:
        return (
            PROBLEM,
            f"{config['path']} is refused: {end_sentence(config['error'])} The previous settings stay in effect.",
        )
    message = "It is in effect" if config["exists"] else "There is no file; the defaults are in effect"
    overridden = f"; the environment overrides {', '.join(config['overridden'])}" if config["overridden"] else ""
    return OK, f"{message}{overridden}."


# --- what needs the database ---


@check("Settings", DATABASE, hint="Correct the value in the settings.")
def check_settings(facts: Facts) -> Outcome:
    if not facts.setting_mistakes:
        return OK, "All are valid."
    return PROBLEM, f"{end_sentence('; '.join(facts.setting_mistakes))} The default is used instead."


@check("Models", DATABASE, hint="Test the connection of the language model, and look at its calls.")
def check_models(facts: Facts) -> Outcome:
    stored, daily_calls = facts.stored, facts.tuning.llm_daily_calls
    chosen = {setting: str(getattr(facts.tuning, setting) or "") for setting in llm.USES}
    unchosen = [llm.USES[setting].lack for setting, key in chosen.items() if not key]
    if gone := {setting: llm.USES[setting].lack for setting, key in chosen.items() if key and key not in stored.models}:
        hint = f"The chosen one is gone: choose another in the settings: {' and '.join(gone)}."
        return WARNING, " ".join(gone.values()), hint
    if len(unchosen) == len(chosen):
        return NOTE, f"None is configured, which is optional. {' '.join(unchosen)}"
    if stored.calls_today >= daily_calls:
        message = f"The {daily_calls:,} calls for today are used up: nothing is explained or decided until midnight."
        return WARNING, message, "Wait, or raise llm_daily_calls in the settings."
    if stored.last_call_error:
        return WARNING, f"The last call failed: {end_sentence(stored.last_call_error)}"
    names = " and ".join(dict.fromkeys(stored.models[key] for key in chosen.values() if key))
    abandoned = format_count(stored.abandoned_today, "call was", "calls were")
    more = [f"{abandoned} abandoned because prompts came."] if stored.abandoned_today else []
    return OK, " ".join([f"{names}; {stored.calls_today:,} of {daily_calls:,} calls used today.", *more, *unchosen])


@check("Search", DATABASE, hint="Mend it, or choose another embedder in the settings: vectors are then made anew.")
def check_search(facts: Facts) -> Outcome:
    search = read_condition(facts.stored.search, facts.tuning.embedder)
    waiting = format_count(search.waiting, "text waits for its vector", "texts wait for their vectors")
    if search.is_off:
        return NOTE, "What was said is found by its words only: the setting embedder is none."
    if not search.error:
        return OK, f"{search.embedder or 'The embedder'} is at work; {waiting}."
    if search.embedder:
        return WARNING, f"{search.embedder} fails: {end_sentence(search.error)} Words are searched, and {waiting}."
    hint = (
        f"Install pgvector 0.8 or newer for this Postgres and run {settings.MANAGE} prepare, or set embedder to none."
    )
    return WARNING, f"{end_sentence(search.error)} What was said is found by its words only.", hint


@check("Persons", DATABASE, hint="Start Open WebUI with ENABLE_FORWARD_USER_INFO_HEADERS=true.")
def check_persons(facts: Facts) -> Outcome:
    if count := facts.stored.without_user_id:
        prompts = format_count(count, "prompt")
        return WARNING, f"{prompts} of Open WebUI came without a user's id within a day: all its users are one person."
    return OK, "No prompt of Open WebUI came without a user's id within a day."


@check("Schedules", DATABASE, hint="The next start adds them.")
def check_schedules(facts: Facts) -> Outcome:
    tasks = {task: name for name, task, *_ in (*SCHEDULE, *DAILY)}
    if missing := [name for task, name in tasks.items() if task not in facts.stored.schedules]:
        return WARNING, f"Missing: {', '.join(missing)}."
    if off := [name for task, name in tasks.items() if not facts.stored.schedules[task]]:
        return NOTE, f"Switched off: {', '.join(off)}.", "Switch them on under Schedules, unless that is meant."
    return OK, f"All {len(tasks)} are there."


@check(
    "Backups",
    DATABASE,
    hint=f"Make one now: {settings.MANAGE} backup. If last night's failed, worker.log says why (backup.failed).",
)
def check_backups(facts: Facts) -> Outcome:
    if not facts.tuning.backups_kept:
        return NOTE, "None is made at night.", "Set backups_kept, or see to backups of your own."
    if facts.newest_backup is None:
        if facts.stored.installed_s < DAY_S:
            return OK, "There is none yet: the first one is made at night."
        return WARNING, "There is none yet."
    age_s = time.time() - facts.newest_backup
    return WARNING if age_s > 2 * DAY_S else OK, f"The newest is {format_duration(age_s)} old."


@check("Observations", DATABASE, hint=f"If the worker does well, look at {WORKER_LOG} for learning.interrupted.")
def check_learning(facts: Facts) -> Outcome:
    stored, journaled = facts.stored, facts.process.get("journaled_messages", 0)
    counts = {"message": stored.messages, "statement": stored.statements, "concept": stored.concepts}
    messages, statements, concepts = (format_count(count, name) for name, count in counts.items())
    least = "At least " if max(counts.values()) >= COUNTED_MAX else ""
    waiting = f"{least}{messages}, {statements} and {concepts} wait to be learned"
    # Concepts wait for a model for as long as it takes: only messages and statements can be overdue.
    if stored.overdue_s > OVERDUE_S:
        level = PROBLEM if stored.overdue_s > STUCK_S else WARNING
        return level, f"{waiting}; the oldest has been due for {format_duration(stored.overdue_s)}."
    if journaled:
        count = format_count(journaled, "message waits", "messages wait")
        hint = f"They are replayed when it does. If it stays so, look at {PROXY_LOG} for journal.not_replayed."
        return WARNING, f"{count} in the journal on the disk: Postgres does not take them.", hint
    if stored.set_aside:
        count = format_count(stored.set_aside, "message was", "messages were")
        hint = "Look at them and their errors under Queued messages; they can be tried again there."
        return WARNING, f"{count} set aside: reading failed five times. {waiting}.", hint
    if stored.failed:
        count = f"{stored.failed:,} of the last {stored.looked_at:,} observations of a day"
        return WARNING, f"{count} failed for good. {waiting}.", "Look at the errors of those with the state failed."
    return OK, f"{waiting}."


# --- what needs running processes ---


@check(
    "Server",
    RUNNING,
    hint=f"Look at {PROXY_LOG}; the heartbeats say which process. A dead one is forgotten in an hour.",
)
def check_servers(facts: Facts) -> Outcome:
    if not facts.stored.ages_s("proxy"):
        return NOTE, "No heartbeat from a server process yet."
    return judge_heartbeats(facts, "proxy", "a server process", "prompts may not be answered")


@check("Worker", RUNNING, hint=f"It is started again by itself. If it stays away, look at {WORKER_LOG}.")
def check_worker(facts: Facts) -> Outcome:
    return judge_heartbeats(facts, "worker", "a worker", "statements are not placed, conflicts are not decided")


@check("Beat", RUNNING, hint=f"Look at {WORKER_LOG}, and whether the schedule “Beat heartbeat” is enabled.")
def check_beat(facts: Facts) -> Outcome:
    outcome = judge_heartbeats(facts, "beat", "beat", "scheduled runs do not start, and old data is not deleted")
    # Beat's sign goes through the broker to a worker, which writes it down: without a worker, silence proves nothing.
    if outcome[0] != OK and check_worker(facts)[0] != OK:
        return NOTE, "Unknown while no worker is running."
    return outcome


@check("Broker", RUNNING, hint="Check that it is running, and check CELERY_BROKER_URL.")
def check_broker(facts: Facts) -> Outcome:
    broker = facts.broker
    if broker.error:
        return PROBLEM, f"{broker.name} does not answer: {end_sentence(broker.error)} Nothing wakes the workers."
    waiting = f"{format_count(broker.waiting, 'wake-up waits', 'wake-ups wait')} in {broker.name}"
    oldest = f", the oldest for {format_duration(broker.oldest_s)}" if broker.waiting and broker.oldest_s else ""
    # Where no worker runs, wake-ups pile up as well: then that is what fails, and the worker's check says so.
    if broker.waiting > WAKE_UPS_MAX and check_worker(facts)[0] == OK:
        hint = f"Look at {WORKER_LOG}, or start another worker."
        return WARNING, f"{waiting}{oldest}: the workers do not keep up.", hint
    return OK, f"{waiting}{oldest}."


# --- what only a server process knows ---


@check(
    "Listener",
    SERVER,
    hint=f"It tries again every few seconds. If it stays so, look at {PROXY_LOG} for coherence.lost.",
)
def check_listener(facts: Facts) -> Outcome:
    cache = facts.process["cache"]
    if cache["age_s"] is None:
        return PROBLEM, "This process has not loaded the graph yet; prompts are forwarded without recollections."
    if not facts.process["listening"]:
        return PROBLEM, "Not receiving change notifications; recollections may be stale."
    return OK, f"{cache['tokens']:,} words and {cache['edges']:,} facts loaded; receiving changes."


@check("Losses", SERVER, hint=f"Look at {PROXY_LOG} for dropped, refused and enrich.failed.")
def check_losses(facts: Facts) -> Outcome:
    names = {
        "dropped_messages": ("message", "messages"),
        "dropped_events": ("event", "events"),
        "dropped_injections": ("block of a conversation", "blocks of conversations"),
        "enrich_errors": ("request forwarded without a recollection", "requests forwarded without a recollection"),
    }
    lost = [format_count(facts.process[key], *words) for key, words in names.items() if facts.process[key]]
    return (WARNING, f"Lost so far: {', '.join(lost)}.") if lost else (OK, "Nothing was lost.")


@check("Bounds", SERVER)
def check_bounds(facts: Facts) -> Outcome:
    # Nothing is wrong where a bound holds: this tells who wonders why a request was cut or refused.
    bites = [f"{bounds.describe(name)} ({count:,})" for name, count in facts.process["bounds"].items() if count]
    requests = f"Limits reached: {', '.join(bites)}." if bites else "No limit was reached."
    exceeded = facts.stored.over_quota
    quota = f" {format_count(exceeded, 'statement')} of the last day exceeded a quota: see Candidates."
    return OK, f"{requests}{quota if exceeded else ''}"


def judge_heartbeats(facts: Facts, part: str, who: str, effect: str) -> Outcome:
    """Judge a part that is alive while one of its processes is."""
    ages_s = facts.stored.ages_s(part)
    if not ages_s or ages_s[0] > LATE_S:
        level = WARNING if ages_s and ages_s[0] <= SILENT_S else PROBLEM
        silence = f"for {format_duration(ages_s[0])}" if ages_s else "yet"
        return level, f"No heartbeat from {who} {silence}: {effect}."
    late = [age_s for age_s in ages_s if age_s > LATE_S]
    if late:
        return WARNING, f"No heartbeat from {len(late)} of {len(ages_s)} processes for {format_duration(late[0])}."
    alive = "Alive" if len(ages_s) == 1 else f"All {len(ages_s)} processes are alive"
    return OK, f"{alive}; the last heartbeat was {format_duration(ages_s[0])} ago."


def end_sentence(sentence: str) -> str:
    """With a full stop; what others say is kept to a length that can be read."""
    text = " ".join(sentence.split())
    text = text if len(text) <= ERROR_MAX else f"{text[: ERROR_MAX - 1]}…"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
