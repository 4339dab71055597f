"""Tables that operators maintain: language models, settings, projects, agents. And calls of models, and the signs of
life of processes."""

from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now

from memory.english.mute_patterns import PatternMistake, clean_pattern, compile_patterns
from memory.models.constraints import one_of
from memory.models.graph import Soas
from memory.settings import registry

REVOKED = "0" * 32  # begins what stands for a token's hash, of which no token is known
SLUG = r"^[a-z0-9][a-z0-9._-]{0,63}$"  # of a project


def http_address(text: str) -> None:
    """Validate an http(s) address. Names without a dot are allowed, as containers have them."""
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port)
    except ValueError:
        is_address = False
    if not is_address or not text.isprintable() or " " in text:
        raise ValidationError("Takes an address such as https://host:8000/v1.")
    if "@" in parts.netloc:
        raise ValidationError("An address is shown: enter a key or a password as the key.")


@one_of("provider")
class LanguageModel(models.Model):
    """A language model that Festinger itself may ask. The key is stored encrypted or not at all."""

    class Provider(models.TextChoices):
        CLAUDE = "claude", "Claude"
        OPENAI = "openai", "OpenAI"
        OLLAMA = "ollama", "Ollama"

    provider = models.CharField(max_length=16, choices=Provider)
    model_name = models.CharField(max_length=120)
    base_url = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        validators=[http_address],
        help_text="Empty for the provider's own; for Ollama, for the upstream of config.yaml or FESTINGER_UPSTREAM."
        " OpenAI's ends in /v1.",
    )
    api_key = models.TextField(blank=True, default="", db_default="", editable=False)
    input_price = models.DecimalField(
        max_digits=10, decimal_places=4, null=True, blank=True, help_text="US dollars for a million tokens read."
    )
    output_price = models.DecimalField(
        max_digits=10, decimal_places=4, null=True, blank=True, help_text="US dollars for a million tokens written."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "models"
        verbose_name = "language model"
        constraints = [
            models.CheckConstraint(
                condition=(Q(input_price=None) | Q(input_price__gte=0))
                & (Q(output_price=None) | Q(output_price__gte=0)),
                name="models_prices_are_not_negative",
                violation_error_message="A price is at least 0.",
            ),
            models.CheckConstraint(
                # Every Fernet token begins with its version byte, 0x80: "gAAAA" in base64.
                condition=Q(api_key="") | Q(api_key__startswith="gAAAA"),
                name="models_api_key_is_encrypted",
                violation_error_message="A key is stored encrypted.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.model_name}"

    @property
    def lacks_key(self) -> bool:
        """True if it needs a key and has none: self-hosted servers, and Ollama, may need none."""
        needs_key = self.provider == self.Provider.CLAUDE or (
            self.provider == self.Provider.OPENAI and not self.base_url
        )
        return needs_key and not self.api_key


class UpstreamModel(models.Model):
    """A model of the upstream that clients use, and what decides how Ollama loads it."""

    name = models.CharField(max_length=200, primary_key=True)
    options = models.JSONField(default=dict, db_default={}, help_text="As its last client sent them.")
    keep_alive = models.JSONField(null=True, help_text="As its last client sent it.")
    used_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "upstream_model"

    def __str__(self) -> str:
        return self.name


@one_of("purpose", "result")
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

    class Result(models.TextChoices):
        UNDER_WAY = "under_way", "under way"
        ANSWERED = "answered"
        REFUSED = "refused", "answer refused"
        FAILED = "failed"
        ABANDONED = "abandoned"

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
    result = models.CharField(
        max_length=9,
        choices=Result,
        default=Result.UNDER_WAY,
        db_default=Result.UNDER_WAY,
        help_text="Abandoned: a prompt came meanwhile; the call does not count for the day.",
    )
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
                condition=Q(input_tokens__gte=0, output_tokens__gte=0, duration_ms__gte=0),
                name="llm_call_counts_are_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.subject} ({self.model_name})"


class Config(models.Model):
    """One setting that operators change without a restart; memory/settings/registry.py knows its type and range."""

    key = models.CharField(max_length=64, primary_key=True)
    value = models.TextField(blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "config"
        verbose_name = "setting"

    def __str__(self) -> str:
        return self.key

    @classmethod
    def tuning(cls) -> registry.Tuning:
        """Return all settings as they are stored now, for processes without a cache: workers, commands, the admin."""
        return registry.read_rows(dict(cls.objects.values_list("key", "value")))[0]


class Project(models.Model):
    """A project, to which memories and episodes belong. Facts are shared by all; so are memories and episodes without a
    project."""

    slug = models.CharField(max_length=64, help_text="How requests name it: small letters, digits and . _ -")
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True, default="", db_default="")
    is_open = models.BooleanField(
        "open", default=False, db_default=False, help_text="Requests without a token may name it, too."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "project"
        constraints = [
            models.UniqueConstraint(
                fields=["slug"], name="project_slug_unique", violation_error_message="This project exists."
            ),
            models.CheckConstraint(
                condition=Q(slug__regex=SLUG),
                name="project_slug_is_plain",
                violation_error_message="A slug is at most 64 small letters, digits and . _ - and begins with a letter"
                " or a digit.",
            ),
        ]

    def __str__(self) -> str:
        return self.slug


@one_of("scope", "can_teach", "episodes")
class Agent(models.Model):
    """A client that speaks to Festinger with a token of its own, of which its SHA-256 and how it begins are stored."""

    class Scope(models.TextChoices):
        AGENT = "agent", "agent: recall and teach"
        OPERATOR = "operator", "operator: also resolves conflicts"

    class CanTeach(models.TextChoices):
        AUTO = "auto", "if it has taught by gutask before, or its request has tools"
        ALWAYS = "always", "always"
        NEVER = "never", "never"

    class Episodes(models.TextChoices):
        DEFAULT = "default", "default (from the settings)"
        ON = "on", "kept"
        OFF = "off", "not kept"

    name = models.CharField(max_length=100)
    token_hash = models.CharField(max_length=64, editable=False)
    token_start = models.CharField(
        max_length=8, blank=True, default="", db_default="", editable=False, help_text="How it begins."
    )
    scope = models.CharField(max_length=16, choices=Scope, default=Scope.AGENT, db_default=Scope.AGENT)
    recall = models.BooleanField(default=True, db_default=True, help_text="Add what is known to its prompts.")
    learn = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Read its prompts for facts. What it teaches with gutask counts anyway.",
    )
    ask = models.BooleanField(
        default=True, db_default=True, help_text="Ask about unknown names in its prompts, where it recalls."
    )
    can_teach = models.CharField(
        "can answer questions",
        max_length=8,
        choices=CanTeach,
        default=CanTeach.AUTO,
        db_default=CanTeach.AUTO,
        help_text="Whether it is asked about unknown names.",
    )
    episodes = models.CharField(
        max_length=8,
        choices=Episodes,
        default=Episodes.DEFAULT,
        db_default=Episodes.DEFAULT,
        help_text="Whether its conversations are kept to be found again.",
    )
    project = models.ForeignKey(
        Project,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="agents",
        help_text="Default project, for requests that name none.",
    )
    allowed_projects = models.ManyToManyField(
        Project, blank=True, related_name="allowed_agents", help_text="Other projects that its requests may name."
    )
    allows_all_projects = models.BooleanField("may name any project", default=False, db_default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "agent"
        constraints = [
            models.UniqueConstraint(
                fields=["name"], name="agent_name_unique", violation_error_message="This agent exists."
            ),
            models.UniqueConstraint(fields=["token_hash"], name="agent_token_unique"),
            models.CheckConstraint(condition=Q(token_hash__regex=r"^[0-9a-f]{64}$"), name="agent_token_is_hashed"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def fingerprint(self) -> str:
        """The first eight digits of its token's SHA-256; empty if the token was revoked."""
        return "" if self.token_hash.startswith(REVOKED) else self.token_hash[:8]

    @property
    def token_mark(self) -> str:
        # A form names by this the token that it replaces: sent again, it must not replace the new one, too.
        return self.token_hash[:16]


def _describe_right(row: Any) -> str:
    """Describe a row that pages name which delete an agent or a project."""
    return f"{row.agent} may name {row.project}"


Agent.allowed_projects.through.__str__ = _describe_right  # type: ignore[method-assign]


class Teacher(models.Model):
    """Somebody who has taught by gutask, with or without a token, and so can be asked."""

    agent = models.CharField(max_length=120, primary_key=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "teacher"

    def __str__(self) -> str:
        return self.agent


class MutePattern(models.Model):
    """A pattern of names whose concepts are muted, including those that nobody has named yet."""

    pattern = models.CharField(
        max_length=64, help_text="A name in which * stands for anything: self.*, com.acme.*, *.md."
    )
    created_at = models.DateTimeField("since", db_default=Now(), editable=False)

    class Meta:
        db_table = "mute_pattern"
        constraints = [
            models.UniqueConstraint(
                fields=["pattern"],
                name="mute_pattern_unique",
                violation_error_message="This pattern is muted already.",
            ),
            models.CheckConstraint(
                condition=Q(pattern__regex=r"[[:alnum:]].*[[:alnum:]]")
                & Q(pattern__regex=r"""^[^[:space:][:cntrl:]<>"`\\/:=(){}\[\],;!?|^$]+$"""),
                name="mute_pattern_is_of_names",
                violation_error_message="A pattern is letters, digits and _ - . ' @ +, with * for anything.",
            ),
        ]

    def __str__(self) -> str:
        return self.pattern

    def clean(self) -> None:
        try:
            self.pattern = clean_pattern(self.pattern)
        except PatternMistake as mistake:
            raise ValidationError({"pattern": str(mistake)}) from mistake

    @classmethod
    def mutes(cls, token: str) -> bool:
        compiled = compile_patterns(cls.objects.values_list("pattern", flat=True))
        return compiled is not None and compiled.match(token) is not None

    @staticmethod
    def leave_out(concepts: models.QuerySet["Soas"]) -> models.QuerySet["Soas"]:
        """Exclude the concepts that a pattern mutes."""
        # In the same query: patterns contain none of LIKE's own signs but `_`.
        muted = (
            "EXISTS (SELECT FROM mute_pattern WHERE soas.token LIKE replace(replace(pattern, '_', '\\_'), '*', '%%'))"
        )
        return concepts.exclude(RawSQL(muted, [], output_field=models.BooleanField()))


class Heartbeat(models.Model):
    """The last sign of life of a process."""

    # Beat has one row, without host and pid: any worker stores its signs.
    SERVER, WORKER, BEAT = "proxy", "worker", "beat"

    name = models.CharField("part", max_length=64)
    host = models.CharField(max_length=255, blank=True, default="", db_default="")
    pid = models.PositiveIntegerField("process id", default=0, db_default=0)
    at = models.DateTimeField(db_default=Now())
    busy_since = models.DateTimeField(null=True, help_text="When the oldest prompt under way began.")
    idle_since = models.DateTimeField(null=True, help_text="When the last prompt ended.")

    class Meta:
        db_table = "heartbeat"
        constraints = [models.UniqueConstraint(fields=["name", "host", "pid"], name="heartbeat_one_a_process")]

    def __str__(self) -> str:
        return f"{self.name} {self.pid} on {self.host}" if self.host else self.name


class InstalledVersion(models.Model):
    """A version of Festinger that has prepared this database, and the one that it replaced."""

    version = models.CharField(max_length=32, primary_key=True)
    before = models.CharField(max_length=32, blank=True, help_text="Empty where the database was new.")
    backup = models.CharField(max_length=500, blank=True, help_text="The file that was made before its migrations.")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "installed_version"

    def __str__(self) -> str:
        return self.version
