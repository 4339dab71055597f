"""Labels and help texts in the words that operators know: the state of the models only."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("resolution", "0014_slot_claims"),
    ]

    operations = [
        migrations.AlterField(
            model_name="candidate",
            name="why",
            field=models.CharField(blank=True, db_default="", default="", help_text="Reason.", max_length=40),
        ),
        migrations.AlterField(
            model_name="claim",
            name="collision_type",
            field=models.CharField(
                choices=[
                    ("isa_isa", "two types"),
                    ("ispart_ispart", "two values"),
                    ("misclassification", "type or membership?"),
                    ("cycle", "a cycle"),
                    ("retraction", "a fact taken back"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="conflict",
            name="slot_kind",
            field=models.CharField(
                choices=[
                    ("edge_slot", "facts"),
                    ("memory_slot", "memories"),
                    ("cross_layer", "project state, facts and memories"),
                    ("narrative", "open question"),
                ],
                default="memory_slot",
                max_length=12,
                verbose_name="kind",
            ),
        ),
        migrations.AlterField(
            model_name="conflict",
            name="tier",
            field=models.CharField(
                choices=[
                    ("slot", "the same slot"),
                    ("numbers", "another number"),
                    ("opposition", "alike, and opposed"),
                    ("reversal", "reverted value"),
                    ("model", "a language model"),
                ],
                db_default="slot",
                default="slot",
                max_length=10,
                verbose_name="found by",
            ),
        ),
    ]
