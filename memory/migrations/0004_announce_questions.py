"""A concept that was asked about is announced, too: the other processes must not ask again at once."""

from django.db import migrations

ANNOUNCE = """
CREATE OR REPLACE FUNCTION festinger_announce_soas_flags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('soas', (
        SELECT array_agg(new_rows.id::text) FROM new_rows JOIN old_rows USING (id)
        WHERE ({new}) IS DISTINCT FROM ({old})));
    RETURN NULL;
END $$;
"""


def announcing(*columns: str) -> str:
    return ANNOUNCE.format(
        new=", ".join(f"new_rows.{column}" for column in columns),
        old=", ".join(f"old_rows.{column}" for column in columns),
    )


class Migration(migrations.Migration):
    dependencies = [("memory", "0003_seen_messages_and_evidence")]

    operations = [
        migrations.RunSQL(
            announcing("is_common", "is_muted", "novelty", "asked_at"),
            announcing("is_common", "is_muted", "novelty"),
        ),
    ]
