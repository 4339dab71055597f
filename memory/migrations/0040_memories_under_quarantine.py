"""What happens to a memory whose agent is put under quarantine."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0039_searches_on_request"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="memoryhistory",
            name="memory_history_action_is_known",
        ),
        migrations.AlterField(
            model_name="memoryhistory",
            name="action",
            field=models.CharField(
                choices=[
                    ("create", "Create"),
                    ("confirm", "Confirm"),
                    ("edit", "Edit"),
                    ("promote", "Promote"),
                    ("dispute", "Dispute"),
                    ("supersede", "Supersede"),
                    ("merge", "Merge"),
                    ("deprecate", "Deprecate"),
                    ("invalidate", "Invalidate"),
                    ("restore", "Restore"),
                    ("keep", "keep beside another"),
                    ("undo", "Undo"),
                    ("quarantine", "Quarantine"),
                ],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="memoryhistory",
            name="run",
            field=models.BigIntegerField(
                blank=True, help_text="Of the consolidation or the quarantine that made the change.", null=True
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryhistory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "action__in",
                        [
                            "create",
                            "confirm",
                            "edit",
                            "promote",
                            "dispute",
                            "supersede",
                            "merge",
                            "deprecate",
                            "invalidate",
                            "restore",
                            "keep",
                            "undo",
                            "quarantine",
                        ],
                    )
                ),
                name="memory_history_action_is_known",
            ),
        ),
    ]
