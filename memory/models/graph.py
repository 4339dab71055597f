"""The vocabulary (SOAS), the concept graph (URD), its dimensions, and the history of its edges."""

import re

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.fields.array import ArrayContains  # type: ignore[attr-defined]  # it is there
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Lower, Now, Replace

from memory.attribution.client_names import Supporter
from memory.channels import Channel
from memory.english.phrases import as_compact, as_predicate
from memory.models.constraints import one_of
from memory.types import Place, Triple, TripleIds, place_of


class NormalForm(models.Func):
    """PostgreSQL's ``normalize(text, NFKC)``."""

    function = "normalize"
    template = "%(function)s(%(expressions)s, NFKC)"
    output_field = models.CharField()


CHANNELS = [
    (Channel.OPERATOR.value, "an operator"),
    (Channel.GUTASK.value, "gutask"),
    (Channel.USER.value, "a user's message"),
    (Channel.UNSURE.value, "a long message"),
    (Channel.EXPLAINED.value, "explained by a model"),
    (Channel.ASSISTANT.value, "the assistant's words"),
    (Channel.QUOTED.value, "quoted"),
]


class Source(models.TextChoices):
    """The part that put a fact into the graph."""

    CLOUD_LLM = "cloud_llm", "language model"
    INFERRED = "inferred", "read in a prompt"
    FESTINGER = "festinger", "resolution"
    GUTASK = "gutask", "gutask"
    OPERATOR = "operator", "operator"


JOINTS = "[_.'@+-]"  # joins the parts of a name


def parts_of(token: str) -> models.Func:
    """Return the parts of a name, as SQL: those of ``glitch_university`` are glitch and university."""
    return models.Func(
        F(token), Value(JOINTS), function="regexp_split_to_array", output_field=ArrayField(models.TextField())
    )


def find_by_part(text: str) -> Q:
    """Find the tokens that begin with the text or contain it as a part: university finds glitch_university. Uses
    indexes."""
    has_part = Q(token__regex=JOINTS) & Q(ArrayContains(parts_of("token"), [text]))
    return Q(token__startswith=text) | has_part


def find_called_like(text: str, name: str = "token") -> Q:
    """Find the rows with a name of which a part begins with the text: univ finds glitch_university. Reads all of them,
    0.2 s for a million tokens."""
    # LIKE comes first: it is faster than the regular expression, and leaves it few names.
    within = Q(**{f"{name}__contains": text}) & Q(**{f"{name}__regex": JOINTS + re.escape(text)})
    return Q(**{f"{name}__startswith": text}) | within


