"""The records of what was done to prompts, for those who ask why; answers to repeat; and the failed log-ins."""

from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Mod, Now
from django.db.models.lookups import Exact, In

from memory.graph.statement import PERSON_MAX
from memory.models.constraints import one_of
from memory.models.messages import OctetLength
from memory.timing import REQUESTS_KEPT_DAYS

EVENTS_KEPT = timedelta(days=REQUESTS_KEPT_DAYS)
LINK_BYTES = 16
DIGEST_BYTES = 32
HOUR_S = 3600


class Epoch(models.Func):
    """Seconds since 1970, whatever the time zone of the session is."""

    template = "extract(epoch FROM %(expressions)s)"
    output_field = models.DecimalField()


class PromptEvent(models.Model):
    """A record of one request: who sent it, when, in which format."""

    agent = models.CharField(max_length=120)
    model = models.CharField(max_length=200)
    wire = models.CharField(max_length=16, help_text="The wire format: chat, generate, chat_completions, ...")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True


class RecollectionEvent(PromptEvent):
    """The recollection of one request, and why each salient concept was in or out. The prompt's own text is not stored,
    unless the setting ``live_prompt_text`` is on: then the last user message is, with secrets masked."""

    # Written behind, and again if it is not known whether it was: the key makes the second write void.
    request = models.CharField(max_length=16, primary_key=True, help_text="As in the header X-Festinger-Request.")
    client_request = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="What its client called it, in X-Request-Id."
    )
    conversation = models.CharField(
        max_length=32, blank=True, default="", db_default="", help_text="The digest of its opening."
    )
    person = models.CharField(
        max_length=PERSON_MAX, blank=True, default="", db_default="", help_text="For whom the agent asked, if known."
    )
    block = models.TextField(blank=True)
    style = models.CharField(
        max_length=12, blank=True, default="", db_default="", help_text="How new facts are written for this model."
    )
    reasons = models.JSONField(default=dict, help_text="By concept.")
    reasons_left_out = models.IntegerField(default=0, db_default=0)
    notes = models.JSONField(
        default=list, db_default=[], help_text="The memories and episodes that were found, by id, each with why."
    )
    search = models.CharField(
        max_length=60, blank=True, default="", db_default="", help_text="What came of the search for them."
    )
    search_ms = models.FloatField(null=True, help_text="How long it took; empty where nothing was searched.")
    restrictions = models.JSONField(
        default=dict, db_default={}, help_text="What was not done for this request (recall, learn, ask), and why."
    )
    unread_characters = models.IntegerField(
        default=0, db_default=0, help_text="Of new text that the latency budget left for the next time."
    )
    enrich_ms = models.FloatField()
    prompt_text = models.TextField(
        blank=True, default="", db_default="", help_text="What the last message of a user said, where that is kept."
    )

    class Meta:
        db_table = "recollection_event"
        indexes = [
            models.Index(fields=["at"], name="recollection_event_by_age"),
            models.Index(fields=["wire", "at"], name="recollection_event_by_wire"),
            models.Index(fields=["agent", "at"], name="recollection_event_by_agent"),
            models.Index(fields=["conversation", "at"], name="recollection_event_in_order"),
            models.Index(fields=["person", "at"], condition=~Q(person=""), name="recollection_event_by_person"),
            models.Index(fields=["at"], condition=~Q(block=""), name="recollection_event_with_block"),
            models.Index(fields=["at"], condition=~Q(prompt_text=""), name="recollection_event_with_text"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(enrich_ms__gte=0, reasons_left_out__gte=0, unread_characters__gte=0)
                & (Q(search_ms=None) | Q(search_ms__gte=0)),
                name="recollection_event_amounts_are_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(request__regex=r"^[0-9a-f]{16}$"), name="recollection_event_request_is_an_id"
            ),
        ]

    def __str__(self) -> str:
        return self.request


