"""Episodes (messages) and memories. The embeddings are in tables of their own, which only exist if Postgres has the
extension ``vector`` (memory/search/vectors)."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import models
from django.db.models import ExpressionWrapper, F, Func, Q, Value
from django.db.models.functions import Lower, Mod, Now
from django.db.models.lookups import Exact

from memory.english.phrases import shorten
from memory.models.constraints import one_of
from memory.models.forgetting import SetAside
from memory.models.graph import CHANNELS
from memory.models.messages import CONVERSATION_BYTES, DIGEST_BYTES, PromptOpening, of_length
from memory.models.operating import Project

EPISODE_CHARACTERS = 4_000
MEMORY_CHARACTERS = 500


class Cardinality(Func):
    """PostgreSQL's ``cardinality``."""

    function = "cardinality"
    output_field = models.IntegerField()


# With a lexeme of the speaker, so that the index finds words of one speaker alone: the words of all together, or all
# messages of one who said a million, are too many to go through for a prompt.
INDEXED_LEXEMES = Func(
    F("lexemes"),
    Func(
        Func(F("agent"), Value(" "), F("person"), arg_joiner=" || ", template="ARRAY[%(expressions)s]"),
        function="array_to_tsvector",
    ),
    # In the alphabetical order in which migrations have them: to Django they would differ otherwise.
    arg_joiner=" || ",
    output_field=SearchVectorField(),
    template="(%(expressions)s)",
)


