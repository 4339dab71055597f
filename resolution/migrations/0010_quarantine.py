import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

TRIGGERS = ["schedule", "collision", "api", "command", "admin", "quarantine", "upgrade"]
KINDS = [
    ("decompose", "dimension decomposed"),
    ("update", "new fact replaces existing"),
    ("relocate", "new fact moved to another dimension"),
    ("dismiss", "existing fact kept"),
    ("quarantine", "facts put among the candidates"),
    ("undo", "decision undone"),
]


class Migration(migrations.Migration):
    dependencies = [("resolution", "0009_quotas")]

    operations = [
        migrations.RemoveConstraint("run", "run_trigger_is_known"),
        migrations.AlterField(
            "run",
            "trigger",
            models.CharField(choices=[(name, name.capitalize()) for name in TRIGGERS], max_length=12),
        ),
        migrations.AddConstraint(
            "run", models.CheckConstraint(condition=Q(trigger__in=TRIGGERS), name="run_trigger_is_known")
        ),
        migrations.RemoveConstraint("decision", "decision_kind_is_known"),
        migrations.AlterField("decision", "kind", models.CharField(choices=KINDS, max_length=12)),
        migrations.AlterField(
            "decision",
            "conflict",
            models.ForeignKey(
                help_text="What it is about; nothing for a quarantine, which is about a concept.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="decisions",
                to="resolution.conflict",
            ),
        ),
        migrations.AddConstraint(
            "decision",
            models.CheckConstraint(condition=Q(kind__in=[kind for kind, _ in KINDS]), name="decision_kind_is_known"),
        ),
        migrations.AddConstraint(
            "decision",
            models.CheckConstraint(
                condition=Q(kind="undo")
                | Q(kind="quarantine", conflict=None)
                | ~Q(kind="quarantine") & Q(conflict__isnull=False),
                name="decision_is_about_a_conflict",
            ),
        ),
    ]
