"""Failed log-ins are counted by address and account only, no longer by browser."""

from typing import Any

from django.db import migrations, models


def drop_counts_of_browsers(apps: Any, schema_editor: Any) -> None:
    apps.get_model("proxy", "LoginFailures").objects.filter(kind="browser").delete()


def known(*kinds: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=models.Q(kind__in=list(kinds)), name="login_failures_kind_is_known")


class Migration(migrations.Migration):
    dependencies = [("proxy", "0003_blocks_by_place")]

    operations = [
        migrations.RunPython(drop_counts_of_browsers, migrations.RunPython.noop),
        migrations.RemoveConstraint("loginfailures", "login_failures_kind_is_known"),
        migrations.AddConstraint("loginfailures", known("address", "account")),
        migrations.AlterField(
            "loginfailures",
            "who",
            models.CharField(help_text="The address or network, or a digest of the account's name.", max_length=64),
        ),
    ]