class Soas(models.Model):
    """A token of the vocabulary: a concept, a dimension's name, or a common word."""

    id = models.AutoField(primary_key=True)
    token = models.CharField(max_length=64)
    label = models.CharField(
        max_length=64, blank=True, default="", db_default="",
        help_text="As it is typed, where that is not the token: PEEK polymer for peek_polymer.",
    )  # fmt: skip
    is_common = models.BooleanField(
        default=False, db_default=False, help_text="An English dictionary word: its saliency stays 0."
    )
    is_muted = models.BooleanField(
        default=False, db_default=False, help_text="Never recalled, asked about or sent to a language model."
    )
    encounter_count = models.IntegerField(default=0, db_default=0)
    saliency = models.FloatField(default=0.0, db_default=0.0, help_text="log10 of the encounters.")
    novelty = models.FloatField(
        default=0.0, db_default=0.0, help_text="1 once a fact with this concept as subject was placed."
    )
    conversation_count = models.IntegerField(
        default=0, db_default=0, help_text="Conversations whose users spoke of it while it had no facts."
    )
    asked_count = models.IntegerField(default=0, db_default=0)
    write_attempts = models.IntegerField(default=0, db_default=0)
    last_seen = models.DateTimeField(null=True, blank=True)
    asked_at = models.DateTimeField(null=True, blank=True)
    write_attempted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "soas"
        verbose_name = "concept"
        indexes = [
            # By saliency, not by encounters: the most counted words are common words, whose saliency stays 0, and a row
            # without a changed indexed value is updated without touching any index.
            models.Index(fields=["-saliency", "-id"], name="soas_most_salient_first"),
            models.Index(fields=["-saliency", "-id"], condition=Q(is_common=True), name="soas_common"),
            models.Index(fields=["-saliency", "-id"], condition=Q(is_muted=True), name="soas_muted"),
            models.Index(fields=["-saliency", "-id"], condition=Q(conversation_count__gt=0), name="soas_spoken_of"),
            # The admin's searches. Names of one part have nothing in it.
            GinIndex(parts_of("token"), condition=Q(token__regex=JOINTS), name="soas_by_part"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["token"], name="soas_token_unique", violation_error_message="This token exists."
            ),
            models.CheckConstraint(
                condition=Q(token=NormalForm(Lower("token"))),
                name="soas_token_is_normal",
                violation_error_message="A token is written in lower case and in Unicode's NFKC.",
            ),
            models.CheckConstraint(
                # Stored names are printed into prompts: nothing in them may end a line or a block.
                condition=Q(token__regex=r"""^[^[:space:][:cntrl:]<>"`\\/:=(){}\[\],;!?]+$"""),
                name="soas_token_stays_in_its_alphabet",
                violation_error_message="A token is letters and digits, joined by _ - . ' @ or +.",
            ),
            models.CheckConstraint(
                # The same name, so the rules for tokens in prompts apply to labels.
                condition=Q(label="") | Q(token=NormalForm(Lower(Replace("label", Value(" "), Value("_"))))),
                name="soas_label_spells_the_token",
                violation_error_message="A label is the token in other letters, with spaces for _.",
            ),
            models.CheckConstraint(
                condition=Q(
                    encounter_count__gte=0, conversation_count__gte=0, asked_count__gte=0, write_attempts__gte=0
                ),
                name="soas_counts_are_not_negative",
                violation_error_message="Counts start at 0.",
            ),
            models.CheckConstraint(
                condition=Q(saliency__gte=0, novelty__gte=0, novelty__lte=1),
                name="soas_scores_are_in_range",
                violation_error_message="Saliency is at least 0, novelty between 0 and 1.",
            ),
        ]

    def __str__(self) -> str:
        return self.token

    @property
    def shown(self) -> str:
        """The name as people typed it."""
        return self.label or self.token


