from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0018_requests_to_forget"),
    ]

    operations = [
        migrations.AddField(
            model_name="heardmessage",
            name="ends_request",
            field=models.BooleanField(db_default=False, default=False, help_text="It was the last of its request."),
        ),
    ]
