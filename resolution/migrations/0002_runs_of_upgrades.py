"""No run begins at an upgrade any more; what such a run did was a quarantine."""

from django.db import migrations, models

TRIGGERS = [
    "schedule",
    "collision",
    "api",
    "command",
    "admin",
    "quarantine",
    "merge",
    "consolidate",
    "sweep",
    "detect",
]


class Migration(migrations.Migration):
    dependencies = [("resolution", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "UPDATE run SET trigger = 'quarantine' WHERE trigger = 'upgrade'",
            migrations.RunSQL.noop,
        ),
        migrations.RemoveConstraint("run", "run_trigger_is_known"),
        migrations.AlterField(
            "run",
            "trigger",
            models.CharField(choices=[(trigger, trigger.capitalize()) for trigger in TRIGGERS], max_length=12),
        ),
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(condition=models.Q(trigger__in=TRIGGERS), name="run_trigger_is_known"),
        ),
    ]
