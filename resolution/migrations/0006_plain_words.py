"""The kinds of decisions in the words that operators read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("resolution", "0005_open_conflicts_in_order"),
    ]

    operations = [
        migrations.AlterField(
            model_name="decision",
            name="kind",
            field=models.CharField(
                choices=[
                    ("decompose", "dimension decomposed"),
                    ("update", "new fact replaces existing"),
                    ("relocate", "new fact moved to another dimension"),
                    ("dismiss", "existing fact kept"),
                    ("undo", "decision undone"),
                ],
                max_length=12,
            ),
        ),
    ]
