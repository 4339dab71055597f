"""Consolidations record their changes as decisions."""

from typing import Final

import django.db.models.deletion
from django.db import migrations, models

# Merges of memories that can be separated, of which the history keeps what changed.
CONVERT: Final = """
CREATE TEMPORARY TABLE old_merge ON COMMIT DROP AS
SELECT DISTINCT ON (loser.id) nextval(pg_get_serial_sequence('decision', 'id')) AS decision, own.*, loser.id AS loser
FROM memory AS loser JOIN memory_history AS own ON own.memory_id = loser.merged_into_id
WHERE loser.status = 'merged_into' AND own.action = 'merge' AND own.after -> 'merged' @> to_jsonb(loser.id)
ORDER BY loser.id, own.id DESC;
UPDATE old_merge SET decision = same.decision
FROM (SELECT id, min(decision) AS decision FROM old_merge GROUP BY id) AS same WHERE same.id = old_merge.id;

INSERT INTO decision (id, kind, actor, source, reason, arguments, at)
SELECT DISTINCT ON (decision) decision, 'consolidate', actor,
       CASE WHEN run IS NULL THEN 'operator' ELSE 'festinger' END, reason,
       jsonb_build_object('memory', memory_id), at FROM old_merge ORDER BY decision;

INSERT INTO decision_change (decision_id, table_name, key, before, after)
SELECT DISTINCT ON (decision) decision, 'memory', memory_id, before || jsonb_build_object('id', memory_id),
       after - '{lineage,merged}'::text[] || jsonb_build_object('id', memory_id) FROM old_merge ORDER BY decision;

INSERT INTO decision_change (decision_id, table_name, key, before, after)
SELECT DISTINCT ON (loser) decision, 'memory', loser, lost.before || jsonb_build_object('id', loser),
       lost.after || jsonb_build_object('id', loser)
FROM old_merge JOIN memory_history AS lost ON lost.memory_id = loser AND lost.action = 'merge'
    AND lost.after -> 'merged_into_id' = to_jsonb(old_merge.memory_id)
ORDER BY loser, lost.id DESC;

INSERT INTO decision_change (decision_id, table_name, key, after)
SELECT DISTINCT decision, 'memory_lineage', lineage.id, to_jsonb(lineage)
FROM old_merge CROSS JOIN jsonb_array_elements(after -> 'lineage') AS pair
JOIN memory_lineage AS lineage USING (memory_id)
WHERE (lineage.kind, lineage.row) = (pair ->> 0, (pair ->> 1)::bigint);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("resolution", "0010_decision_change"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="decision",
            name="decision_kind_is_known",
        ),
        migrations.RemoveConstraint(
            model_name="decision",
            name="decision_is_about_something",
        ),
        migrations.AlterField(
            model_name="decision",
            name="claim",
            field=models.ForeignKey(
                db_index=False,
                help_text="What it is about; nothing for what is about a concept or memories: a quarantine, a merge.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="decisions",
                to="resolution.claim",
            ),
        ),
        migrations.AlterField(
            model_name="decision",
            name="kind",
            field=models.CharField(
                choices=[
                    ("decompose", "dimension decomposed"),
                    ("update", "new fact replaces existing"),
                    ("relocate", "new fact moved to another dimension"),
                    ("dismiss", "existing fact kept"),
                    ("quarantine", "facts put among the candidates"),
                    ("merge", "names merged"),
                    ("delete", "dimension deleted"),
                    ("supersede", "the others replaced"),
                    ("accept", "left as it is"),
                    ("answer", "question answered"),
                    ("consolidate", "memories changed"),
                    ("undo", "decision undone"),
                ],
                max_length=12,
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            "decompose",
                            "update",
                            "relocate",
                            "dismiss",
                            "quarantine",
                            "merge",
                            "delete",
                            "supersede",
                            "accept",
                            "answer",
                            "consolidate",
                            "undo",
                        ],
                    )
                ),
                name="decision_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind", "undo"),
                    models.Q(
                        ("claim", None),
                        ("conflict", None),
                        ("kind__in", ["quarantine", "merge", "delete", "consolidate"]),
                    ),
                    models.Q(
                        models.Q(
                            (
                                "kind__in",
                                ["quarantine", "merge", "delete", "consolidate", "supersede", "accept", "answer"],
                            ),
                            _negated=True,
                        ),
                        ("claim__isnull", False),
                        ("conflict", None),
                    ),
                    models.Q(
                        models.Q(
                            (
                                "kind__in",
                                ["quarantine", "merge", "delete", "consolidate", "decompose", "update", "relocate"],
                            ),
                            _negated=True,
                        ),
                        ("claim", None),
                        ("conflict__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="decision_is_about_something",
            ),
        ),
        migrations.RunSQL(CONVERT, migrations.RunSQL.noop),
    ]
