"""What is disputed: facts that collided with the world as it stands, waiting for a decision."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from memory.models import Soas, Source


class CollisionType(models.TextChoices):
    ISA_ISA = "isa_isa", "two kinds"
    ISPART_ISPART = "ispart_ispart", "two places"
    MISCLASSIFICATION = "misclassification", "a kind and a place"
    CYCLE = "cycle", "a ring"


class Conflict(models.Model):
    """A row of the resolution queue: an incoming fact that the graph refused, with what stands against it."""

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
        help_text="For a ring: the subject of the edge that closes it.",
    )  # fmt: skip
    incoming_is_isa = models.BooleanField()
    incoming_confidence = models.FloatField()
    incoming_source = models.CharField(max_length=16, choices=Source)
    collision_type = models.CharField(max_length=20, choices=CollisionType)
    agent = models.CharField(max_length=120, blank=True, default="", db_default="")
    evidence = models.CharField(max_length=500, blank=True, default="", db_default="")
    priority = models.SmallIntegerField(default=0, db_default=0, help_text="Higher is decided first.")
    status = models.CharField(max_length=12, choices=Status, default=Status.PENDING, db_default=Status.PENDING)
    proposal = models.JSONField(null=True, blank=True)
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
        indexes = [models.Index(fields=["status", "-priority", "created_at"], name="conflict_in_order")]
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
        return f"{self.concept} [{self.dim}]: {self.existing_parent} or {self.incoming_parent}"