@one_of("role")
class Episode(SetAside):
    """One message of a user or of the model, without what surrounds it, its secrets masked."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    digest = models.BinaryField(
        help_text="Of the message, as seen_message has it, and of who said it in which project."
    )
    conversation = models.BinaryField(help_text="The digest of its opening.")
    agent = models.CharField(max_length=120)
    person = models.CharField(max_length=200, blank=True, default="", db_default="")
    project = models.ForeignKey(Project, models.PROTECT, null=True, blank=True, related_name="episodes")
    role = models.CharField(max_length=10, choices=Role)
    text = models.CharField(max_length=EPISODE_CHARACTERS)
    # Start and end of each part that only passes on the words of others, in characters.
    quoted = ArrayField(models.IntegerField(), default=list, blank=True, db_default=[])
    # The same for each part that the speaker may or may not have written.
    unsure = ArrayField(models.IntegerField(), default=list, blank=True, db_default=[])
    is_fiction = models.BooleanField(
        default=False, db_default=False, help_text="It asks for a text, or tells a story: no memory is made of it."
    )
    place = models.BinaryField(null=True, blank=True, help_text="Where it stands in its conversation.")
    hidden_by = models.ForeignKey(
        PromptOpening, models.SET_NULL, null=True, blank=True, help_text="The template of a program that it came of."
    )
    unfit_for = ArrayField(
        models.BigIntegerField(), default=list, blank=True, db_default=[], editable=False,
        help_text="Messages: it is not injected into prompts that are more like one of them than like it.",
    )  # fmt: skip
    # Weight A: a user's own words; C: the model's answer; D: quotations in a message.
    lexemes = SearchVectorField(editable=False)
    said_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True, help_text="When it was looked through for memories.")
    attempts = models.IntegerField(default=0, db_default=0)
    next_attempt_at = models.DateTimeField(db_default=Now())
    claimed_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "episode"
        indexes = [
            # Each search scans the pending list: hence not the default of 4 MB.
            GinIndex(INDEXED_LEXEMES, gin_pending_list_limit=64, name="episode_words"),
            models.Index(fields=["agent", "person", "-id"], name="episode_of_a_speaker"),
            models.Index(fields=["project", "-id"], name="episode_of_a_project"),
            models.Index(fields=["conversation", "id"], name="episode_of_a_conversation"),
            models.Index(fields=["place"], condition=~Q(place=None), name="episode_at_a_place"),
            models.Index(fields=["set_aside_by"], condition=~Q(set_aside_by=None), name="episode_set_aside"),
            models.Index(fields=["said_at"], name="episode_by_age"),
            models.Index(fields=["next_attempt_at", "id"], condition=Q(read_at=None), name="episode_unread"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["digest"], name="episode_unique"),
            of_length("digest", DIGEST_BYTES, "episode_digest_is_whole"),
            of_length("conversation", CONVERSATION_BYTES, "episode_conversation_is_whole"),
            models.CheckConstraint(condition=~Q(text=""), name="episode_says_something"),
            models.CheckConstraint(
                condition=Exact(Mod(Cardinality("quoted"), 2), 0),
                name="episode_quoted_parts_have_two_ends",
            ),
        ]

    def __str__(self) -> str:
        return shorten(self.text, 80)


class ForgottenEpisode(models.Model):
    """The digest of a forgotten episode: clients resend messages, and it stays forgotten."""

    digest = models.BinaryField(primary_key=True)

    class Meta:
        db_table = "forgotten_episode"
        constraints = [of_length("digest", DIGEST_BYTES, "forgotten_episode_digest_is_whole")]

    def __str__(self) -> str:
        return bytes(self.digest).hex()


class ExtractionMark(models.Model):
    """The newest of a speaker's episodes in a project that a language model has searched for what is worth
    remembering."""

    agent = models.CharField(max_length=120)
    person = models.CharField(max_length=200, blank=True, default="", db_default="")
    project = models.ForeignKey(Project, models.CASCADE, null=True, db_index=False)
    episode = models.BigIntegerField(help_text="The id of the newest that was looked at; it may be gone.")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "extraction_mark"
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "person", "project"], nulls_distinct=False, name="extraction_mark_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent} until {self.episode}"


@one_of("category", "status", "source", "channel")
class Memory(SetAside):
    """A sentence that holds until another takes its place. Only memory/memories/store.py writes it."""

    class Category(models.TextChoices):
        IDENTITY = "identity"
        PREFERENCE = "preference"
        PROJECT = "project"
        EPISODIC = "episodic"
        OTHER = "other"

    class Status(models.TextChoices):
        CANDIDATE = "candidate", "candidate"
        ACTIVE = "active"
        DEPRECATED = "deprecated", "low confidence"
        MERGED_INTO = "merged_into", "merged into another"
        SUPERSEDED = "superseded", "replaced by a newer one"
        INVALID = "invalid", "taken back"

    class Source(models.TextChoices):
        STATED = "stated", "read in a message"
        EXTRACTED = "extracted", "a model concluded it"
        WRITTEN = "written", "written over HTTP, MCP or gutask"
        OPERATOR = "operator", "an operator"
        IMPORTED = "imported"

    text = models.CharField(max_length=MEMORY_CHARACTERS)
    category = models.CharField(max_length=10, choices=Category, default=Category.OTHER, db_default=Category.OTHER)
    project = models.ForeignKey(Project, models.PROTECT, null=True, blank=True, related_name="memories")
    agent = models.CharField(max_length=120)
    person = models.CharField(max_length=200, blank=True, default="", db_default="")
    slot = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="One memory of a slot is active; empty: none.",
    )
    other_slot = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="The slot of B, where A is preferred to B."
    )
    slot_version = models.SmallIntegerField(default=0, db_default=0, help_text="Of the rules that found the slot.")
    confidence = models.FloatField(default=1.0, db_default=1.0)
    status = models.CharField(max_length=11, choices=Status, default=Status.ACTIVE, db_default=Status.ACTIVE)
    is_disputed = models.BooleanField(
        "disputed", default=False, db_default=False, help_text="Whether another contradicts it, and nobody has decided."
    )
    source = models.CharField(max_length=10, choices=Source)
    channel = models.CharField(max_length=12, choices=CHANNELS, default="user", db_default="user")
    conversation = models.BinaryField(null=True, blank=True, help_text="Where it was said.")
    evidence_count = models.IntegerField(default=1, db_default=1)
    merged_into = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="merged")
    superseded_by = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="superseded")
    said_at = models.DateTimeField(db_default=Now())
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_updated = models.DateTimeField(db_default=Now(), help_text="The last evidence for it.")
    archived_at = models.DateTimeField(null=True, blank=True)
    embedded_at = models.DateTimeField(null=True, blank=True, help_text="Empty while it is found by its words only.")
    unfit_for = ArrayField(
        models.BigIntegerField(), default=list, blank=True, db_default=[], editable=False,
        help_text="Messages: it is not injected into prompts that are more like one of them than like it.",
    )  # fmt: skip
    lexemes = models.GeneratedField(
        expression=SearchVector("text", config="english"), output_field=SearchVectorField(), db_persist=True
    )
    is_personal = models.GeneratedField(  # memory.memories.store.is_personal
        expression=ExpressionWrapper(
            Q(category__in=["identity", "preference", "episodic"])
            | Q(category="project", project=None) & ~Q(person="")
            | Q(channel="explained"),
            output_field=models.BooleanField(),
        ),
        output_field=models.BooleanField(),
        db_persist=True,
    )

    class Meta:
        db_table = "memory"
        verbose_name_plural = "memories"
        indexes = [
            GinIndex(fields=["lexemes"], gin_pending_list_limit=64, name="memory_words"),
            models.Index(fields=["project", "category", "slot"], condition=~Q(slot=""), name="memory_of_a_slot"),
            models.Index(fields=["project", "category", "other_slot"], condition=~Q(other_slot=""), name="memory_of_b"),
            models.Index(Lower("text"), name="memory_by_text"),
            models.Index(fields=["agent", "person", "-id"], name="memory_of_a_speaker"),
            models.Index(fields=["project", "-id"], name="memory_of_a_project"),
            models.Index(fields=["status", "-id"], name="memory_by_status"),
            models.Index(fields=["-id"], condition=Q(embedded_at=None), name="memory_unembedded"),
            models.Index(fields=["set_aside_by"], condition=~Q(set_aside_by=None), name="memory_set_aside"),
        ]
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="memory_says_something"),
            models.CheckConstraint(
                condition=Q(confidence__gte=0, confidence__lte=1),
                name="memory_confidence_is_in_range",
                violation_error_message="Confidence is between 0 and 1.",
            ),
            models.CheckConstraint(condition=Q(evidence_count__gte=0), name="memory_evidence_is_counted"),
            models.CheckConstraint(
                condition=Q(merged_into=None) | Q(status="merged_into") & ~Q(merged_into=F("id")),
                name="memory_only_merged_ones_have_a_winner",
            ),
            models.CheckConstraint(
                condition=Q(superseded_by=None) | Q(status="superseded") & ~Q(superseded_by=F("id")),
                name="memory_only_superseded_ones_have_a_successor",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["candidate", "active"], archived_at=None)
                | ~Q(status__in=["candidate", "active"]) & Q(archived_at__isnull=False),
                name="memory_is_archived_when_it_holds_no_more",
            ),
        ]

    def __str__(self) -> str:
        return self.text


@one_of("kind")
class MemoryLineage(models.Model):
    """One row that a memory was derived from, or that supports it."""

    class Kind(models.TextChoices):
        MEMORY = "memory"
        EPISODE = "episode"

    memory = models.ForeignKey(Memory, models.CASCADE, db_index=False, related_name="lineage")
    kind = models.CharField(max_length=8, choices=Kind)
    row = models.BigIntegerField(help_text="The id of the episode or the memory; it may be gone.")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "memory_lineage"
        verbose_name_plural = "lineage of memories"
        indexes = [models.Index(fields=["kind", "row"], name="memory_lineage_by_row")]
        constraints = [models.UniqueConstraint(fields=["memory", "kind", "row"], name="memory_lineage_unique")]

    def __str__(self) -> str:
        return f"{self.memory_id} from {self.kind} {self.row}"


@one_of("action", "channel")
class MemoryHistory(models.Model):
    """A change of a memory. Rows are deleted only with a memory that is forgotten."""

    class Action(models.TextChoices):
        CREATE = "create"
        CONFIRM = "confirm"
        EDIT = "edit"
        PROMOTE = "promote"
        DISPUTE = "dispute"
        SUPERSEDE = "supersede"
        MERGE = "merge"
        DEPRECATE = "deprecate"
        INVALIDATE = "invalidate"
        RESTORE = "restore"
        KEEP = "keep", "keep beside another"
        UNDO = "undo"
        QUARANTINE = "quarantine"

    memory = models.ForeignKey(Memory, models.CASCADE, db_index=False, related_name="history")
    action = models.CharField(max_length=10, choices=Action)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    actor = models.CharField(max_length=120)
    channel = models.CharField(max_length=12, choices=CHANNELS, default="user", db_default="user")
    conversation = models.BinaryField(null=True, blank=True)
    reason = models.TextField(blank=True, default="", db_default="")
    run = models.BigIntegerField(
        null=True, blank=True, help_text="Of the consolidation or the quarantine that made the change."
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "memory_history"
        verbose_name = "change of a memory"
        verbose_name_plural = "changes of memories"
        indexes = [
            models.Index(fields=["memory", "-id"], name="memory_history_of_a_memory"),
            models.Index(fields=["action", "-id"], name="memory_history_by_action"),
            models.Index(fields=["run", "memory"], condition=~Q(run=None), name="memory_history_of_a_run"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.memory_id}"


@one_of("kind")
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
            of_length("conversation", CONVERSATION_BYTES, "given_note_conversation_is_whole"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.row} to {self.request}"
