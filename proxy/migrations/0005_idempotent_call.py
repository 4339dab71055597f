"""Answers to writes with an idempotency key, which a repeat gets again."""

from django.db import migrations, models
from django.db.models.functions import Now
from django.db.models.lookups import Exact

from memory.models.messages import OctetLength


class Migration(migrations.Migration):
    dependencies = [("proxy", "0001_squashed_0004")]

    operations = [
        migrations.CreateModel(
            name="IdempotentCall",
            fields=[
                (
                    "call",
                    models.BinaryField(
                        help_text="The digest of the caller and its key.", primary_key=True, serialize=False
                    ),
                ),
                ("request", models.BinaryField(help_text="The digest of all that decides the answer.")),
                (
                    "answer",
                    models.BinaryField(
                        help_text="Sealed with the request: without it nobody reads it. Empty until it is known.",
                        null=True,
                    ),
                ),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "idempotent_call",
                "default_permissions": (),
                "indexes": [models.Index(fields=["at"], name="idempotent_call_by_age")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(Exact(OctetLength("call"), 32), Exact(OctetLength("request"), 32)),
                        name="idempotent_call_has_digests",
                    )
                ],
            },
        ),
    ]
