"""In which style the facts of a block were written."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("proxy", "0007_login_failures")]

    operations = [
        migrations.AddField(
            model_name="recollectionevent",
            name="style",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="How new facts are written for this model.",
                max_length=12,
            ),
        ),
    ]
