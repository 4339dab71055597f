"""The index of what was said has the speaker of each message, too. Takes a minute for five million messages."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0013_personal_memories"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="episode",
            name="episode_words",
        ),
        migrations.AddIndex(
            model_name="episode",
            index=django.contrib.postgres.indexes.GinIndex(
                models.Func(
                    models.F("lexemes"),
                    models.Func(
                        models.Func(
                            models.F("agent"),
                            models.Value(" "),
                            models.F("person"),
                            arg_joiner=" || ",
                            template="ARRAY[%(expressions)s]",
                        ),
                        function="array_to_tsvector",
                    ),
                    arg_joiner=" || ",
                    output_field=django.contrib.postgres.search.SearchVectorField(),
                    template="(%(expressions)s)",
                ),
                gin_pending_list_limit=64,
                name="episode_words",
            ),
        ),
    ]
