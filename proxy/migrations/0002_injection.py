"""What was put into prompts, kept over restarts and announced to the other processes."""

from django.db import migrations, models
from django.db.models.functions import Mod, Now
from django.db.models.lookups import Exact, In

from memory.models.messages import OctetLength

ANNOUNCED = (
    "CREATE TRIGGER injection_announce_insert AFTER INSERT ON injection REFERENCING NEW TABLE AS new_rows"
    " FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');"
)


class Migration(migrations.Migration):
    dependencies = [("proxy", "0001_initial"), ("memory", "0002_rings_history_and_notifications")]

    operations = [
        migrations.CreateModel(
            name="Injection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("conversation", models.BinaryField()),
                (
                    "keys",
                    models.BinaryField(help_text="Digests of 16 bytes, one after the other, under which it is found."),
                ),
                (
                    "place",
                    models.BinaryField(help_text="The digest of all that comes before the block; empty for the top."),
                ),
                ("block", models.TextField(blank=True, help_text="Empty where nothing stands there.")),
                (
                    "system",
                    models.TextField(help_text="The Modelfile's SYSTEM that came before the block.", null=True),
                ),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "injection",
                "indexes": [models.Index(fields=["at"], name="injection_by_age")],
                "constraints": [
                    models.CheckConstraint(
                        condition=Exact(OctetLength("conversation"), 16), name="injection_conversation_is_a_digest"
                    ),
                    models.CheckConstraint(
                        condition=Exact(Mod(OctetLength("keys"), 16), 0), name="injection_keys_are_digests"
                    ),
                    models.CheckConstraint(
                        condition=In(OctetLength("place"), [0, 16]), name="injection_place_is_a_digest"
                    ),
                ],
            },
        ),
        migrations.RunSQL(ANNOUNCED, "DROP TRIGGER injection_announce_insert ON injection;"),
    ]
