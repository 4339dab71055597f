"""Stores into which prompts operators do not want a memory or a message injected."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


def add(model: str) -> migrations.AddField:
    return migrations.AddField(
        model_name=model,
        name="unfit_for",
        field=ArrayField(
            models.BigIntegerField(),
            blank=True,
            db_default=[],
            default=list,
            editable=False,
            help_text="Messages: it is not injected into prompts that are more like one of them than like it.",
            size=None,
        ),
    )


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0026_wordings"),
    ]

    operations = [add("episode"), add("memory")]
