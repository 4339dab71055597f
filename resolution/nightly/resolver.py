"""The loop of a resolver run: claims one conflict after the other, asks the model, and decides or proposes."""

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.db import Error, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from memory import llm
from memory.channels import Channel, is_weaker
from memory.db.connections import first_line
from memory.models import Edge, LanguageModel, Source
from resolution.actors import Actor
from resolution.conflicts import claims
from resolution.conflicts.queue import IN_ORDER
from resolution.conflicts.verdict import Verdict, VerdictMistake
from resolution.errors import DecisionError
from resolution.models import Claim, CollisionType, Run
from resolution.nightly import judge, run_records
from resolution.nightly.run_records import RunLost
from resolution.pages.queries import RELATED

logger = logging.getLogger(__name__)

# No longer than this: only the one running resolver claims conflicts, and without signs of life it is closed by then.
LEASE = run_records.DEAD_AFTER
# Pauses of the resolver by the number of failed attempts at a conflict. People need not wait.
PAUSES = ((3, timedelta(hours=1)), (7, timedelta(hours=20)))
LONG_PAUSE = timedelta(days=6, hours=20)
# Runs that people ask for also retry what failed before.
ON_DEMAND = (Run.Trigger.API, Run.Trigger.COMMAND, Run.Trigger.ADMIN)
CHANGES_MAX = 200  # of one run
UNANSWERED_AT_MOST = 3  # conflicts in a row, after which the model is unlikely to answer about others
ERRORS_NOTED = 3  # in the run's note; each conflict stores its own error
INTERRUPTED = "It was interrupted. The next run goes on where it stopped."
FAILED, PROPOSED, OVERTAKEN = "failed", "proposed", "overtaken"

OnConflict = Callable[[Run, Claim, str], None]  # called after each conflict with the run, the claim and the outcome


class Over(Exception):
    """Raised to end the run: what happened to this conflict would happen to all."""

    def __init__(self, status: Run.Status, note: str) -> None:
        super().__init__(note)
        self.status = status
        self.note = note


def pending_now(*, patiently: bool = True) -> QuerySet[Claim]:
    """Return the claims that a run would take. With ``patiently``, skip those whose last attempt failed recently."""
    free = pending().filter(Q(claimed_until=None) | Q(claimed_until__lte=Now()))
    return free.filter(Q(next_attempt_at=None) | Q(next_attempt_at__lte=Now())) if patiently else free


def pending() -> QuerySet[Claim]:
    """Return the pending claims in the order in which they are decided. Retractions, and claims about muted concepts,
    are left to operators."""
    rows = Claim.objects.filter(status=Claim.Status.PENDING, concept__is_muted=False)
    return rows.exclude(collision_type=CollisionType.RETRACTION).order_by(*IN_ORDER)


