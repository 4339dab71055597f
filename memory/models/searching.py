"""Tables of the search beside the texts: embedders, the queue of texts to embed, frequencies of English words.

The vectors are in tables of their own, which only exist if Postgres has the extension ``vector``
(memory/search/vectors/schema.py)."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memory.models.constraints import one_of

DIMENSIONS_MAX = 4_000  # the most that pgvector can index


class TextKind(models.TextChoices):
    MEMORY = "memory"
    EPISODE = "episode"


class Embedder(models.Model):
    """An embedder that turned texts into vectors: only vectors of the same one are compared."""

    name = models.CharField(max_length=200, help_text="The setting, and for a language model its name.")
    dimensions = models.IntegerField(null=True, blank=True, help_text="Empty until the first vector is there.")
    is_current = models.BooleanField(default=False, db_default=False)
    noise_mean = models.FloatField(
        null=True,
        blank=True,
        help_text="Of the cosine of texts that have nothing to do with each other.",
    )
    noise_deviation = models.FloatField(
        null=True, blank=True, help_text="The standard deviation of that. Both are empty until they are measured."
    )
    last_error = models.TextField(blank=True, default="", db_default="", help_text="Empty once it does well again.")
    failed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "embedder"
        constraints = [
            models.UniqueConstraint(fields=["name"], name="embedder_unique"),
            models.UniqueConstraint(
                fields=["is_current"], condition=Q(is_current=True), name="embedder_one_is_current"
            ),
            models.CheckConstraint(
                condition=Q(dimensions__gte=1, dimensions__lte=DIMENSIONS_MAX),
                name="embedder_dimensions_are_in_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name if self.dimensions is None else f"{self.name} ({self.dimensions})"


@one_of("kind")
class PendingEmbedding(models.Model):
    """A text that waits for its vector. Triggers add the row; the worker that takes it postpones ``next_attempt_at``,
    so that the row comes again if the worker dies, and deletes the row when the vector is stored."""

    # Not columns of the texts' own tables, where each change would write all their indexes anew.

    pk = models.CompositePrimaryKey("kind", "row")
    kind = models.CharField(max_length=7, choices=TextKind)
    row = models.BigIntegerField(help_text="The id of the memory or episode; it may be gone.")
    attempts = models.SmallIntegerField(default=0, db_default=0)
    next_attempt_at = models.DateTimeField(db_default=Now())
    last_error = models.TextField(blank=True, default="", db_default="")

    class Meta:
        db_table = "pending_embedding"

    def __str__(self) -> str:
        return f"{self.kind} {self.row}"


class EnglishLexeme(models.Model):
    """A stemmed English word and its frequency: rare words of a query count for more. The rarest have no row."""

    lexeme = models.TextField(primary_key=True)
    messages = models.IntegerField(help_text="That have it, of a million short ones.")

    class Meta:
        db_table = "english_lexeme"
        default_permissions = ()
        constraints = [models.CheckConstraint(condition=Q(messages__gte=0), name="english_lexeme_messages_are_counted")]

    def __str__(self) -> str:
        return self.lexeme
