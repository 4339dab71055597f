from django.db import migrations, models

OUTCOMES = [
    ("inserted", "Inserted"),
    ("confirmed", "Confirmed"),
    ("superseded", "took the place of an older one"),
    ("conflict", "went to the resolution queue"),
    ("decided", "was decided before"),
    ("outdated", "an older statement than the one that stands"),
    ("candidate", "waits among the candidates"),
    ("over_quota", "too much was said in that hour"),
    ("invalid", "Invalid"),
    ("explained", "a language model knew it"),
    ("unknown", "a language model did not know it"),
    ("needless", "known, muted or gone by then"),
]


class Migration(migrations.Migration):
    dependencies = [("memory", "0016_corroborated_facts")]

    operations = [
        migrations.AlterField(
            model_name="observation",
            name="outcome",
            field=models.CharField(blank=True, choices=OUTCOMES, db_default="", default="", max_length=12),
        ),
    ]
