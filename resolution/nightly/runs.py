"""The record of a run of any nightly job, from the request to the end, and the calls of language models that it makes.
One job runs at a time, by an advisory lock: a run in progress whose lock is free has lost its process."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeVar

from django.db import Error, transaction
from django.db.models import Sum
from django.db.models.functions import Now

from memory import llm
from memory.db.locks import is_job_held, try_job_lock
from memory.learning.wakeup import Waker, send_wakeup
from memory.llm.client import Use
from memory.models import Config, LanguageModel, LlmCall, NotificationEvent
from memory.notifications.outbox import Notice, announce
from resolution.models import Run
from resolution.nightly.resolver_prompt import ModelQuestion

logger = logging.getLogger(__name__)

Read = TypeVar("Read")
Job = Callable[[Run], str]  # carries the run out and returns its note, or raises AbortRun

LOCK: Final = "nightly"
PAUSE_S: Final = 0.1
WAIT_S: Final = 15.0  # between looks whether somebody still uses a model of the upstream
WAITED_MAX_S: Final = 2 * 3600.0
JOB_NAMES: Final[dict[str, str]] = {
    Run.Trigger.CONSOLIDATE: "consolidation",
    Run.Trigger.SWEEP: "sweep",
    Run.Trigger.DETECT: "detective",
    Run.Trigger.UPGRADE: "upgrade",
}  # of those that are not the resolver's
RETRY_AFTER: Final = timedelta(hours=20)  # what failed in one night is tried again in the next
ACTOR_MAX: Final = 120  # characters
DIED: Final = "The process that carried it out died, or was stopped. The next run goes on where it stopped."
INTERRUPTED: Final = "It was interrupted. The next run goes on where it stopped."
# Dead runs that are continued at once. The next run of others comes by itself, or the person who started it sees it.
CARRIED_ON: Final = (Run.Trigger.SCHEDULE, Run.Trigger.API, Run.Trigger.ADMIN)


class AlreadyRunning(Exception):
    """Another run is requested or in progress: ``run``."""

    def __init__(self, run: Run) -> None:
        name = JOB_NAMES.get(run.trigger, "resolver")
        since = f"{run.started_at:%Y-%m-%d %H:%M:%S %Z}"
        super().__init__(f"the {name} is running already (run {run.pk}, since {since})")
        self.run = run


class AbortRun(Exception):
    """Raised by a job to end its run early; the message becomes the run's note."""

    def __init__(self, status: Run.Status, note: str) -> None:
        super().__init__(note)
        self.status = status


class RunLost(Exception):
    """The run was closed while it was in progress: its process must stop."""


def request_run(trigger: str, actor: str = "", *, limit: int | None = None) -> Run:
    """Create the row of a run that a worker will carry out, within seconds, or within a minute if the wake-up is lost.
    Raises AlreadyRunning if the job is requested or in progress already."""
    same_job = Run.objects.filter(trigger__in=Run.OF_RESOLVER if trigger in Run.OF_RESOLVER else [trigger])
    other = same_job.filter(status=Run.Status.REQUESTED).first() or same_job.filter(status=Run.Status.RUNNING).first()
    if other is not None and not is_dead(other):
        raise AlreadyRunning(other)
    run = _create(trigger, actor, Run.Status.REQUESTED, limit)
    # A worker that is woken before the commit would find no row and sleep for another minute.
    transaction.on_commit(_waker.ask)
    return run


def run_now(trigger: str, actor: str, job: Job, *, limit: int | None = None) -> Run:
    """Carry out a run in this process and return it, ended. Must not be called in a transaction. Raises
    AlreadyRunning, and what the job raises."""
    while True:
        with hold_lock() as is_alone:
            if is_alone:
                return carry_out(_create(trigger, actor, Run.Status.RUNNING, limit), job)
        if (other := Run.objects.filter(status=Run.Status.RUNNING).last()) is not None:
            raise AlreadyRunning(other)
        time.sleep(PAUSE_S)  # the other is just beginning, or has just ended


def _create(trigger: str, actor: str, status: Run.Status, limit: int | None) -> Run:
    mode = Config.tuning().resolution_mode if trigger in Run.OF_RESOLVER else ""
    run = Run.objects.create(trigger=trigger, actor=actor[:ACTOR_MAX], status=status, mode=mode, limit=limit)
    run.refresh_from_db()
    return run


def is_dead(run: Run) -> bool:
    """True if the run is in progress and its process is gone."""
    return run.status == Run.Status.RUNNING and not is_job_held(LOCK)


@contextmanager
def hold_lock() -> Iterator[bool]:
    """Yield True if no other process carries out a run; none can until the block ends. Closes dead runs first."""
    with try_job_lock(LOCK) as is_alone:
        if is_alone:
            for run in Run.objects.filter(status=Run.Status.RUNNING).order_by("pk"):
                left = None if run.limit is None else run.limit - run.conflicts_seen
                fail(run, DIED)
                if run.trigger in CARRIED_ON and left != 0:
                    _create(run.trigger, run.actor, Run.Status.REQUESTED, left)
        yield is_alone


