"""Pruning asks of each old word whether the history tells of it as a parent, which it does only in JSON. Without an
index it reads the whole history for every batch of words: 0.25 s instead of 0.01 s with 600,000 rows."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0004_announce_questions")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX edge_history_by_parent ON edge_history (((after ->> 'parent_id')::integer))",
            "DROP INDEX edge_history_by_parent",
        ),
    ]
