"""The tables of version 0.1.0, and beside them, in 0001_initial.sql, the functions and triggers."""

from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import resolution.models.conflicts

SQL = Path(__file__).with_suffix(".sql").read_text()
# With their triggers, also those on other tables.
DROP = """
DROP FUNCTION
    claim_joins_its_conflict, claims_become_members, conflicts_follow, conflicts_follow_their_claims,
    claims_leave_their_conflicts, conflict_member_stands, conflicts_close_moot, conflicts_settle_moot,
    conflict_member_is_disputed, conflict_members_are_marked, new_members_are_marked,
    members_follow_their_conflict, facts_leave_their_conflicts, state_leaves_its_conflicts,
    forgotten_memories_leave_their_conflicts, forgotten_memories_are_asked_about_no_more,
    forgotten_memories_meet_nothing
    CASCADE;
"""
# The detective reads what changes from here on; without a mark, it would leave out the changes of its first day.
MARK = (
    "INSERT INTO detective_mark (source, row) VALUES ('edge_history', 0), ('memory_history', 0), ('project_state', 0);"
)


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("memory", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Candidate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("concept", models.CharField(max_length=64)),
                ("parent", models.CharField(max_length=64)),
                ("dimension", models.CharField(max_length=64)),
                ("is_isa", models.BooleanField()),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("operator", "an operator"),
                            ("gutask", "gutask"),
                            ("user", "a user's message"),
                            ("explained", "explained by a model"),
                            ("assistant", "the assistant's words"),
                            ("quoted", "quoted"),
                        ],
                        help_text="The strongest it was said through.",
                        max_length=12,
                    ),
                ),
                ("confidence", models.FloatField()),
                ("voices", models.JSONField(default=list, help_text="Who has said it: [agent, channel].")),
                (
                    "conversations",
                    models.IntegerField(default=1, help_text="In how many it was said, as far as we can tell."),
                ),
                ("last_conversation", models.BinaryField(db_default=b"", default=b"")),
                ("said_count", models.IntegerField(default=1)),
                ("evidence", models.CharField(blank=True, db_default="", default="", max_length=500)),
                (
                    "why",
                    models.CharField(blank=True, db_default="", default="", help_text="Why it waits.", max_length=40),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "waits"),
                            ("promoted", "Promoted"),
                            ("dismissed", "Dismissed"),
                            ("expired", "expired, said no more"),
                        ],
                        db_default="open",
                        default="open",
                        max_length=10,
                    ),
                ),
                ("resolved_by", models.CharField(blank=True, db_default="", default="", max_length=120)),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                ("first_said_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("last_said_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "edge_candidate",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "open")), fields=["-last_said_at", "-id"], name="candidate_open"
                    ),
                    models.Index(fields=["state", "-last_said_at"], name="candidate_by_state"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("concept", "dimension", "parent", "is_isa"), name="candidate_stands_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("channel__in", ["operator", "gutask", "user", "explained", "assistant", "quoted"])
                        ),
                        name="candidate_channel_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["open", "promoted", "dismissed", "expired"])),
                        name="candidate_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="candidate_confidence_is_in_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Conflict",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "slot_kind",
                    models.CharField(
                        choices=[
                            ("edge_slot", "two facts of one place"),
                            ("memory_slot", "two memories"),
                            ("cross_layer", "project state, facts and memories"),
                            ("narrative", "a story that is unclear"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "slot_key",
                    models.JSONField(help_text="What it is about, in words: of an edge's slot, concept and dimension."),
                ),
                ("project", models.CharField(blank=True, db_default="", default="", max_length=64)),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("resolved", "Resolved"), ("dismissed", "Dismissed")],
                        db_default="open",
                        default="open",
                        max_length=9,
                    ),
                ),
                ("priority", models.SmallIntegerField(db_default=0, default=0, help_text="The highest of its claims.")),
                ("question", models.TextField(blank=True, db_default="", default="")),
                ("resolution", models.JSONField(blank=True, help_text="How its last claim was decided.", null=True)),
                ("detected_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "concept",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conflicts",
                        to="memory.soas",
                    ),
                ),
                (
                    "dim",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="dimension_conflicts",
                        to="memory.soas",
                        verbose_name="dimension",
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        choices=[
                            ("slot", "the same slot"),
                            ("numbers", "another number"),
                            ("opposition", "alike, and opposed"),
                            ("reversal", "there and back"),
                            ("model", "a language model"),
                        ],
                        db_default="slot",
                        default="slot",
                        max_length=10,
                        verbose_name="found by",
                    ),
                ),
            ],
            options={
                "db_table": "conflict",
                "indexes": [
                    models.Index(fields=["status", "-priority", "detected_at", "id"], name="conflict_by_status"),
                    models.Index(fields=["concept", "dim"], name="conflict_of_a_slot"),
                    models.Index(
                        condition=models.Q(("status", "open"), models.Q(("slot_kind", "edge_slot"), _negated=True)),
                        fields=["-priority", "detected_at", "id"],
                        name="conflict_for_people_in_order",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        resolution.models.conflicts.SimpleTsVector(
                            resolution.models.conflicts.SplitWords(
                                resolution.models.conflicts.JsonValues("slot_key"), "question"
                            )
                        ),
                        condition=models.Q(("slot_kind", "edge_slot"), _negated=True),
                        name="conflict_words",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "open")),
                        fields=("slot_kind", "slot_key"),
                        name="conflict_is_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("slot_kind__in", ["edge_slot", "memory_slot", "cross_layer", "narrative"])),
                        name="conflict_kind_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("tier__in", ["slot", "numbers", "opposition", "reversal", "model"])),
                        name="conflict_tier_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("slot_kind", "narrative"), _negated=True),
                            models.Q(("question", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="conflict_of_a_story_asks_something",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["open", "resolved", "dismissed"])),
                        name="conflict_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("slot_kind", "edge_slot"), _negated=True),
                            models.Q(("concept__isnull", False), ("dim__isnull", False)),
                            _connector="OR",
                        ),
                        name="conflict_about_an_edge_has_its_slot",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConflictMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("claim", "Claim"),
                            ("edge", "fact"),
                            ("edge_history", "earlier fact"),
                            ("memory", "Memory"),
                            ("project_state", "project state"),
                        ],
                        max_length=16,
                    ),
                ),
                ("object_id", models.BigIntegerField(help_text="The row of its table; a claim's is resolution_queue.")),
                (
                    "trust",
                    models.SmallIntegerField(
                        db_default=2, default=2, help_text="The layer: 1 memories, 2 facts, 3 state."
                    ),
                ),
                ("support", models.JSONField(default=list)),
                (
                    "conflict",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="members", to="resolution.conflict"
                    ),
                ),
                (
                    "conflicts_with",
                    models.ForeignKey(
                        blank=True,
                        help_text="Across layers: the member of the highest layer, which it contradicts.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="resolution.conflictmember",
                    ),
                ),
                (
                    "is_asked",
                    models.BooleanField(
                        db_default=False, default=False, help_text="Whether the question is if this one still holds."
                    ),
                ),
                (
                    "text",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="What it said when it became a member.",
                        max_length=600,
                    ),
                ),
            ],
            options={
                "db_table": "conflict_member",
                "indexes": [
                    models.Index(fields=["conflict"], name="conflict_member_by_conflict"),
                    django.contrib.postgres.indexes.GinIndex(
                        resolution.models.conflicts.SimpleTsVector(resolution.models.conflicts.SplitWords("text")),
                        condition=models.Q(("kind", "claim"), _negated=True),
                        name="conflict_member_words",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "object_id", "conflict"), name="conflict_member_is_in_it_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_asked", True)),
                        fields=("conflict",),
                        name="conflict_asks_about_one_member",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["claim", "edge", "edge_history", "memory", "project_state"])),
                        name="conflict_member_kind_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("trust__gte", 1), ("trust__lte", 3)),
                        name="conflict_member_trust_is_a_layer",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "trigger",
                    models.CharField(
                        choices=[
                            ("schedule", "Schedule"),
                            ("collision", "Collision"),
                            ("api", "Api"),
                            ("command", "Command"),
                            ("admin", "Admin"),
                            ("quarantine", "Quarantine"),
                            ("upgrade", "Upgrade"),
                            ("merge", "Merge"),
                            ("consolidate", "Consolidate"),
                            ("sweep", "Sweep"),
                            ("detect", "Detect"),
                        ],
                        max_length=12,
                    ),
                ),
                ("actor", models.CharField(blank=True, db_default="", default="", max_length=120)),
                ("mode", models.CharField(max_length=8)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("skipped", "Skipped"),
                            ("failed", "Failed"),
                        ],
                        db_default="running",
                        default="running",
                        max_length=8,
                    ),
                ),
                (
                    "note",
                    models.TextField(blank=True, db_default="", default="", help_text="Why it was skipped, or failed."),
                ),
                ("model_name", models.CharField(blank=True, db_default="", default="", max_length=160)),
                ("limit", models.IntegerField(blank=True, null=True)),
                ("conflicts_total", models.IntegerField(db_default=0, default=0)),
                ("conflicts_seen", models.IntegerField(db_default=0, default=0)),
                ("counts", models.JSONField(default=dict, help_text="How many conflicts by what became of them.")),
                ("input_tokens", models.IntegerField(db_default=0, default=0)),
                ("output_tokens", models.IntegerField(db_default=0, default=0)),
                (
                    "cost",
                    models.DecimalField(
                        decimal_places=6, help_text="In US dollars, where known.", max_digits=12, null=True
                    ),
                ),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "alive_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), help_text="The run's last sign of life."
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "run",
                "indexes": [models.Index(fields=["-started_at"], name="run_newest_first")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("status", "running"),
                            models.Q(("trigger__in", ["consolidate", "sweep", "detect"]), _negated=True),
                        ),
                        fields=("status",),
                        name="run_is_alone",
                        violation_error_message="The resolver is running already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["running", "done", "skipped", "failed"])),
                        name="run_status_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "trigger__in",
                                [
                                    "schedule",
                                    "collision",
                                    "api",
                                    "command",
                                    "admin",
                                    "quarantine",
                                    "upgrade",
                                    "merge",
                                    "consolidate",
                                    "sweep",
                                    "detect",
                                ],
                            )
                        ),
                        name="run_trigger_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Claim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("incoming_is_isa", models.BooleanField()),
                ("incoming_confidence", models.FloatField()),
                (
                    "incoming_source",
                    models.CharField(
                        choices=[
                            ("cloud_llm", "language model"),
                            ("inferred", "read in a prompt"),
                            ("festinger", "resolution"),
                            ("gutask", "gutask"),
                            ("operator", "operator"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "collision_type",
                    models.CharField(
                        choices=[
                            ("isa_isa", "two kinds"),
                            ("ispart_ispart", "two answers"),
                            ("misclassification", "two sorts of fact"),
                            ("cycle", "a cycle"),
                            ("retraction", "a fact taken back"),
                        ],
                        max_length=20,
                    ),
                ),
                ("agent", models.CharField(blank=True, db_default="", default="", max_length=120)),
                ("evidence", models.CharField(blank=True, db_default="", default="", max_length=500)),
                ("priority", models.SmallIntegerField(db_default=0, default=0, help_text="Higher is decided first.")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("proposed", "Proposed"),
                            ("resolved", "Resolved"),
                            ("dismissed", "Dismissed"),
                        ],
                        db_default="pending",
                        default="pending",
                        max_length=12,
                    ),
                ),
                ("proposal", models.JSONField(blank=True, null=True)),
                ("resolution", models.JSONField(blank=True, null=True)),
                ("attempts", models.IntegerField(db_default=0, default=0)),
                ("last_error", models.TextField(blank=True, db_default="", default="")),
                ("said_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("next_attempt_at", models.DateTimeField(blank=True, null=True)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "blocking_concept",
                    models.ForeignKey(
                        blank=True,
                        help_text="For a cycle: the subject of the edge that closes it.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="claims_as_blocking",
                        to="memory.soas",
                    ),
                ),
                (
                    "concept",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="claims", to="memory.soas"
                    ),
                ),
                (
                    "dim",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="dimension_claims",
                        to="memory.soas",
                        verbose_name="dimension",
                    ),
                ),
                (
                    "existing_parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="claims_as_existing",
                        to="memory.soas",
                    ),
                ),
                (
                    "incoming_parent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="claims_as_incoming", to="memory.soas"
                    ),
                ),
                (
                    "conversation",
                    models.BinaryField(
                        db_default=b"",
                        default=b"",
                        help_text="The digest of the opening of the conversation in which it was said; empty for none.",
                    ),
                ),
                ("role", models.CharField(blank=True, db_default="", default="", max_length=16)),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        help_text="The run of the resolver that decided it last.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="claims",
                        to="resolution.run",
                    ),
                ),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("operator", "an operator"),
                            ("gutask", "gutask"),
                            ("user", "a user's message"),
                            ("explained", "explained by a model"),
                            ("assistant", "the assistant's words"),
                            ("quoted", "quoted"),
                        ],
                        db_default="user",
                        default="user",
                        max_length=12,
                    ),
                ),
                (
                    "conflict",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="claims",
                        to="resolution.conflict",
                    ),
                ),
            ],
            options={
                "db_table": "resolution_queue",
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["status", "-priority", "created_at"], name="conflict_in_order"),
                    models.Index(
                        condition=models.Q(("status__in", ["pending", "proposed"])),
                        fields=["-priority", "created_at", "id"],
                        name="conflict_open_in_order",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ["pending", "proposed"])),
                        fields=("concept", "dim", "incoming_parent"),
                        name="conflict_open_once",
                        violation_error_message="This conflict is already open.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "collision_type__in",
                                ["isa_isa", "ispart_ispart", "misclassification", "cycle", "retraction"],
                            )
                        ),
                        name="conflict_type_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "proposed", "resolved", "dismissed"])),
                        name="conflict_status_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("collision_type", "cycle"), ("existing_parent__isnull", False), _connector="OR"
                        ),
                        name="conflict_has_an_existing_parent",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("existing_parent__isnull", True),
                            models.Q(
                                models.Q(("existing_parent", models.F("incoming_parent")), _negated=True),
                                models.Q(("collision_type", "retraction"), _negated=True),
                            ),
                            models.Q(
                                ("collision_type", "retraction"), ("existing_parent", models.F("incoming_parent"))
                            ),
                            _connector="OR",
                        ),
                        name="conflict_has_two_sides",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("incoming_confidence__gte", 0), ("incoming_confidence__lte", 1)),
                        name="conflict_confidence_is_in_range",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("incoming_source__in", ["cloud_llm", "inferred", "festinger", "gutask", "operator"])
                        ),
                        name="conflict_source_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("channel__in", ["operator", "gutask", "user", "explained", "assistant", "quoted"])
                        ),
                        name="conflict_channel_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
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
                            ("undo", "decision undone"),
                        ],
                        max_length=12,
                    ),
                ),
                ("actor", models.CharField(max_length=120)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("cloud_llm", "language model"),
                            ("inferred", "read in a prompt"),
                            ("festinger", "resolution"),
                            ("gutask", "gutask"),
                            ("operator", "operator"),
                        ],
                        max_length=16,
                    ),
                ),
                ("reason", models.TextField(blank=True, db_default="", default="")),
                ("arguments", models.JSONField(default=dict)),
                ("before", models.JSONField()),
                ("after", models.JSONField()),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "claim",
                    models.ForeignKey(
                        help_text="What it is about; nothing for what is about a concept: a quarantine, a merge.",
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="resolution.claim",
                    ),
                ),
                (
                    "undoes",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="undone_by",
                        to="resolution.decision",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="resolution.run",
                    ),
                ),
                (
                    "conflict",
                    models.ForeignKey(
                        help_text="What it is about, where that is not a claim.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="resolution.conflict",
                    ),
                ),
            ],
            options={
                "db_table": "decision",
                "indexes": [
                    models.Index(fields=["-at"], name="decision_newest_first"),
                    models.Index(fields=["claim"], name="decision_claim_id_index"),
                ],
                "constraints": [
                    models.CheckConstraint(
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
                                    "undo",
                                ],
                            )
                        ),
                        name="decision_kind_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind", "undo"),
                            models.Q(
                                ("claim", None), ("conflict", None), ("kind__in", ["quarantine", "merge", "delete"])
                            ),
                            models.Q(
                                models.Q(
                                    ("kind__in", ["quarantine", "merge", "delete", "supersede", "accept", "answer"]),
                                    _negated=True,
                                ),
                                ("claim__isnull", False),
                                ("conflict", None),
                            ),
                            models.Q(
                                models.Q(
                                    ("kind__in", ["quarantine", "merge", "delete", "decompose", "update", "relocate"]),
                                    _negated=True,
                                ),
                                ("claim", None),
                                ("conflict__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="decision_is_about_something",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "undo"), ("undoes__isnull", False)),
                            models.Q(models.Q(("kind", "undo"), _negated=True), ("undoes__isnull", True)),
                            _connector="OR",
                        ),
                        name="decision_undoes_a_decision",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("source__in", ["cloud_llm", "inferred", "festinger", "gutask", "operator"])
                        ),
                        name="decision_source_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DecidedTriple",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("dismissed", "Dismissed"),
                            ("retired", "Retired"),
                            ("relocated", "Relocated"),
                            ("decomposed", "Decomposed"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "agents",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=120),
                        help_text="The agents that had said it by then.",
                        size=None,
                    ),
                ),
                (
                    "conversation",
                    models.BinaryField(
                        db_default=b"", default=b"", help_text="The digest of the opening of the conversation."
                    ),
                ),
                ("decided_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "concept",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decided_triples",
                        to="memory.soas",
                    ),
                ),
                (
                    "dim",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memory.soas",
                        verbose_name="dimension",
                    ),
                ),
                (
                    "moved_to",
                    models.ForeignKey(
                        blank=True,
                        help_text="The dimension that the fact is in now.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memory.soas",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.soas"),
                ),
                (
                    "decision",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decided_triples",
                        to="resolution.decision",
                    ),
                ),
            ],
            options={
                "db_table": "decided_triple",
                "constraints": [
                    models.UniqueConstraint(fields=("concept", "dim", "parent"), name="decided_triple_is_decided_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["dismissed", "retired", "relocated", "decomposed"])),
                        name="decided_triple_kind_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DetectiveMark",
            fields=[
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("edge_history", "changes of facts"),
                            ("memory_history", "changes of memories"),
                            ("project_state", "project state"),
                        ],
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                        verbose_name="table",
                    ),
                ),
                ("row", models.BigIntegerField()),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "detective_mark",
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("source__in", ["edge_history", "memory_history", "project_state"])),
                        name="detective_mark_source_is_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LayerSlot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(choices=[("memory", "Memory"), ("project_state", "project state")], max_length=16),
                ),
                ("object_id", models.BigIntegerField(help_text="The row of its table; it may hold no more.")),
                ("words", models.TextField(help_text="Stems, in order, with those of the project's slug.")),
                ("version", models.SmallIntegerField(help_text="Of the rules that found them.")),
            ],
            options={
                "db_table": "layer_slot",
                "indexes": [models.Index(fields=["words"], name="layer_slot_by_words")],
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "object_id", "words"), name="layer_slot_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["memory", "project_state"])), name="layer_slot_kind_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("words", ""), _negated=True), name="layer_slot_has_words"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AgentHour",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("agent", models.CharField(blank=True, max_length=120)),
                ("hour", models.DateTimeField(help_text="Its beginning.")),
                (
                    "facts",
                    models.IntegerField(
                        db_default=0, default=0, help_text="New ones, and those that superseded others."
                    ),
                ),
                ("conflicts", models.IntegerField(db_default=0, default=0, help_text="Newly opened ones.")),
                ("candidates", models.IntegerField(db_default=0, default=0, help_text="New ones.")),
                (
                    "exceeded",
                    models.IntegerField(db_default=0, default=0, help_text="Statements that met one of the quotas."),
                ),
                ("memories", models.IntegerField(db_default=0, default=0, help_text="New ones.")),
            ],
            options={
                "db_table": "agent_hour",
                "indexes": [models.Index(fields=["hour"], name="agent_hour_by_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("agent", "hour"), name="agent_hour_is_counted_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("candidates__gte", 0),
                            ("conflicts__gte", 0),
                            ("exceeded__gte", 0),
                            ("facts__gte", 0),
                            ("memories__gte", 0),
                        ),
                        name="agent_hour_counts_are_not_negative",
                    ),
                ],
            },
        ),
        migrations.RunSQL(SQL, DROP),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
    ]
