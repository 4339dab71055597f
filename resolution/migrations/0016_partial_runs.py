"""A run may end as partial: it waited for two hours while somebody used the model."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("resolution", "0001_squashed_0015"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="run",
            name="run_status_is_known",
        ),
        migrations.AlterField(
            model_name="run",
            name="status",
            field=models.CharField(
                choices=[
                    ("requested", "Requested"),
                    ("running", "Running"),
                    ("done", "Done"),
                    ("partial", "Partial"),
                    ("skipped", "Skipped"),
                    ("failed", "Failed"),
                ],
                db_default="running",
                default="running",
                max_length=9,
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["requested", "running", "done", "partial", "skipped", "failed"])),
                name="run_status_is_known",
            ),
        ),
    ]
