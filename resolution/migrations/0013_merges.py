"""Merges of names, and dimensions that are deleted: runs and decisions that can be undone."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("resolution", "0012_decisions_are_never_emptied"),
        ("memory", "0021_aliases"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="decision",
            name="decision_kind_is_known",
        ),
        migrations.RemoveConstraint(
            model_name="decision",
            name="decision_is_about_a_claim",
        ),
        migrations.RemoveConstraint(
            model_name="run",
            name="run_trigger_is_known",
        ),
        migrations.AlterField(
            model_name="decision",
            name="claim",
            field=models.ForeignKey(
                help_text="What it is about; nothing for what is about a concept: a quarantine, a merge.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="decisions",
                to="resolution.claim",
            ),
        ),
        migrations.AlterField(
            model_name="decision",
            name="kind",
            field=models.CharField(
                choices=[
                    ("decompose", "dimension decomposed"),
                    ("update", "new fact replaces existing"),
                    ("relocate", "new fact moved to another dimension"),
                    ("dismiss", "existing fact kept"),
                    ("quarantine", "facts put among the candidates"),
                    ("merge", "names merged"),
                    ("delete", "dimension deleted"),
                    ("undo", "decision undone"),
                ],
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="trigger",
            field=models.CharField(
                choices=[
                    ("schedule", "Schedule"),
                    ("collision", "Collision"),
                    ("api", "Api"),
                    ("command", "Command"),
                    ("admin", "Admin"),
                    ("quarantine", "Quarantine"),
                    ("upgrade", "Upgrade"),
                    ("merge", "Merge"),
                ],
                max_length=12,
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        ["decompose", "update", "relocate", "dismiss", "quarantine", "merge", "delete", "undo"],
                    )
                ),
                name="decision_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind", "undo"),
                    models.Q(("claim", None), ("kind__in", ["quarantine", "merge", "delete"])),
                    models.Q(
                        models.Q(("kind__in", ["quarantine", "merge", "delete"]), _negated=True),
                        ("claim__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="decision_is_about_a_claim",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "trigger__in",
                        ["schedule", "collision", "api", "command", "admin", "quarantine", "upgrade", "merge"],
                    )
                ),
                name="run_trigger_is_known",
            ),
        ),
    ]
