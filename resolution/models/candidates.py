"""The model of candidates: facts that wait beside the graph."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse

from memory.english.phrases import as_compact
from memory.models.constraints import one_of
from memory.models.forgetting import SetAside
from memory.models.graph import CHANNELS
from memory.types import Triple


@one_of(channel="candidate_channel_is_known", state="candidate_state_is_known")
class Candidate(SetAside):
    """A fact that only a page, a tool or a model stated, or a person in a long message. It is beside the graph: it
    fills no slot and contradicts nothing until somebody who may vouch for it says it, too. Prompts only get it for the
    speaker for whom it holds, if there is one.

    The words are stored, not ids, because a quotation must not add to the vocabulary. ``voices`` are [agent, channel]
    pairs; repeats of a voice only change ``last_said_at`` and the count.
    """

    class State(models.TextChoices):
        OPEN = "open", "waits"
        PROMOTED = "promoted"
        DISMISSED = "dismissed"
        EXPIRED = "expired", "expired, said no more"

    concept = models.CharField(max_length=64)
    parent = models.CharField(max_length=64)
    dimension = models.CharField(max_length=64)
    is_isa = models.BooleanField()
    channel = models.CharField(max_length=12, choices=CHANNELS, help_text="The strongest it was said through.")
    confidence = models.FloatField()
    voices = models.JSONField(default=list, help_text="Who has said it: [agent, channel].")
    conversations = models.IntegerField(default=1, help_text="In how many it was said, as far as we can tell.")
    last_conversation = models.BinaryField(default=b"", db_default=b"")
    said_count = models.IntegerField(default=1)
    evidence = models.CharField(max_length=500, blank=True, default="", db_default="")
    for_speaker = models.CharField(
        max_length=120, blank=True, default="", db_default="", help_text="The agent whose own words it may be."
    )
    for_person = models.CharField(max_length=200, blank=True, default="", db_default="", help_text="Behind that agent.")
    paragraph = models.CharField(max_length=32, blank=True, default="", db_default="", help_text="Where it was said.")
    why = models.CharField(max_length=40, blank=True, default="", db_default="", help_text="Reason.")
    state = models.CharField(max_length=10, choices=State, default=State.OPEN, db_default=State.OPEN)
    resolved_by = models.CharField(max_length=120, blank=True, default="", db_default="")
    resolved_at = models.DateTimeField(null=True, blank=True)
    first_said_at = models.DateTimeField(db_default=Now())
    last_said_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "edge_candidate"
        indexes = [
            models.Index(fields=["-last_said_at", "-id"], condition=Q(state="open"), name="candidate_open"),
            models.Index(fields=["state", "-last_said_at"], name="candidate_by_state"),
            models.Index(
                fields=["for_speaker", "for_person"],
                condition=Q(state="open") & ~Q(for_speaker=""),
                name="candidate_of_a_speaker",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["concept", "dimension", "parent", "is_isa", "for_speaker", "for_person"],
                name="candidate_stands_once",
            ),
            models.CheckConstraint(
                condition=Q(confidence__gte=0, confidence__lte=1), name="candidate_confidence_is_in_range"
            ),
        ]

    def get_absolute_url(self) -> str:
        return reverse("admin:resolution_candidate_change", args=[self.pk])

    def __str__(self) -> str:
        return as_compact(self.concept, self.parent, self.dimension, is_isa=self.is_isa)

    @property
    def holder(self) -> tuple[str, str]:
        """The agent and person for whom it holds; two empty strings for nobody."""
        return self.for_speaker, self.for_person

    @property
    def triple(self) -> Triple:
        return Triple(self.concept, self.parent, self.dimension, self.is_isa)
