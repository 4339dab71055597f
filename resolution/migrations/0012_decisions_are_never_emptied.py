"""TRUNCATE passes by triggers on rows."""

from importlib import import_module

from django.db import migrations

refusing_truncate = import_module("memory.migrations.0015_redaction").refusing_truncate


class Migration(migrations.Migration):
    dependencies = [("resolution", "0011_conflicts_with_members"), ("memory", "0015_redaction")]

    operations = [migrations.RunSQL(*refusing_truncate("decision"))]
