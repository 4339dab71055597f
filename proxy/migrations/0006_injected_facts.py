"""Keeps what an injected block says beside its text, so that nobody parses the text to know."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("proxy", "0005_prompt_texts_and_filters")]

    operations = [
        # The rows live for a day and have no content: without them, each running conversation gets fresh blocks once.
        migrations.RunSQL("DELETE FROM injection", migrations.RunSQL.noop),
        migrations.AddField(
            model_name="injection",
            name="content",
            field=models.JSONField(
                default=dict, help_text="The facts that the block shows, and the concepts it asks about."
            ),
        ),
    ]
