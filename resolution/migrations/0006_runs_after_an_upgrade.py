"""A run may be one that an upgrade has left to a worker, and it may list facts for operators to look at."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import Q

TRIGGERS = [
    ("schedule", "Schedule"), ("collision", "Collision"), ("api", "Api"), ("command", "Command"), ("admin", "Admin"),
    ("quarantine", "Quarantine"), ("merge", "Merge"), ("consolidate", "Consolidate"), ("sweep", "Sweep"),
    ("detect", "Detect"), ("upgrade", "Upgrade"),
]  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("resolution", "0005_forgotten_words")]

    operations = [
        # Backwards, such runs become sweeps.
        migrations.RunSQL(migrations.RunSQL.noop, "UPDATE run SET trigger = 'sweep' WHERE trigger = 'upgrade'"),
        migrations.RemoveConstraint("run", "run_is_alone"),
        migrations.RemoveConstraint("run", "run_trigger_is_known"),
        migrations.AddField(
            "run",
            "facts",
            ArrayField(models.BigIntegerField(), blank=True, db_default=[], default=list, help_text="To be looked at."),
        ),
        migrations.AlterField("run", "trigger", models.CharField(choices=TRIGGERS, max_length=12)),
        migrations.AddConstraint(
            "run",
            models.UniqueConstraint(
                fields=["status"],
                condition=Q(status="running") & ~Q(trigger__in=["consolidate", "sweep", "detect", "upgrade"]),
                name="run_is_alone",
                violation_error_message="The resolver is running already.",
            ),
        ),
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(
                condition=Q(trigger__in=[trigger for trigger, _ in TRIGGERS]), name="run_trigger_is_known"
            ),
        ),
    ]
