"""The words by which project state and memories meet what other layers say. Those of a memory that is forgotten go."""

from django.db import migrations, models

FORGET = """
CREATE FUNCTION forgotten_memories_meet_nothing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM layer_slot USING gone WHERE kind = 'memory' AND object_id = gone.id;
    RETURN NULL;
END $$;
CREATE TRIGGER forgotten_memories_meet_nothing AFTER DELETE ON memory
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forgotten_memories_meet_nothing();
"""
NOT_FORGET = """
DROP TRIGGER forgotten_memories_meet_nothing ON memory; DROP FUNCTION forgotten_memories_meet_nothing();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("resolution", "0019_members_are_marked"),
    ]

    operations = [
        migrations.CreateModel(
            name="LayerSlot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(choices=[("memory", "Memory"), ("project_state", "project state")], max_length=16),
                ),
                ("object_id", models.BigIntegerField(help_text="The row of its table; it may hold no more.")),
                ("words", models.TextField(help_text="Stems, in order, with those of the project's slug.")),
                ("version", models.SmallIntegerField(help_text="Of the rules that found them.")),
            ],
            options={
                "db_table": "layer_slot",
                "indexes": [models.Index(fields=["words"], name="layer_slot_by_words")],
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "object_id", "words"), name="layer_slot_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["memory", "project_state"])), name="layer_slot_kind_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("words", ""), _negated=True), name="layer_slot_has_words"
                    ),
                ],
            },
        ),
        migrations.RunSQL(FORGET, NOT_FORGET),
    ]
