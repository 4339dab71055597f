"""What a process may have shown in a prompt is announced when it changes or goes: memories and episodes."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION festinger_announce_memories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('memory', (
        SELECT array_agg(new_rows.id::text) FROM new_rows JOIN old_rows USING (id)
        WHERE (new_rows.text, new_rows.status, new_rows.is_disputed)
           IS DISTINCT FROM (old_rows.text, old_rows.status, old_rows.is_disputed)));
    RETURN NULL;
END $$;
CREATE TRIGGER memory_announce_update AFTER UPDATE ON memory
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_memories();
CREATE TRIGGER memory_announce_delete AFTER DELETE ON memory REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
CREATE TRIGGER memory_announce_truncate AFTER TRUNCATE ON memory
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();

-- Not a statement's rows: episodes are marked as read and as embedded all the time, and their texts hardly ever change.
CREATE FUNCTION festinger_announce_episode() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('episode', ARRAY[NEW.id::text]);
    RETURN NULL;
END $$;
CREATE TRIGGER episode_announce_update AFTER UPDATE OF text ON episode
    FOR EACH ROW WHEN (OLD.text IS DISTINCT FROM NEW.text) EXECUTE FUNCTION festinger_announce_episode();
CREATE TRIGGER episode_announce_delete AFTER DELETE ON episode REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
CREATE TRIGGER episode_announce_truncate AFTER TRUNCATE ON episode
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();
"""
BACKWARD = """
DROP TRIGGER episode_announce_truncate ON episode;
DROP TRIGGER episode_announce_delete ON episode;
DROP TRIGGER episode_announce_update ON episode;
DROP FUNCTION festinger_announce_episode();
DROP TRIGGER memory_announce_truncate ON memory;
DROP TRIGGER memory_announce_delete ON memory;
DROP TRIGGER memory_announce_update ON memory;
DROP FUNCTION festinger_announce_memories();
"""
# The blocks of a conversation have to hold memories and episodes, too. Whoever had the former default has the new one.
MORE_ROOM = "UPDATE config SET value = '1500' WHERE key = 'recollection_max_total_tokens' AND value = '1000'"


class Migration(migrations.Migration):
    dependencies = [("memory", "0026_what_is_said_beside")]

    operations = [
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.RunSQL(MORE_ROOM, migrations.RunSQL.noop),
    ]
