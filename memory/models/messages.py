"""Messages that were heard or counted, openings of conversations, and the sentences that name a concept."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Length, Now
from django.db.models.lookups import Exact

from memory.english.phrases import shorten
from memory.models.constraints import one_of
from memory.models.forgetting import SetAside
from memory.models.graph import Soas
from memory.models.operating import Project
from memory.voice import Voice

DIGEST_BYTES = 32
VOICES = [(voice.value, voice.value) for voice in Voice]
CONVERSATION_BYTES = 16


class OctetLength(Length):
    """PostgreSQL's ``octet_length``."""

    function = "octet_length"


def of_length(field: str, count: int, name: str) -> models.CheckConstraint:
    """Make the constraint that a digest has all its bytes."""
    return models.CheckConstraint(condition=Exact(OctetLength(field), count), name=name)


@one_of("voice")
class HeardMessage(models.Model):
    """A new message, until a worker has learned from it: a server process writes it while the model answers. A worker
    commits what it learns together with the deletion. Secrets are masked."""

    digest = models.BinaryField(unique=True, help_text="Of the message and of who said it in which project.")
    key = models.BinaryField(help_text="The message's, as in seen_message.")
    agent = models.CharField(max_length=120, help_text="As it calls itself, or as its token says.")
    speaker = models.CharField(max_length=120, blank=True, default="", db_default="", help_text="As episodes have it.")
    person = models.CharField(max_length=200, blank=True, default="", db_default="")
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True)
    role = models.CharField(max_length=16)
    text = models.TextField()
    said_at = models.DateTimeField()
    voice = models.CharField(max_length=8, choices=VOICES, default=Voice.SHARED.value, db_default=Voice.SHARED.value)
    is_dated = models.BooleanField(default=True, help_text="Said when it was seen, not in a history.")
    is_kept = models.BooleanField(default=False, help_text="It may be remembered, not only learned from.")
    ends_request = models.BooleanField(default=False, db_default=False, help_text="It was the last of its request.")
    request = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="The id of the request that brought it."
    )
    attempts = models.IntegerField(default=0, db_default=0)
    next_attempt_at = models.DateTimeField(
        null=True, blank=True, db_default=Now(), help_text="Empty: it failed so often that it is set aside."
    )
    last_error = models.TextField(blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "heard_message"
        verbose_name = "message that waits"
        verbose_name_plural = "messages that wait"
        indexes = [
            models.Index(fields=["key"], name="heard_message_of_a_key"),
            models.Index(fields=["id"], condition=Q(next_attempt_at=None), name="heard_message_set_aside"),
        ]
        constraints = [
            of_length("digest", DIGEST_BYTES, "heard_message_digest_is_whole"),
            of_length("key", DIGEST_BYTES, "heard_message_key_is_whole"),
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.agent}"


@one_of("state")
class PromptOpening(models.Model):
    """The opening of conversations of one speaker. An opening of three conversations that nobody continued is a
    program's template: nobody has said it."""

    class State(models.TextChoices):
        COUNTING = "counting", "is counted"
        TEMPLATE = "template", "a program's template"
        OWN = "own", "somebody's own words"

    agent = models.CharField(max_length=120)
    person = models.CharField(max_length=200, blank=True, default="", db_default="")
    digest = models.BinaryField(help_text="Of the opening, without case, white space and signs.")
    text = models.CharField(max_length=300, help_text="The opening, secrets masked.")
    seen = models.JSONField(default=list, help_text="The conversations, and digests of what followed in them.")
    state = models.CharField(max_length=8, choices=State, default=State.COUNTING, db_default=State.COUNTING)
    found_at = models.DateTimeField(null=True, blank=True)
    hidden_at = models.DateTimeField(null=True, blank=True, help_text="When what was kept of it was hidden.")
    last_seen = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "prompt_opening"
        verbose_name = "template of a program"
        verbose_name_plural = "templates of programs"
        indexes = [
            models.Index(fields=["last_seen"], condition=Q(state="counting"), name="prompt_opening_by_age"),
            models.Index(fields=["-id"], condition=~Q(state="counting"), name="prompt_opening_found"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["agent", "person", "digest"], name="prompt_opening_counts_once"),
            of_length("digest", CONVERSATION_BYTES, "prompt_opening_digest_is_whole"),
        ]

    def __str__(self) -> str:
        return shorten(self.text, 80)


class NamedConversation(models.Model):
    """A conversation in which users speak of an unknown concept, until there are enough to ask a model about it."""

    # No index of its own: the constraint begins with it.
    concept = models.ForeignKey(Soas, models.CASCADE, db_index=False)
    conversation = models.BinaryField(help_text="The digest of its opening.")

    class Meta:
        db_table = "named_conversation"
        constraints = [
            models.UniqueConstraint(fields=["concept", "conversation"], name="named_conversation_counts_once"),
            of_length("conversation", CONVERSATION_BYTES, "named_conversation_is_whole"),
        ]

    def __str__(self) -> str:
        return f"{self.concept}: {bytes(self.conversation).hex()}"


class SeenMessage(models.Model):
    """A message that was counted: the digest of its conversation's opening, then that of its role and text."""

    # The opening comes first, so that a conversation's messages are adjacent in the index.

    digest = models.BinaryField(primary_key=True)
    last_seen = models.DateTimeField(db_default=Now(), help_text="To the day: it is only moved once a day.")

    class Meta:
        db_table = "seen_message"
        indexes = [models.Index(fields=["last_seen"], name="seen_message_by_age")]
        constraints = [of_length("digest", DIGEST_BYTES, "seen_message_digest_is_whole")]

    def __str__(self) -> str:
        return bytes(self.digest).hex()


class Evidence(SetAside):
    """A sentence that names a concept. The newest few of each concept are kept, with secrets masked."""

    # No index of its own: evidence_says_it_once begins with it.
    concept = models.ForeignKey(Soas, models.CASCADE, db_index=False, related_name="evidence")
    sentence = models.CharField(max_length=300)
    role = models.CharField(max_length=16)
    agent = models.CharField(max_length=120)
    person = models.CharField(max_length=200, blank=True, default="", db_default="")
    said_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "evidence"
        indexes = [models.Index(fields=["agent", "person"], name="evidence_of_a_speaker")]
        verbose_name_plural = "evidence"
        constraints = [
            models.UniqueConstraint(fields=["concept", "sentence"], name="evidence_says_it_once"),
            models.CheckConstraint(condition=~Q(sentence=""), name="evidence_says_something"),
        ]

    def __str__(self) -> str:
        return f"{self.concept}: {self.sentence}"
