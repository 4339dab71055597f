"""The rows of runs, from start to end. Only one resolver run is in progress at a time, and its process gives signs of
life."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import Error, IntegrityError, connection, transaction
from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Now

from memory.db.locks import try_job_lock
from memory.db.transactions import constraint_of
from memory.models import LlmCall, NotificationEvent
from memory.notifications.outbox import Notice, announce
from resolution.models import Claim, Run

logger = logging.getLogger(__name__)

DEAD_AFTER = timedelta(minutes=2)  # without a sign of life
SIGN_OF_LIFE_S = 15.0
TRIES = 3
ACTOR_MAX = 120  # characters
DEATHS_AT_MOST = 3  # of processes at one conflict, after which it must wait
PAUSE_AFTER_DEATHS = timedelta(hours=20)
DIED_AT_IT = "The resolver's process died, or was stopped, while a language model was asked about it."
DIED = "The process that carried it out died, or was stopped. The next run goes on where it stopped."


class AlreadyRunning(Exception):
    """The resolver is already running; ``run`` is the run in progress."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"the resolver is running already (run {run.pk}, since {run.started_at:%Y-%m-%d %H:%M:%S %Z})")
        self.run = run


class RunSkipped(Exception):
    """Nothing could be done. The message says why."""


class RunLost(Exception):
    """The run was closed while it was in progress: its process must stop."""


def open_run(trigger: str, actor: str = "", *, mode: str, limit: int | None = None, is_begun: bool) -> Run:
    """Create the row of a new run. With ``is_begun``, the caller carries it out. Closes a run whose process died first.
    Raises AlreadyRunning."""
    # The unique index run_is_alone decides which of two may begin. The other run may end between the refusal and the
    # query for it: then try again.
    for _ in range(TRIES):
        close_dead()
        row = Run(trigger=trigger, actor=actor[:ACTOR_MAX], mode=mode, limit=limit)
        if is_begun:
            # Must differ from started_at: see begin().
            row.alive_at = Now() + timedelta(microseconds=1)
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError as error:
            if constraint_of(error) != "run_is_alone":
                raise
        else:
            row.refresh_from_db()
            return row
        if running := under_way():
            raise AlreadyRunning(running)
    raise AssertionError("a run that ends as soon as another wants to begin, three times")


def under_way() -> Run | None:
    return select_running().first()


def select_running() -> QuerySet[Run]:
    """Select the resolver's run in progress. Other kinds of runs may be in progress at the same time."""
    return Run.objects.filter(status=Run.Status.RUNNING).exclude(trigger__in=Run.BESIDE)


def begin(run: Run) -> bool:
    """Take over the run. Returns False if another process has it, or if it has ended."""
    # A run has not begun while alive_at equals started_at: both are set by the INSERT. The row count settles which of
    # two processes is first.
    return select_unbegun().filter(pk=run.pk).update(alive_at=Now()) == 1


def select_unbegun() -> QuerySet[Run]:
    """Select the run that was requested but is not carried out yet, if there is one."""
    return select_running().filter(alive_at=F("started_at"))


def close_dead() -> Run | None:
    """Close the run whose process died. Returns None if there is none or another process closed it."""
    dead = select_running().filter(alive_at__lt=Now() - DEAD_AFTER)
    run = dead.first()
    if run is None:
        return None
    with transaction.atomic():
        if not _end(dead.filter(pk=run.pk), status=Run.Status.FAILED, note=DIED):
            return None
        # The process may have died because of the conflict it was at, so that counts as an attempt. After a few, the
        # conflict must wait, or the next run would die of it, too.
        claimed = Claim.objects.filter(status=Claim.Status.PENDING, claimed_until__isnull=False)
        claimed.filter(attempts__gte=DEATHS_AT_MOST - 1).update(next_attempt_at=Now() + PAUSE_AFTER_DEATHS)
        claimed.update(attempts=F("attempts") + 1, last_error=DIED_AT_IT, claimed_until=None)
    run.refresh_from_db()
    _log(run)
    return run


