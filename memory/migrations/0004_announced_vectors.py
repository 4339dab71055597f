from django.db import migrations

# Where the tables of the vectors are there already: new ones are made with them (memory/search/vectors/schema.py).
ADD = """
    DO $$ BEGIN
        IF to_regclass('episode_vector') IS NOT NULL THEN
            CREATE OR REPLACE TRIGGER episode_vector_announce_insert AFTER INSERT ON episode_vector
                REFERENCING NEW TABLE AS new_rows
                FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
            CREATE OR REPLACE TRIGGER episode_vector_announce_update AFTER UPDATE ON episode_vector
                REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
                FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
            CREATE OR REPLACE TRIGGER episode_vector_announce_delete AFTER DELETE ON episode_vector
                REFERENCING OLD TABLE AS old_rows
                FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
            CREATE OR REPLACE TRIGGER episode_vector_announce_truncate AFTER TRUNCATE ON episode_vector
                FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();
        END IF;
    END $$
"""
REMOVE = """
    DO $$ BEGIN
        IF to_regclass('episode_vector') IS NOT NULL THEN
            DROP TRIGGER IF EXISTS episode_vector_announce_insert ON episode_vector;
            DROP TRIGGER IF EXISTS episode_vector_announce_update ON episode_vector;
            DROP TRIGGER IF EXISTS episode_vector_announce_delete ON episode_vector;
            DROP TRIGGER IF EXISTS episode_vector_announce_truncate ON episode_vector;
        END IF;
    END $$
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0003_english_lexemes")]
    operations = [migrations.RunSQL(ADD, REMOVE)]
