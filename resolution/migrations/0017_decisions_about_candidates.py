"""Decisions about candidates: they are undone like all others."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("resolution", "0016_partial_runs"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="decision",
            name="decision_is_about_something",
        ),
        migrations.RemoveConstraint(
            model_name="decision",
            name="decision_kind_is_known",
        ),
        migrations.AddField(
            model_name="decision",
            name="candidate",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                help_text="What it is about, where that is a candidate.",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="decisions",
                to="resolution.candidate",
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
                    ("promote", "candidate accepted"),
                    ("reject", "candidate dismissed"),
                    ("undo", "decision undone"),
                ],
                max_length=12,
            ),
        ),
        migrations.AddIndex(
            model_name="decision",
            index=models.Index(
                condition=models.Q(("candidate__isnull", False)),
                fields=["candidate"],
                name="decision_candidate_id_index",
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind", "undo"),
                    models.Q(
                        ("candidate", None),
                        ("claim", None),
                        ("conflict", None),
                        ("kind__in", ("quarantine", "merge", "delete", "consolidate")),
                    ),
                    models.Q(
                        ("candidate__isnull", False),
                        ("claim", None),
                        ("conflict", None),
                        ("kind__in", ("promote", "reject")),
                    ),
                    models.Q(
                        models.Q(
                            (
                                "kind__in",
                                [
                                    "quarantine",
                                    "merge",
                                    "delete",
                                    "consolidate",
                                    "promote",
                                    "reject",
                                    "supersede",
                                    "accept",
                                    "answer",
                                ],
                            ),
                            _negated=True,
                        ),
                        ("candidate", None),
                        ("claim__isnull", False),
                        ("conflict", None),
                    ),
                    models.Q(
                        models.Q(
                            (
                                "kind__in",
                                [
                                    "quarantine",
                                    "merge",
                                    "delete",
                                    "consolidate",
                                    "promote",
                                    "reject",
                                    "decompose",
                                    "update",
                                    "relocate",
                                ],
                            ),
                            _negated=True,
                        ),
                        ("candidate", None),
                        ("claim", None),
                        ("conflict__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="decision_is_about_something",
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
                            "promote",
                            "reject",
                            "undo",
                        ],
                    )
                ),
                name="decision_kind_is_known",
            ),
        ),
    ]
