"""A model's address may be one that only containers know: `http://vllm:8000/v1`. The column stays as it is."""

from django.db import migrations, models

import memory.models.operating


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0006_learning"),
    ]

    operations = [
        migrations.AlterField(
            model_name="languagemodel",
            name="base_url",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Empty for the provider's own; for Ollama, for FESTINGER_UPSTREAM. OpenAI's ends in /v1.",
                max_length=200,
                validators=[memory.models.operating.http_address],
            ),
        ),
    ]
