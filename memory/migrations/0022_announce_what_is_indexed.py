"""Announces all that the indexes in the server processes hold: new messages and memories, too, and who may see what."""

from django.db import migrations

_ROWS = """
CREATE OR REPLACE FUNCTION festinger_announce_rows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    keys text[];
    tables text := CASE TG_OP
        WHEN 'INSERT' THEN 'SELECT * FROM new_rows'
        WHEN 'DELETE' THEN 'SELECT * FROM old_rows'
        ELSE 'SELECT * FROM old_rows UNION ALL SELECT * FROM new_rows' END;
BEGIN
    EXECUTE format('SELECT array_agg(DISTINCT %I::text) FROM (%s) AS touched', TG_ARGV[0], tables) INTO keys;
    PERFORM festinger_announce({name}, keys);
    RETURN NULL;
END $$;
"""
_EPISODE = """
DROP TRIGGER episode_announce_update ON episode;
CREATE TRIGGER episode_announce_update AFTER UPDATE OF {columns} ON episode
    FOR EACH ROW WHEN ({changed}) EXECUTE FUNCTION festinger_announce_episode();
"""
_NEW = """
CREATE FUNCTION festinger_announce_indexed_memories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('memory_vector', (
        SELECT array_agg(new_rows.id::text) FROM new_rows JOIN old_rows USING (id)
        WHERE ({new}) IS DISTINCT FROM ({old})));
    RETURN NULL;
END $$;
CREATE TRIGGER episode_index_insert AFTER INSERT ON episode REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id', 'episode_vector');
CREATE TRIGGER memory_index_insert AFTER INSERT ON memory REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id', 'memory_vector');
CREATE TRIGGER memory_index_update AFTER UPDATE ON memory REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_indexed_memories();
"""
_NOT_NEW = """
DROP TRIGGER episode_index_insert ON episode;
DROP TRIGGER memory_index_insert ON memory;
DROP TRIGGER memory_index_update ON memory;
DROP FUNCTION festinger_announce_indexed_memories();
"""
OF_MEMORIES = (
    *("text", "status", "is_disputed", "project_id", "category", "agent", "person", "set_aside_at", "confidence"),
    *("embedded_at", "said_at", "slot", "channel", "last_updated"),
)
BEFORE = ("text", "set_aside_at")
AFTER = (*BEFORE, "hidden_by_id", "said_at", "agent", "person", "project_id", "quoted", "is_fiction")


def announce(columns: tuple[str, ...]) -> str:
    changed = " OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in columns)
    return _EPISODE.format(columns=", ".join(columns), changed=changed)


class Migration(migrations.Migration):
    dependencies = [("memory", "0021_fixed_limits")]

    operations = [
        migrations.RunSQL(
            _ROWS.replace("{name}", "coalesce(TG_ARGV[1], TG_TABLE_NAME)"), _ROWS.replace("{name}", "TG_TABLE_NAME")
        ),
        migrations.RunSQL(announce(AFTER), announce(BEFORE)),
        migrations.RunSQL(
            _NEW.format(
                new=", ".join(f"new_rows.{name}" for name in OF_MEMORIES),
                old=", ".join(f"old_rows.{name}" for name in OF_MEMORIES),
            ),
            _NOT_NEW,
        ),
    ]
