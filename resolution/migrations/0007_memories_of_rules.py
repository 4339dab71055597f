"""Leave a run to a worker that makes candidates of the memories that rules made of prose, if there may be any. It also
lists the shared facts of prompts that would hold for their speaker alone today."""

from django.db import migrations

OPEN = """
INSERT INTO run (trigger, mode, counts)
SELECT 'upgrade', '', '{}'
WHERE EXISTS (SELECT FROM memory WHERE source = 'stated' AND status = 'active')
   OR EXISTS (SELECT FROM urd WHERE channel = 'user')
"""
CLOSE = "UPDATE run SET status = 'failed', ended_at = now() WHERE trigger = 'upgrade' AND status = 'running'"


class Migration(migrations.Migration):
    dependencies = [
        ("resolution", "0006_runs_after_an_upgrade"),
        ("memory", "0015_conclusions_are_personal"),
    ]

    operations = [migrations.RunSQL(OPEN, CLOSE)]
