"""The model of the slots in which project state and memories meet other layers."""

from django.db import models
from django.db.models import Q

from memory.models.constraints import one_of


@one_of("kind")
class LayerSlot(models.Model):
    """The words by which a value of project state, or a memory, meets other layers (domain/layer_slots). Facts have no
    rows here: the words of each new fact are looked up."""

    class Kind(models.TextChoices):
        MEMORY = "memory"
        PROJECT_STATE = "project_state", "project state"

    kind = models.CharField(max_length=16, choices=Kind)
    object_id = models.BigIntegerField(help_text="The row of its table; it may hold no more.")
    words = models.TextField(help_text="Stems, in order, with those of the project's slug.")
    version = models.SmallIntegerField(help_text="Of the rules that found them.")

    class Meta:
        db_table = "layer_slot"
        indexes = [models.Index(fields=["words"], name="layer_slot_by_words")]
        constraints = [
            models.UniqueConstraint(fields=["kind", "object_id", "words"], name="layer_slot_unique"),
            models.CheckConstraint(condition=~Q(words=""), name="layer_slot_has_words"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}: {self.words}"
