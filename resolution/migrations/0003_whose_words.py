"""Candidates may hold for their own speaker; they are announced."""

from django.db import migrations, models

ANNOUNCE = """
    CREATE TRIGGER edge_candidate_announce_insert AFTER INSERT ON edge_candidate REFERENCING NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
    CREATE TRIGGER edge_candidate_announce_update AFTER UPDATE ON edge_candidate
        REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
    CREATE TRIGGER edge_candidate_announce_delete AFTER DELETE ON edge_candidate REFERENCING OLD TABLE AS old_rows
        FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
    CREATE TRIGGER edge_candidate_announce_truncate AFTER TRUNCATE ON edge_candidate
        FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();
"""
FORGET = """
    DROP TRIGGER edge_candidate_announce_insert ON edge_candidate;
    DROP TRIGGER edge_candidate_announce_update ON edge_candidate;
    DROP TRIGGER edge_candidate_announce_delete ON edge_candidate;
    DROP TRIGGER edge_candidate_announce_truncate ON edge_candidate;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0006_whose_words"),
        ("resolution", "0002_runs_of_upgrades"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="candidate",
            name="candidate_stands_once",
        ),
        migrations.RemoveConstraint(
            model_name="candidate",
            name="candidate_channel_is_known",
        ),
        migrations.RemoveConstraint(
            model_name="claim",
            name="conflict_channel_is_known",
        ),
        migrations.AddField(
            model_name="candidate",
            name="for_person",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="Behind that agent.", max_length=200
            ),
        ),
        migrations.AddField(
            model_name="candidate",
            name="for_speaker",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="The agent whose own words it may be.", max_length=120
            ),
        ),
        migrations.AddField(
            model_name="candidate",
            name="paragraph",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="Where it was said.", max_length=32
            ),
        ),
        migrations.AlterField(
            model_name="candidate",
            name="channel",
            field=models.CharField(
                choices=[
                    ("operator", "an operator"),
                    ("gutask", "gutask"),
                    ("user", "a user's message"),
                    ("unsure", "a long message"),
                    ("explained", "explained by a model"),
                    ("assistant", "the assistant's words"),
                    ("quoted", "quoted"),
                ],
                help_text="The strongest it was said through.",
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="claim",
            name="channel",
            field=models.CharField(
                choices=[
                    ("operator", "an operator"),
                    ("gutask", "gutask"),
                    ("user", "a user's message"),
                    ("unsure", "a long message"),
                    ("explained", "explained by a model"),
                    ("assistant", "the assistant's words"),
                    ("quoted", "quoted"),
                ],
                db_default="user",
                default="user",
                max_length=12,
            ),
        ),
        migrations.AddIndex(
            model_name="candidate",
            index=models.Index(
                condition=models.Q(("state", "open"), models.Q(("for_speaker", ""), _negated=True)),
                fields=["for_speaker", "for_person"],
                name="candidate_of_a_speaker",
            ),
        ),
        migrations.AddConstraint(
            model_name="candidate",
            constraint=models.UniqueConstraint(
                fields=("concept", "dimension", "parent", "is_isa", "for_speaker", "for_person"),
                name="candidate_stands_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="candidate",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="candidate_channel_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="claim",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="conflict_channel_is_known",
            ),
        ),
        migrations.RunSQL(ANNOUNCE, FORGET),
    ]
