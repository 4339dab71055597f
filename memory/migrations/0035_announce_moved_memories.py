"""A memory that moves to others is announced, too: whoever was given it may not be given it any more."""

from django.db import migrations

FUNCTION = """
CREATE OR REPLACE FUNCTION festinger_announce_memories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('memory', (
        SELECT array_agg(new_rows.id::text) FROM new_rows JOIN old_rows USING (id)
        WHERE ({new}) IS DISTINCT FROM ({old})));
    RETURN NULL;
END $$;
"""


def announce_changes_of(*columns: str) -> str:
    new, old = (", ".join(f"{rows}.{column}" for column in columns) for rows in ("new_rows", "old_rows"))
    return FUNCTION.format(new=new, old=old)


SHOWN = ("text", "status", "is_disputed")


class Migration(migrations.Migration):
    dependencies = [("memory", "0034_project_state")]

    operations = [
        migrations.RunSQL(
            announce_changes_of(*SHOWN, "project_id", "category", "agent", "person"), announce_changes_of(*SHOWN)
        ),
    ]
