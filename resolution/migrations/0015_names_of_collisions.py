"""Plain names for what collides: facts that are owned or run somewhere are no places."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("resolution", "0014_retractions"),
    ]

    operations = [
        migrations.AlterField(
            model_name="claim",
            name="collision_type",
            field=models.CharField(
                choices=[
                    ("isa_isa", "two kinds"),
                    ("ispart_ispart", "two answers"),
                    ("misclassification", "two sorts of fact"),
                    ("cycle", "a cycle"),
                    ("retraction", "a fact taken back"),
                ],
                max_length=20,
            ),
        ),
    ]
