"""What was heard: which messages have been counted, and the sentences that name a concept."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Length, Now
from django.db.models.lookups import Exact

from memory.models.graph import Soas

DIGEST_BYTES = 32


class OctetLength(Length):
    """PostgreSQL's ``octet_length``."""

    function = "octet_length"


class SeenMessage(models.Model):
    """A message that was counted: the digest of its conversation's opening, then that of its role and text."""

    # The opening comes first, so that a conversation's messages stand together in the index.

    digest = models.BinaryField(primary_key=True)
    last_seen = models.DateTimeField(db_default=Now(), help_text="To the day: it is only moved once a day.")

    class Meta:
        db_table = "seen_message"
        indexes = [models.Index(fields=["last_seen"], name="seen_message_by_age")]
        constraints = [
            models.CheckConstraint(
                condition=Exact(OctetLength("digest"), DIGEST_BYTES), name="seen_message_digest_is_whole"
            )
        ]

    def __str__(self) -> str:
        return bytes(self.digest).hex()


class Evidence(models.Model):
    """A sentence that names a concept. The newest few of each concept are kept, with secrets masked."""

    # No index of its own: evidence_says_it_once begins with it.
    concept = models.ForeignKey(Soas, models.CASCADE, db_index=False, related_name="evidence")
    sentence = models.CharField(max_length=300)
    role = models.CharField(max_length=16)
    agent = models.CharField(max_length=120)
    said_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "evidence"
        verbose_name_plural = "evidence"
        constraints = [
            models.UniqueConstraint(fields=["concept", "sentence"], name="evidence_says_it_once"),
            models.CheckConstraint(condition=~Q(sentence=""), name="evidence_says_something"),
        ]

    def __str__(self) -> str:
        return f"{self.concept}: {self.sentence}"
