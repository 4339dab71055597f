"""Each word has room for how it is typed; the caches hear of it."""

from typing import Final

import django.db.models.functions.text
from django.db import migrations, models

import memory.models.graph

ANNOUNCE: Final = """
CREATE OR REPLACE FUNCTION festinger_announce_soas_flags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('soas', (
        SELECT array_agg(new_rows.id::text) FROM new_rows JOIN old_rows USING (id)
        WHERE ({new}) IS DISTINCT FROM ({old})));
    RETURN NULL;
END $$
"""


def announce(*columns: str) -> str:
    new, old = (", ".join(f"{rows}.{column}" for column in columns) for rows in ("new_rows", "old_rows"))
    return ANNOUNCE.format(new=new, old=old)


FLAGS: Final = ("is_common", "is_muted", "novelty", "asked_at")


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0008_templates_of_programs"),
    ]

    operations = [
        migrations.AddField(
            model_name="soas",
            name="label",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="As it is typed, where that is not the token: PEEK polymer for peek_polymer.",
                max_length=64,
            ),
        ),
        migrations.AddConstraint(
            model_name="soas",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("label", ""),
                    (
                        "token",
                        memory.models.graph.NormalForm(
                            django.db.models.functions.text.Lower(
                                django.db.models.functions.text.Replace("label", models.Value(" "), models.Value("_"))
                            )
                        ),
                    ),
                    _connector="OR",
                ),
                name="soas_label_spells_the_token",
                violation_error_message="A label is the token in other letters, with spaces for _.",
            ),
        ),
        migrations.RunSQL(announce(*FLAGS, "label"), announce(*FLAGS)),
    ]
