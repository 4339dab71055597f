"""What was searched for a request, and what became of the memories and episodes that were found."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("proxy", "0010_conversations_of_requests"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="recollectionevent",
            name="recollection_event_amounts_are_not_negative",
        ),
        migrations.AddField(
            model_name="recollectionevent",
            name="notes",
            field=models.JSONField(
                db_default=[],
                default=list,
                help_text="The memories and episodes that were found, by id, each with why.",
            ),
        ),
        migrations.AddField(
            model_name="recollectionevent",
            name="search",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="What came of the search for them.", max_length=60
            ),
        ),
        migrations.AddField(
            model_name="recollectionevent",
            name="search_ms",
            field=models.FloatField(help_text="How long it took; empty where nothing was searched.", null=True),
        ),
        migrations.AlterField(
            model_name="injection",
            name="content",
            field=models.JSONField(
                default=dict,
                help_text="The facts, memories and episodes that the block shows, and the concepts it asks about.",
            ),
        ),
        migrations.AddConstraint(
            model_name="recollectionevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("enrich_ms__gte", 0),
                    ("reasons_left_out__gte", 0),
                    ("unread_characters__gte", 0),
                    models.Q(("search_ms", None), ("search_ms__gte", 0), _connector="OR"),
                ),
                name="recollection_event_amounts_are_not_negative",
            ),
        ),
    ]
