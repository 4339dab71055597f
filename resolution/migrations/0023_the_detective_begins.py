"""What was there before the detective is read when somebody asks for it; from here on, all is new to it."""

from django.db import migrations

FORWARD = """
INSERT INTO detective_mark (source, row)
    SELECT 'edge_history', coalesce(max(id), 0) FROM edge_history
    UNION ALL SELECT 'memory_history', coalesce(max(id), 0) FROM memory_history
    UNION ALL SELECT 'project_state', coalesce(max(id), 0) FROM project_state
ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [("resolution", "0022_forgotten_memories_are_asked_about_no_more")]

    operations = [migrations.RunSQL(FORWARD, "DELETE FROM detective_mark")]
