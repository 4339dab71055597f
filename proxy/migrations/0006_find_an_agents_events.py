"""The pages of agents and persons count and list their requests."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("proxy", "0005_idempotent_call"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="recollectionevent",
            index=models.Index(fields=["agent", "at"], name="recollection_event_by_agent"),
        ),
    ]
