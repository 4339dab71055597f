"""Of the indexes of words, no more than 64 KB wait to be sorted in: every search goes through all that waits."""

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations

LIMIT_KB = 64  # the least that Postgres takes
INDEXES = {"episode": "episode_words", "memory": "memory_words"}


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0040_memories_under_quarantine"),
    ]

    operations = [
        # Not made anew, which takes minutes for a million messages. What waits is sorted in by the next insertion.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"ALTER INDEX {name} SET (gin_pending_list_limit = {LIMIT_KB})",
                    f"ALTER INDEX {name} RESET (gin_pending_list_limit)",
                )
            ],
            state_operations=[
                migrations.RemoveIndex(model_name=model, name=name),
                migrations.AddIndex(
                    model_name=model, index=GinIndex(fields=["lexemes"], gin_pending_list_limit=LIMIT_KB, name=name)
                ),
            ],
        )
        for model, name in INDEXES.items()
    ]