def note_progress(run: Run, **changes: Any) -> None:
    """Store the run's progress with a sign of life. Raises RunLost."""
    changes |= {"alive_at": Now()}
    if not Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING).update(**changes):
        raise RunLost
    run.refresh_from_db()


def close(run: Run, status: Run.Status, note: str) -> None:
    running = Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING)
    _end(running, status=status, note=note, alive_at=Now())
    run.refresh_from_db()
    _log(run)


def _end(runs: QuerySet[Run], **ending: Any) -> bool:
    """End these runs, and announce failures. Returns False if none was left to end."""
    with transaction.atomic():
        ended = list(runs.select_for_update().order_by("pk"))
        Run.objects.filter(pk__in=[run.pk for run in ended]).update(ended_at=Now(), **ending)
        if ended and ending["status"] == Run.Status.FAILED:
            failures = [
                Notice(f"Run {run.pk} ({run.trigger}) failed", {"id": run.pk, "trigger": run.trigger}) for run in ended
            ]
            announce(NotificationEvent.RUN_FAILED, failures)
    return bool(ended)


@contextmanager
def hold_alone(job: str, trigger: Run.Trigger) -> Iterator[bool]:
    """Lock a job that may run beside the resolver. Yields False if another run of this trigger is in progress. Closes a
    run whose process died, and with it lost the lock."""
    with try_job_lock(job) as is_alone:
        if is_alone:
            _end(Run.objects.filter(status=Run.Status.RUNNING, trigger=trigger), status=Run.Status.FAILED, note=DIED)
        yield is_alone


def carry_out(trigger: Run.Trigger, actor: str, work: Callable[[Run], str], *, done: str) -> Run:
    """Create a run, carry it out and close it. The caller holds the job alone. ``work`` returns the run's note, or
    raises RunSkipped; ``done`` is the past participle for the note of a failed run."""
    run = Run.objects.create(trigger=trigger, actor=actor[:ACTOR_MAX], mode="")
    try:
        with keep_alive(run):
            note = work(run)
    except RunSkipped as reason:
        close(run, Run.Status.SKIPPED, str(reason))
        return run
    except Exception as error:
        close(run, Run.Status.FAILED, f"{type(error).__name__}; what it had {done} until then stays.")
        raise
    close(run, Run.Status.DONE, note)
    return run


def subject(run: Run, what: str) -> str:
    """Return the subject of a language model call, by which the run's calls are found again."""
    return f"{_prefix(run)}{what}"


def sum_cost(run: Run) -> dict[str, Any]:
    """Return what the run has used so far, including failed calls; the cost as far as it is known."""
    calls = LlmCall.objects.filter(at__gte=run.started_at, subject__startswith=_prefix(run))
    return calls.aggregate(
        input_tokens=Sum("input_tokens", default=0), output_tokens=Sum("output_tokens", default=0), cost=Sum("cost")
    )


@contextmanager
def keep_alive(run: Run) -> Iterator[None]:
    """Give signs of life from a thread, however long a language model takes to answer."""
    ended = threading.Event()
    thread = threading.Thread(target=_give_signs, args=(run.pk, ended), name="signs of life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _give_signs(run_id: int, ended: threading.Event) -> None:
    while not ended.wait(SIGN_OF_LIFE_S):
        try:
            Run.objects.filter(pk=run_id, status=Run.Status.RUNNING).update(alive_at=Now())
        except Error:
            pass  # Postgres is away: the next sign may reach it
        finally:
            connection.close()  # this thread's


def _prefix(run: Run) -> str:
    return f"run {run.pk}, "


def _log(run: Run) -> None:
    first_note = run.note.partition("\n")[0]
    facts = {"run": run.pk, "trigger": run.trigger, "status": run.status, "seen": run.conflicts_seen}
    logger.info("resolution.run", extra={**facts, **run.counts, "note": first_note})