@one_of("kind")
class LoopEvent(PromptEvent):
    """The steps against one loop of a model: before the model was asked, or while it answered (kind ``tail``)."""

    class Kind(models.TextChoices):
        SAME = "same", "the same output"
        NEAR = "near", "almost the same output"
        CYCLE = "cycle", "a cycle of outputs"
        COMPLAINT = "complaint", "the client complained"
        TAIL = "tail", "the tail of an answer"

    class Step(models.TextChoices):
        NOTE = "note"
        TEMPERATURE = "temperature"
        TRUNCATE = "truncate"
        BREAK = "break"
        STOP = "stop"

    request = models.CharField(max_length=16, help_text="As in the header X-Festinger-Request.")
    kind = models.CharField(max_length=12, choices=Kind)
    count = models.IntegerField(help_text="How often in a row; of a cycle, how often it was gone through.")
    period = models.IntegerField(default=1, db_default=1, help_text="How many outputs the cycle has.")
    steps = ArrayField(
        models.CharField(max_length=12, choices=Step), help_text="What was done, the strongest step last."
    )
    repeated = ArrayField(models.TextField(), help_text="How each repeated output begins, secrets masked.")

    class Meta:
        db_table = "loop_event"
        indexes = [
            models.Index(fields=["at"], name="loop_event_by_age"),
            models.Index(fields=["wire", "at"], name="loop_event_by_wire"),
            models.Index(fields=["kind", "at"], name="loop_event_by_kind"),
            # The unique index serves only "=" if the database's collation does not sort by bytes.
            models.Index(fields=["request"], opclasses=["varchar_pattern_ops"], name="loop_event_by_request"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["request", "kind"], name="loop_event_is_told_once"),
            models.CheckConstraint(condition=Q(request__regex=r"^[0-9a-f]{16}$"), name="loop_event_request_is_an_id"),
            models.CheckConstraint(condition=Q(count__gte=1, period__gte=1), name="loop_event_repeats_something"),
            models.CheckConstraint(
                condition=Q(
                    steps__contained_by=["note", "temperature", "truncate", "break", "stop"], steps__len__gte=1
                ),
                name="loop_event_steps_are_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.request}: {self.kind}"


class Injection(models.Model):
    """One version of the block at a place of prompts, or an answer that followed it; rows of one version have the same
    time. Places and answers are digests; the prompts' own texts are not stored."""

    place = models.BinaryField(help_text="The digest of all that comes before the block, and of the speaker.")
    answer = models.BinaryField(default=b"", db_default=b"", help_text="The digest of what the model answered.")
    block = models.TextField(blank=True, help_text="Empty where nothing stands there.")
    content = models.JSONField(
        default=dict, help_text="The facts, memories and episodes that the block shows, and the concepts it asks about."
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "injection"
        indexes = [models.Index(fields=["at"], name="injection_by_age")]
        constraints = [
            models.CheckConstraint(
                condition=In(OctetLength("place"), [0, LINK_BYTES]), name="injection_place_is_a_digest"
            ),
            models.CheckConstraint(
                condition=In(OctetLength("answer"), [0, LINK_BYTES]), name="injection_answer_is_a_digest"
            ),
        ]

    def __str__(self) -> str:
        return bytes(self.place).hex()


class IdempotentCall(models.Model):
    """A write with an idempotency key, and its answer (proxy/api/idempotency.py)."""

    call = models.BinaryField(primary_key=True, help_text="The digest of the caller and its key.")
    request = models.BinaryField(help_text="The digest of all that decides the answer.")
    answer = models.BinaryField(
        null=True, help_text="Sealed with the request: without it nobody reads it. Empty until it is known."
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "idempotent_call"
        default_permissions = ()
        indexes = [models.Index(fields=["at"], name="idempotent_call_by_age")]
        constraints = [
            models.CheckConstraint(
                condition=Q(Exact(OctetLength("call"), DIGEST_BYTES), Exact(OctetLength("request"), DIGEST_BYTES)),
                name="idempotent_call_has_digests",
            )
        ]

    def __str__(self) -> str:
        return bytes(self.call).hex()


class HourlyFigures(models.Model):
    """The figures of one hour, for charts. Totals (tokens, edges, open conflicts) are as of the last time they were
    taken; null if nobody took them during the hour."""

    hour = models.DateTimeField(primary_key=True, help_text="When it began.")
    tokens = models.IntegerField(null=True, help_text="Of the vocabulary, without common words.")
    edges = models.IntegerField(null=True, help_text="Facts; roots are not counted.")
    conflicts_open = models.IntegerField(null=True)
    conflicts_opened = models.IntegerField()
    conflicts_closed = models.IntegerField()
    requests = models.IntegerField(help_text="Prompts that were looked at.")
    recollections = models.IntegerField(help_text="Prompts that were sent on with a block in them.")
    loops = models.IntegerField(help_text="Loops that something was done about.")
    enrich_ms_p50 = models.FloatField(null=True, help_text="Of the time that was added to prompts; null without any.")
    enrich_ms_p99 = models.FloatField(null=True)
    taken_at = models.DateTimeField()

    class Meta:
        db_table = "hourly_figures"
        default_permissions = ("view",)
        verbose_name_plural = "hourly figures"
        constraints = [
            models.CheckConstraint(
                condition=Exact(Mod(Epoch("hour"), HOUR_S), 0), name="hourly_figures_begin_with_the_hour"
            ),
            models.CheckConstraint(
                condition=Q(
                    conflicts_opened__gte=0,
                    conflicts_closed__gte=0,
                    requests__gte=0,
                    recollections__gte=0,
                    loops__gte=0,
                ),
                name="hourly_figures_are_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H}:00 UTC"


class LoginFailures(models.Model):
    """The number of failed log-ins to the admin in a row, each at most a day after the one before, by what they are
    counted by (proxy/access/login.py)."""

    ROWS_MAX = 10_000

    kind = models.CharField(max_length=8)
    who = models.CharField(max_length=64, help_text="The address or network, or a digest of the account's name.")
    failures = models.IntegerField()
    last_at = models.DateTimeField()

    class Meta:
        db_table = "login_failures"
        default_permissions = ()
        indexes = [models.Index(fields=["last_at"], name="login_failures_by_age")]
        constraints = [
            models.UniqueConstraint(fields=["kind", "who"], name="login_failures_are_counted_once"),
            models.CheckConstraint(condition=Q(kind__in=["address", "account"]), name="login_failures_kind_is_known"),
            models.CheckConstraint(condition=Q(failures__gte=1), name="login_failures_are_some"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.who}: {self.failures}"
