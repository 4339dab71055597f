"""The dimension ``uses`` is shipped from now on, and keeps all: also where statements have made one of that name."""

from django.db import migrations

KEEP_ALL = """
UPDATE dimension SET on_collision = 'keep_all' FROM soas
WHERE soas.id = dimension.id AND soas.token = 'uses' AND on_collision = 'queue';
"""
# Refused while a slot holds several facts: the earlier version has no room for them.
KEEP_ONE = "UPDATE dimension SET on_collision = 'queue' WHERE on_collision = 'keep_all'"


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0031_additive_dimensions"),
    ]

    operations = [
        migrations.RunSQL(KEEP_ALL, KEEP_ONE),
    ]
