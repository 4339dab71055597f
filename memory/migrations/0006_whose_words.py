"""Each message that waits, and each statement, says whose words it is."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0005_heard_messages"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="alias",
            name="alias_channel_is_known",
        ),
        migrations.RemoveConstraint(
            model_name="edge",
            name="urd_channel_is_known",
        ),
        migrations.RemoveConstraint(
            model_name="edgehistory",
            name="edge_history_channel_is_known",
        ),
        migrations.RemoveConstraint(
            model_name="memory",
            name="memory_channel_is_known",
        ),
        migrations.RemoveConstraint(
            model_name="memoryhistory",
            name="memory_history_channel_is_known",
        ),
        migrations.RemoveConstraint(
            model_name="observation",
            name="observation_channel_is_known",
        ),
        migrations.AddField(
            model_name="episode",
            name="unsure",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.IntegerField(), blank=True, db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="heardmessage",
            name="voice",
            field=models.CharField(
                choices=[("shared", "shared"), ("unsure", "unsure"), ("quoted", "quoted"), ("nobody's", "nobody's")],
                db_default="shared",
                default="shared",
                max_length=8,
            ),
        ),
        migrations.RunSQL(
            "UPDATE heard_message SET voice = 'quoted' WHERE is_quoted",
            "UPDATE heard_message SET is_quoted = voice IN ('quoted', 'nobody''s')",
        ),
        migrations.RemoveField(
            model_name="heardmessage",
            name="is_quoted",
        ),
        migrations.AddField(
            model_name="observation",
            name="for_person",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="observation",
            name="for_speaker",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="Of an unsure one.", max_length=120
            ),
        ),
        migrations.AddField(
            model_name="observation",
            name="paragraph",
            field=models.CharField(blank=True, db_default="", default="", help_text="Its digest.", max_length=32),
        ),
        migrations.AlterField(
            model_name="alias",
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
                help_text="A weaker one neither changes nor ends it.",
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="edge",
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
        migrations.AlterField(
            model_name="edgehistory",
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
        migrations.AlterField(
            model_name="memory",
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
        migrations.AlterField(
            model_name="memoryhistory",
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
        migrations.AlterField(
            model_name="observation",
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
        migrations.AddConstraint(
            model_name="alias",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="alias_channel_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="edge",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="urd_channel_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="edgehistory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="edge_history_channel_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="heardmessage",
            constraint=models.CheckConstraint(
                condition=models.Q(("voice__in", ["shared", "unsure", "quoted", "nobody's"])),
                name="heard_message_voice_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="memory_channel_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryhistory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="memory_history_channel_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="observation_channel_is_known",
            ),
        ),
    ]
