"""A new word that a message brought is announced once it rises (memory/ingest/vocabulary.py): until then no process
loads it. What the graph adds has no encounters yet, and is."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION festinger_announce_new_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('soas', (
        SELECT array_agg(id::text) FROM new_rows
        WHERE encounter_count = 0 OR is_common OR is_muted OR novelty > 0 OR asked_count > 0));
    RETURN NULL;
END $$;
DROP TRIGGER soas_announce_insert ON soas;
CREATE TRIGGER soas_announce_insert AFTER INSERT ON soas REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_new_words();
"""
BACKWARD = """
DROP TRIGGER soas_announce_insert ON soas;
CREATE TRIGGER soas_announce_insert AFTER INSERT ON soas REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
DROP FUNCTION festinger_announce_new_words();
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0017_over_quota")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
