"""What a prompt said, where an operator wants it kept; and indexes for the filters of the admin's lists."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("proxy", "0004_figures")]

    operations = [
        migrations.AddField(
            model_name="recollectionevent",
            name="prompt_text",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="What the last message of a user said, where that is kept.",
            ),
        ),
        migrations.AlterField(
            model_name="recollectionevent",
            name="wire",
            field=models.CharField(help_text="The wire format: chat, generate, chat_completions, ...", max_length=16),
        ),
        migrations.AddIndex(
            model_name="recollectionevent",
            index=models.Index(fields=["wire", "at"], name="recollection_event_by_wire"),
        ),
        migrations.AddIndex(
            model_name="recollectionevent",
            index=models.Index(
                condition=models.Q(("block", ""), _negated=True),
                fields=["at"],
                name="recollection_event_with_block",
            ),
        ),
        migrations.AddIndex(
            model_name="recollectionevent",
            index=models.Index(
                condition=models.Q(("prompt_text", ""), _negated=True),
                fields=["at"],
                name="recollection_event_with_text",
            ),
        ),
        migrations.AddIndex(
            model_name="loopevent",
            index=models.Index(fields=["wire", "at"], name="loop_event_by_wire"),
        ),
        migrations.AddIndex(
            model_name="loopevent",
            index=models.Index(fields=["kind", "at"], name="loop_event_by_kind"),
        ),
        migrations.AddIndex(
            model_name="loopevent",
            index=models.Index(fields=["request"], name="loop_event_by_request", opclasses=["varchar_pattern_ops"]),
        ),
    ]
