"""Forgets up to which change the detective has read: it reads what has changed since its last run."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("resolution", "0008_candidates_set_aside")]

    operations = [migrations.DeleteModel("DetectiveMark")]
