"""Records which memories and episodes were given to which prompts unasked."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.db.models.lookups import Exact

from memory.models.messages import OctetLength
from memory.models.semantic import CONVERSATION_BYTES, MemoryLineage


class GivenNote(models.Model):
    """A memory or episode that was new in a prompt: it stays in the following ones."""

    request = models.CharField(max_length=16, help_text="As in the header X-Festinger-Request.")
    conversation = models.BinaryField(help_text="The digest of its opening.")
    kind = models.CharField(max_length=8, choices=MemoryLineage.Kind)
    row = models.BigIntegerField(help_text="The id of the memory or the episode; it may be gone.")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "given_note"
        default_permissions = ("view",)
        indexes = [
            models.Index(fields=["kind", "row"], name="given_note_by_row"),
            models.Index(fields=["at"], name="given_note_by_age"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["request", "kind", "row"], name="given_note_unique"),
            models.CheckConstraint(condition=Q(request__regex=r"^[0-9a-f]{16}$"), name="given_note_request_is_an_id"),
            models.CheckConstraint(condition=Q(kind__in=["memory", "episode"]), name="given_note_kind_is_known"),
            models.CheckConstraint(
                condition=Exact(OctetLength("conversation"), CONVERSATION_BYTES),
                name="given_note_conversation_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.row} to {self.request}"