class Course:
    """A resolver run in progress."""

    def __init__(self, row: Run, on_progress: OnConflict | None = None) -> None:
        self.row = row
        self.on_progress = on_progress
        self.counts: Counter[str] = Counter()
        self.treated: list[int] = []
        self.errors: list[str] = []
        self.unanswered: list[int] = []  # consecutive claims without an answer

    def run(self) -> Run:
        """Carry out the run, and close it whatever happens."""
        try:
            with run_records.keep_alive(self.row):
                self.treat_all(self.prepared())
            run_records.close(self.row, Run.Status.DONE, self.note())
        except Over as over:
            run_records.close(self.row, over.status, self.note(over.note))
        except RunLost:
            self.row.refresh_from_db()
            logger.warning("resolution.lost", extra={"run": self.row.pk})
        except BaseException as error:  # includes KeyboardInterrupt, and SystemExit when a worker is stopped
            with suppress(Error):  # Postgres may be away
                _release(*self.treated)
                why = f"Stopped: {first_line(error)}" if isinstance(error, Exception) else INTERRUPTED
                run_records.close(self.row, Run.Status.FAILED, self.note(why))
            raise
        return self.row

    def prepared(self) -> LanguageModel:
        try:
            model = llm.find_chosen("resolve_model_id")
        except llm.NoModel as error:
            raise Over(Run.Status.SKIPPED, f"no model: {error}") from None
        total = self.waiting().count()
        if self.row.limit is not None:
            total = min(total, self.row.limit)
        run_records.note_progress(self.row, model_name=model.model_name, conflicts_total=total)
        return model

    def treat_all(self, model: LanguageModel) -> None:
        while claim := self.next():
            outcome = self.treat(claim, model)
            self.counts[outcome] += 1
            run_records.note_progress(
                self.row, conflicts_seen=len(self.treated), counts=dict(self.counts), **run_records.sum_cost(self.row)
            )
            if self.on_progress is not None:
                self.on_progress(self.row, claim, outcome)
            if len(self.unanswered) == UNANSWERED_AT_MOST:
                self.give_up()
        if self.unanswered and self.unanswered == self.treated:
            self.give_up()

    def give_up(self) -> None:
        """End the run because the model does not answer. The next run may retry these claims at once: it was not their
        fault."""
        pending().filter(pk__in=self.unanswered).update(next_attempt_at=None)
        raise Over(Run.Status.FAILED, "The model cannot be asked: what is left waits for the next run.")

    def next(self) -> Claim | None:
        if self.row.limit is not None and len(self.treated) >= self.row.limit:
            return None
        if self.changes() >= CHANGES_MAX and self.waiting().exists():
            raise Over(Run.Status.DONE, f"{self.changes()} conflicts were decided, the most of one run.")
        claim = self.claim()
        if claim is not None:
            self.treated.append(claim.pk)
        return claim

    def claim(self) -> Claim | None:
        with transaction.atomic():
            # Skip conflicts that somebody is deciding at this moment instead of waiting for their locks.
            rows = self.waiting().select_for_update(skip_locked=True, of=("self",))
            claim = rows.select_related(*RELATED).first()
            if claim is not None:
                Claim.objects.filter(pk=claim.pk).update(claimed_until=Now() + LEASE)
        return claim

    def waiting(self) -> QuerySet[Claim]:
        return pending_now(patiently=self.row.trigger not in ON_DEMAND).exclude(pk__in=self.treated)

    def treat(self, claim: Claim, model: LanguageModel) -> str:
        """Ask about the claim, decide or propose, and return the outcome. Raises Over and RunLost; other errors only if
        Postgres is away."""
        try:
            verdict = self.ask(claim, model)
            if self.row.mode == "propose" or not _may_decide(claim, verdict):
                return self.propose(claim, verdict)
            return self.decide(claim, verdict)
        except (llm.LlmError, VerdictMistake, DecisionError) as error:
            return self.fail(claim, str(error))
        except (Over, RunLost):
            raise
        except Exception as error:
            # Log tracebacks of our own mistakes only: those of Postgres would quote what people said.
            facts = {"run": self.row.pk, "conflict": claim.conflict_id, "error": first_line(error)}
            logger.error("resolution.failed", exc_info=not isinstance(error, Error), extra=facts)
            return self.fail(claim, f"internal error: {type(error).__name__}: {first_line(error)}")

    def ask(self, claim: Claim, model: LanguageModel) -> Verdict:
        try:
            verdict = judge.judge(claim, model, run_records.subject(self.row, f"conflict {claim.conflict_id}"))
            run_records.note_progress(self.row)  # raises RunLost if the run was closed while the model answered
        except RunLost:
            _release(claim.pk)
            raise
        except llm.NoBudget as error:
            _release(claim.pk)
            self.treated.pop()  # it was not tried at all
            raise Over(Run.Status.DONE, str(error)) from None
        except (llm.Unavailable, llm.Misconfigured):
            self.unanswered.append(claim.pk)
            raise
        except Exception:
            self.unanswered.clear()
            raise
        self.unanswered.clear()
        return verdict

    def decide(self, claim: Claim, verdict: Verdict) -> str:
        actor = Actor(f"resolver: {self.row.model_name}", Source.FESTINGER, self.row)
        claims.decide(claim.pk, actor, verdict, seen=claim)
        return verdict.decision

    def propose(self, claim: Claim, verdict: Verdict) -> str:
        needed = {key: value for key, value in asdict(verdict).items() if value not in ("", None)}
        proposal = needed | {"model": self.row.model_name, "at": timezone.now().isoformat()}
        done = _as_seen(claim).update(
            status=Claim.Status.PROPOSED, proposal=proposal, run=self.row,
            last_error="", next_attempt_at=None, claimed_until=None,
        )  # fmt: skip
        return PROPOSED if done else OVERTAKEN

    def fail(self, claim: Claim, error: str) -> str:
        """Store the error; the claim stays pending. If somebody else has decided it meanwhile, nothing failed."""
        changed = _as_seen(claim).update(
            attempts=F("attempts") + 1, last_error=error, run=self.row,
            next_attempt_at=Now() + pause(claim.attempts + 1), claimed_until=None,
        )  # fmt: skip
        if not changed:
            _release(claim.pk)
            return OVERTAKEN
        self.errors.append(f"{claim}: {error}")
        return FAILED

    def changes(self) -> int:
        return sum(count for outcome, count in self.counts.items() if outcome not in (FAILED, OVERTAKEN))

    def note(self, ending: str = "") -> str:
        """Return the reason why the run ended and the first errors, one per line."""
        more = len(self.errors) - ERRORS_NOTED
        lines = [ending, *self.errors[:ERRORS_NOTED], f"and {more} more" if more > 0 else ""]
        return "\n".join(filter(None, lines))


def _may_decide(claim: Claim, verdict: Verdict) -> bool:
    """True if a model may make this decision alone. Only people remove a fact that was stated on purpose or has a
    stronger channel than the claim, because a model can be talked into anything by what it reads."""
    if verdict.decision != "update":
        return True
    concept_id = claim.concept_id if claim.existing_parent_id is not None else claim.blocking_concept_id
    edge = Edge.objects.filter(concept_id=concept_id, dim_id=claim.dim_id).first()
    if edge is None:
        return True
    return edge.channel not in (Channel.OPERATOR, Channel.GUTASK) and not is_weaker(claim.channel, edge.channel)


def pause(attempts: int) -> timedelta:
    """Return how long a conflict is left alone after so many failed attempts."""
    return next((pause for most, pause in PAUSES if attempts <= most), LONG_PAUSE)


def _as_seen(claim: Claim) -> QuerySet[Claim]:
    """Return the claim's row if it is still pending and against the same fact."""
    same: dict[str, Any] = {
        name: getattr(claim, name) for name in ("existing_parent_id", "blocking_concept_id", "collision_type")
    }
    return pending().filter(pk=claim.pk, **same)


def _release(*claim_ids: int) -> None:
    pending().filter(pk__in=claim_ids).update(claimed_until=None)
