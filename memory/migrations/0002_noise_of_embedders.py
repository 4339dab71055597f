"""What likeness each embedder sees by chance."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="embedder",
            name="noise_mean",
            field=models.FloatField(
                blank=True,
                help_text="Of the cosine of texts that have nothing to do with each other.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="embedder",
            name="noise_deviation",
            field=models.FloatField(
                blank=True,
                help_text="The standard deviation of that. Both are empty until they are measured.",
                null=True,
            ),
        ),
    ]
