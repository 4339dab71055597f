"""The supporters of facts become rows; those of stored facts are read from the history."""

from typing import Final

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from memory.attribution.client_names import voice_of

# Who stated each fact, also where it was before it moved to another dimension.
FROM_HISTORY: Final = """
    INSERT INTO support (kind, object_id, agent, channel, said_at, confirmed_at)
    SELECT 'edge', edge_id, voice, (array_agg(said.channel ORDER BY array_position(
               ARRAY['operator', 'gutask', 'user', 'unsure', 'explained', 'assistant', 'quoted'], said.channel::text)
           ))[1], min(at), max(at) FILTER (WHERE action = 'confirm')
    FROM urd JOIN edge_history AS said ON concept_id = urd.id
        AND (after ->> 'parent_id')::integer = urd.parent_id
        AND action IN ('insert', 'confirm', 'supersede') AND role <> 'import'
        AND (said.dim_id = urd.dim_id OR EXISTS (
            SELECT FROM edge_history AS moved WHERE moved.concept_id = urd.id AND moved.dim_id = urd.dim_id
                AND moved.action = 'move' AND (moved.before ->> 'dim_id')::integer = said.dim_id
                AND (moved.after ->> 'parent_id')::integer = urd.parent_id))
    JOIN voice_of_agent ON actor = voice_of_agent.agent
    WHERE urd.id <> urd.parent_id
    GROUP BY edge_id, voice
"""
# After a bulk load only the fact names its author.
FROM_FACTS: Final = """
    INSERT INTO support (kind, object_id, agent, channel, said_at)
    SELECT 'edge', edge_id, voice, channel, said_at FROM urd JOIN voice_of_agent USING (agent)
    WHERE id <> parent_id AND NOT EXISTS (SELECT FROM support WHERE object_id = edge_id)
"""


def fill(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT agent FROM urd UNION SELECT actor FROM edge_history")
        agents = [agent for (agent,) in cursor.fetchall()]
        cursor.execute(
            "CREATE TEMPORARY TABLE voice_of_agent ON COMMIT DROP AS"
            " SELECT * FROM unnest(%s::text[], %s::text[]) AS named (agent, voice)",
            [agents, [voice_of(agent) for agent in agents]],
        )
        cursor.execute(FROM_HISTORY)
        cursor.execute(FROM_FACTS)


class Migration(migrations.Migration):
    dependencies = [("memory", "0023_one_announcement_of_changes")]

    operations = [
        migrations.CreateModel(
            name="Support",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("edge", "fact")], max_length=16)),
                ("object_id", models.BigIntegerField()),
                ("agent", models.CharField(blank=True, max_length=120)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("operator", "an operator"),
                            ("gutask", "gutask"),
                            ("user", "a user's message"),
                            ("unsure", "a long message"),
                            ("explained", "explained by a model"),
                            ("assistant", "the assistant's words"),
                            ("quoted", "quoted"),
                        ],
                        help_text="The strongest it was stated through.",
                        max_length=12,
                    ),
                ),
                (
                    "is_partial",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether it only stated less: an app, of a Flask app.",
                    ),
                ),
                ("said_at", models.DateTimeField(help_text="When it was first stated.")),
                ("confirmed_at", models.DateTimeField(help_text="When the history last noted a repeat.", null=True)),
            ],
            options={
                "db_table": "support",
                "default_permissions": (),
                "indexes": [models.Index(fields=["agent", "kind"], name="support_by_agent")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "object_id", "agent", "person"), name="support_counts_once"
                    ),
                    models.CheckConstraint(condition=models.Q(("kind__in", ["edge"])), name="support_kind_is_known"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "channel__in",
                                ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"],
                            )
                        ),
                        name="support_channel_is_known",
                    ),
                ],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
