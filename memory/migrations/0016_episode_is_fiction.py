"""The voice `fiction`, and the mark of episodes that belong to it."""

from django.db import migrations, models

# Without the voice its messages are the next stronger one's.
KEEP_FOR_SPEAKER = "UPDATE heard_message SET voice = 'unsure' WHERE voice = 'fiction'"


class Migration(migrations.Migration):
    dependencies = [("memory", "0015_conclusions_are_personal")]

    operations = [
        migrations.RemoveConstraint(model_name="heardmessage", name="heard_message_voice_is_known"),
        migrations.RunSQL(migrations.RunSQL.noop, KEEP_FOR_SPEAKER),
        migrations.AlterField(
            model_name="heardmessage",
            name="voice",
            field=models.CharField(
                choices=[
                    ("shared", "shared"),
                    ("unsure", "unsure"),
                    ("fiction", "fiction"),
                    ("quoted", "quoted"),
                    ("nobody's", "nobody's"),
                ],
                db_default="shared",
                default="shared",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="heardmessage",
            constraint=models.CheckConstraint(
                condition=models.Q(("voice__in", ["shared", "unsure", "fiction", "quoted", "nobody's"])),
                name="heard_message_voice_is_known",
            ),
        ),
        migrations.AddField(
            model_name="episode",
            name="is_fiction",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="It asks for a text, or tells a story: no memory is made of it.",
            ),
        ),
    ]
