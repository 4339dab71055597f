"""The rows are made anew: each is at most some seconds old while its process lives."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("memory", "0012_due_by_kind")]

    operations = [
        migrations.DeleteModel(name="Heartbeat"),
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64, verbose_name="part")),
                ("host", models.CharField(blank=True, db_default="", default="", max_length=255)),
                ("pid", models.PositiveIntegerField(db_default=0, default=0, verbose_name="process id")),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "heartbeat"},
        ),
        migrations.AddConstraint(
            model_name="heartbeat",
            constraint=models.UniqueConstraint(fields=("name", "host", "pid"), name="heartbeat_one_a_process"),
        ),
    ]
