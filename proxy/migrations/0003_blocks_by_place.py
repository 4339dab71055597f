"""Blocks are found by their place and the answer that followed, no more by conversations."""

from django.db import migrations, models
from django.db.models.lookups import In

from memory.models.messages import OctetLength


class Migration(migrations.Migration):
    dependencies = [("proxy", "0002_client_request")]

    operations = [
        migrations.RemoveConstraint("injection", "injection_conversation_is_a_digest"),
        migrations.RemoveConstraint("injection", "injection_keys_are_digests"),
        # For the way back.
        migrations.AlterField("injection", "conversation", models.BinaryField(db_default=bytes(16))),
        migrations.AlterField("injection", "keys", models.BinaryField(db_default=b"")),
        migrations.RemoveField("injection", "conversation"),
        migrations.RemoveField("injection", "keys"),
        migrations.RemoveField("injection", "system"),
        migrations.AddField(
            "injection",
            "answer",
            models.BinaryField(db_default=b"", default=b"", help_text="The digest of what the model answered."),
        ),
        migrations.AlterField(
            "injection",
            "place",
            models.BinaryField(help_text="The digest of all that comes before the block, and of the speaker."),
        ),
        migrations.AddConstraint(
            "injection",
            models.CheckConstraint(condition=In(OctetLength("answer"), [0, 16]), name="injection_answer_is_a_digest"),
        ),
    ]
