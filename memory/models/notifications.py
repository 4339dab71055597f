"""Targets of notifications, and each notification on its way there."""

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memory.models.constraints import one_of
from memory.models.operating import http_address


class NotificationEvent(models.TextChoices):
    CONFLICT_OPENED = "conflict.opened", "a conflict was opened"
    HEALTH_CHANGED = "health.changed", "the health has changed"
    LOOP_BROKEN = "loop.broken", "a loop of a model was broken"
    RUN_FAILED = "run.failed", "a run has failed"
    TEST = "test", "a test"


class NotificationTarget(models.Model):
    """An address that is notified of the chosen events. The signing secret of a webhook is stored encrypted."""

    class Kind(models.TextChoices):
        WEBHOOK = "webhook", "webhook"
        MAIL = "mail", "mail"

    class Health(models.TextChoices):
        GOOD = "good"
        WARNING = "warning"
        BAD = "bad"

    EVENTS = [choice for choice in NotificationEvent.choices if choice[0] != NotificationEvent.TEST]

    kind = models.CharField(max_length=8, choices=Kind, default=Kind.WEBHOOK, db_default=Kind.WEBHOOK)
    address = models.CharField(
        max_length=500, help_text="A URL such as https://host/hook, or a mail address. It may be private."
    )
    secret = models.TextField(blank=True, default="", db_default="", editable=False)
    events = ArrayField(models.CharField(max_length=20, choices=EVENTS))
    is_on = models.BooleanField("on", default=True, db_default=True)
    told_health = models.CharField(
        max_length=8, choices=Health, default=Health.GOOD, db_default=Health.GOOD, editable=False
    )
    seen_health = models.CharField(
        max_length=8,
        choices=Health,
        default=Health.GOOD,
        db_default=Health.GOOD,
        editable=False,
        help_text="At the last look: a change is told when two looks agree.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "notification_target"
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "address"],
                name="notification_target_is_there_once",
                violation_error_message="There is a target with this address.",
            ),
            models.CheckConstraint(
                condition=Q(kind="webhook", address__regex=r"^https?://[^@[:space:]]+$")
                | Q(kind="mail", address__regex=r"^[^@[:space:]]+@[^@[:space:]]+$"),
                name="notification_target_has_an_address",
                violation_error_message="A webhook takes an http(s) URL, mail an address such as ada@host.",
            ),
            models.CheckConstraint(
                # Every Fernet token begins with its version byte, 0x80: "gAAAA" in base64.
                condition=Q(kind="webhook", secret__startswith="gAAAA") | Q(kind="mail", secret=""),
                name="notification_target_secret_is_encrypted",
                violation_error_message="A webhook has a secret, which is stored encrypted.",
            ),
            models.CheckConstraint(
                condition=Q(
                    events__contained_by=["conflict.opened", "health.changed", "loop.broken", "run.failed"],
                    events__len__gte=1,
                ),
                name="notification_target_events_are_known",
                violation_error_message="A target has at least one event.",
            ),
            models.CheckConstraint(
                condition=Q(told_health__in=["good", "warning", "bad"], seen_health__in=["good", "warning", "bad"]),
                name="notification_target_health_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.address

    def clean(self) -> None:
        check = http_address if self.kind == self.Kind.WEBHOOK else EmailValidator()
        try:
            check(self.address)
        except ValidationError as mistake:
            raise ValidationError({"address": mistake.messages}) from mistake


@one_of("event", "state")
class NotificationDelivery(models.Model):
    """One notification to one target: it waits here, and stays as the record of its delivery. A waiting one that was
    never attempted is united with others of its event."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed"

    target = models.ForeignKey(NotificationTarget, models.CASCADE, related_name="deliveries", db_index=False)
    event = models.CharField(max_length=20, choices=NotificationEvent)
    payload = models.JSONField(help_text="Its summary, how many events it tells of, and the newest of them.")
    state = models.CharField(max_length=9, choices=State, default=State.WAITING, db_default=State.WAITING)
    attempts = models.IntegerField(default=0, db_default=0)
    next_attempt_at = models.DateTimeField(db_default=Now())
    attempted_at = models.DateTimeField("last attempt", null=True, blank=True)
    last_status = models.IntegerField("status", null=True, blank=True, help_text="The HTTP status of the last answer.")
    last_error = models.TextField("error", blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "notification_delivery"
        verbose_name_plural = "notification deliveries"
        indexes = [
            models.Index(
                fields=["target", "event", "next_attempt_at"],
                condition=Q(state="waiting"),
                name="notification_delivery_due",
            ),
            models.Index(fields=["target", "event", "-attempted_at"], name="notification_delivery_attempts"),
            models.Index(fields=["created_at"], name="notification_delivery_by_age"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="waiting") | Q(attempted_at__isnull=False),
                name="notification_delivery_was_attempted",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.pk}"
