"""Blocks go to the end of the last message or before the system text; there are no other placements any more."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0016_episode_is_fiction")]

    operations = [
        migrations.RunSQL(
            "UPDATE config SET value = 'tail' WHERE key = 'recollection_placement' AND value NOT IN ('tail', 'system')",
            migrations.RunSQL.noop,
        ),
    ]
