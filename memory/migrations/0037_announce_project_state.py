"""Project state goes into prompts: every process hears of its changes. And who took a value back without another in its
place is kept with it."""

from importlib import import_module

from django.db import migrations, models

announcing = import_module("memory.migrations.0002_rings_history_and_notifications").announcing


class Migration(migrations.Migration):
    dependencies = [("memory", "0036_asked_about_memories")]

    operations = [
        migrations.AddField(
            model_name="projectstate",
            name="archived_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=120),
        ),
        migrations.AddField(
            model_name="projectstate",
            name="archive_reason",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.RunSQL(*announcing("project_state", "id")),
    ]
