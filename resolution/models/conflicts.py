"""The resolution queue."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from memory.domain.types import Slot, TripleIds
from memory.graph.store import Attribution
from memory.models import Soas, Source
from memory.models.graph import CHANNELS, IS_CHANNEL


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
    channel = models.CharField(max_length=12, choices=CHANNELS, default="user", db_default="user")
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
            models.CheckConstraint(condition=IS_CHANNEL, name="conflict_channel_is_known"),
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
            channel=self.channel,
        )

    @property
    def against(self) -> tuple[int | None, int | None, str]:
        """What it collides with, and how: where that changes, it is another question."""
        return self.existing_parent_id, self.blocking_concept_id, self.collision_type
