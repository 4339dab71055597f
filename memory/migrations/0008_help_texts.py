"""What the admin says beside fields. The columns stay as they are."""

from django.db import migrations, models

import memory.models.operating


class Migration(migrations.Migration):
    dependencies = [("memory", "0007_addresses_of_models")]

    operations = [
        migrations.AlterField(
            model_name="dimension",
            name="on_collision",
            field=models.CharField(
                choices=[("queue", "queue the newcomer"), ("supersede", "the newer wins")],
                db_default="queue",
                default="queue",
                help_text="What becomes of a statement whose slot is taken. Queue: it waits in the conflicts, the world"
                " stays as it is. The newer wins: what was said later stands at once, the other goes into the history.",
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="dimension",
            name="question",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="What a fact in this dimension answers. Language models are shown it, too.",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="languagemodel",
            name="base_url",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Empty for the provider's own; for Ollama, for the upstream of config.yaml or"
                " FESTINGER_UPSTREAM. OpenAI's ends in /v1.",
                max_length=200,
                validators=[memory.models.operating.http_address],
            ),
        ),
    ]
