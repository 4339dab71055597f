"""The resolution queue announces its changes, by concept: its ``?`` shows in every process."""

from importlib import import_module

from django.db import migrations

announcing = import_module("memory.migrations.0002_rings_history_and_notifications").announcing


class Migration(migrations.Migration):
    dependencies = [("resolution", "0001_initial"), ("memory", "0002_rings_history_and_notifications")]

    operations = [migrations.RunSQL(*announcing("resolution_queue", "concept_id"))]
