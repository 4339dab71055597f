"""Stores how the token of an agent begins, by which an operator knows it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0027_unfit_for"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="token_start",
            field=models.CharField(
                blank=True, db_default="", default="", editable=False, help_text="How it begins.", max_length=8
            ),
        ),
    ]
