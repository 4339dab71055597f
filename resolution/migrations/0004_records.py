"""Decisions are append-only; decided triples are announced by concept, for every process's cache."""

from importlib import import_module

from django.db import migrations

announcing = import_module("memory.migrations.0002_rings_history_and_notifications").announcing

APPEND_ONLY = """
CREATE TRIGGER decision_is_append_only BEFORE UPDATE OR DELETE ON decision
    FOR EACH ROW EXECUTE FUNCTION festinger_refuse_rewriting();
"""
NOT_APPEND_ONLY = "DROP TRIGGER decision_is_append_only ON decision;"


class Migration(migrations.Migration):
    dependencies = [("resolution", "0003_decisions"), ("memory", "0006_learning")]

    operations = [
        migrations.RunSQL(APPEND_ONLY, NOT_APPEND_ONLY),
        migrations.RunSQL(*announcing("decided_triple", "concept_id")),
    ]
