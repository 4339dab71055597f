"""The queue of statements and unknown concepts on their way into the graph, and the calls of language models."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.db.models.lookups import Exact

from memory.english.phrases import format_fact
from memory.models.forgetting import SetAside
from memory.models.graph import CHANNELS, IS_CHANNEL
from memory.models.messages import DIGEST_BYTES, OctetLength
from memory.models.operating import LanguageModel


class Observation(SetAside):
    """A triple to place, or a concept to ask a language model about. The table is the queue of record: a worker claims
    rows that are due, and commits the result together with the row's state."""

    class Kind(models.TextChoices):
        TRIPLE = "triple"
        CONCEPT = "concept"

    class Says(models.TextChoices):
        """The effect of a triple on earlier statements (memory.english.doubt.SpeechAct)."""

        STATES = "states"
        RETRACTS = "retracts", "takes it back"
        CHANGES = "changes", "is so from now on"
        CORRECTS = "corrects", "corrects what was said"
        ADDS = "adds", "is said beside another parent"

    class State(models.TextChoices):
        PENDING = "pending"
        DONE = "done"
        FAILED = "failed"

    class Outcome(models.TextChoices):
        INSERTED = "inserted"
        CONFIRMED = "confirmed"
        SUPERSEDED = "superseded", "took the place of an older one"
        RETIRED = "retired", "took a fact back"
        CONFLICT = "conflict", "went to the resolution queue"
        DECIDED = "decided", "was decided before"
        OUTDATED = "outdated", "an older statement than the one that stands"
        CANDIDATE = "candidate", "waits among the candidates"
        OVER_QUOTA = "over_quota", "too much was said in that hour"
        INVALID = "invalid"
        EXPLAINED = "explained", "a language model knew it"
        UNKNOWN = "unknown", "a language model did not know it"
        NEEDLESS = "needless", "known, muted or gone by then"

    kind = models.CharField(max_length=8, choices=Kind)
    digest = models.BinaryField(help_text="The message's, as in seen_message.")
    concept = models.CharField(max_length=64)
    parent = models.CharField(max_length=64, blank=True, default="", db_default="")
    dimension = models.CharField(max_length=64, blank=True, default="", db_default="")
    is_isa = models.BooleanField(default=False, db_default=False)
    says = models.CharField(max_length=8, choices=Says, default=Says.STATES, db_default=Says.STATES)
    is_hedged = models.BooleanField(default=False, db_default=False, help_text="Only believed, or had from others.")
    instead_of = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="The parent that a change says is no more."
    )
    for_speaker = models.CharField(max_length=120, blank=True, default="", db_default="", help_text="Of an unsure one.")
    for_person = models.CharField(max_length=200, blank=True, default="", db_default="")
    paragraph = models.CharField(max_length=32, blank=True, default="", db_default="", help_text="Its digest.")
    confidence = models.FloatField(default=0.0, db_default=0.0)
    role = models.CharField(max_length=16)
    channel = models.CharField(max_length=12, choices=CHANNELS, default="user", db_default="user")
    agent = models.CharField(max_length=120)
    said_at = models.DateTimeField()
    evidence = models.CharField(max_length=500, blank=True, default="", db_default="")
    state = models.CharField(max_length=8, choices=State, default=State.PENDING, db_default=State.PENDING)
    outcome = models.CharField(max_length=12, choices=Outcome, blank=True, default="", db_default="")
    request = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="The id of the request that brought it."
    )
    attempts = models.IntegerField(default=0, db_default=0)
    last_error = models.TextField(blank=True, default="", db_default="")
    next_attempt_at = models.DateTimeField(db_default=Now())
    claimed_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "observation"
        indexes = [
            models.Index(
                fields=["kind", "next_attempt_at", "id"], condition=Q(state="pending"), name="observation_due"
            ),
            models.Index(fields=["created_at"], name="observation_by_age"),
            # The admin's search and filters, the newest first. Waiting rows are in none but the first.
            models.Index(fields=["concept", "-id"], name="observation_of_a_concept"),
            models.Index(fields=["outcome", "-id"], condition=Q(state="done"), name="observation_by_outcome"),
            models.Index(fields=["-id"], condition=Q(state="failed"), name="observation_failed"),
            models.Index(fields=["set_aside_by"], condition=~Q(set_aside_by=None), name="observation_set_aside"),
            models.Index(fields=["agent", "for_person"], condition=Q(kind="triple"), name="observation_of_a_speaker"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["digest", "concept", "parent", "dimension", "is_isa"],
                condition=Q(kind="triple"),
                name="observation_says_it_once",
            ),
            models.UniqueConstraint(
                fields=["concept"], condition=Q(kind="concept", state="pending"), name="observation_asks_once"
            ),
            models.CheckConstraint(
                condition=Exact(OctetLength("digest"), DIGEST_BYTES), name="observation_digest_is_whole"
            ),
            models.CheckConstraint(condition=Q(kind__in=["triple", "concept"]), name="observation_kind_is_known"),
            models.CheckConstraint(
                condition=Q(says__in=["states", "retracts", "changes", "corrects", "adds"]),
                name="observation_says_is_known",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["pending", "done", "failed"]), name="observation_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(kind="concept", parent="", dimension="")
                | ~Q(parent="") & ~Q(dimension="") & ~Q(concept=""),
                name="observation_triple_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(confidence__gte=0, confidence__lte=1), name="observation_confidence_is_in_range"
            ),
            models.CheckConstraint(condition=IS_CHANNEL, name="observation_channel_is_known"),
        ]

    def __str__(self) -> str:
        if self.kind == self.Kind.CONCEPT:
            return f"? {self.concept}"
        return format_fact(self.concept, self.parent, self.dimension, is_isa=self.is_isa)


class LlmCall(models.Model):
    """One call of a language model by Festinger itself, with its usage."""

    class Purpose(models.TextChoices):
        EXPLAIN = "explain", "explain a concept"
        RESOLVE = "resolve", "decide a conflict"
        TEST = "test", "test the connection"
        EMBED = "embed", "turn texts into vectors"
        COMPARE = "compare", "compare memories"
        EXTRACT = "extract", "find new memories"
        DETECT = "detect", "read a story"

    # Kept when the model's row is deleted: it counts for the day's budget.
    model = models.ForeignKey(LanguageModel, models.SET_NULL, null=True, related_name="calls")
    model_name = models.CharField(max_length=160)
    purpose = models.CharField(max_length=8, choices=Purpose)
    subject = models.CharField(max_length=200, blank=True, default="", db_default="")
    input_tokens = models.IntegerField(default=0, db_default=0)
    output_tokens = models.IntegerField(default=0, db_default=0)
    cost = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, help_text="In US dollars; unknown without the model's prices."
    )
    duration_ms = models.IntegerField(default=0, db_default=0)
    error = models.TextField(blank=True, default="", db_default="")
    request = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="The id of the request that it was made for."
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "llm_call"
        verbose_name = "call of a language model"
        verbose_name_plural = "calls of language models"
        indexes = [models.Index(fields=["at"], name="llm_call_by_age")]
        constraints = [
            models.CheckConstraint(
                condition=Q(purpose__in=["explain", "resolve", "test", "embed", "compare", "extract", "detect"]),
                name="llm_call_purpose_is_known",
            ),
            models.CheckConstraint(
                condition=Q(input_tokens__gte=0, output_tokens__gte=0, duration_ms__gte=0),
                name="llm_call_counts_are_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.subject} ({self.model_name})"
