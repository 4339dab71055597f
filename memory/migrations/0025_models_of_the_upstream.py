"""Stores which models of the upstream clients use, whether servers are busy, and how calls ended."""

from typing import Final

import django.db.models.functions.datetime
from django.db import migrations, models

RESULTS: Final = """
    UPDATE llm_call SET result = CASE WHEN error = '' THEN 'answered' ELSE 'failed' END
    WHERE error NOT LIKE 'no answer: it is under way%'
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0024_support"),
    ]

    operations = [
        migrations.CreateModel(
            name="UpstreamModel",
            fields=[
                ("name", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("options", models.JSONField(db_default={}, default=dict, help_text="As its last client sent them.")),
                ("keep_alive", models.JSONField(help_text="As its last client sent it.", null=True)),
                ("used_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "upstream_model",
            },
        ),
        migrations.AddField(
            model_name="heartbeat",
            name="busy_since",
            field=models.DateTimeField(help_text="When the oldest prompt under way began.", null=True),
        ),
        migrations.AddField(
            model_name="heartbeat",
            name="idle_since",
            field=models.DateTimeField(help_text="When the last prompt ended.", null=True),
        ),
        migrations.AddField(
            model_name="llmcall",
            name="result",
            field=models.CharField(
                choices=[
                    ("under_way", "under way"),
                    ("answered", "Answered"),
                    ("refused", "answer refused"),
                    ("failed", "Failed"),
                    ("abandoned", "Abandoned"),
                ],
                db_default="under_way",
                default="under_way",
                help_text="Abandoned: a prompt came meanwhile; the call does not count for the day.",
                max_length=9,
            ),
        ),
        migrations.RunSQL(RESULTS, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="llmcall",
            constraint=models.CheckConstraint(
                condition=models.Q(("result__in", ["under_way", "answered", "refused", "failed", "abandoned"])),
                name="llm_call_result_is_known",
            ),
        ),
    ]
