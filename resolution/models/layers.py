"""The model of what project state, facts and memories say of slots."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from memory.models.constraints import one_of


@one_of("kind")
class SlotClaim(models.Model):
    """The value that a row gives a slot, as it was read when the row was written (conflicts/keys.py). Rows of several
    layers that have equal keys are about the same slot."""

    class Kind(models.TextChoices):
        MEMORY = "memory"
        PROJECT_STATE = "project_state", "project state"
        EDGE = "edge", "fact"

    kind = models.CharField(max_length=16, choices=Kind)
    object_id = models.BigIntegerField(help_text="Row id; the row may be superseded.")
    owner = models.TextField(help_text="The project's slug; empty for facts, and for what all projects share.")
    key = models.TextField(help_text="Stems, in order, with those of the project's slug.")
    value = models.TextField(help_text="Normalised.")
    words = ArrayField(models.TextField(), help_text="The stems and numbers of the value.")
    is_denied = models.BooleanField(help_text="The row says that the value is not so.")
    version = models.SmallIntegerField(help_text="Of the rules that read it.")

    class Meta:
        db_table = "slot_claim"
        default_permissions = ()
        indexes = [models.Index(fields=["key", "kind"], name="slot_claim_by_key")]
        constraints = [
            models.UniqueConstraint(fields=["kind", "object_id", "key"], name="slot_claim_unique"),
            models.CheckConstraint(condition=~Q(key=""), name="slot_claim_has_a_key"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}: {self.key} = {self.value}"
