"""Labels and help texts in the words that operators know: the state of the models only."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0025_models_of_the_upstream"),
    ]

    operations = [
        migrations.AlterField(
            model_name="agent",
            name="allowed_projects",
            field=models.ManyToManyField(
                blank=True,
                help_text="Other projects that its requests may name.",
                related_name="allowed_agents",
                to="memory.project",
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="episodes",
            field=models.CharField(
                choices=[("default", "default (from the settings)"), ("on", "kept"), ("off", "not kept")],
                db_default="default",
                default="default",
                help_text="Whether its conversations are kept to be found again.",
                max_length=8,
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="project",
            field=models.ForeignKey(
                blank=True,
                help_text="Default project, for requests that name none.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="agents",
                to="memory.project",
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="scope",
            field=models.CharField(
                choices=[("agent", "agent: recall and teach"), ("operator", "operator: also resolves conflicts")],
                db_default="agent",
                default="agent",
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="dimension",
            name="on_collision",
            field=models.CharField(
                choices=[("queue", "open a conflict"), ("supersede", "the newer wins"), ("keep_all", "keep all")],
                db_default="queue",
                default="queue",
                help_text="What becomes of a statement whose slot is taken. Queue: it waits in the conflicts, the world stays as it is. The newer wins: what was said later stands at once, the other goes into the history. Keep all: a concept may have several facts here, which stand beside each other.",  # noqa: E501
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="memory",
            name="other_slot",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The slot of B, where A is preferred to B.",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="memory",
            name="slot",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="One memory of a slot is active; empty: none.",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="memory",
            name="status",
            field=models.CharField(
                choices=[
                    ("candidate", "candidate"),
                    ("active", "Active"),
                    ("deprecated", "low confidence"),
                    ("merged_into", "merged into another"),
                    ("superseded", "replaced by a newer one"),
                    ("invalid", "taken back"),
                ],
                db_default="active",
                default="active",
                max_length=11,
            ),
        ),
        migrations.AlterField(
            model_name="observation",
            name="outcome",
            field=models.CharField(
                blank=True,
                choices=[
                    ("inserted", "Inserted"),
                    ("confirmed", "Confirmed"),
                    ("superseded", "took the place of an older one"),
                    ("retired", "took a fact back"),
                    ("conflict", "went to the resolution queue"),
                    ("decided", "was decided before"),
                    ("outdated", "older than the current statement"),
                    ("candidate", "candidate"),
                    ("over_quota", "too much was said in that hour"),
                    ("invalid", "Invalid"),
                    ("explained", "explained by a language model"),
                    ("unknown", "unknown to the language model"),
                    ("needless", "known, muted or gone by then"),
                ],
                db_default="",
                default="",
                max_length=12,
            ),
        ),
    ]
