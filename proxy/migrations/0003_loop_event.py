"""What was done about loops, a row for each time."""

import django.contrib.postgres.fields
from django.db import migrations, models
from django.db.models.functions import Now

KINDS = {
    "same": "the same output",
    "near": "almost the same output",
    "cycle": "a cycle of outputs",
    "complaint": "the client complained",
    "tail": "the tail of an answer",
}
STEPS = {
    "note": "Note",
    "temperature": "Temperature",
    "truncate": "Truncate",
    "break": "Break",
    "stop": "Stop",
}


class Migration(migrations.Migration):
    dependencies = [("proxy", "0002_injection")]

    operations = [
        migrations.CreateModel(
            name="LoopEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("request", models.CharField(help_text="As in the header X-Festinger-Request.", max_length=16)),
                ("agent", models.CharField(max_length=120)),
                ("model", models.CharField(max_length=200)),
                (
                    "wire",
                    models.CharField(help_text="The wire format: chat, generate, chat_completions, ...", max_length=16),
                ),
                ("kind", models.CharField(choices=list(KINDS.items()), max_length=12)),
                (
                    "count",
                    models.IntegerField(help_text="How often in a row; of a cycle, how often it was gone through."),
                ),
                (
                    "period",
                    models.IntegerField(db_default=1, default=1, help_text="How many outputs the cycle has."),
                ),
                (
                    "steps",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(choices=list(STEPS.items()), max_length=12),
                        help_text="What was done, the strongest step last.",
                        size=None,
                    ),
                ),
                (
                    "repeated",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="How each repeated output begins, secrets masked.",
                        size=None,
                    ),
                ),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "loop_event",
                "indexes": [models.Index(fields=["at"], name="loop_event_by_age")],
                "constraints": [
                    models.UniqueConstraint(fields=["request", "kind"], name="loop_event_is_told_once"),
                    models.CheckConstraint(
                        condition=models.Q(request__regex="^[0-9a-f]{16}$"), name="loop_event_request_is_an_id"
                    ),
                    models.CheckConstraint(condition=models.Q(kind__in=list(KINDS)), name="loop_event_kind_is_known"),
                    models.CheckConstraint(
                        condition=models.Q(count__gte=1, period__gte=1), name="loop_event_repeats_something"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(steps__contained_by=list(STEPS), steps__len__gte=1),
                        name="loop_event_steps_are_known",
                    ),
                ],
            },
        ),
    ]
