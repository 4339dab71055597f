"""The queue of statements and unknown concepts on their way into the graph."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memory.english.phrases import as_compact
from memory.models.constraints import one_of
from memory.models.forgetting import SetAside
from memory.models.graph import CHANNELS
from memory.models.messages import DIGEST_BYTES, of_length


@one_of("kind", "says", "state", "channel")
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
        OUTDATED = "outdated", "older than the current statement"
        CANDIDATE = "candidate", "candidate"
        OVER_QUOTA = "over_quota", "too much was said in that hour"
        INVALID = "invalid"
        EXPLAINED = "explained", "explained by a language model"
        UNKNOWN = "unknown", "unknown to the language model"
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
            of_length("digest", DIGEST_BYTES, "observation_digest_is_whole"),
            models.CheckConstraint(
                condition=Q(kind="concept", parent="", dimension="")
                | ~Q(parent="") & ~Q(dimension="") & ~Q(concept=""),
                name="observation_triple_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(confidence__gte=0, confidence__lte=1), name="observation_confidence_is_in_range"
            ),
        ]

    def __str__(self) -> str:
        if self.kind == self.Kind.CONCEPT:
            return f"? {self.concept}"
        return as_compact(self.concept, self.parent, self.dimension, is_isa=self.is_isa)
