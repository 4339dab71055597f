"""Announces all that the indexes in the server processes hold: new messages and memories, too, and who may see what."""

from django.db import migrations

_MEMORIES = """
CREATE OR REPLACE FUNCTION festinger_announce_memories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('memory', (
        SELECT array_agg(new_rows.id::text) FROM new_rows JOIN old_rows USING (id)
        WHERE ({new}) IS DISTINCT FROM ({old})));
    RETURN NULL;
END $$;
"""
_EPISODE = """
DROP TRIGGER episode_announce_update ON episode;
CREATE TRIGGER episode_announce_update AFTER UPDATE OF {columns} ON episode
    FOR EACH ROW WHEN ({changed}) EXECUTE FUNCTION festinger_announce_episode();
"""
_NEW = """
CREATE FUNCTION festinger_announce_new_episodes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('episode_vector', (SELECT array_agg(id::text) FROM new_rows));
    RETURN NULL;
END $$;
CREATE TRIGGER episode_announce_insert AFTER INSERT ON episode REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_new_episodes();
CREATE TRIGGER memory_announce_insert AFTER INSERT ON memory REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
"""
_NOT_NEW = """
DROP TRIGGER episode_announce_insert ON episode;
DROP FUNCTION festinger_announce_new_episodes();
DROP TRIGGER memory_announce_insert ON memory;
"""
OF_MEMORIES = ("text", "status", "is_disputed", "project_id", "category", "agent", "person", "set_aside_at")
OF_EPISODES = ("text", "set_aside_at")


def announce(of_memories: tuple[str, ...], of_episodes: tuple[str, ...]) -> str:
    new, old = (", ".join(f"{rows}.{name}" for name in of_memories) for rows in ("new_rows", "old_rows"))
    changed = " OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in of_episodes)
    return _MEMORIES.format(new=new, old=old) + _EPISODE.format(columns=", ".join(of_episodes), changed=changed)


AFTER = announce(
    (*OF_MEMORIES, "confidence", "embedded_at", "said_at", "slot", "channel", "last_updated"),
    (*OF_EPISODES, "hidden_by_id", "said_at", "agent", "person", "project_id", "quoted", "is_fiction"),
)


class Migration(migrations.Migration):
    dependencies = [("memory", "0021_fixed_limits")]

    operations = [
        migrations.RunSQL(AFTER, announce(OF_MEMORIES, OF_EPISODES)),
        migrations.RunSQL(_NEW, _NOT_NEW),
    ]
