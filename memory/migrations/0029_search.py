"""What the search keeps: texts that wait for their vectors, how frequent words are."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# Statement by statement: messages come in batches.
QUEUE = """
    CREATE FUNCTION text_awaits_its_vector() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO pending_embedding (kind, row) SELECT TG_TABLE_NAME, id FROM added ON CONFLICT DO NOTHING;
        ELSE
            -- A worker that has read the old text must not take the row away.
            INSERT INTO pending_embedding (kind, row) VALUES (TG_TABLE_NAME, NEW.id)
            ON CONFLICT (kind, row) DO UPDATE SET attempts = 0, next_attempt_at = now(), last_error = '';
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER episode_awaits_its_vector AFTER INSERT ON episode REFERENCING NEW TABLE AS added
        FOR EACH STATEMENT EXECUTE FUNCTION text_awaits_its_vector();
    CREATE TRIGGER memory_awaits_its_vector AFTER INSERT ON memory REFERENCING NEW TABLE AS added
        FOR EACH STATEMENT EXECUTE FUNCTION text_awaits_its_vector();
    CREATE TRIGGER memory_awaits_another_vector AFTER UPDATE OF text ON memory
        FOR EACH ROW WHEN (OLD.text <> NEW.text) EXECUTE FUNCTION text_awaits_its_vector();
"""
NO_QUEUE = """
    DROP TRIGGER episode_awaits_its_vector ON episode;
    DROP TRIGGER memory_awaits_its_vector ON memory;
    DROP TRIGGER memory_awaits_another_vector ON memory;
    DROP FUNCTION text_awaits_its_vector();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0028_slots_of_what_is_less_preferred"),
    ]

    operations = [
        migrations.CreateModel(
            name="LexemeFrequency",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("memory", "Memory"), ("episode", "Episode"), ("english", "English")], max_length=7
                    ),
                ),
                ("lexeme", models.TextField()),
                ("documents", models.IntegerField()),
            ],
            options={
                "verbose_name_plural": "frequencies of words",
                "db_table": "lexeme_frequency",
            },
        ),
        migrations.CreateModel(
            name="PendingEmbedding",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "kind", "row", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.CharField(choices=[("memory", "Memory"), ("episode", "Episode")], max_length=7)),
                ("row", models.BigIntegerField(help_text="The id of the memory or episode; it may be gone.")),
                ("attempts", models.SmallIntegerField(db_default=0, default=0)),
                ("next_attempt_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("last_error", models.TextField(blank=True, db_default="", default="")),
            ],
            options={
                "db_table": "pending_embedding",
            },
        ),
        migrations.CreateModel(
            name="TextStatistics",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("memory", "Memory"), ("episode", "Episode")], max_length=7)),
                ("documents", models.IntegerField()),
                ("mean_length", models.FloatField()),
                ("counted_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name_plural": "statistics of texts",
                "db_table": "text_statistics",
            },
        ),
        migrations.RemoveConstraint(
            model_name="llmcall",
            name="llm_call_purpose_is_known",
        ),
        migrations.RemoveIndex(
            model_name="episode",
            name="episode_unembedded",
        ),
        migrations.RemoveField(
            model_name="episode",
            name="embedded_at",
        ),
        migrations.AddField(
            model_name="embedder",
            name="is_current",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="embedder",
            name="last_error",
            field=models.TextField(blank=True, db_default="", default="", help_text="Empty once it does well again."),
        ),
        migrations.AddField(
            model_name="embedder",
            name="failed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="embedder",
            name="dimensions",
            field=models.IntegerField(blank=True, help_text="Empty until the first vector is there.", null=True),
        ),
        migrations.AlterField(
            model_name="embedder",
            name="name",
            field=models.CharField(help_text="The setting, and for a language model its name.", max_length=200),
        ),
        migrations.RemoveConstraint(model_name="embedder", name="embedder_unique"),
        migrations.AddConstraint(
            model_name="embedder",
            constraint=models.UniqueConstraint(fields=("name",), name="embedder_unique"),
        ),
        migrations.AlterField(
            model_name="llmcall",
            name="purpose",
            field=models.CharField(
                choices=[
                    ("explain", "explain a concept"),
                    ("resolve", "decide a conflict"),
                    ("test", "test the connection"),
                    ("embed", "turn texts into vectors"),
                ],
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="embedder",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_current", True)), fields=("is_current",), name="embedder_one_is_current"
            ),
        ),
        migrations.AddConstraint(
            model_name="llmcall",
            constraint=models.CheckConstraint(
                condition=models.Q(("purpose__in", ["explain", "resolve", "test", "embed"])),
                name="llm_call_purpose_is_known",
            ),
        ),
        migrations.AddField(
            model_name="lexemefrequency",
            name="project",
            field=models.ForeignKey(
                db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, to="memory.project"
            ),
        ),
        migrations.AddConstraint(
            model_name="pendingembedding",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["memory", "episode"])), name="pending_embedding_kind_is_known"
            ),
        ),
        migrations.AddField(
            model_name="textstatistics",
            name="project",
            field=models.ForeignKey(
                db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, to="memory.project"
            ),
        ),
        migrations.AddConstraint(
            model_name="lexemefrequency",
            constraint=models.UniqueConstraint(
                fields=("kind", "project", "lexeme"), name="lexeme_frequency_unique", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="lexemefrequency",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["memory", "episode", "english"])),
                name="lexeme_frequency_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="textstatistics",
            constraint=models.UniqueConstraint(
                fields=("kind", "project"), name="text_statistics_unique", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="textstatistics",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["memory", "episode"])), name="text_statistics_kind_is_known"
            ),
        ),
        migrations.RunSQL(QUEUE, NO_QUEUE),
    ]
