"""The versions that have prepared a database, for the home page."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0011_request_ids"),
    ]

    operations = [
        migrations.CreateModel(
            name="InstalledVersion",
            fields=[
                ("version", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("before", models.CharField(blank=True, help_text="Empty where the database was new.", max_length=32)),
                (
                    "backup",
                    models.CharField(
                        blank=True, help_text="The file that was made before its migrations.", max_length=500
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "installed_version",
            },
        ),
    ]
