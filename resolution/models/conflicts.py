"""The models of conflicts, their members, and the claims that the graph refused."""

from typing import Final

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Now
from django.urls import reverse

from memory.english.phrases import as_compact
from memory.graph.store import Attribution
from memory.models import Soas, Source
from memory.models.constraints import one_of
from memory.models.graph import CHANNELS
from memory.types import Slot, Triple, TripleIds


class CollisionType(models.TextChoices):
    ISA_ISA = "isa_isa", "two types"
    ISPART_ISPART = "ispart_ispart", "two values"
    MISCLASSIFICATION = "misclassification", "type or membership?"
    CYCLE = "cycle", "a cycle"
    RETRACTION = "retraction", "a fact taken back"


class SplitWords(Func):
    """Texts with their words separated by spaces: ``lateral_support-material`` becomes three words."""

    template = r"regexp_replace(%(expressions)s, '[\W_]+', ' ', 'g')"
    arg_joiner = " || ' ' || "
    output_field = models.TextField()


class SimpleTsVector(Func):
    """The words of an unjoined text, in order, as a search vector that an index can hold."""

    template = "to_tsvector('simple'::regconfig, %(expressions)s)"
    output_field = SearchVectorField()


class JsonValues(Func):
    """The values of a JSON object, without its keys."""

    template = "jsonb_path_query_array(%(expressions)s, '$.*')::text"
    output_field = models.TextField()


# The words that a conflict is about. Conflicts about an edge's slot have a concept and a dimension instead.
SLOT_WORDS: Final = SimpleTsVector(SplitWords(JsonValues("slot_key"), "question"))
TEXT_WORDS: Final = SimpleTsVector(SplitWords("text"))  # the words of a member


@one_of("tier", slot_kind="conflict_kind_is_known", status="conflict_state_is_known")
class Conflict(models.Model):
    """Rows of any layers that say different things about one slot, or a question about a story. A slot has at most one
    open conflict. It is open while one of its claims is open or two of its other members dispute each other; triggers
    keep its status in step with its members (sql/triggers.sql)."""

    class Kind(models.TextChoices):
        """The layers of the members; a trigger derives it from them."""

        EDGE_SLOT = "edge_slot", "facts"
        MEMORY_SLOT = "memory_slot", "memories"
        CROSS_LAYER = "cross_layer", "project state, facts and memories"
        NARRATIVE = "narrative", "open question"

    class Tier(models.TextChoices):
        """The method that found the conflict."""

        SLOT = "slot", "the same slot"
        NUMBERS = "numbers", "another number"
        OPPOSITION = "opposition", "alike, and opposed"
        REVERSAL = "reversal", "reverted value"
        MODEL = "model", "a language model"

    class Status(models.TextChoices):
        OPEN = "open"
        RESOLVED = "resolved"
        DISMISSED = "dismissed"

    slot_kind = models.CharField("kind", max_length=12, choices=Kind, default=Kind.MEMORY_SLOT)
    owner = models.TextField(
        blank=True, default="", db_default="", help_text="Whose slot it is; empty if it is everybody's."
    )
    key = models.TextField(help_text="The slot: the stems of what it is about, in order.")
    slot_key = models.JSONField(help_text="The slot in words: of a fact, concept and dimension.")
    tier = models.CharField("found by", max_length=10, choices=Tier, default=Tier.SLOT, db_default=Tier.SLOT)
    concept = models.ForeignKey(Soas, models.PROTECT, null=True, related_name="conflicts")
    dim = models.ForeignKey(
        Soas, models.PROTECT, null=True, related_name="dimension_conflicts", verbose_name="dimension"
    )
    project = models.CharField(max_length=64, blank=True, default="", db_default="")
    is_of_one_speaker = models.BooleanField(
        default=False,
        db_default=False,
        help_text="One person said all of it: did they change their mind?",
    )
    status = models.CharField(max_length=9, choices=Status, default=Status.OPEN, db_default=Status.OPEN)
    priority = models.SmallIntegerField(default=0, db_default=0, help_text="The highest of its claims.")
    question = models.TextField(blank=True, default="", db_default="")
    resolution = models.JSONField(null=True, blank=True, help_text="How it was decided, or why it closed.")
    detected_at = models.DateTimeField(db_default=Now())
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "conflict"
        indexes = [
            models.Index(fields=["status", "-priority", "detected_at", "id"], name="conflict_by_status"),
            models.Index(fields=["concept", "dim"], name="conflict_of_a_slot"),
            GinIndex(SLOT_WORDS, condition=~Q(slot_kind="edge_slot"), name="conflict_words"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["owner", "key"], condition=Q(status="open"), name="conflict_is_open_once"),
            models.CheckConstraint(
                condition=Q(slot_kind="narrative") & ~Q(question="") | ~Q(slot_kind="narrative") & Q(question=""),
                name="conflict_of_a_story_asks_something",
            ),
            models.CheckConstraint(
                condition=~Q(slot_kind="edge_slot") | Q(concept__isnull=False, dim__isnull=False),
                name="conflict_about_an_edge_has_its_slot",
            ),
        ]

    def __str__(self) -> str:
        if self.concept_id is not None and not self.question:
            return f"{self.concept} [{self.dim}]"
        return self.question or f"{self.get_slot_kind_display()} {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("admin:resolution_conflict_change", args=[self.pk])

    @property
    def slot(self) -> Slot:
        assert self.concept_id is not None
        assert self.dim_id is not None
        return self.concept_id, self.dim_id


