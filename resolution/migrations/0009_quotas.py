from typing import Any

from django.db import migrations, models
from django.db.models import Q


def count(help_text: str) -> Any:
    return models.IntegerField(db_default=0, default=0, help_text=help_text)


class Migration(migrations.Migration):
    dependencies = [("resolution", "0008_candidates")]

    operations = [
        migrations.CreateModel(
            name="AgentHour",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("agent", models.CharField(blank=True, max_length=120)),
                ("hour", models.DateTimeField(help_text="Its beginning.")),
                ("facts", count("New ones, and those that superseded others.")),
                ("conflicts", count("Newly opened ones.")),
                ("candidates", count("New ones.")),
                ("exceeded", count("Statements that met one of the quotas.")),
            ],
            options={
                "db_table": "agent_hour",
                "indexes": [models.Index(fields=["hour"], name="agent_hour_by_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("agent", "hour"), name="agent_hour_is_counted_once"),
                    models.CheckConstraint(
                        condition=Q(candidates__gte=0, conflicts__gte=0, exceeded__gte=0, facts__gte=0),
                        name="agent_hour_counts_are_not_negative",
                    ),
                ],
            },
        ),
    ]
