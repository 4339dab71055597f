"""The models of decisions, the runs they were made in, and the rulings about triples."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memory.models import Soas, Source
from memory.models.constraints import one_of
from memory.types import TripleIds
from resolution.models.candidates import Candidate
from resolution.models.conflicts import Claim, Conflict


@one_of("status", "trigger")
class Run(models.Model):
    """One run of a nightly job, or of a quarantine, a merge of two names or an upgrade. A run that is ``running`` while
    nobody holds the lock of the nightly jobs has lost its process."""

    class Status(models.TextChoices):
        REQUESTED = "requested"
        RUNNING = "running"
        DONE = "done"
        PARTIAL = "partial"
        SKIPPED = "skipped"
        FAILED = "failed"

    class Trigger(models.TextChoices):
        SCHEDULE = "schedule"
        COLLISION = "collision"  # only runs that version 0.2.0 has stored
        API = "api"
        COMMAND = "command"
        ADMIN = "admin"
        QUARANTINE = "quarantine"
        MERGE = "merge"
        CONSOLIDATE = "consolidate"
        SWEEP = "sweep"
        DETECT = "detect"
        UPGRADE = "upgrade"

    ON_DEMAND = (Trigger.API, Trigger.COMMAND, Trigger.ADMIN)
    OF_RESOLVER = (Trigger.SCHEDULE, Trigger.COLLISION, *ON_DEMAND)
    OF_MEMORIES = (Trigger.CONSOLIDATE, Trigger.UPGRADE)  # which change memories
    NIGHTLY = (Trigger.CONSOLIDATE, Trigger.SWEEP, Trigger.DETECT)  # in the order of the night

    trigger = models.CharField(max_length=12, choices=Trigger)
    actor = models.CharField(max_length=120, blank=True, default="", db_default="")
    mode = models.CharField(max_length=8)
    status = models.CharField(max_length=9, choices=Status, default=Status.RUNNING, db_default=Status.RUNNING)
    note = models.TextField(blank=True, default="", db_default="", help_text="Why it was skipped, or failed.")
    model_name = models.CharField(max_length=160, blank=True, default="", db_default="")
    limit = models.IntegerField(null=True, blank=True)
    conflicts_total = models.IntegerField(default=0, db_default=0)
    conflicts_seen = models.IntegerField(default=0, db_default=0)
    counts = models.JSONField(default=dict, help_text="How many conflicts by what became of them.")
    facts = ArrayField(models.BigIntegerField(), default=list, db_default=[], blank=True, help_text="To be looked at.")
    input_tokens = models.IntegerField(default=0, db_default=0)
    output_tokens = models.IntegerField(default=0, db_default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, help_text="In US dollars, where known.")
    started_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)

    # Of the process that carries it out.
    waited_s = 0.0  # while somebody used a model of the upstream
    answered = unanswered = 0  # questions to a language model

    class Meta:
        db_table = "run"
        indexes = [models.Index(fields=["-started_at"], name="run_newest_first")]

    def __str__(self) -> str:
        return f"run {self.pk} ({self.status})"

    @property
    def is_open(self) -> bool:
        return self.status in (self.Status.REQUESTED, self.Status.RUNNING)


# Kinds of decisions, for constraints.
OF_JOBS = ("quarantine", "merge", "delete", "consolidate")
OF_CANDIDATES = ("promote", "reject")


@one_of("kind", "source")
class Decision(models.Model):
    """A decision about a conflict or a candidate, or a change that a job made. Append-only: an undo is a decision of
    its own."""

    class Kind(models.TextChoices):
        DECOMPOSE = "decompose", "dimension decomposed"
        UPDATE = "update", "new fact replaces existing"
        RELOCATE = "relocate", "new fact moved to another dimension"
        DISMISS = "dismiss", "existing fact kept"
        QUARANTINE = "quarantine", "facts put among the candidates"
        MERGE = "merge", "names merged"
        DELETE = "delete", "dimension deleted"
        SUPERSEDE = "supersede", "the others replaced"
        ACCEPT = "accept", "left as it is"
        ANSWER = "answer", "question answered"
        CONSOLIDATE = "consolidate", "memories changed"
        PROMOTE = "promote", "candidate accepted"
        REJECT = "reject", "candidate dismissed"
        UNDO = "undo", "decision undone"

    # The relations that __str__ needs.
    NAMES = ("claim__concept", "claim__dim", "claim__existing_parent", "claim__incoming_parent", "candidate")

    # Stored only if they changed something.
    MAY_CHANGE_NOTHING = (Kind.QUARANTINE, Kind.CONSOLIDATE, Kind.PROMOTE)

    kind = models.CharField(max_length=12, choices=Kind)
    claim = models.ForeignKey(
        Claim, models.PROTECT, null=True, related_name="decisions", db_index=False,
        help_text="What it is about; nothing for what is about a concept or memories: a quarantine, a merge.",
    )  # fmt: skip
    conflict = models.ForeignKey(
        Conflict, models.PROTECT, null=True, related_name="decisions",
        help_text="What it is about, where that is not a claim.",
    )  # fmt: skip
    # Without a constraint: a decision stays as it is when its candidate is deleted for good.
    candidate = models.ForeignKey(
        Candidate, models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="decisions",
        help_text="What it is about, where that is a candidate.",
    )  # fmt: skip
    run = models.ForeignKey(Run, models.PROTECT, null=True, blank=True, related_name="decisions")
    undoes = models.OneToOneField("self", models.PROTECT, null=True, blank=True, related_name="undone_by")
    actor = models.CharField(max_length=120)
    source = models.CharField(max_length=16, choices=Source)
    reason = models.TextField(blank=True, default="", db_default="")
    arguments = models.JSONField(default=dict)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "decision"
        indexes = [
            models.Index(fields=["-at"], name="decision_newest_first"),
            models.Index(fields=["claim"], name="decision_claim_id_index"),
            models.Index(
                fields=["candidate"], condition=Q(candidate__isnull=False), name="decision_candidate_id_index"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="undo")
                | Q(kind__in=OF_JOBS, claim=None, conflict=None, candidate=None)
                | Q(kind__in=OF_CANDIDATES, claim=None, conflict=None, candidate__isnull=False)
                | ~Q(kind__in=[*OF_JOBS, *OF_CANDIDATES, "supersede", "accept", "answer"])
                & Q(claim__isnull=False, conflict=None, candidate=None)
                | ~Q(kind__in=[*OF_JOBS, *OF_CANDIDATES, "decompose", "update", "relocate"])
                & Q(claim=None, conflict__isnull=False, candidate=None),
                name="decision_is_about_something",
            ),
            models.CheckConstraint(
                condition=Q(kind="undo", undoes__isnull=False) | ~Q(kind="undo") & Q(undoes__isnull=True),
                name="decision_undoes_a_decision",
            ),
        ]

    def __str__(self) -> str:
        memory = f"memory {self.arguments['memory']}" if "memory" in self.arguments else ""
        about = self.claim or self.conflict or self.candidate or memory or self.arguments.get("concept")
        return f"{self.kind}: {about}"

    def list_members(self) -> list[tuple[str, int]]:
        """Return the kind and id of the members that a decision about a whole conflict names."""
        named = [self.arguments.get("winner"), *self.arguments.get("superseded", ()), *self.arguments.get("others", ())]
        return [(one["kind"], one["id"]) for one in named if one]


class DecisionChange(models.Model):
    """A row that a decision changed, by the names of its columns, written by a trigger. Append-only; if what the row
    said is forgotten, ``before`` and ``after`` are emptied."""

    decision = models.ForeignKey(Decision, models.PROTECT, related_name="changes")
    table_name = models.CharField(max_length=32)
    key = models.BigIntegerField()
    before = models.JSONField(null=True, help_text="Null if the row did not exist.")
    after = models.JSONField(null=True, help_text="Null if the row no longer exists.")
    is_forgotten = models.BooleanField(default=False, db_default=False)

    class Meta:
        db_table = "decision_change"
        default_permissions = ()
        indexes = [models.Index(fields=["table_name", "key"], name="decision_change_of_a_row")]

    def __str__(self) -> str:
        return f"{self.table_name} {self.key} by decision {self.decision_id}"


@one_of("kind")
class DecidedTriple(models.Model):
    """A ruling about a triple. Stating the triple again changes nothing, unless another agent with a token states it,
    or anybody does in a new conversation after a week."""

    class Kind(models.TextChoices):
        DISMISSED = "dismissed"
        RETIRED = "retired"
        RELOCATED = "relocated"
        DECOMPOSED = "decomposed"

    concept = models.ForeignKey(Soas, models.CASCADE, db_index=False, related_name="decided_triples")
    dim = models.ForeignKey(Soas, models.CASCADE, related_name="+", verbose_name="dimension")
    parent = models.ForeignKey(Soas, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=12, choices=Kind)
    moved_to = models.ForeignKey(
        Soas, models.CASCADE, null=True, blank=True, related_name="+",
        help_text="The dimension that the fact is in now.",
    )  # fmt: skip
    agents = ArrayField(models.CharField(max_length=120), help_text="The agents that had said it by then.")
    conversation = models.BinaryField(
        default=b"", db_default=b"", help_text="The digest of the opening of the conversation."
    )
    decision = models.ForeignKey(Decision, models.CASCADE, null=True, blank=True, related_name="decided_triples")
    decided_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "decided_triple"
        constraints = [
            models.UniqueConstraint(fields=["concept", "dim", "parent"], name="decided_triple_is_decided_once")
        ]

    def __str__(self) -> str:
        return f"{self.concept} IN {self.parent} [{self.dim}]: {self.kind}"

    @property
    def ids(self) -> TripleIds:
        return TripleIds(self.concept_id, self.dim_id, self.parent_id)
