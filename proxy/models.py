"""What was done to the prompts that passed through, for those who ask why."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class RecollectionEvent(models.Model):
    """What one request was given, and why each salient concept was in or out. Never the prompt's own text."""

    request = models.CharField(max_length=16, primary_key=True, help_text="As in the header X-Festinger-Request.")
    agent = models.CharField(max_length=120)
    model = models.CharField(max_length=200)
    wire = models.CharField(max_length=16, help_text="The wire format: chat, generate.")
    block = models.TextField(blank=True)
    reasons = models.JSONField(default=dict, help_text="By concept.")
    reasons_left_out = models.IntegerField(default=0, db_default=0)
    unread_characters = models.IntegerField(
        default=0, db_default=0, help_text="Of new text that the latency budget left for the next time."
    )
    enrich_ms = models.FloatField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "recollection_event"
        indexes = [models.Index(fields=["at"], name="recollection_event_by_age")]
        constraints = [
            models.CheckConstraint(
                condition=Q(enrich_ms__gte=0, reasons_left_out__gte=0, unread_characters__gte=0),
                name="recollection_event_amounts_are_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(request__regex=r"^[0-9a-f]{16}$"), name="recollection_event_request_is_an_id"
            ),
        ]

    def __str__(self) -> str:
        return self.request
