"""A run of the resolver under way: one conflict after the other is claimed, asked about, and decided or proposed."""

import logging
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.db import Error, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from memory import llm
from memory.db.connections import first_line
from memory.domain.channels import Channel, is_weaker
from memory.models import Config, Edge, LanguageModel, Source
from resolution import decisions
from resolution.actors import Actor
from resolution.domain.verdicts import Verdict, VerdictMistake
from resolution.errors import DecisionError
from resolution.intake.open_claims import IN_ORDER
from resolution.models import Claim, CollisionType, Run
from resolution.resolver import judge, run_records
from resolution.resolver.run_records import RunLost
from resolution.views.conflict_list import RELATED

logger = logging.getLogger(__name__)

# Longer is of no use: only whoever carries out the one run claims, and a run without signs of life is closed then.
LEASE = run_records.DEAD_AFTER
# After so many failed attempts at a conflict, the resolver leaves it alone for so long; people need not.
PAUSES = ((3, timedelta(hours=1)), (7, timedelta(hours=20)))
LONG_PAUSE = timedelta(days=6, hours=20)
# Who asks for a run now means what failed before, too.
ON_DEMAND = (Run.Trigger.API, Run.Trigger.COMMAND, Run.Trigger.ADMIN)
UNANSWERED_AT_MOST = 3  # conflicts in a row; then the model would not answer about the others either
ERRORS_NOTED = 3  # in the run's note; each conflict has its own
INTERRUPTED = "It was interrupted. The next run goes on where it stopped."
FAILED, PROPOSED, OVERTAKEN = "failed", "proposed", "overtaken"

OnConflict = Callable[[Run, Claim, str], None]  # after each conflict: the run so far, and what became of it


class Over(Exception):
    """What happened to this conflict would happen to all: the run ends."""

    def __init__(self, status: Run.Status, note: str) -> None:
        super().__init__(note)
        self.status = status
        self.note = note


def pending_now(*, patiently: bool = True) -> QuerySet[Claim]:
    """The conflicts that a run would claim; ``patiently``: not those whose last attempt failed a short while ago."""
    free = pending().filter(Q(claimed_until=None) | Q(claimed_until__lte=Now()))
    return free.filter(Q(next_attempt_at=None) | Q(next_attempt_at__lte=Now())) if patiently else free


def pending() -> QuerySet[Claim]:
    """In the order in which they are decided. Those about muted concepts, and retractions, are left to operators."""
    rows = Claim.objects.filter(status=Claim.Status.PENDING, concept__is_muted=False)
    return rows.exclude(collision_type=CollisionType.RETRACTION).order_by(*IN_ORDER)


class Course:
    """The course of a run."""

    def __init__(
        self, row: Run, on_progress: OnConflict | None = None, claim_ids: Collection[int] | None = None
    ) -> None:
        self.row = row
        self.on_progress = on_progress
        self.claim_ids = claim_ids
        self.changes_max = Config.tuning().resolution_max_changes
        self.counts: Counter[str] = Counter()
        self.treated: list[int] = []
        self.errors: list[str] = []
        self.unanswered: list[int] = []  # those in a row

    def run(self) -> Run:
        """Carries it out and closes it, whatever happens."""
        try:
            with run_records.keep_alive(self.row):
                self.treat_all(self.prepared())
            run_records.close(self.row, Run.Status.DONE, self.note())
        except Over as over:
            run_records.close(self.row, over.status, self.note(over.note))
        except RunLost:
            self.row.refresh_from_db()
            logger.warning("resolution.lost", extra={"run": self.row.pk})
        except BaseException as error:  # also KeyboardInterrupt, and SystemExit where a worker is told to stop
            with suppress(Error):  # perhaps it is Postgres that is away
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
        """The model does not answer: that was not these conflicts' fault, so the next run tries them at once."""
        pending().filter(pk__in=self.unanswered).update(next_attempt_at=None)
        raise Over(Run.Status.FAILED, "The model cannot be asked: what is left waits for the next run.")

    def next(self) -> Claim | None:
        if self.row.limit is not None and len(self.treated) >= self.row.limit:
            return None
        if self.changes() >= self.changes_max and self.waiting().exists():
            raise Over(Run.Status.DONE, f"{self.changes()} conflicts were decided (resolution_max_changes).")
        claim = self.claim()
        if claim is not None:
            self.treated.append(claim.pk)
        return claim

    def claim(self) -> Claim | None:
        with transaction.atomic():
            # A conflict that somebody decides in this moment is locked: the run goes on to the next and does not wait.
            rows = self.waiting().select_for_update(skip_locked=True, of=("self",))
            claim = rows.select_related(*RELATED).first()
            if claim is not None:
                Claim.objects.filter(pk=claim.pk).update(claimed_until=Now() + LEASE)
        return claim

    def waiting(self) -> QuerySet[Claim]:
        rows = pending_now(patiently=self.row.trigger not in ON_DEMAND).exclude(pk__in=self.treated)
        return rows if self.claim_ids is None else rows.filter(pk__in=self.claim_ids)

    def treat(self, claim: Claim, model: LanguageModel) -> str:
        """What became of it. Raises Over, RunLost; nothing else, except where Postgres is away."""
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
            # A traceback where the mistake is ours; what Postgres complains about would quote what people said.
            facts = {"run": self.row.pk, "conflict": claim.conflict_id, "error": first_line(error)}
            logger.error("resolution.failed", exc_info=not isinstance(error, Error), extra=facts)
            return self.fail(claim, f"internal error: {type(error).__name__}: {first_line(error)}")

    def ask(self, claim: Claim, model: LanguageModel) -> Verdict:
        try:
            verdict = judge.judge(claim, model, run_records.subject(self.row, f"conflict {claim.conflict_id}"))
            run_records.note_progress(self.row)  # the answer may have taken long, and the run been closed meanwhile
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
        decisions.decide(claim.pk, actor, verdict, seen=claim)
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
        """The conflict stays pending and says why; where somebody else decided it meanwhile, nothing failed."""
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
        """Why it ended, and the first errors, a line each."""
        more = len(self.errors) - ERRORS_NOTED
        lines = [ending, *self.errors[:ERRORS_NOTED], f"and {more} more" if more > 0 else ""]
        return "\n".join(filter(None, lines))


def _may_decide(claim: Claim, verdict: Verdict) -> bool:
    """Whether a model may do this by itself. A fact that somebody stated on purpose, or that is better vouched for than
    the newcomer, is taken out by people only: a model can be talked into anything by what it reads."""
    if verdict.decision != "update":
        return True
    concept_id = claim.concept_id if claim.existing_parent_id is not None else claim.blocking_concept_id
    edge = Edge.objects.filter(concept_id=concept_id, dim_id=claim.dim_id).first()
    if edge is None:
        return True
    return edge.channel not in (Channel.OPERATOR, Channel.GUTASK) and not is_weaker(claim.channel, edge.channel)


def pause(attempts: int) -> timedelta:
    """How long a conflict is left alone after so many attempts failed."""
    return next((pause for most, pause in PAUSES if attempts <= most), LONG_PAUSE)


def _as_seen(claim: Claim) -> QuerySet[Claim]:
    """The row, as long as it is pending and the same question."""
    same: dict[str, Any] = {
        name: getattr(claim, name) for name in ("existing_parent_id", "blocking_concept_id", "collision_type")
    }
    return pending().filter(pk=claim.pk, **same)


def _release(*claim_ids: int) -> None:
    pending().filter(pk__in=claim_ids).update(claimed_until=None)
