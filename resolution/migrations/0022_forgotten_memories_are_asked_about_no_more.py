"""Who has a memory forgotten wants its words gone from the questions about it, too."""

from django.db import migrations

# By its name it comes before the trigger that takes the members out.
FORWARD = """
CREATE FUNCTION forgotten_memories_are_asked_about_no_more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE conflict SET question = 'What this asked about was forgotten.'
    WHERE slot_kind = 'narrative' AND id IN (
        SELECT conflict_id FROM conflict_member JOIN gone ON gone.id = object_id WHERE kind = 'memory');
    RETURN NULL;
END $$;
CREATE TRIGGER forgotten_memories_are_asked_about_no_more AFTER DELETE ON memory
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forgotten_memories_are_asked_about_no_more();
"""
BACKWARD = """
DROP TRIGGER forgotten_memories_are_asked_about_no_more ON memory;
DROP FUNCTION forgotten_memories_are_asked_about_no_more();
"""


class Migration(migrations.Migration):
    dependencies = [("resolution", "0021_marks_of_the_detective")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
