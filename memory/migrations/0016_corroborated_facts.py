from django.db import migrations, models

# By the agents that the history names, as far back as it goes: those without a token are one voice, for they may have
# called themselves anything. Whoever imported a file did not state what is in it.
FILL = """
    ALTER TABLE urd DISABLE TRIGGER USER;
    WITH said AS (
        SELECT concept_id, dim_id, (after ->> 'parent_id')::int AS parent_id
        FROM edge_history
        WHERE action IN ('insert', 'supersede', 'confirm') AND role <> 'import'
        GROUP BY 1, 2, 3
        HAVING count(
            DISTINCT CASE WHEN source = 'operator' OR actor IN (SELECT name FROM agent) THEN actor ELSE '' END
        ) > 1
    )
    UPDATE urd SET is_corroborated = true FROM said
    WHERE (urd.id, urd.dim_id, urd.parent_id) = (said.concept_id, said.dim_id, said.parent_id);
    ALTER TABLE urd ENABLE TRIGGER USER;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0015_redaction"),
    ]

    operations = [
        migrations.AddField(
            model_name="edge",
            name="is_corroborated",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether several agents have stated it, each by itself.",
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
