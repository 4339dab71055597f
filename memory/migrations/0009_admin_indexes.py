"""Indexes for the admin's lists: the most salient concepts first, and the filters of what happened."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("memory", "0008_help_texts")]

    operations = [
        migrations.AddIndex(
            model_name="soas",
            index=models.Index(fields=["-saliency", "-id"], name="soas_most_salient_first"),
        ),
        migrations.AddIndex(
            model_name="soas",
            index=models.Index(condition=Q(is_common=True), fields=["-saliency", "-id"], name="soas_common"),
        ),
        migrations.AddIndex(
            model_name="soas",
            index=models.Index(condition=Q(is_muted=True), fields=["-saliency", "-id"], name="soas_muted"),
        ),
        migrations.AddIndex(
            model_name="edgehistory",
            index=models.Index(fields=["action", "-id"], name="edge_history_by_action"),
        ),
        migrations.AddIndex(
            model_name="edgehistory",
            index=models.Index(fields=["source", "-id"], name="edge_history_by_source"),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(fields=["concept", "-id"], name="observation_of_a_concept"),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(condition=Q(state="done"), fields=["outcome", "-id"], name="observation_by_outcome"),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(condition=Q(state="failed"), fields=["-id"], name="observation_failed"),
        ),
    ]