@one_of("channel")
class Alias(models.Model):
    """Another name of a concept. Triggers (sql/triggers.sql) keep its word out of the graph: facts are about the
    concept, and the concept is not an alias itself."""

    soas = models.OneToOneField(Soas, models.PROTECT, primary_key=True, db_column="id", related_name="alias")
    concept = models.ForeignKey(Soas, models.PROTECT, related_name="aliases")
    channel = models.CharField(max_length=12, choices=CHANNELS, help_text="A weaker one neither changes nor ends it.")
    agent = models.CharField(max_length=120)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "alias"
        verbose_name_plural = "aliases"
        constraints = [
            models.CheckConstraint(
                condition=~Q(soas=F("concept")),
                name="alias_is_another_name",
                violation_error_message="A concept is no alias of itself.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.soas} = {self.concept}"


class Dimension(models.Model):
    """A concept that serves as a dimension. It exists exactly as long as its root edge."""

    class OnCollision(models.TextChoices):
        QUEUE = "queue", "open a conflict"
        SUPERSEDE = "supersede", "the newer wins"
        KEEP_ALL = "keep_all", "keep all"

    soas = models.OneToOneField(Soas, models.PROTECT, primary_key=True, db_column="id", related_name="dimension")
    question = models.CharField(
        max_length=200, blank=True, default="", db_default="",
        help_text="What a fact in this dimension answers. Language models are shown it, too.",
    )  # fmt: skip
    is_isa = models.BooleanField(help_text="Whether a fact here says what a thing is (else what it is part of).")
    on_collision = models.CharField(
        max_length=16, choices=OnCollision, default=OnCollision.QUEUE, db_default=OnCollision.QUEUE,
        help_text="What becomes of a statement whose slot is taken. Queue: it waits in the conflicts, the world stays"
        " as it is. The newer wins: what was said later stands at once, the other goes into the history. Keep all: a"
        " concept may have several facts here, which stand beside each other.",
    )  # fmt: skip
    # The facts refer to it: Postgres carries a change to all of them, or refuses it (sql/triggers.sql).
    is_additive = models.GeneratedField(
        expression=Q(on_collision="keep_all"),  # type: ignore[arg-type]  # a condition is an expression, too
        output_field=models.BooleanField(),
        db_persist=True,
    )
    split_from = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="splits",
        help_text="The dimension this one was decomposed from.",
    )  # fmt: skip

    class Meta:
        db_table = "dimension"
        constraints = [
            models.CheckConstraint(
                condition=Q(on_collision__in=["queue", "supersede", "keep_all"]),
                name="dimension_on_collision_is_known",
                violation_error_message="On a collision a dimension queues, supersedes or keeps all.",
            ),
            models.CheckConstraint(
                condition=~Q(split_from=F("soas")),
                name="dimension_is_not_split_from_itself",
                violation_error_message="A dimension cannot be split from itself.",
            ),
        ]

    def __str__(self) -> str:
        return self.soas.token


@one_of("channel")
class Edge(models.Model):
    """A row of URD: the concept is IN the parent, in one dimension."""

    # The concept's column is ``id``, as in the canonical recollection query; the admin needs a key of one column.
    edge_id = models.BigAutoField(primary_key=True)
    # No index of its own: urd_unique_triple begins with it.
    concept = models.ForeignKey(Soas, models.PROTECT, db_column="id", db_index=False, related_name="edges")
    parent = models.ForeignKey(Soas, models.PROTECT, related_name="children")
    # Indexed together with the concept: with an index of its own the trigger against cycles would walk whole
    # dimensions. Its foreign key is the one below, of two columns.
    dim = models.ForeignKey(
        Soas, models.PROTECT, db_index=False, db_constraint=False, related_name="dimension_edges",
        verbose_name="dimension",
    )  # fmt: skip
    is_additive = models.BooleanField(
        default=False, db_default=False, editable=False,
        help_text="Whether its dimension keeps all: with it a foreign key to the dimension (sql/triggers.sql).",
    )  # fmt: skip
    is_isa = models.BooleanField()
    confidence = models.FloatField(default=1.0, db_default=1.0)
    source = models.CharField(max_length=16, choices=Source)
    channel = models.CharField(max_length=12, choices=CHANNELS, default="user", db_default="user")
    agent = models.CharField(max_length=120, blank=True, default="", db_default="")
    is_corroborated = models.BooleanField(
        default=False, db_default=False, help_text="Whether several agents have stated it, each by itself."
    )
    said_at = models.DateTimeField(
        db_default=Now(), help_text="When it was last stated; of two statements the later one supersedes."
    )
    last_confirmed = models.DateTimeField(db_default=Now())

    # The id of the oldest open conflict that it is a member of, for those who have asked.
    disputed_in: int | None = None

    class Meta:
        db_table = "urd"
        verbose_name = "fact"  # as operators call it
        indexes = [models.Index(fields=["dim", "concept"], name="urd_by_dimension")]
        constraints = [
            models.UniqueConstraint(fields=["concept", "parent", "dim"], name="urd_unique_triple"),
            models.UniqueConstraint(
                fields=["concept", "dim"],
                condition=Q(is_additive=False),
                name="urd_one_parent_per_dimension",
                violation_error_message="This concept already has a parent in this dimension.",
            ),
            models.CheckConstraint(
                condition=~Q(concept=F("parent")) | Q(concept=F("parent"), parent=F("dim")),
                name="urd_only_roots_refer_to_themselves",
                violation_error_message="A concept cannot be its own parent.",
            ),
            models.CheckConstraint(
                condition=Q(is_additive=False) | ~Q(concept=F("dim")) | Q(concept=F("parent")),
                name="urd_root_has_its_slot_alone",
                violation_error_message="A dimension holds no fact about itself.",
            ),
            models.CheckConstraint(
                condition=Q(confidence__gte=0, confidence__lte=1),
                name="urd_confidence_is_in_range",
                violation_error_message="Confidence is between 0 and 1.",
            ),
            models.CheckConstraint(
                condition=Q(source__in=["cloud_llm", "inferred", "festinger", "gutask", "operator"]),
                name="urd_source_is_known",
                violation_error_message="The source is not known.",
            ),
        ]

    def __str__(self) -> str:
        return as_compact(self.concept.shown, self.parent.shown, self.dim.token, is_isa=self.is_isa)

    @property
    def fact(self) -> Triple:
        return Triple(self.concept.token, self.parent.token, self.dim.token, self.is_isa)

    @property
    def ids(self) -> TripleIds:
        return TripleIds(self.concept_id, self.dim_id, self.parent_id)

    @property
    def is_root(self) -> bool:
        return self.concept_id == self.parent_id == self.dim_id

    @property
    def place(self) -> Place:
        return place_of(self.concept_id, self.dim_id, self.parent_id, is_additive=self.is_additive)

    @property
    def relation(self) -> str:
        """The words between concept and parent."""
        return as_predicate(self.parent.token, self.dim.token, is_isa=self.is_isa)


@one_of("kind", "channel")
class Support(models.Model):
    """A supporter of a row (memory.attribution.client_names.Supporter). A fact that leaves the graph keeps its rows, by
    the key under which it may return."""

    class Kind(models.TextChoices):
        EDGE = "edge", "fact"

    kind = models.CharField(max_length=16, choices=Kind)
    object_id = models.BigIntegerField()
    agent = models.CharField(max_length=120, blank=True)
    person = models.CharField(max_length=200, blank=True, default="", db_default="")
    channel = models.CharField(max_length=12, choices=CHANNELS, help_text="The strongest it was stated through.")
    is_partial = models.BooleanField(
        default=False, db_default=False, help_text="Whether it only stated less: an app, of a Flask app."
    )
    said_at = models.DateTimeField(help_text="When it was first stated.")
    confirmed_at = models.DateTimeField(null=True, help_text="When the history last noted a repeat.")

    class Meta:
        db_table = "support"
        default_permissions = ()
        indexes = [models.Index(fields=["agent", "kind"], name="support_by_agent")]
        constraints = [
            models.UniqueConstraint(fields=["kind", "object_id", "agent", "person"], name="support_counts_once")
        ]

    def __str__(self) -> str:
        return f"{self.agent} ({self.person})" if self.person else self.agent

    @property
    def supporter(self) -> Supporter:
        return Supporter(self.agent, self.person)


@one_of("action", "channel")
class EdgeHistory(models.Model):
    """A change of an edge. Append-only: triggers refuse changes (sql/triggers.sql)."""

    # Without a foreign key to the edge, which may be gone: the history identifies it by its slot.

    class Action(models.TextChoices):
        INSERT = "insert"
        CONFIRM = "confirm"
        SUPERSEDE = "supersede"
        RETIRE = "retire"
        MOVE = "move"
        UNDO = "undo"

    # No index of its own: edge_history_of_a_slot begins with it.
    concept = models.ForeignKey(Soas, models.PROTECT, db_index=False, related_name="history")
    dim = models.ForeignKey(Soas, models.PROTECT, related_name="dimension_history", verbose_name="dimension")
    action = models.CharField(max_length=16, choices=Action)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    actor = models.CharField(max_length=120)
    role = models.CharField(max_length=16, blank=True, default="", db_default="")
    source = models.CharField(max_length=16, choices=Source)
    channel = models.CharField(max_length=12, choices=CHANNELS, default="user", db_default="user")
    conversation = models.BinaryField(null=True, blank=True, help_text="The digest of its opening, where it was said.")
    reason = models.TextField(blank=True, default="", db_default="")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "edge_history"
        verbose_name = "change of a fact"
        verbose_name_plural = "changes of facts"
        indexes = [
            models.Index(fields=["concept", "dim", "-at"], name="edge_history_of_a_slot"),
            # The admin's filters, the newest first.
            models.Index(fields=["action", "-id"], name="edge_history_by_action"),
            models.Index(fields=["source", "-id"], name="edge_history_by_source"),
            # For a project: what its agents have said, and what was said in its conversations.
            models.Index(fields=["actor", "-id"], name="edge_history_by_actor"),
            models.Index(fields=["conversation"], condition=~Q(conversation=None), name="edge_history_by_conversation"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.concept} [{self.dim}]"
