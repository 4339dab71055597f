"""Which memories and episodes were given to which prompts, and whether the answers use them."""

import django.db.models.functions.datetime
import django.db.models.lookups
from django.db import migrations, models

import memory.models.messages


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0029_search"),
    ]

    operations = [
        migrations.CreateModel(
            name="GivenNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("request", models.CharField(help_text="As in the header X-Festinger-Request.", max_length=16)),
                ("conversation", models.BinaryField(help_text="The digest of its opening.")),
                ("kind", models.CharField(choices=[("memory", "Memory"), ("episode", "Episode")], max_length=8)),
                ("row", models.BigIntegerField(help_text="The id of the memory or the episode; it may be gone.")),
                (
                    "is_used",
                    models.BooleanField(
                        help_text="Whether the answer has words of it; empty where nobody could tell.", null=True
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "given_note",
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(fields=["kind", "row"], name="given_note_by_row"),
                    models.Index(fields=["at"], name="given_note_by_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("request", "kind", "row"), name="given_note_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("request__regex", "^[0-9a-f]{16}$")), name="given_note_request_is_an_id"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["memory", "episode"])), name="given_note_kind_is_known"
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            memory.models.messages.OctetLength("conversation"), 16
                        ),
                        name="given_note_conversation_is_whole",
                    ),
                ],
            },
        ),
    ]
