"""The figures of each hour, for charts."""

import django.db.models.functions.math
import django.db.models.lookups
from django.db import migrations, models

import proxy.models


class Migration(migrations.Migration):
    dependencies = [("proxy", "0003_loop_event")]

    operations = [
        migrations.CreateModel(
            name="HourlyFigures",
            fields=[
                ("hour", models.DateTimeField(help_text="When it began.", primary_key=True, serialize=False)),
                ("tokens", models.IntegerField(help_text="Of the vocabulary, without common words.", null=True)),
                ("edges", models.IntegerField(help_text="Facts; roots are not counted.", null=True)),
                ("conflicts_open", models.IntegerField(null=True)),
                ("conflicts_opened", models.IntegerField()),
                ("conflicts_closed", models.IntegerField()),
                ("requests", models.IntegerField(help_text="Prompts that were looked at.")),
                ("recollections", models.IntegerField(help_text="Prompts that were sent on with a block in them.")),
                ("loops", models.IntegerField(help_text="Loops that something was done about.")),
                (
                    "enrich_ms_p50",
                    models.FloatField(help_text="Of the time that was added to prompts; null without any.", null=True),
                ),
                ("enrich_ms_p99", models.FloatField(null=True)),
                ("taken_at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "hourly figures",
                "db_table": "hourly_figures",
                "default_permissions": ("view",),
                "constraints": [
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            django.db.models.functions.math.Mod(proxy.models.Epoch("hour"), 3600), 0
                        ),
                        name="hourly_figures_begin_with_the_hour",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            conflicts_opened__gte=0,
                            conflicts_closed__gte=0,
                            requests__gte=0,
                            recollections__gte=0,
                            loops__gte=0,
                        ),
                        name="hourly_figures_are_not_negative",
                    ),
                ],
            },
        ),
    ]
