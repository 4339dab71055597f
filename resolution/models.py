"""Conflicts, the decisions about them, and the resolver's runs."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from memory.domain.types import Slot, TripleIds
from memory.graph.store import Attribution
from memory.models import Soas, Source


class CollisionType(models.TextChoices):
    ISA_ISA = "isa_isa", "two kinds"
    ISPART_ISPART = "ispart_ispart", "two places"
    MISCLASSIFICATION = "misclassification", "a kind and a place"
    CYCLE = "cycle", "a cycle"


class Conflict(models.Model):
    """A row of the resolution queue: an incoming fact that the graph refused, and what it collided with."""

    class Status(models.TextChoices):
        PENDING = "pending"
        PROPOSED = "proposed"
        RESOLVED = "resolved"
        DISMISSED = "dismissed"

    concept = models.ForeignKey(Soas, models.PROTECT, related_name="conflicts")
    dim = models.ForeignKey(Soas, models.PROTECT, related_name="dimension_conflicts", verbose_name="dimension")
    existing_parent = models.ForeignKey(
        Soas, models.PROTECT, null=True, blank=True, related_name="conflicts_as_existing"
    )
    incoming_parent = models.ForeignKey(Soas, models.PROTECT, related_name="conflicts_as_incoming")
    blocking_concept = models.ForeignKey(
        Soas, models.PROTECT, null=True, blank=True, related_name="conflicts_as_blocking",
        help_text="For a cycle: the subject of the edge that closes it.",
    )  # fmt: skip
    incoming_is_isa = models.BooleanField()
    incoming_confidence = models.FloatField()
    incoming_source = models.CharField(max_length=16, choices=Source)
    collision_type = models.CharField(max_length=20, choices=CollisionType)
    agent = models.CharField(max_length=120, blank=True, default="", db_default="")
    role = models.CharField(max_length=16, blank=True, default="", db_default="")
    conversation = models.BinaryField(
        default=b"",
        db_default=b"",
        help_text="The digest of the opening of the conversation in which it was said; empty for none.",
    )
    evidence = models.CharField(max_length=500, blank=True, default="", db_default="")
    priority = models.SmallIntegerField(default=0, db_default=0, help_text="Higher is decided first.")
    status = models.CharField(max_length=12, choices=Status, default=Status.PENDING, db_default=Status.PENDING)
    proposal = models.JSONField(null=True, blank=True)
    run = models.ForeignKey(
        "Run", models.SET_NULL, null=True, blank=True, related_name="conflicts",
        help_text="The run of the resolver that decided it last.",
    )  # fmt: skip
    resolution = models.JSONField(null=True, blank=True)
    attempts = models.IntegerField(default=0, db_default=0)
    last_error = models.TextField(blank=True, default="", db_default="")
    said_at = models.DateTimeField(db_default=Now())
    created_at = models.DateTimeField(db_default=Now())
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "resolution_queue"
        indexes = [
            models.Index(fields=["status", "-priority", "created_at"], name="conflict_in_order"),
            # What is open, whether there is a proposal or not, as it is decided.
            models.Index(
                fields=["-priority", "created_at", "id"],
                condition=Q(status__in=["pending", "proposed"]),
                name="conflict_open_in_order",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["concept", "dim", "incoming_parent"],
                condition=Q(status__in=["pending", "proposed"]),
                name="conflict_open_once",
                violation_error_message="This conflict is already open.",
            ),
            models.CheckConstraint(
                condition=Q(collision_type__in=["isa_isa", "ispart_ispart", "misclassification", "cycle"]),
                name="conflict_type_is_known",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "proposed", "resolved", "dismissed"]),
                name="conflict_status_is_known",
            ),
            models.CheckConstraint(
                condition=Q(collision_type="cycle") | Q(existing_parent__isnull=False),
                name="conflict_has_an_existing_parent",
            ),
            models.CheckConstraint(
                condition=Q(existing_parent__isnull=True) | ~Q(existing_parent=F("incoming_parent")),
                name="conflict_has_two_sides",
            ),
            models.CheckConstraint(
                condition=Q(incoming_confidence__gte=0, incoming_confidence__lte=1),
                name="conflict_confidence_is_in_range",
            ),
            models.CheckConstraint(
                condition=Q(incoming_source__in=["cloud_llm", "inferred", "festinger", "gutask", "operator"]),
                name="conflict_source_is_known",
            ),
        ]

    def __str__(self) -> str:
        if self.existing_parent is None:
            return f"{self.concept} [{self.dim}]: {self.incoming_parent}, which closes a cycle"
        return f"{self.concept} [{self.dim}]: {self.existing_parent} or {self.incoming_parent}"

    @property
    def slot(self) -> Slot:
        """The disputed one."""
        return self.concept_id, self.dim_id

    @property
    def incoming(self) -> TripleIds:
        return TripleIds(self.concept_id, self.dim_id, self.incoming_parent_id)

    @property
    def existing_is_isa(self) -> bool:
        """What the fact said that it collided with in its slot."""
        return self.incoming_is_isa != (self.collision_type == CollisionType.MISCLASSIFICATION)

    @property
    def incoming_text(self) -> str:
        return f"{self.concept} {'-isa' if self.incoming_is_isa else '-ispart'} {self.incoming_parent}"

    @property
    def attribution(self) -> Attribution:
        """Of the statement that collided."""
        return Attribution(
            agent=self.agent,
            source=Source(self.incoming_source),
            confidence=self.incoming_confidence,
            at=self.said_at,
            evidence=self.evidence,
            role=self.role,
            conversation=bytes(self.conversation),
        )

    @property
    def against(self) -> tuple[int | None, int | None, str]:
        """What it collides with, and how: where that changes, it is another question."""
        return self.existing_parent_id, self.blocking_concept_id, self.collision_type


class Run(models.Model):
    """One run of the resolver over the queue."""

    class Status(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        SKIPPED = "skipped"
        FAILED = "failed"

    class Trigger(models.TextChoices):
        SCHEDULE = "schedule"
        COLLISION = "collision"
        API = "api"
        COMMAND = "command"
        ADMIN = "admin"

    trigger = models.CharField(max_length=12, choices=Trigger)
    actor = models.CharField(max_length=120, blank=True, default="", db_default="")
    mode = models.CharField(max_length=8)
    status = models.CharField(max_length=8, choices=Status, default=Status.RUNNING, db_default=Status.RUNNING)
    note = models.TextField(blank=True, default="", db_default="", help_text="Why it was skipped, or failed.")
    model_name = models.CharField(max_length=160, blank=True, default="", db_default="")
    limit = models.IntegerField(null=True, blank=True)
    conflicts_total = models.IntegerField(default=0, db_default=0)
    conflicts_seen = models.IntegerField(default=0, db_default=0)
    counts = models.JSONField(default=dict, help_text="How many conflicts by what became of them.")
    input_tokens = models.IntegerField(default=0, db_default=0)
    output_tokens = models.IntegerField(default=0, db_default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, help_text="In US dollars, where known.")
    started_at = models.DateTimeField(db_default=Now())
    alive_at = models.DateTimeField(db_default=Now(), help_text="The run's last sign of life.")
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "run"
        indexes = [models.Index(fields=["-started_at"], name="run_newest_first")]
        constraints = [
            models.UniqueConstraint(
                fields=["status"],
                condition=Q(status="running"),
                name="run_is_alone",
                violation_error_message="The resolver is running already.",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["running", "done", "skipped", "failed"]), name="run_status_is_known"
            ),
            models.CheckConstraint(
                condition=Q(trigger__in=["schedule", "collision", "api", "command", "admin"]),
                name="run_trigger_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} ({self.status})"


class Decision(models.Model):
    """What was decided about a conflict, with its surroundings before and after. Append-only: an undo is a decision of
    its own."""

    class Kind(models.TextChoices):
        DECOMPOSE = "decompose", "dimension decomposed"
        UPDATE = "update", "new fact replaces existing"
        RELOCATE = "relocate", "new fact moved to another dimension"
        DISMISS = "dismiss", "existing fact kept"
        UNDO = "undo", "decision undone"

    # What its name is made of: to be selected with it. What it and its undo changed may be large: lists defer that.
    NAMES = ("conflict__concept", "conflict__dim", "conflict__existing_parent", "conflict__incoming_parent")
    SNAPSHOTS = ("before", "after", "undone_by__before", "undone_by__after")

    kind = models.CharField(max_length=12, choices=Kind)
    conflict = models.ForeignKey(Conflict, models.PROTECT, related_name="decisions")
    run = models.ForeignKey(Run, models.PROTECT, null=True, blank=True, related_name="decisions")
    undoes = models.OneToOneField("self", models.PROTECT, null=True, blank=True, related_name="undone_by")
    actor = models.CharField(max_length=120)
    source = models.CharField(max_length=16, choices=Source)
    reason = models.TextField(blank=True, default="", db_default="")
    arguments = models.JSONField(default=dict)
    before = models.JSONField()
    after = models.JSONField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "decision"
        indexes = [models.Index(fields=["-at"], name="decision_newest_first")]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["decompose", "update", "relocate", "dismiss", "undo"]),
                name="decision_kind_is_known",
            ),
            models.CheckConstraint(
                condition=Q(kind="undo", undoes__isnull=False) | ~Q(kind="undo") & Q(undoes__isnull=True),
                name="decision_undoes_a_decision",
            ),
            models.CheckConstraint(
                condition=Q(source__in=["cloud_llm", "inferred", "festinger", "gutask", "operator"]),
                name="decision_source_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.conflict}"


class DecidedTriple(models.Model):
    """A ruling: what was decided about a triple. Stating it again changes nothing, unless another agent does, or the
    same one in a new conversation after a week."""

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
            models.UniqueConstraint(fields=["concept", "dim", "parent"], name="decided_triple_is_decided_once"),
            models.CheckConstraint(
                condition=Q(kind__in=["dismissed", "retired", "relocated", "decomposed"]),
                name="decided_triple_kind_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.concept} IN {self.parent} [{self.dim}]: {self.kind}"
