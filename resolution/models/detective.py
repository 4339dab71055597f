"""The model of the detective's progress."""

from django.db import models
from django.db.models.functions import Now

from memory.models.constraints import one_of


@one_of("source")
class DetectiveMark(models.Model):
    """The newest row of a table that the detective has seen. Newer rows make it read again."""

    class Source(models.TextChoices):
        EDGE_HISTORY = "edge_history", "changes of facts"
        MEMORY_HISTORY = "memory_history", "changes of memories"
        PROJECT_STATE = "project_state", "project state"

    source = models.CharField("table", primary_key=True, max_length=16, choices=Source)
    row = models.BigIntegerField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "detective_mark"
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.source} up to {self.row}"
