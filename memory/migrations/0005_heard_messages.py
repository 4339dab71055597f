"""New messages wait for a worker in a table of their own; and in which conversations an unknown concept was named."""

import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.lookups
from django.db import migrations, models

import memory.models.messages


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0004_announced_vectors"),
    ]

    operations = [
        migrations.CreateModel(
            name="HeardMessage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "digest",
                    models.BinaryField(help_text="Of the message and of who said it in which project.", unique=True),
                ),
                ("key", models.BinaryField(help_text="The message's, as in seen_message.")),
                ("agent", models.CharField(help_text="As it calls itself, or as its token says.", max_length=120)),
                (
                    "speaker",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="As episodes have it.", max_length=120
                    ),
                ),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("role", models.CharField(max_length=16)),
                ("text", models.TextField()),
                ("said_at", models.DateTimeField()),
                (
                    "is_quoted",
                    models.BooleanField(default=False, help_text="Nothing shows that its role has said it."),
                ),
                (
                    "is_dated",
                    models.BooleanField(default=True, help_text="Said when it was seen, not in a history."),
                ),
                (
                    "is_kept",
                    models.BooleanField(default=False, help_text="It may be remembered, not only learned from."),
                ),
                ("attempts", models.IntegerField(db_default=0, default=0)),
                (
                    "next_attempt_at",
                    models.DateTimeField(
                        blank=True,
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="Empty: it failed so often that it is set aside.",
                        null=True,
                    ),
                ),
                ("last_error", models.TextField(blank=True, db_default="", default="")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "project",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="memory.project"
                    ),
                ),
            ],
            options={
                "verbose_name": "message that waits",
                "verbose_name_plural": "messages that wait",
                "db_table": "heard_message",
                "indexes": [
                    models.Index(fields=["key"], name="heard_message_of_a_key"),
                    models.Index(
                        condition=models.Q(("next_attempt_at", None)), fields=["id"], name="heard_message_set_aside"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 32),
                        name="heard_message_digest_is_whole",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("key"), 32),
                        name="heard_message_key_is_whole",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NamedConversation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("conversation", models.BinaryField(help_text="The digest of its opening.")),
                (
                    "concept",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="memory.soas"),
                ),
            ],
            options={
                "db_table": "named_conversation",
                "constraints": [
                    models.UniqueConstraint(fields=("concept", "conversation"), name="named_conversation_counts_once"),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            memory.models.messages.OctetLength("conversation"), 16
                        ),
                        name="named_conversation_is_whole",
                    ),
                ],
            },
        ),
    ]
