"""Requests name the person for whom their agent asked."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("proxy", "0006_find_an_agents_events")]

    operations = [
        migrations.AddField(
            "recollectionevent",
            "person",
            models.CharField(
                blank=True, db_default="", default="", help_text="For whom the agent asked, if known.", max_length=200
            ),
        ),
        migrations.AddIndex(
            "recollectionevent",
            models.Index(
                condition=models.Q(("person", ""), _negated=True),
                fields=["person", "at"],
                name="recollection_event_by_person",
            ),
        ),
    ]
