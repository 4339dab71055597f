"""Failed log-ins, for the pauses after them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("proxy", "0006_injected_facts"),
    ]

    operations = [
        migrations.CreateModel(
            name="LoginFailures",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=8)),
                (
                    "who",
                    models.CharField(
                        help_text="The address or network, a digest of the account's name, or the id of a browser.",
                        max_length=64,
                    ),
                ),
                ("failures", models.IntegerField()),
                ("last_at", models.DateTimeField()),
            ],
            options={
                "db_table": "login_failures",
                "default_permissions": (),
                "indexes": [models.Index(fields=["last_at"], name="login_failures_by_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "who"), name="login_failures_are_counted_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["address", "account", "browser"])),
                        name="login_failures_kind_is_known",
                    ),
                    models.CheckConstraint(condition=models.Q(("failures__gte", 1)), name="login_failures_are_some"),
                ],
            },
        ),
    ]
