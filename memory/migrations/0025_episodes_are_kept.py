"""What is said is kept, unless an operator does not want it; what was forgotten stays forgotten."""

from django.db import migrations, models
from django.db.models.lookups import Exact

from memory.models.messages import OctetLength

# A process knows which agents may name which project.
ANNOUNCE = """
CREATE TRIGGER {table}_announce AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();
"""
# Whoever has used Festinger so far was told that no prompt's text is kept: nothing is until an operator says so. A new
# database has no settings yet.
ASK = """
INSERT INTO config (key, value, updated_at) SELECT 'episodes', 'ask', now() WHERE EXISTS (SELECT FROM config)
    ON CONFLICT DO NOTHING;
"""
FORGET_SETTINGS = "DELETE FROM config WHERE key IN ('episodes', 'episode_days')"


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0024_semantic_memory"),
    ]

    operations = [
        migrations.CreateModel(
            name="ForgottenEpisode",
            fields=[
                ("digest", models.BinaryField(primary_key=True, serialize=False)),
            ],
            options={
                "db_table": "forgotten_episode",
                "constraints": [
                    models.CheckConstraint(
                        condition=Exact(OctetLength("digest"), 32), name="forgotten_episode_digest_is_whole"
                    ),
                ],
            },
        ),
        migrations.AlterField(
            model_name="episode",
            name="digest",
            field=models.BinaryField(
                help_text="Of the message, as seen_message has it, and of who said it in which project."
            ),
        ),
        *(
            migrations.RunSQL(ANNOUNCE.format(table=table), f"DROP TRIGGER {table}_announce ON {table}")
            for table in ("project", "agent_allowed_projects")
        ),
        migrations.RunSQL(ASK, FORGET_SETTINGS),
    ]