@one_of("kind")
class ConflictMember(models.Model):
    """A side of a conflict and the speakers behind it: ``support`` holds pairs of agent and channel, in the order in
    which they were heard."""

    class Kind(models.TextChoices):
        CLAIM = "claim"
        EDGE = "edge", "fact"
        EDGE_HISTORY = "edge_history", "earlier fact"
        MEMORY = "memory"
        PROJECT_STATE = "project_state", "project state"

    TRUST = {Kind.MEMORY: 1, Kind.CLAIM: 2, Kind.EDGE: 2, Kind.EDGE_HISTORY: 2, Kind.PROJECT_STATE: 3}

    SUPPORT_MAX = 50  # voices; more would tell nothing new

    conflict = models.ForeignKey(Conflict, models.CASCADE, related_name="members")
    kind = models.CharField(max_length=16, choices=Kind)
    object_id = models.BigIntegerField(help_text="The row of its table; a claim's is resolution_queue.")
    trust = models.SmallIntegerField(default=2, db_default=2, help_text="The layer: 1 memories, 2 facts, 3 state.")
    support = models.JSONField(default=list)
    text = models.CharField(
        max_length=600, blank=True, default="", db_default="", help_text="What it said when it became a member."
    )
    conflicts_with = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="+",
        help_text="Across layers: the member of the highest layer, which it contradicts.",
    )  # fmt: skip
    is_asked = models.BooleanField(
        default=False, db_default=False, help_text="Whether the question is if this one still holds."
    )

    class Meta:
        db_table = "conflict_member"
        indexes = [
            models.Index(fields=["conflict"], name="conflict_member_by_conflict"),
            GinIndex(TEXT_WORDS, condition=~Q(kind="claim"), name="conflict_member_words"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["kind", "object_id", "conflict"], name="conflict_member_is_in_it_once"),
            models.UniqueConstraint(
                fields=["conflict"], condition=Q(is_asked=True), name="conflict_asks_about_one_member"
            ),
            models.CheckConstraint(condition=Q(trust__gte=1, trust__lte=3), name="conflict_member_trust_is_a_layer"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id} of conflict {self.conflict_id}"


@one_of(
    collision_type="conflict_type_is_known",
    status="conflict_status_is_known",
    incoming_source="conflict_source_is_known",
    channel="conflict_channel_is_known",
)
class Claim(models.Model):
    """A row of the resolution queue: an incoming fact that the graph refused, and what it collided with. It is a member
    of its slot's conflict."""

    class Status(models.TextChoices):
        PENDING = "pending"
        PROPOSED = "proposed"
        RESOLVED = "resolved"
        DISMISSED = "dismissed"

    conflict = models.ForeignKey(Conflict, models.PROTECT, editable=False, related_name="claims")
    concept = models.ForeignKey(Soas, models.PROTECT, related_name="claims")
    dim = models.ForeignKey(Soas, models.PROTECT, related_name="dimension_claims", verbose_name="dimension")
    existing_parent = models.ForeignKey(Soas, models.PROTECT, null=True, blank=True, related_name="claims_as_existing")
    incoming_parent = models.ForeignKey(Soas, models.PROTECT, related_name="claims_as_incoming")
    blocking_concept = models.ForeignKey(
        Soas, models.PROTECT, null=True, blank=True, related_name="claims_as_blocking",
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
        "Run", models.SET_NULL, null=True, blank=True, related_name="claims",
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
        default_permissions = ()  # the permissions for its conflict apply
        indexes = [
            models.Index(fields=["status", "-priority", "created_at"], name="conflict_in_order"),
            # Open claims, with or without a proposal, in the order in which they are decided.
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
                condition=Q(collision_type="cycle") | Q(existing_parent__isnull=False),
                name="conflict_has_an_existing_parent",
            ),
            models.CheckConstraint(
                condition=Q(existing_parent__isnull=True)
                | ~Q(existing_parent=F("incoming_parent")) & ~Q(collision_type="retraction")
                | Q(existing_parent=F("incoming_parent"), collision_type="retraction"),
                name="conflict_has_two_sides",
            ),
            models.CheckConstraint(
                condition=Q(incoming_confidence__gte=0, incoming_confidence__lte=1),
                name="conflict_confidence_is_in_range",
            ),
        ]

    def __str__(self) -> str:
        if self.existing_parent is None:
            return f"{self.concept} [{self.dim}]: {self.incoming_parent}, which closes a cycle"
        if self.is_retraction:
            return f"{self.concept} [{self.dim}]: no longer {self.existing_parent}"
        return f"{self.concept} [{self.dim}]: {self.existing_parent} or {self.incoming_parent}"

    def get_absolute_url(self) -> str:
        """Return the address of its conflict's page, with this claim in view."""
        return f"{reverse('admin:resolution_conflict_change', args=[self.conflict_id])}?member={self.pk}"

    @property
    def slot(self) -> Slot:
        return self.concept_id, self.dim_id

    @property
    def incoming(self) -> TripleIds:
        return TripleIds(self.concept_id, self.dim_id, self.incoming_parent_id)

    @property
    def fact(self) -> Triple:
        return Triple(self.concept.token, self.incoming_parent.token, self.dim.token, self.incoming_is_isa)

    @property
    def existing(self) -> TripleIds | None:
        """The fact that it collided with in its slot; None for a cycle."""
        return self.incoming._replace(parent_id=self.existing_parent_id) if self.existing_parent_id else None

    @property
    def existing_words(self) -> str:
        """The fact that it collided with in words, as far as the queue knows it."""
        if self.existing_parent is None:
            return f"a fact about {self.blocking_concept or self.incoming_parent} [{self.dim}]"
        return as_compact(self.concept.shown, self.existing_parent.shown, self.dim.token, is_isa=self.existing_is_isa)

    @property
    def is_retraction(self) -> bool:
        """True if it retracts the current fact: then incoming and existing parent are the same."""
        return self.collision_type == CollisionType.RETRACTION

    @property
    def existing_is_isa(self) -> bool:
        """True if the fact that it collided with in its slot is ISA."""
        return self.incoming_is_isa != (self.collision_type == CollisionType.MISCLASSIFICATION)

    @property
    def words(self) -> str:
        """The statement in words, for people."""
        fact = as_compact(self.concept.shown, self.incoming_parent.shown, self.dim.token, is_isa=self.incoming_is_isa)
        return f"no longer: {fact}" if self.is_retraction else fact

    @property
    def places(self) -> list[TripleIds]:
        """The places of the facts that may be in its way: its own and, for a cycle, that of the edge that closes it."""
        if self.blocking_concept_id is None:
            return [self.incoming]
        return [self.incoming, TripleIds(self.blocking_concept_id, self.dim_id, self.concept_id)]

    @property
    def incoming_text(self) -> str:
        return f"{self.concept} {'-isa' if self.incoming_is_isa else '-ispart'} {self.incoming_parent}"

    @property
    def attribution(self) -> Attribution:
        return Attribution(
            agent=self.agent, source=Source(self.incoming_source), confidence=self.incoming_confidence, at=self.said_at,
            evidence=self.evidence, role=self.role, conversation=bytes(self.conversation), channel=self.channel,
        )  # fmt: skip

    @property
    def against(self) -> tuple[int | None, int | None, str]:
        """The fact that the claim collides with, and how. If this changes, there is another question to decide."""
        return self.existing_parent_id, self.blocking_concept_id, self.collision_type
