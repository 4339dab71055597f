"""Which conversation a request belongs to: the way from a statement to the request that brought it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("proxy", "0009_restrictions_of_requests"),
    ]

    operations = [
        migrations.AddField(
            model_name="recollectionevent",
            name="conversation",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="The digest of its opening.", max_length=32
            ),
        ),
        migrations.AddIndex(
            model_name="recollectionevent",
            index=models.Index(fields=["conversation", "at"], name="recollection_event_in_order"),
        ),
    ]
