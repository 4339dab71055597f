from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0019_messages_said_again"),
    ]

    operations = [
        migrations.RemoveField(model_name="givennote", name="is_used"),
        migrations.DeleteModel(name="AskedSearch"),
    ]
