"""The types of collisions and the help texts in the words of the glossary."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0013_a_heartbeat_for_each_process"),
        ("resolution", "0006_plain_words"),
    ]

    operations = [
        migrations.AlterField(
            model_name="conflict",
            name="blocking_concept",
            field=models.ForeignKey(
                blank=True,
                help_text="For a cycle: the subject of the edge that closes it.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="conflicts_as_blocking",
                to="memory.soas",
            ),
        ),
        migrations.AlterField(
            model_name="conflict",
            name="collision_type",
            field=models.CharField(
                choices=[
                    ("isa_isa", "two kinds"),
                    ("ispart_ispart", "two places"),
                    ("misclassification", "a kind and a place"),
                    ("cycle", "a cycle"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="decidedtriple",
            name="agents",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=120), help_text="The agents that had said it by then.", size=None
            ),
        ),
        migrations.AlterField(
            model_name="decidedtriple",
            name="moved_to",
            field=models.ForeignKey(
                blank=True,
                help_text="The dimension that the fact is in now.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="memory.soas",
            ),
        ),
    ]