def carry_out(run: Run, job: Job) -> Run:
    """Carry out the run, and end it whatever happens. The caller holds the lock."""
    Run.objects.filter(pk=run.pk, status=Run.Status.REQUESTED).update(status=Run.Status.RUNNING)
    run.refresh_from_db()
    try:
        note = job(run)
    except AbortRun as reason:
        _end(run, reason.status, str(reason))
    except RunLost:
        run.refresh_from_db()
        logger.warning("resolution.lost", extra={"run": run.pk})
    except BaseException as error:  # includes KeyboardInterrupt, and SystemExit when a worker is stopped
        stopped = f"Stopped by {type(error).__name__}. What it had done until then stays."
        with suppress(Error):  # Postgres may be away
            fail(run, stopped if isinstance(error, Exception) else INTERRUPTED)
        raise
    else:
        _end(run, Run.Status.DONE, note)
    return run


def fail(run: Run, note: str) -> None:
    """End the run as failed. One after an upgrade goes back to the queue: nothing else would finish its work."""
    if run.trigger == Run.Trigger.UPGRADE:
        Run.objects.filter(pk=run.pk).update(status=Run.Status.REQUESTED, note=note)
    else:
        _end(run, Run.Status.FAILED, note)


def _end(run: Run, status: Run.Status, note: str) -> None:
    """End the run if it is still in progress, and announce a failure. A run that has done nothing but fail has
    failed."""
    if status == Run.Status.DONE and ((run.unanswered and not run.answered) or run.counts.keys() == {"failed"}):
        status = Run.Status.FAILED
    with transaction.atomic():
        running = Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING)
        if running.update(status=status, note=note, ended_at=Now()) and status == Run.Status.FAILED:
            failure = Notice(f"Run {run.pk} ({run.trigger}) failed", {"id": run.pk, "trigger": run.trigger})
            announce(NotificationEvent.RUN_FAILED, [failure])
    run.refresh_from_db()
    facts = {"run": run.pk, "trigger": run.trigger, "status": run.status, "seen": run.conflicts_seen}
    logger.info("resolution.run", extra={**facts, **run.counts, "note": run.note.partition("\n")[0]})


def note_progress(run: Run, **changes: Any) -> None:
    """Store the run's progress, if any. Raises RunLost."""
    running = Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING)
    if not (running.update(**changes) if changes else running.exists()):
        raise RunLost
    run.refresh_from_db()


def find_model(setting: Use) -> LanguageModel | None:
    """Return the model that operators chose for this, or None if there is none."""
    with suppress(llm.NoModel):
        return llm.find_chosen(setting)
    return None


def ask(
    run: Run | None,
    model: LanguageModel,
    purpose: LlmCall.Purpose,
    about: str,
    question: ModelQuestion,
    read: Callable[[dict[str, Any]], Read],
    *,
    is_strict: bool = False,
) -> Read:
    """Ask the model for the run, or for a dry run if it is None; return what ``read`` makes of the answer, and add the
    call to the run's cost. Raises LlmError, also if ``read`` refuses the answer, and RunLost if the run was closed
    meanwhile."""
    subject = f"run {run.pk}, " if run is not None else "dry run, "
    try:
        answer = _ask_when_idle(
            run,
            partial(
                llm.ask, model, purpose, f"{subject}{about}",
                system=question.system, prompt=question.prompt, schema=question.schema, is_strict=is_strict, read=read,
            ),
        )  # fmt: skip
    except llm.LlmError as error:
        if run is not None and not isinstance(error, llm.NoBudget):
            run.unanswered += 1
        raise
    finally:
        if run is not None:
            calls = LlmCall.objects.filter(at__gte=run.started_at, subject__startswith=subject)
            used = calls.aggregate(
                input_tokens=Sum("input_tokens", default=0),
                output_tokens=Sum("output_tokens", default=0),
                cost=Sum("cost"),  # as far as it is known
            )
            note_progress(run, model_name=model.model_name, **used)
    if run is not None:
        run.answered += 1
    found: Read = answer.data
    return found


def _ask_when_idle(run: Run | None, call: Callable[..., llm.Answer]) -> llm.Answer:
    """Ask at once for a person, otherwise once nobody uses the model. Raises AbortRun when the run has waited for
    WAITED_MAX_S in all."""
    if run is None or run.actor:
        return call(is_asked_for=True)
    while True:
        try:
            return call()
        except llm.Busy as error:
            if run.waited_s >= WAITED_MAX_S:
                raise AbortRun(Run.Status.PARTIAL, f"{error} The run waited for two hours.") from None
        time.sleep(WAIT_S)
        run.waited_s += WAIT_S
        note_progress(run)


_waker: Final = Waker(partial(send_wakeup, "resolution.tasks.resolve_due"))
