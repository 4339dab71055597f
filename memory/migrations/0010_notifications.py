"""Targets that operators want to be notified, and an outbox of what they are told."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0009_labels"),
    ]

    operations = [
        migrations.CreateModel(
            name="NotificationTarget",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("webhook", "webhook"), ("mail", "mail")],
                        db_default="webhook",
                        default="webhook",
                        max_length=8,
                    ),
                ),
                (
                    "address",
                    models.CharField(
                        help_text="A URL such as https://host/hook, or a mail address. It may be private.",
                        max_length=500,
                    ),
                ),
                ("secret", models.TextField(blank=True, db_default="", default="", editable=False)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("conflict.opened", "a conflict was opened"),
                                ("health.changed", "the health has changed"),
                                ("loop.broken", "a loop of a model was broken"),
                                ("run.failed", "a run has failed"),
                            ],
                            max_length=20,
                        ),
                        size=None,
                    ),
                ),
                ("is_on", models.BooleanField(db_default=True, default=True, verbose_name="on")),
                (
                    "told_health",
                    models.CharField(
                        choices=[("good", "Good"), ("warning", "Warning"), ("bad", "Bad")],
                        db_default="good",
                        default="good",
                        editable=False,
                        max_length=8,
                    ),
                ),
                (
                    "seen_health",
                    models.CharField(
                        choices=[("good", "Good"), ("warning", "Warning"), ("bad", "Bad")],
                        db_default="good",
                        default="good",
                        editable=False,
                        help_text="At the last look: a change is told when two looks agree.",
                        max_length=8,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "db_table": "notification_target",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "address"),
                        name="notification_target_is_there_once",
                        violation_error_message="There is a target with this address.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("address__regex", "^https?://[^@[:space:]]+$"), ("kind", "webhook")),
                            models.Q(("address__regex", "^[^@[:space:]]+@[^@[:space:]]+$"), ("kind", "mail")),
                            _connector="OR",
                        ),
                        name="notification_target_has_an_address",
                        violation_error_message="A webhook takes an http(s) URL, mail an address such as ada@host.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "webhook"), ("secret__startswith", "gAAAA")),
                            models.Q(("kind", "mail"), ("secret", "")),
                            _connector="OR",
                        ),
                        name="notification_target_secret_is_encrypted",
                        violation_error_message="A webhook has a secret, which is stored encrypted.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "events__contained_by",
                                ["conflict.opened", "health.changed", "loop.broken", "run.failed"],
                            ),
                            ("events__len__gte", 1),
                        ),
                        name="notification_target_events_are_known",
                        violation_error_message="A target has at least one event.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("seen_health__in", ["good", "warning", "bad"]),
                            ("told_health__in", ["good", "warning", "bad"]),
                        ),
                        name="notification_target_health_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NotificationDelivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("conflict.opened", "a conflict was opened"),
                            ("health.changed", "the health has changed"),
                            ("loop.broken", "a loop of a model was broken"),
                            ("run.failed", "a run has failed"),
                            ("test", "a test"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "payload",
                    models.JSONField(help_text="Its summary, how many events it tells of, and the newest of them."),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("delivered", "Delivered"), ("failed", "Failed")],
                        db_default="waiting",
                        default="waiting",
                        max_length=9,
                    ),
                ),
                ("attempts", models.IntegerField(db_default=0, default=0)),
                ("next_attempt_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("attempted_at", models.DateTimeField(blank=True, null=True, verbose_name="last attempt")),
                (
                    "last_status",
                    models.IntegerField(
                        blank=True, help_text="The HTTP status of the last answer.", null=True, verbose_name="status"
                    ),
                ),
                ("last_error", models.TextField(blank=True, db_default="", default="", verbose_name="error")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "target",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="memory.notificationtarget",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "notification deliveries",
                "db_table": "notification_delivery",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["target", "event", "next_attempt_at"],
                        name="notification_delivery_due",
                    ),
                    models.Index(fields=["target", "event", "-attempted_at"], name="notification_delivery_attempts"),
                    models.Index(fields=["created_at"], name="notification_delivery_by_age"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("event__in", ["conflict.opened", "health.changed", "loop.broken", "run.failed", "test"])
                        ),
                        name="notification_delivery_event_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["waiting", "delivered", "failed"])),
                        name="notification_delivery_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state", "waiting"), ("attempted_at__isnull", False), _connector="OR"),
                        name="notification_delivery_was_attempted",
                    ),
                ],
            },
        ),
    ]
