"""What a language model has concluded is given to its speaker alone, until somebody shares it."""

from typing import Any

from django.db import migrations, models
from django.db.models import ExpressionWrapper, Q

PERSONAL = Q(category__in=["identity", "preference", "episodic"]) | Q(category="project", project=None) & ~Q(person="")


def generate(condition: Q) -> Any:
    expression = ExpressionWrapper(condition, output_field=models.BooleanField())
    return models.GeneratedField(expression=expression, output_field=models.BooleanField(), db_persist=True)


class Migration(migrations.Migration):
    dependencies = [("memory", "0014_index_words_by_speaker")]

    operations = [
        migrations.RemoveField("memory", "is_personal"),
        migrations.AddField("memory", "is_personal", generate(PERSONAL | Q(channel="explained"))),
    ]
