"""Questions are asked seldom: of whom can answer, about names that users speak of."""

import django.db.models.functions.datetime
from django.db import migrations, models

ANNOUNCE = """
CREATE TRIGGER {table}_announce AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();
"""
# Whoever taught by gutask before can be asked.
FIND_TEACHERS = """
INSERT INTO teacher (agent, at)
    SELECT actor, max(at) FROM edge_history
    WHERE source = 'gutask' AND action IN ('insert', 'confirm', 'supersede') AND actor <> '' GROUP BY actor
    ON CONFLICT DO NOTHING;
"""
# They were counted also where only code or a log named them.
COUNT_ANEW = "UPDATE soas SET conversation_count = 0 WHERE conversation_count > 0"
# 3 was the default, and is what one conversation may be asked by now.
ONE_A_BLOCK = "UPDATE config SET value = '1' WHERE key = 'zero_hit_max' AND value = '3'"


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0022_what_statements_say"),
    ]

    operations = [
        migrations.CreateModel(
            name="MutePattern",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "pattern",
                    models.CharField(
                        help_text="A name in which * stands for anything: self.*, com.acme.*, *.md.", max_length=64
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name="since"
                    ),
                ),
            ],
            options={
                "db_table": "mute_pattern",
            },
        ),
        migrations.CreateModel(
            name="Teacher",
            fields=[
                ("agent", models.CharField(max_length=120, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "teacher",
            },
        ),
        migrations.AddField(
            model_name="agent",
            name="can_teach",
            field=models.CharField(
                choices=[
                    ("auto", "if it has taught by gutask before, or its request has tools"),
                    ("always", "always"),
                    ("never", "never"),
                ],
                db_default="auto",
                default="auto",
                help_text="Whether it is asked about unknown names.",
                max_length=8,
                verbose_name="can answer questions",
            ),
        ),
        migrations.AlterField(
            model_name="soas",
            name="conversation_count",
            field=models.IntegerField(
                db_default=0, default=0, help_text="Conversations whose users spoke of it while it had no facts."
            ),
        ),
        migrations.AddIndex(
            model_name="soas",
            index=models.Index(
                condition=models.Q(("conversation_count__gt", 0)), fields=["-saliency", "-id"], name="soas_spoken_of"
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("can_teach__in", ["auto", "always", "never"])), name="agent_can_teach_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="mutepattern",
            constraint=models.UniqueConstraint(
                fields=("pattern",),
                name="mute_pattern_unique",
                violation_error_message="This pattern is muted already.",
            ),
        ),
        migrations.AddConstraint(
            model_name="mutepattern",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("pattern__regex", "[[:alnum:]].*[[:alnum:]]"),
                    ("pattern__regex", '^[^[:space:][:cntrl:]<>"`\\\\/:=(){}\\[\\],;!?|^$]+$'),
                ),
                name="mute_pattern_is_of_names",
                violation_error_message="A pattern is letters, digits and _ - . ' @ +, with * for anything.",
            ),
        ),
        *(
            migrations.RunSQL(ANNOUNCE.format(table=table), f"DROP TRIGGER {table}_announce ON {table}")
            for table in ("mute_pattern", "teacher")
        ),
        migrations.RunSQL(FIND_TEACHERS, migrations.RunSQL.noop),
        migrations.RunSQL(COUNT_ANEW, migrations.RunSQL.noop),
        migrations.RunSQL(ONE_A_BLOCK, migrations.RunSQL.noop),
    ]
