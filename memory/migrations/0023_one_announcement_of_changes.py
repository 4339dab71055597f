"""Announces changed rows by one function, to which each trigger names its columns."""

from typing import Final

from django.db import migrations

FUNCTION: Final = """
CREATE FUNCTION festinger_announce_changes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    keys text[];
    columns text[] := TG_ARGV[1:];
BEGIN
    EXECUTE format(
        'SELECT array_agg(new_rows.id::text) FROM new_rows JOIN old_rows USING (id)'
        ' WHERE (new_rows.%s) IS DISTINCT FROM (old_rows.%s)',
        array_to_string(columns, ', new_rows.'), array_to_string(columns, ', old_rows.')) INTO keys;
    PERFORM festinger_announce(TG_ARGV[0], keys);
    RETURN NULL;
END $$
"""
OLD_FUNCTION: Final = """
CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('{announced}', (
        SELECT array_agg(new_rows.id::text) FROM new_rows JOIN old_rows USING (id)
        WHERE ({new}) IS DISTINCT FROM ({old})));
    RETURN NULL;
END $$
"""
TRIGGER: Final = """
CREATE OR REPLACE TRIGGER {trigger} AFTER UPDATE ON {table}
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION {function}({arguments})
"""
FLAGS: Final = ("is_common", "is_muted", "novelty", "asked_at", "label")
SHOWN: Final = ("text", "status", "is_disputed", "project_id", "category", "agent", "person", "set_aside_at")
INDEXED: Final = (*SHOWN, "confidence", "embedded_at", "said_at", "slot", "channel", "last_updated")


def follow(
    trigger: str, table: str, announced: str, columns: tuple[str, ...], function: str, argument: str = ""
) -> list[migrations.RunSQL]:
    """``function``: the one before, with its argument."""
    new, old = (", ".join(f"{rows}.{column}" for column in columns) for rows in ("new_rows", "old_rows"))
    arguments = ", ".join(f"'{each}'" for each in (announced, *columns))
    now = TRIGGER.format(trigger=trigger, table=table, function="festinger_announce_changes", arguments=arguments)
    before = TRIGGER.format(trigger=trigger, table=table, function=function, arguments=argument)
    made = OLD_FUNCTION.format(function=function, announced=announced, new=new, old=old)
    return [migrations.RunSQL(now, before), migrations.RunSQL(f"DROP FUNCTION {function}()", made)]


class Migration(migrations.Migration):
    dependencies = [("memory", "0022_announce_what_is_indexed")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION festinger_announce_changes()"),
        *follow("soas_announce_update", "soas", "soas", FLAGS, "festinger_announce_soas_flags", "'id'"),
        *follow("memory_announce_update", "memory", "memory", SHOWN, "festinger_announce_memories"),
        *follow("memory_index_update", "memory", "memory_vector", INDEXED, "festinger_announce_indexed_memories"),
    ]
