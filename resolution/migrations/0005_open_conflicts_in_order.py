"""An index for the desk and the admin's first page: what is open, in the order in which it is decided."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("resolution", "0004_records")]

    operations = [
        migrations.AddIndex(
            model_name="conflict",
            index=models.Index(
                condition=Q(status__in=["pending", "proposed"]),
                fields=["-priority", "created_at", "id"],
                name="conflict_open_in_order",
            ),
        ),
    ]
