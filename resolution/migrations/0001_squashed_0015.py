"""The tables, functions and triggers of version 0.3.0, for databases that are new."""

import re
from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import resolution.models.conflicts

SQL = Path(__file__).with_suffix(".sql").read_text()
# With their triggers.
DROP = "DROP FUNCTION " + ", ".join(re.findall(r"CREATE FUNCTION (\w+)", SQL)) + " CASCADE"


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("resolution", "0001_initial"),
        ("resolution", "0002_runs_of_upgrades"),
        ("resolution", "0003_whose_words"),
        ("resolution", "0004_one_conflict_a_slot"),
        ("resolution", "0005_forgotten_words"),
        ("resolution", "0006_runs_after_an_upgrade"),
        ("resolution", "0007_memories_of_rules"),
        ("resolution", "0008_candidates_set_aside"),
        ("resolution", "0009_marks_of_the_detective"),
        ("resolution", "0010_decision_change"),
        ("resolution", "0011_consolidations_are_decisions"),
        ("resolution", "0012_one_lock_for_nightly_jobs"),
        ("resolution", "0013_support_is_logged"),
        ("resolution", "0014_slot_claims"),
        ("resolution", "0015_wordings"),
    ]
    dependencies = [("memory", "0001_squashed_0026")]

    operations = [
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
                ("memories", models.IntegerField(db_default=0, default=0, help_text="New ones.")),
                (
                    "exceeded",
                    models.IntegerField(db_default=0, default=0, help_text="Statements that met one of the quotas."),
                ),
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
        migrations.CreateModel(
            name="Conflict",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "slot_kind",
                    models.CharField(
                        choices=[
                            ("edge_slot", "facts"),
                            ("memory_slot", "memories"),
                            ("cross_layer", "project state, facts and memories"),
                            ("narrative", "open question"),
                        ],
                        default="memory_slot",
                        max_length=12,
                        verbose_name="kind",
                    ),
                ),
                (
                    "owner",
                    models.TextField(
                        blank=True, db_default="", default="", help_text="Whose slot it is; empty if it is everybody's."
                    ),
                ),
                ("key", models.TextField(help_text="The slot: the stems of what it is about, in order.")),
                ("slot_key", models.JSONField(help_text="The slot in words: of a fact, concept and dimension.")),
                (
                    "tier",
                    models.CharField(
                        choices=[
                            ("slot", "the same slot"),
                            ("numbers", "another number"),
                            ("opposition", "alike, and opposed"),
                            ("reversal", "reverted value"),
                            ("model", "a language model"),
                        ],
                        db_default="slot",
                        default="slot",
                        max_length=10,
                        verbose_name="found by",
                    ),
                ),
                ("project", models.CharField(blank=True, db_default="", default="", max_length=64)),
                (
                    "is_of_one_speaker",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="One person said all of it: did they change their mind?",
                    ),
                ),
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
                (
                    "resolution",
                    models.JSONField(blank=True, help_text="How it was decided, or why it closed.", null=True),
                ),
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
            ],
            options={
                "db_table": "conflict",
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
                    "channel",
                    models.CharField(
                        choices=[
                            ("operator", "an operator"),
                            ("gutask", "gutask"),
                            ("user", "a user's message"),
                            ("unsure", "a long message"),
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
                    "collision_type",
                    models.CharField(
                        choices=[
                            ("isa_isa", "two types"),
                            ("ispart_ispart", "two values"),
                            ("misclassification", "type or membership?"),
                            ("cycle", "a cycle"),
                            ("retraction", "a fact taken back"),
                        ],
                        max_length=20,
                    ),
                ),
                ("agent", models.CharField(blank=True, db_default="", default="", max_length=120)),
                ("role", models.CharField(blank=True, db_default="", default="", max_length=16)),
                (
                    "conversation",
                    models.BinaryField(
                        db_default=b"",
                        default=b"",
                        help_text="The digest of the opening of the conversation in which it was said; empty for none.",
                    ),
                ),
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
                    "conflict",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="claims",
                        to="resolution.conflict",
                    ),
                ),
            ],
            options={
                "db_table": "resolution_queue",
                "default_permissions": (),
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
                    "text",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="What it said when it became a member.",
                        max_length=600,
                    ),
                ),
                (
                    "is_asked",
                    models.BooleanField(
                        db_default=False, default=False, help_text="Whether the question is if this one still holds."
                    ),
                ),
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
            ],
            options={
                "db_table": "conflict_member",
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
                            ("consolidate", "memories changed"),
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
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "claim",
                    models.ForeignKey(
                        db_index=False,
                        help_text="What it is about; nothing for what is about a concept or memories: a quarantine, a merge.",  # noqa: E501
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="resolution.claim",
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
            ],
            options={
                "db_table": "decision",
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
            },
        ),
        migrations.CreateModel(
            name="DecisionChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_name", models.CharField(max_length=32)),
                ("key", models.BigIntegerField()),
                ("before", models.JSONField(help_text="Null if the row did not exist.", null=True)),
                ("after", models.JSONField(help_text="Null if the row no longer exists.", null=True)),
                ("is_forgotten", models.BooleanField(db_default=False, default=False)),
                (
                    "decision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="changes", to="resolution.decision"
                    ),
                ),
            ],
            options={
                "db_table": "decision_change",
                "default_permissions": (),
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
                            ("merge", "Merge"),
                            ("consolidate", "Consolidate"),
                            ("sweep", "Sweep"),
                            ("detect", "Detect"),
                            ("upgrade", "Upgrade"),
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
                            ("requested", "Requested"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("skipped", "Skipped"),
                            ("failed", "Failed"),
                        ],
                        db_default="running",
                        default="running",
                        max_length=9,
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
                (
                    "facts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text="To be looked at.",
                        size=None,
                    ),
                ),
                ("input_tokens", models.IntegerField(db_default=0, default=0)),
                ("output_tokens", models.IntegerField(db_default=0, default=0)),
                (
                    "cost",
                    models.DecimalField(
                        decimal_places=6, help_text="In US dollars, where known.", max_digits=12, null=True
                    ),
                ),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "run",
                "indexes": [models.Index(fields=["-started_at"], name="run_newest_first")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["requested", "running", "done", "skipped", "failed"])),
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
                                    "merge",
                                    "consolidate",
                                    "sweep",
                                    "detect",
                                    "upgrade",
                                ],
                            )
                        ),
                        name="run_trigger_is_known",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="decision",
            name="run",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="decisions",
                to="resolution.run",
            ),
        ),
        migrations.AddField(
            model_name="claim",
            name="run",
            field=models.ForeignKey(
                blank=True,
                help_text="The run of the resolver that decided it last.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="claims",
                to="resolution.run",
            ),
        ),
        migrations.CreateModel(
            name="SlotClaim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("memory", "Memory"), ("project_state", "project state"), ("edge", "fact")],
                        max_length=16,
                    ),
                ),
                ("object_id", models.BigIntegerField(help_text="Row id; the row may be superseded.")),
                (
                    "owner",
                    models.TextField(help_text="The project's slug; empty for facts, and for what all projects share."),
                ),
                ("key", models.TextField(help_text="Stems, in order, with those of the project's slug.")),
                ("value", models.TextField(help_text="Normalised.")),
                (
                    "words",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), help_text="The stems and numbers of the value.", size=None
                    ),
                ),
                ("is_denied", models.BooleanField(help_text="The row says that the value is not so.")),
                ("version", models.SmallIntegerField(help_text="Of the rules that read it.")),
            ],
            options={
                "db_table": "slot_claim",
                "default_permissions": (),
                "indexes": [models.Index(fields=["key", "kind"], name="slot_claim_by_key")],
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "object_id", "key"), name="slot_claim_unique"),
                    models.CheckConstraint(condition=models.Q(("key", ""), _negated=True), name="slot_claim_has_a_key"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["memory", "project_state", "edge"])),
                        name="slot_claim_kind_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Candidate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("set_aside_at", models.DateTimeField(blank=True, editable=False, null=True)),
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
                            ("unsure", "a long message"),
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
                    "for_speaker",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The agent whose own words it may be.",
                        max_length=120,
                    ),
                ),
                (
                    "for_person",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="Behind that agent.", max_length=200
                    ),
                ),
                (
                    "paragraph",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="Where it was said.", max_length=32
                    ),
                ),
                ("why", models.CharField(blank=True, db_default="", default="", help_text="Reason.", max_length=40)),
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
                (
                    "set_aside_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="memory.forgetrequest",
                    ),
                ),
            ],
            options={
                "db_table": "edge_candidate",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "open")), fields=["-last_said_at", "-id"], name="candidate_open"
                    ),
                    models.Index(fields=["state", "-last_said_at"], name="candidate_by_state"),
                    models.Index(
                        condition=models.Q(("state", "open"), models.Q(("for_speaker", ""), _negated=True)),
                        fields=["for_speaker", "for_person"],
                        name="candidate_of_a_speaker",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("concept", "dimension", "parent", "is_isa", "for_speaker", "for_person"),
                        name="candidate_stands_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="candidate_confidence_is_in_range",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "channel__in",
                                ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"],
                            )
                        ),
                        name="candidate_channel_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["open", "promoted", "dismissed", "expired"])),
                        name="candidate_state_is_known",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="conflict",
            index=models.Index(fields=["status", "-priority", "detected_at", "id"], name="conflict_by_status"),
        ),
        migrations.AddIndex(
            model_name="conflict",
            index=models.Index(fields=["concept", "dim"], name="conflict_of_a_slot"),
        ),
        migrations.AddIndex(
            model_name="conflict",
            index=django.contrib.postgres.indexes.GinIndex(
                resolution.models.conflicts.SimpleTsVector(
                    resolution.models.conflicts.SplitWords(
                        resolution.models.conflicts.JsonValues("slot_key"), "question"
                    )
                ),
                condition=models.Q(("slot_kind", "edge_slot"), _negated=True),
                name="conflict_words",
            ),
        ),
        migrations.AddConstraint(
            model_name="conflict",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "open")), fields=("owner", "key"), name="conflict_is_open_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="conflict",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("slot_kind", "narrative"), models.Q(("question", ""), _negated=True)),
                    models.Q(models.Q(("slot_kind", "narrative"), _negated=True), ("question", "")),
                    _connector="OR",
                ),
                name="conflict_of_a_story_asks_something",
            ),
        ),
        migrations.AddConstraint(
            model_name="conflict",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("slot_kind", "edge_slot"), _negated=True),
                    models.Q(("concept__isnull", False), ("dim__isnull", False)),
                    _connector="OR",
                ),
                name="conflict_about_an_edge_has_its_slot",
            ),
        ),
        migrations.AddConstraint(
            model_name="conflict",
            constraint=models.CheckConstraint(
                condition=models.Q(("tier__in", ["slot", "numbers", "opposition", "reversal", "model"])),
                name="conflict_tier_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="conflict",
            constraint=models.CheckConstraint(
                condition=models.Q(("slot_kind__in", ["edge_slot", "memory_slot", "cross_layer", "narrative"])),
                name="conflict_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="conflict",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["open", "resolved", "dismissed"])), name="conflict_state_is_known"
            ),
        ),
        migrations.AddIndex(
            model_name="conflictmember",
            index=models.Index(fields=["conflict"], name="conflict_member_by_conflict"),
        ),
        migrations.AddIndex(
            model_name="conflictmember",
            index=django.contrib.postgres.indexes.GinIndex(
                resolution.models.conflicts.SimpleTsVector(resolution.models.conflicts.SplitWords("text")),
                condition=models.Q(("kind", "claim"), _negated=True),
                name="conflict_member_words",
            ),
        ),
        migrations.AddConstraint(
            model_name="conflictmember",
            constraint=models.UniqueConstraint(
                fields=("kind", "object_id", "conflict"), name="conflict_member_is_in_it_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="conflictmember",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_asked", True)), fields=("conflict",), name="conflict_asks_about_one_member"
            ),
        ),
        migrations.AddConstraint(
            model_name="conflictmember",
            constraint=models.CheckConstraint(
                condition=models.Q(("trust__gte", 1), ("trust__lte", 3)), name="conflict_member_trust_is_a_layer"
            ),
        ),
        migrations.AddConstraint(
            model_name="conflictmember",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["claim", "edge", "edge_history", "memory", "project_state"])),
                name="conflict_member_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="decidedtriple",
            constraint=models.UniqueConstraint(
                fields=("concept", "dim", "parent"), name="decided_triple_is_decided_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="decidedtriple",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["dismissed", "retired", "relocated", "decomposed"])),
                name="decided_triple_kind_is_known",
            ),
        ),
        migrations.AddIndex(
            model_name="decisionchange",
            index=models.Index(fields=["table_name", "key"], name="decision_change_of_a_row"),
        ),
        migrations.AddIndex(
            model_name="decision",
            index=models.Index(fields=["-at"], name="decision_newest_first"),
        ),
        migrations.AddIndex(
            model_name="decision",
            index=models.Index(fields=["claim"], name="decision_claim_id_index"),
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
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "undo"), ("undoes__isnull", False)),
                    models.Q(models.Q(("kind", "undo"), _negated=True), ("undoes__isnull", True)),
                    _connector="OR",
                ),
                name="decision_undoes_a_decision",
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
                condition=models.Q(("source__in", ["cloud_llm", "inferred", "festinger", "gutask", "operator"])),
                name="decision_source_is_known",
            ),
        ),
        migrations.AddIndex(
            model_name="claim",
            index=models.Index(fields=["status", "-priority", "created_at"], name="conflict_in_order"),
        ),
        migrations.AddIndex(
            model_name="claim",
            index=models.Index(
                condition=models.Q(("status__in", ["pending", "proposed"])),
                fields=["-priority", "created_at", "id"],
                name="conflict_open_in_order",
            ),
        ),
        migrations.AddConstraint(
            model_name="claim",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ["pending", "proposed"])),
                fields=("concept", "dim", "incoming_parent"),
                name="conflict_open_once",
                violation_error_message="This conflict is already open.",
            ),
        ),
        migrations.AddConstraint(
            model_name="claim",
            constraint=models.CheckConstraint(
                condition=models.Q(("collision_type", "cycle"), ("existing_parent__isnull", False), _connector="OR"),
                name="conflict_has_an_existing_parent",
            ),
        ),
        migrations.AddConstraint(
            model_name="claim",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("existing_parent__isnull", True),
                    models.Q(
                        models.Q(("existing_parent", models.F("incoming_parent")), _negated=True),
                        models.Q(("collision_type", "retraction"), _negated=True),
                    ),
                    models.Q(("collision_type", "retraction"), ("existing_parent", models.F("incoming_parent"))),
                    _connector="OR",
                ),
                name="conflict_has_two_sides",
            ),
        ),
        migrations.AddConstraint(
            model_name="claim",
            constraint=models.CheckConstraint(
                condition=models.Q(("incoming_confidence__gte", 0), ("incoming_confidence__lte", 1)),
                name="conflict_confidence_is_in_range",
            ),
        ),
        migrations.AddConstraint(
            model_name="claim",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("collision_type__in", ["isa_isa", "ispart_ispart", "misclassification", "cycle", "retraction"])
                ),
                name="conflict_type_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="claim",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["pending", "proposed", "resolved", "dismissed"])),
                name="conflict_status_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="claim",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("incoming_source__in", ["cloud_llm", "inferred", "festinger", "gutask", "operator"])
                ),
                name="conflict_source_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="claim",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="conflict_channel_is_known",
            ),
        ),
        migrations.RunSQL(SQL, DROP),
    ]
