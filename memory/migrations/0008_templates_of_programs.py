"""What conversations of one speaker begin with is counted; what a program fills in is hidden."""

import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.lookups
from django.db import migrations, models

import memory.models.messages

ANNOUNCE = """
    CREATE TRIGGER prompt_opening_announce AFTER UPDATE ON prompt_opening FOR EACH ROW
        WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION festinger_announce_reload();
"""
FORGET = "DROP TRIGGER prompt_opening_announce ON prompt_opening;"


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0007_edits"),
    ]

    operations = [
        migrations.CreateModel(
            name="PromptOpening",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("agent", models.CharField(max_length=120)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("digest", models.BinaryField(help_text="Of the opening, without case, white space and signs.")),
                ("text", models.CharField(help_text="The opening, secrets masked.", max_length=300)),
                (
                    "seen",
                    models.JSONField(
                        default=list, help_text="The conversations, and digests of what followed in them."
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("counting", "is counted"),
                            ("template", "a program's template"),
                            ("own", "somebody's own words"),
                        ],
                        db_default="counting",
                        default="counting",
                        max_length=8,
                    ),
                ),
                ("found_at", models.DateTimeField(blank=True, null=True)),
                (
                    "hidden_at",
                    models.DateTimeField(blank=True, help_text="When what was kept of it was hidden.", null=True),
                ),
                ("last_seen", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name": "template of a program",
                "verbose_name_plural": "templates of programs",
                "db_table": "prompt_opening",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "counting")), fields=["last_seen"], name="prompt_opening_by_age"
                    ),
                    models.Index(
                        condition=models.Q(("state", "counting"), _negated=True),
                        fields=["-id"],
                        name="prompt_opening_found",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("agent", "person", "digest"), name="prompt_opening_counts_once"),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 16),
                        name="prompt_opening_digest_is_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["counting", "template", "own"])),
                        name="prompt_opening_state_is_known",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="episode",
            name="hidden_by",
            field=models.ForeignKey(
                blank=True,
                help_text="The template of a program that it came of.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                to="memory.promptopening",
            ),
        ),
        migrations.RunSQL(ANNOUNCE, FORGET),
    ]
