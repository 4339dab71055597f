"""Requests to forget, and the rows that they set aside."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from memory.attribution.forget_requests import TopicKind
from memory.models.constraints import one_of


@one_of("effect")
class ForgetRequest(models.Model):
    """A request to forget, or an edit: it has set rows aside, and can be undone until those are deleted."""

    class Effect(models.TextChoices):
        CONVERSATION = "conversation"
        ABOUT = "about", "everything about it"
        EDIT = "edit", "what a message said before its edit"

    agent = models.CharField(max_length=120)
    person = models.CharField(max_length=200, blank=True, default="", db_default="")
    effect = models.CharField(max_length=12, choices=Effect)
    topic_kind = models.CharField(
        max_length=8, blank=True, default="", db_default="", choices=[(kind.value, kind.value) for kind in TopicKind]
    )
    topic = models.TextField(blank=True, default="", db_default="", help_text="Empty once the rows are deleted.")
    conversation = models.BinaryField(null=True, blank=True, help_text="The digest of its opening.")
    request = models.CharField(max_length=64, blank=True, default="", db_default="")
    said_at = models.DateTimeField()
    row_count = models.IntegerField(default=0, db_default=0, help_text="How many rows it has set aside.")
    settled_at = models.DateTimeField(null=True, blank=True, help_text="When facts and memories had followed.")
    retired = ArrayField(
        models.BigIntegerField(), default=list, blank=True, db_default=[], help_text="Facts, in the history."
    )
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.CharField(max_length=120, blank=True, default="", db_default="")
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "forget_request"
        verbose_name = "request to forget"
        verbose_name_plural = "set aside"
        indexes = [
            models.Index(fields=["agent", "person"], name="forget_request_of_a_speaker"),
            models.Index(fields=["id"], condition=Q(settled_at=None), name="forget_request_unsettled"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(topic_kind__in=["", "words", "own", "speaker"]), name="forget_request_topic_is_known"
            ),
        ]

    def __str__(self) -> str:
        return self.topic or self.get_effect_display()


class KeptRows(models.Manager):  # type: ignore[type-arg]  # takes none at run time
    """The rows that are not set aside."""

    def get_queryset(self) -> "models.QuerySet":  # type: ignore[type-arg]
        return super().get_queryset().filter(set_aside_at=None)


class SetAside(models.Model):
    """Rows that a request to forget or an edit may set aside: nothing but their undo and their deletion meets them."""

    set_aside_at = models.DateTimeField(null=True, blank=True, editable=False)
    set_aside_by = models.ForeignKey(
        ForgetRequest, models.SET_NULL, null=True, blank=True, editable=False, related_name="+", db_index=False
    )

    objects = KeptRows()
    all_rows = models.Manager()  # noqa: DJ012 - a manager, too

    class Meta:
        abstract = True
