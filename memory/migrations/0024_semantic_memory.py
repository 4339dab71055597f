"""What was said is found again: projects, episodes, memories."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.math
import django.db.models.lookups
from django.db import migrations, models

import memory.models.messages
import memory.models.semantic


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0023_who_is_asked"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="allows_all_projects",
            field=models.BooleanField(db_default=False, default=False, verbose_name="may name any project"),
        ),
        migrations.AddField(
            model_name="agent",
            name="episodes",
            field=models.CharField(
                choices=[("default", "as the setting has it"), ("on", "kept"), ("off", "not kept")],
                db_default="default",
                default="default",
                help_text="Whether its conversations are kept to be found again.",
                max_length=8,
            ),
        ),
        migrations.CreateModel(
            name="Embedder",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200)),
                ("dimensions", models.IntegerField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "db_table": "embedder",
                "constraints": [
                    models.UniqueConstraint(fields=("name", "dimensions"), name="embedder_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("dimensions__gte", 1), ("dimensions__lte", 4000)),
                        name="embedder_dimensions_are_in_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Memory",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.CharField(max_length=500)),
                (
                    "category",
                    models.CharField(
                        choices=[
                            ("identity", "Identity"),
                            ("preference", "Preference"),
                            ("project", "Project"),
                            ("episodic", "Episodic"),
                            ("other", "Other"),
                        ],
                        db_default="other",
                        default="other",
                        max_length=10,
                    ),
                ),
                ("agent", models.CharField(max_length=120)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                (
                    "slot",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="What there can be one of; empty: many.",
                        max_length=200,
                    ),
                ),
                (
                    "slot_version",
                    models.SmallIntegerField(db_default=0, default=0, help_text="Of the rules that found the slot."),
                ),
                ("confidence", models.FloatField(db_default=1.0, default=1.0)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("candidate", "waits as a candidate"),
                            ("active", "Active"),
                            ("deprecated", "too uncertain to be given"),
                            ("merged_into", "merged into another"),
                            ("superseded", "replaced by a newer one"),
                            ("invalid", "taken back"),
                        ],
                        db_default="active",
                        default="active",
                        max_length=11,
                    ),
                ),
                (
                    "is_disputed",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether another contradicts it, and nobody has decided.",
                        verbose_name="disputed",
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("stated", "read in a message"),
                            ("extracted", "a model concluded it"),
                            ("written", "written over HTTP, MCP or gutask"),
                            ("operator", "an operator"),
                            ("imported", "Imported"),
                        ],
                        max_length=10,
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
                ("conversation", models.BinaryField(blank=True, help_text="Where it was said.", null=True)),
                ("evidence_count", models.IntegerField(db_default=1, default=1)),
                ("said_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "last_updated",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), help_text="The last evidence for it."
                    ),
                ),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                (
                    "embedded_at",
                    models.DateTimeField(blank=True, help_text="Empty while it is found by its words only.", null=True),
                ),
                (
                    "lexemes",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.contrib.postgres.search.SearchVector("text", config="english"),
                        output_field=django.contrib.postgres.search.SearchVectorField(),
                    ),
                ),
                (
                    "merged_into",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="merged",
                        to="memory.memory",
                    ),
                ),
                (
                    "superseded_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="superseded",
                        to="memory.memory",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "memories",
                "db_table": "memory",
            },
        ),
        migrations.CreateModel(
            name="MemoryHistory",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "action",
                    models.CharField(
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
                            ("undo", "Undo"),
                        ],
                        max_length=10,
                    ),
                ),
                ("before", models.JSONField(blank=True, null=True)),
                ("after", models.JSONField(blank=True, null=True)),
                ("actor", models.CharField(max_length=120)),
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
                ("conversation", models.BinaryField(blank=True, null=True)),
                ("reason", models.TextField(blank=True, db_default="", default="")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="history",
                        to="memory.memory",
                    ),
                ),
            ],
            options={
                "verbose_name": "change of a memory",
                "verbose_name_plural": "changes of memories",
                "db_table": "memory_history",
            },
        ),
        migrations.CreateModel(
            name="MemoryLineage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("memory", "Memory"), ("episode", "Episode")], max_length=8)),
                ("row", models.BigIntegerField(help_text="The id of the episode or the memory; it may be gone.")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lineage",
                        to="memory.memory",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "lineage of memories",
                "db_table": "memory_lineage",
            },
        ),
        migrations.CreateModel(
            name="Project",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "slug",
                    models.CharField(help_text="How requests name it: small letters, digits and . _ -", max_length=64),
                ),
                ("name", models.CharField(max_length=120)),
                ("description", models.TextField(blank=True, db_default="", default="")),
                (
                    "is_open",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Requests without a token may name it, too.",
                        verbose_name="open",
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "db_table": "project",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("slug",), name="project_slug_unique", violation_error_message="This project exists."
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("slug__regex", "^[a-z0-9][a-z0-9._-]{0,63}$")),
                        name="project_slug_is_plain",
                        violation_error_message="A slug is at most 64 small letters, digits and . _ - and begins"
                        " with a letter or a digit.",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="memory",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="memories",
                to="memory.project",
            ),
        ),
        migrations.CreateModel(
            name="Episode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.BinaryField(help_text="The message's, as in seen_message.")),
                ("conversation", models.BinaryField(help_text="The digest of its opening.")),
                ("agent", models.CharField(max_length=120)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("role", models.CharField(choices=[("user", "User"), ("assistant", "Assistant")], max_length=10)),
                ("text", models.CharField(max_length=4000)),
                (
                    "quoted",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), blank=True, db_default=[], default=list, size=None
                    ),
                ),
                ("lexemes", django.contrib.postgres.search.SearchVectorField(editable=False)),
                ("said_at", models.DateTimeField()),
                (
                    "read_at",
                    models.DateTimeField(blank=True, help_text="When it was looked through for memories.", null=True),
                ),
                (
                    "embedded_at",
                    models.DateTimeField(blank=True, help_text="Empty while it is found by its words only.", null=True),
                ),
                ("attempts", models.IntegerField(db_default=0, default=0)),
                ("next_attempt_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="episodes",
                        to="memory.project",
                    ),
                ),
            ],
            options={
                "db_table": "episode",
            },
        ),
        migrations.AddField(
            model_name="agent",
            name="allowed_projects",
            field=models.ManyToManyField(
                blank=True,
                help_text="Which its requests may name besides.",
                related_name="allowed_agents",
                to="memory.project",
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="project",
            field=models.ForeignKey(
                blank=True,
                help_text="What it remembers belongs to it, where a request names no other.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="agents",
                to="memory.project",
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("episodes__in", ["default", "on", "off"])), name="agent_episodes_is_known"
            ),
        ),
        migrations.AddIndex(
            model_name="memoryhistory",
            index=models.Index(fields=["memory", "-id"], name="memory_history_of_a_memory"),
        ),
        migrations.AddIndex(
            model_name="memoryhistory",
            index=models.Index(fields=["action", "-id"], name="memory_history_by_action"),
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
                            "undo",
                        ],
                    )
                ),
                name="memory_history_action_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryhistory",
            constraint=models.CheckConstraint(
                condition=models.Q(("channel__in", ["operator", "gutask", "user", "explained", "assistant", "quoted"])),
                name="memory_history_channel_is_known",
            ),
        ),
        migrations.AddIndex(
            model_name="memorylineage",
            index=models.Index(fields=["kind", "row"], name="memory_lineage_by_row"),
        ),
        migrations.AddConstraint(
            model_name="memorylineage",
            constraint=models.UniqueConstraint(fields=("memory", "kind", "row"), name="memory_lineage_unique"),
        ),
        migrations.AddConstraint(
            model_name="memorylineage",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["memory", "episode"])), name="memory_lineage_kind_is_known"
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=django.contrib.postgres.indexes.GinIndex(fields=["lexemes"], name="memory_words"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("slot", ""), _negated=True),
                fields=["project", "category", "slot"],
                name="memory_of_a_slot",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["agent", "person", "-id"], name="memory_of_a_speaker"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["project", "-id"], name="memory_of_a_project"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["status", "-id"], name="memory_by_status"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(condition=models.Q(("embedded_at", None)), fields=["-id"], name="memory_unembedded"),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("text", ""), _negated=True), name="memory_says_something"
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("category__in", ["identity", "preference", "project", "episodic", "other"])),
                name="memory_category_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["candidate", "active", "deprecated", "merged_into", "superseded", "invalid"])
                ),
                name="memory_status_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("source__in", ["stated", "extracted", "written", "operator", "imported"])),
                name="memory_source_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("channel__in", ["operator", "gutask", "user", "explained", "assistant", "quoted"])),
                name="memory_channel_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                name="memory_confidence_is_in_range",
                violation_error_message="Confidence is between 0 and 1.",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("evidence_count__gte", 0)), name="memory_evidence_is_counted"
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("merged_into", None),
                    models.Q(("status", "merged_into"), models.Q(("merged_into", models.F("id")), _negated=True)),
                    _connector="OR",
                ),
                name="memory_only_merged_ones_have_a_winner",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("superseded_by", None),
                    models.Q(("status", "superseded"), models.Q(("superseded_by", models.F("id")), _negated=True)),
                    _connector="OR",
                ),
                name="memory_only_superseded_ones_have_a_successor",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("archived_at", None), ("status__in", ["candidate", "active"])),
                    models.Q(
                        models.Q(("status__in", ["candidate", "active"]), _negated=True), ("archived_at__isnull", False)
                    ),
                    _connector="OR",
                ),
                name="memory_is_archived_when_it_holds_no_more",
            ),
        ),
        migrations.AddIndex(
            model_name="episode",
            index=django.contrib.postgres.indexes.GinIndex(fields=["lexemes"], name="episode_words"),
        ),
        migrations.AddIndex(
            model_name="episode",
            index=models.Index(fields=["agent", "person", "-id"], name="episode_of_a_speaker"),
        ),
        migrations.AddIndex(
            model_name="episode",
            index=models.Index(fields=["project", "-id"], name="episode_of_a_project"),
        ),
        migrations.AddIndex(
            model_name="episode",
            index=models.Index(fields=["conversation", "id"], name="episode_of_a_conversation"),
        ),
        migrations.AddIndex(
            model_name="episode",
            index=models.Index(fields=["said_at"], name="episode_by_age"),
        ),
        migrations.AddIndex(
            model_name="episode",
            index=models.Index(
                condition=models.Q(("read_at", None)), fields=["next_attempt_at", "id"], name="episode_unread"
            ),
        ),
        migrations.AddIndex(
            model_name="episode",
            index=models.Index(condition=models.Q(("embedded_at", None)), fields=["-id"], name="episode_unembedded"),
        ),
        migrations.AddConstraint(
            model_name="episode",
            constraint=models.UniqueConstraint(fields=("digest",), name="episode_unique"),
        ),
        migrations.AddConstraint(
            model_name="episode",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 32),
                name="episode_digest_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="episode",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("conversation"), 16),
                name="episode_conversation_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="episode",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["user", "assistant"])), name="episode_role_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="episode",
            constraint=models.CheckConstraint(
                condition=models.Q(("text", ""), _negated=True), name="episode_says_something"
            ),
        ),
        migrations.AddConstraint(
            model_name="episode",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    django.db.models.functions.math.Mod(memory.models.semantic.Cardinality("quoted"), 2), 0
                ),
                name="episode_quoted_parts_have_two_ends",
            ),
        ),
    ]
