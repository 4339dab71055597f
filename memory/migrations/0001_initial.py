"""The tables of version 0.1.0, and beside them, in 0001_initial.sql, the functions and triggers."""

from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.math
import django.db.models.functions.text
import django.db.models.lookups
from django.db import migrations, models

import memory.models.graph
import memory.models.messages
import memory.models.operating
import memory.models.semantic

SQL = Path(__file__).with_suffix(".sql").read_text()
# With their triggers, also those on other tables.
DROP = """
DROP FUNCTION
    urd_refuse_ring, alias_refuse_chains, urd_refuse_aliases, festinger_refuse_rewriting, festinger_announce,
    festinger_announce_rows, festinger_announce_reload, festinger_announce_new_words,
    festinger_announce_soas_flags, festinger_announce_memories, festinger_announce_episode,
    text_awaits_its_vector
    CASCADE;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Soas",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("token", models.CharField(max_length=64)),
                (
                    "is_common",
                    models.BooleanField(
                        db_default=False, default=False, help_text="An English dictionary word: its saliency stays 0."
                    ),
                ),
                (
                    "is_muted",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Never recalled, asked about or sent to a language model.",
                    ),
                ),
                ("encounter_count", models.IntegerField(db_default=0, default=0)),
                ("saliency", models.FloatField(db_default=0.0, default=0.0, help_text="log10 of the encounters.")),
                (
                    "novelty",
                    models.FloatField(
                        db_default=0.0, default=0.0, help_text="1 once a fact with this concept as subject was placed."
                    ),
                ),
                ("asked_count", models.IntegerField(db_default=0, default=0)),
                ("write_attempts", models.IntegerField(db_default=0, default=0)),
                ("last_seen", models.DateTimeField(blank=True, null=True)),
                ("asked_at", models.DateTimeField(blank=True, null=True)),
                ("write_attempted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "conversation_count",
                    models.IntegerField(
                        db_default=0,
                        default=0,
                        help_text="Conversations whose users spoke of it while it had no facts.",
                    ),
                ),
            ],
            options={
                "verbose_name": "concept",
                "db_table": "soas",
                "indexes": [
                    models.Index(fields=["-saliency", "-id"], name="soas_most_salient_first"),
                    models.Index(
                        condition=models.Q(("is_common", True)), fields=["-saliency", "-id"], name="soas_common"
                    ),
                    models.Index(
                        condition=models.Q(("is_muted", True)), fields=["-saliency", "-id"], name="soas_muted"
                    ),
                    models.Index(
                        condition=models.Q(("conversation_count__gt", 0)),
                        fields=["-saliency", "-id"],
                        name="soas_spoken_of",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        models.Func(
                            models.F("token"),
                            models.Value("[_.'@+-]"),
                            function="regexp_split_to_array",
                            output_field=django.contrib.postgres.fields.ArrayField(
                                base_field=models.TextField(), size=None
                            ),
                        ),
                        condition=models.Q(("token__regex", "[_.'@+-]")),
                        name="soas_by_part",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("token",), name="soas_token_unique", violation_error_message="This token exists."
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("token", memory.models.graph.NormalForm(django.db.models.functions.text.Lower("token")))
                        ),
                        name="soas_token_is_normal",
                        violation_error_message="A token is written in lower case and in Unicode's NFKC.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("token__regex", '^[^[:space:][:cntrl:]<>"`\\\\/:=(){}\\[\\],;!?]+$')),
                        name="soas_token_stays_in_its_alphabet",
                        violation_error_message="A token is letters and digits, joined by _ - . ' @ or +.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("asked_count__gte", 0),
                            ("conversation_count__gte", 0),
                            ("encounter_count__gte", 0),
                            ("write_attempts__gte", 0),
                        ),
                        name="soas_counts_are_not_negative",
                        violation_error_message="Counts start at 0.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("novelty__gte", 0), ("novelty__lte", 1), ("saliency__gte", 0)),
                        name="soas_scores_are_in_range",
                        violation_error_message="Saliency is at least 0, novelty between 0 and 1.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Alias",
            fields=[
                (
                    "soas",
                    models.OneToOneField(
                        db_column="id",
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="alias",
                        serialize=False,
                        to="memory.soas",
                    ),
                ),
                (
                    "concept",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="aliases", to="memory.soas"
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
                        help_text="A weaker one neither changes nor ends it.",
                        max_length=12,
                    ),
                ),
                ("agent", models.CharField(max_length=120)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name_plural": "aliases",
                "db_table": "alias",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("channel__in", ["operator", "gutask", "user", "explained", "assistant", "quoted"])
                        ),
                        name="alias_channel_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("soas", models.F("concept")), _negated=True),
                        name="alias_is_another_name",
                        violation_error_message="A concept is no alias of itself.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Dimension",
            fields=[
                (
                    "soas",
                    models.OneToOneField(
                        db_column="id",
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="dimension",
                        serialize=False,
                        to="memory.soas",
                    ),
                ),
                (
                    "question",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="What a fact in this dimension answers. Language models are shown it, too.",
                        max_length=200,
                    ),
                ),
                (
                    "is_isa",
                    models.BooleanField(
                        help_text="Whether a fact here says what a thing is (else what it is part of)."
                    ),
                ),
                (
                    "on_collision",
                    models.CharField(
                        choices=[
                            ("queue", "queue the newcomer"),
                            ("supersede", "the newer wins"),
                            ("keep_all", "keep all"),
                        ],
                        db_default="queue",
                        default="queue",
                        help_text="What becomes of a statement whose slot is taken. Queue: it waits in the conflicts,"
                        " the world stays as it is. The newer wins: what was said later stands at once,"
                        " the other goes into the history. Keep all: a concept may have several facts"
                        " here, which stand beside each other.",
                        max_length=16,
                    ),
                ),
                (
                    "split_from",
                    models.ForeignKey(
                        blank=True,
                        help_text="The dimension this one was decomposed from.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="splits",
                        to="memory.dimension",
                    ),
                ),
                (
                    "is_additive",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Q(("on_collision", "keep_all")),
                        output_field=models.BooleanField(),
                    ),
                ),
            ],
            options={
                "db_table": "dimension",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("on_collision__in", ["queue", "supersede", "keep_all"])),
                        name="dimension_on_collision_is_known",
                        violation_error_message="On a collision a dimension queues, supersedes or keeps all.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("split_from", models.F("soas")), _negated=True),
                        name="dimension_is_not_split_from_itself",
                        violation_error_message="A dimension cannot be split from itself.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Edge",
            fields=[
                ("edge_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("is_isa", models.BooleanField()),
                ("confidence", models.FloatField(db_default=1.0, default=1.0)),
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
                ("agent", models.CharField(blank=True, db_default="", default="", max_length=120)),
                ("last_confirmed", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "concept",
                    models.ForeignKey(
                        db_column="id",
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="edges",
                        to="memory.soas",
                    ),
                ),
                (
                    "dim",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="dimension_edges",
                        to="memory.soas",
                        verbose_name="dimension",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="children", to="memory.soas"
                    ),
                ),
                (
                    "said_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="When it was last stated; of two statements the later one supersedes.",
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
                    "is_corroborated",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether several agents have stated it, each by itself.",
                    ),
                ),
                (
                    "is_additive",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        editable=False,
                        help_text="Whether its dimension keeps all: with it a foreign key to the dimension"
                        " (sql/triggers.sql).",
                    ),
                ),
            ],
            options={
                "verbose_name": "fact",
                "db_table": "urd",
                "indexes": [models.Index(fields=["dim", "concept"], name="urd_by_dimension")],
                "constraints": [
                    models.UniqueConstraint(fields=("concept", "parent", "dim"), name="urd_unique_triple"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_additive", False)),
                        fields=("concept", "dim"),
                        name="urd_one_parent_per_dimension",
                        violation_error_message="This concept already has a parent in this dimension.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("concept", models.F("parent")), _negated=True),
                            models.Q(("concept", models.F("parent")), ("parent", models.F("dim"))),
                            _connector="OR",
                        ),
                        name="urd_only_roots_refer_to_themselves",
                        violation_error_message="A concept cannot be its own parent.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("is_additive", False),
                            models.Q(("concept", models.F("dim")), _negated=True),
                            ("concept", models.F("parent")),
                            _connector="OR",
                        ),
                        name="urd_root_has_its_slot_alone",
                        violation_error_message="A dimension holds no fact about itself.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="urd_confidence_is_in_range",
                        violation_error_message="Confidence is between 0 and 1.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("source__in", ["cloud_llm", "inferred", "festinger", "gutask", "operator"])
                        ),
                        name="urd_source_is_known",
                        violation_error_message="The source is not known.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("channel__in", ["operator", "gutask", "user", "explained", "assistant", "quoted"])
                        ),
                        name="urd_channel_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EdgeHistory",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("insert", "Insert"),
                            ("confirm", "Confirm"),
                            ("supersede", "Supersede"),
                            ("retire", "Retire"),
                            ("move", "Move"),
                            ("undo", "Undo"),
                        ],
                        max_length=16,
                    ),
                ),
                ("before", models.JSONField(blank=True, null=True)),
                ("after", models.JSONField(blank=True, null=True)),
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
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "concept",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="history",
                        to="memory.soas",
                    ),
                ),
                (
                    "dim",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="dimension_history",
                        to="memory.soas",
                        verbose_name="dimension",
                    ),
                ),
                ("role", models.CharField(blank=True, db_default="", default="", max_length=16)),
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
                    "conversation",
                    models.BinaryField(
                        blank=True, help_text="The digest of its opening, where it was said.", null=True
                    ),
                ),
            ],
            options={
                "verbose_name": "change of a fact",
                "verbose_name_plural": "changes of facts",
                "db_table": "edge_history",
                "indexes": [
                    models.Index(fields=["concept", "dim", "-at"], name="edge_history_of_a_slot"),
                    models.Index(fields=["action", "-id"], name="edge_history_by_action"),
                    models.Index(fields=["source", "-id"], name="edge_history_by_source"),
                    models.Index(fields=["actor", "-id"], name="edge_history_by_actor"),
                    models.Index(
                        condition=models.Q(("conversation", None), _negated=True),
                        fields=["conversation"],
                        name="edge_history_by_conversation",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("action__in", ["insert", "confirm", "supersede", "retire", "move", "undo"])
                        ),
                        name="edge_history_action_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("channel__in", ["operator", "gutask", "user", "explained", "assistant", "quoted"])
                        ),
                        name="edge_history_channel_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SeenMessage",
            fields=[
                ("digest", models.BinaryField(primary_key=True, serialize=False)),
                (
                    "last_seen",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="To the day: it is only moved once a day.",
                    ),
                ),
            ],
            options={
                "db_table": "seen_message",
                "indexes": [models.Index(fields=["last_seen"], name="seen_message_by_age")],
                "constraints": [
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 32),
                        name="seen_message_digest_is_whole",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Evidence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("sentence", models.CharField(max_length=300)),
                ("role", models.CharField(max_length=16)),
                ("agent", models.CharField(max_length=120)),
                ("said_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "concept",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="evidence",
                        to="memory.soas",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "evidence",
                "db_table": "evidence",
                "constraints": [
                    models.UniqueConstraint(fields=("concept", "sentence"), name="evidence_says_it_once"),
                    models.CheckConstraint(
                        condition=models.Q(("sentence", ""), _negated=True), name="evidence_says_something"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LanguageModel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "provider",
                    models.CharField(
                        choices=[("claude", "Claude"), ("openai", "OpenAI"), ("ollama", "Ollama")], max_length=16
                    ),
                ),
                ("model_name", models.CharField(max_length=120)),
                (
                    "base_url",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Empty for the provider's own; for Ollama, for the upstream of config.yaml or"
                        " FESTINGER_UPSTREAM. OpenAI's ends in /v1.",
                        max_length=200,
                        validators=[memory.models.operating.http_address],
                    ),
                ),
                ("api_key", models.TextField(blank=True, db_default="", default="", editable=False)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "input_price",
                    models.DecimalField(
                        blank=True,
                        decimal_places=4,
                        help_text="US dollars for a million tokens read.",
                        max_digits=10,
                        null=True,
                    ),
                ),
                (
                    "output_price",
                    models.DecimalField(
                        blank=True,
                        decimal_places=4,
                        help_text="US dollars for a million tokens written.",
                        max_digits=10,
                        null=True,
                    ),
                ),
            ],
            options={
                "verbose_name": "language model",
                "db_table": "models",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("input_price", None), ("input_price__gte", 0), _connector="OR"),
                            models.Q(("output_price", None), ("output_price__gte", 0), _connector="OR"),
                        ),
                        name="models_prices_are_not_negative",
                        violation_error_message="A price is at least 0.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("provider__in", ["claude", "openai", "ollama"])),
                        name="models_provider_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("api_key", ""), ("api_key__startswith", "gAAAA"), _connector="OR"),
                        name="models_api_key_is_encrypted",
                        violation_error_message="A key is stored encrypted.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Config",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("value", models.TextField(blank=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name": "setting",
                "db_table": "config",
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
                        violation_error_message="A slug is at most 64 small letters, digits and . _ - and begins with"
                        " a letter or a digit.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Agent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("token_hash", models.CharField(editable=False, max_length=64)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("agent", "agent: recall and teach"),
                            ("operator", "operator: decide and reload, too"),
                        ],
                        db_default="agent",
                        default="agent",
                        max_length=16,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "ask",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Ask about unknown names in its prompts, where it recalls.",
                    ),
                ),
                (
                    "learn",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Read its prompts for facts. What it teaches with gutask counts anyway.",
                    ),
                ),
                (
                    "recall",
                    models.BooleanField(db_default=True, default=True, help_text="Add what is known to its prompts."),
                ),
                (
                    "can_teach",
                    models.CharField(
                        choices=[
                            ("auto", "if it has taught by gutask before, or its request has tools"),
                            ("always", "always"),
                            ("never", "never"),
                        ],
                        db_default="auto",
                        default="auto",
                        help_text="Whether it is asked about unknown names.",
                        max_length=8,
                        verbose_name="can answer questions",
                    ),
                ),
                (
                    "allows_all_projects",
                    models.BooleanField(db_default=False, default=False, verbose_name="may name any project"),
                ),
                (
                    "episodes",
                    models.CharField(
                        choices=[("default", "as the setting has it"), ("on", "kept"), ("off", "not kept")],
                        db_default="default",
                        default="default",
                        help_text="Whether its conversations are kept to be found again.",
                        max_length=8,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        help_text="What it remembers belongs to it, where a request names no other.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="agents",
                        to="memory.project",
                    ),
                ),
                (
                    "allowed_projects",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Which its requests may name besides.",
                        related_name="allowed_agents",
                        to="memory.project",
                    ),
                ),
            ],
            options={
                "db_table": "agent",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("name",), name="agent_name_unique", violation_error_message="This agent exists."
                    ),
                    models.UniqueConstraint(fields=("token_hash",), name="agent_token_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("scope__in", ["agent", "operator"])), name="agent_scope_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("can_teach__in", ["auto", "always", "never"])),
                        name="agent_can_teach_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("episodes__in", ["default", "on", "off"])), name="agent_episodes_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("token_hash__regex", "^[0-9a-f]{64}$")), name="agent_token_is_hashed"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Teacher",
            fields=[
                ("agent", models.CharField(max_length=120, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "teacher",
            },
        ),
        migrations.CreateModel(
            name="MutePattern",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "pattern",
                    models.CharField(
                        help_text="A name in which * stands for anything: self.*, com.acme.*, *.md.", max_length=64
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name="since"
                    ),
                ),
            ],
            options={
                "db_table": "mute_pattern",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pattern",),
                        name="mute_pattern_unique",
                        violation_error_message="This pattern is muted already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("pattern__regex", "[[:alnum:]].*[[:alnum:]]"),
                            ("pattern__regex", '^[^[:space:][:cntrl:]<>"`\\\\/:=(){}\\[\\],;!?|^$]+$'),
                        ),
                        name="mute_pattern_is_of_names",
                        violation_error_message="A pattern is letters, digits and _ - . ' @ +, with * for anything.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64, verbose_name="part")),
                ("host", models.CharField(blank=True, db_default="", default="", max_length=255)),
                ("pid", models.PositiveIntegerField(db_default=0, default=0, verbose_name="process id")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "heartbeat",
                "constraints": [
                    models.UniqueConstraint(fields=("name", "host", "pid"), name="heartbeat_one_a_process")
                ],
            },
        ),
        migrations.CreateModel(
            name="Episode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "digest",
                    models.BinaryField(
                        help_text="Of the message, as seen_message has it, and of who said it in which project."
                    ),
                ),
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
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["lexemes"], gin_pending_list_limit=64, name="episode_words"
                    ),
                    models.Index(fields=["agent", "person", "-id"], name="episode_of_a_speaker"),
                    models.Index(fields=["project", "-id"], name="episode_of_a_project"),
                    models.Index(fields=["conversation", "id"], name="episode_of_a_conversation"),
                    models.Index(fields=["said_at"], name="episode_by_age"),
                    models.Index(
                        condition=models.Q(("read_at", None)), fields=["next_attempt_at", "id"], name="episode_unread"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("digest",), name="episode_unique"),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 32),
                        name="episode_digest_is_whole",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            memory.models.messages.OctetLength("conversation"), 16
                        ),
                        name="episode_conversation_is_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["user", "assistant"])), name="episode_role_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="episode_says_something"
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            django.db.models.functions.math.Mod(memory.models.semantic.Cardinality("quoted"), 2), 0
                        ),
                        name="episode_quoted_parts_have_two_ends",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ForgottenEpisode",
            fields=[
                ("digest", models.BinaryField(primary_key=True, serialize=False)),
            ],
            options={
                "db_table": "forgotten_episode",
                "constraints": [
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 32),
                        name="forgotten_episode_digest_is_whole",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ExtractionMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("agent", models.CharField(max_length=120)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                (
                    "episode",
                    models.BigIntegerField(help_text="The id of the newest that was looked at; it may be gone."),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, to="memory.project"
                    ),
                ),
            ],
            options={
                "db_table": "extraction_mark",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("agent", "person", "project"), name="extraction_mark_unique", nulls_distinct=False
                    )
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
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="memories",
                        to="memory.project",
                    ),
                ),
                (
                    "other_slot",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="That of B, where A is preferred to B.",
                        max_length=200,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "memories",
                "db_table": "memory",
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["lexemes"], gin_pending_list_limit=64, name="memory_words"
                    ),
                    models.Index(
                        condition=models.Q(("slot", ""), _negated=True),
                        fields=["project", "category", "slot"],
                        name="memory_of_a_slot",
                    ),
                    models.Index(
                        condition=models.Q(("other_slot", ""), _negated=True),
                        fields=["project", "category", "other_slot"],
                        name="memory_of_b",
                    ),
                    models.Index(django.db.models.functions.text.Lower("text"), name="memory_by_text"),
                    models.Index(fields=["agent", "person", "-id"], name="memory_of_a_speaker"),
                    models.Index(fields=["project", "-id"], name="memory_of_a_project"),
                    models.Index(fields=["status", "-id"], name="memory_by_status"),
                    models.Index(condition=models.Q(("embedded_at", None)), fields=["-id"], name="memory_unembedded"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="memory_says_something"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("category__in", ["identity", "preference", "project", "episodic", "other"])
                        ),
                        name="memory_category_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "status__in",
                                ["candidate", "active", "deprecated", "merged_into", "superseded", "invalid"],
                            )
                        ),
                        name="memory_status_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source__in", ["stated", "extracted", "written", "operator", "imported"])),
                        name="memory_source_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("channel__in", ["operator", "gutask", "user", "explained", "assistant", "quoted"])
                        ),
                        name="memory_channel_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="memory_confidence_is_in_range",
                        violation_error_message="Confidence is between 0 and 1.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("evidence_count__gte", 0)), name="memory_evidence_is_counted"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("merged_into", None),
                            models.Q(
                                ("status", "merged_into"), models.Q(("merged_into", models.F("id")), _negated=True)
                            ),
                            _connector="OR",
                        ),
                        name="memory_only_merged_ones_have_a_winner",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("superseded_by", None),
                            models.Q(
                                ("status", "superseded"), models.Q(("superseded_by", models.F("id")), _negated=True)
                            ),
                            _connector="OR",
                        ),
                        name="memory_only_superseded_ones_have_a_successor",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("archived_at", None), ("status__in", ["candidate", "active"])),
                            models.Q(
                                models.Q(("status__in", ["candidate", "active"]), _negated=True),
                                ("archived_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="memory_is_archived_when_it_holds_no_more",
                    ),
                ],
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
                "indexes": [models.Index(fields=["kind", "row"], name="memory_lineage_by_row")],
                "constraints": [
                    models.UniqueConstraint(fields=("memory", "kind", "row"), name="memory_lineage_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["memory", "episode"])), name="memory_lineage_kind_is_known"
                    ),
                ],
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
                            ("keep", "keep beside another"),
                            ("undo", "Undo"),
                            ("quarantine", "Quarantine"),
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
                (
                    "run",
                    models.BigIntegerField(
                        blank=True, help_text="Of the consolidation or the quarantine that made the change.", null=True
                    ),
                ),
            ],
            options={
                "verbose_name": "change of a memory",
                "verbose_name_plural": "changes of memories",
                "db_table": "memory_history",
                "indexes": [
                    models.Index(fields=["memory", "-id"], name="memory_history_of_a_memory"),
                    models.Index(fields=["action", "-id"], name="memory_history_by_action"),
                    models.Index(
                        condition=models.Q(("run", None), _negated=True),
                        fields=["run", "memory"],
                        name="memory_history_of_a_run",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
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
                    models.CheckConstraint(
                        condition=models.Q(
                            ("channel__in", ["operator", "gutask", "user", "explained", "assistant", "quoted"])
                        ),
                        name="memory_history_channel_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GivenNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("request", models.CharField(help_text="As in the header X-Festinger-Request.", max_length=16)),
                ("conversation", models.BinaryField(help_text="The digest of its opening.")),
                ("kind", models.CharField(choices=[("memory", "Memory"), ("episode", "Episode")], max_length=8)),
                ("row", models.BigIntegerField(help_text="The id of the memory or the episode; it may be gone.")),
                (
                    "is_used",
                    models.BooleanField(
                        help_text="Whether the answer has words of it; empty where nobody could tell.", null=True
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "given_note",
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(fields=["kind", "row"], name="given_note_by_row"),
                    models.Index(fields=["at"], name="given_note_by_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("request", "kind", "row"), name="given_note_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("request__regex", "^[0-9a-f]{16}$")), name="given_note_request_is_an_id"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["memory", "episode"])), name="given_note_kind_is_known"
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            memory.models.messages.OctetLength("conversation"), 16
                        ),
                        name="given_note_conversation_is_whole",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Observation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("triple", "Triple"), ("concept", "Concept")], max_length=8)),
                ("digest", models.BinaryField(help_text="The message's, as in seen_message.")),
                ("concept", models.CharField(max_length=64)),
                ("parent", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("dimension", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("is_isa", models.BooleanField(db_default=False, default=False)),
                ("confidence", models.FloatField(db_default=0.0, default=0.0)),
                ("role", models.CharField(max_length=16)),
                ("agent", models.CharField(max_length=120)),
                ("said_at", models.DateTimeField()),
                ("evidence", models.CharField(blank=True, db_default="", default="", max_length=500)),
                (
                    "state",
                    models.CharField(
                        choices=[("pending", "Pending"), ("done", "Done"), ("failed", "Failed")],
                        db_default="pending",
                        default="pending",
                        max_length=8,
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("inserted", "Inserted"),
                            ("confirmed", "Confirmed"),
                            ("superseded", "took the place of an older one"),
                            ("retired", "took a fact back"),
                            ("conflict", "went to the resolution queue"),
                            ("decided", "was decided before"),
                            ("outdated", "an older statement than the one that stands"),
                            ("candidate", "waits among the candidates"),
                            ("over_quota", "too much was said in that hour"),
                            ("invalid", "Invalid"),
                            ("explained", "a language model knew it"),
                            ("unknown", "a language model did not know it"),
                            ("needless", "known, muted or gone by then"),
                        ],
                        db_default="",
                        default="",
                        max_length=12,
                    ),
                ),
                ("attempts", models.IntegerField(db_default=0, default=0)),
                ("last_error", models.TextField(blank=True, db_default="", default="")),
                ("next_attempt_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
                    "instead_of",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The parent that a change says is no more.",
                        max_length=64,
                    ),
                ),
                (
                    "is_hedged",
                    models.BooleanField(
                        db_default=False, default=False, help_text="Only believed, or had from others."
                    ),
                ),
                (
                    "says",
                    models.CharField(
                        choices=[
                            ("states", "States"),
                            ("retracts", "takes it back"),
                            ("changes", "is so from now on"),
                            ("corrects", "corrects what was said"),
                            ("adds", "is said beside another parent"),
                        ],
                        db_default="states",
                        default="states",
                        max_length=8,
                    ),
                ),
            ],
            options={
                "db_table": "observation",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["kind", "next_attempt_at", "id"],
                        name="observation_due",
                    ),
                    models.Index(fields=["created_at"], name="observation_by_age"),
                    models.Index(fields=["concept", "-id"], name="observation_of_a_concept"),
                    models.Index(
                        condition=models.Q(("state", "done")), fields=["outcome", "-id"], name="observation_by_outcome"
                    ),
                    models.Index(condition=models.Q(("state", "failed")), fields=["-id"], name="observation_failed"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "triple")),
                        fields=("digest", "concept", "parent", "dimension", "is_isa"),
                        name="observation_says_it_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "concept"), ("state", "pending")),
                        fields=("concept",),
                        name="observation_asks_once",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 32),
                        name="observation_digest_is_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["triple", "concept"])), name="observation_kind_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("says__in", ["states", "retracts", "changes", "corrects", "adds"])),
                        name="observation_says_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "done", "failed"])),
                        name="observation_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("dimension", ""), ("kind", "concept"), ("parent", "")),
                            models.Q(
                                models.Q(("parent", ""), _negated=True),
                                models.Q(("dimension", ""), _negated=True),
                                models.Q(("concept", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="observation_triple_is_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="observation_confidence_is_in_range",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("channel__in", ["operator", "gutask", "user", "explained", "assistant", "quoted"])
                        ),
                        name="observation_channel_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LlmCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("model_name", models.CharField(max_length=160)),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("explain", "explain a concept"),
                            ("resolve", "decide a conflict"),
                            ("test", "test the connection"),
                            ("embed", "turn texts into vectors"),
                            ("compare", "compare memories"),
                            ("extract", "find new memories"),
                            ("detect", "read a story"),
                        ],
                        max_length=8,
                    ),
                ),
                ("subject", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("input_tokens", models.IntegerField(db_default=0, default=0)),
                ("output_tokens", models.IntegerField(db_default=0, default=0)),
                (
                    "cost",
                    models.DecimalField(
                        decimal_places=6,
                        help_text="In US dollars; unknown without the model's prices.",
                        max_digits=12,
                        null=True,
                    ),
                ),
                ("duration_ms", models.IntegerField(db_default=0, default=0)),
                ("error", models.TextField(blank=True, db_default="", default="")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "model",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="calls",
                        to="memory.languagemodel",
                    ),
                ),
            ],
            options={
                "verbose_name": "call of a language model",
                "verbose_name_plural": "calls of language models",
                "db_table": "llm_call",
                "indexes": [models.Index(fields=["at"], name="llm_call_by_age")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("purpose__in", ["explain", "resolve", "test", "embed", "compare", "extract", "detect"])
                        ),
                        name="llm_call_purpose_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("duration_ms__gte", 0), ("input_tokens__gte", 0), ("output_tokens__gte", 0)
                        ),
                        name="llm_call_counts_are_not_negative",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Embedder",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="The setting, and for a language model its name.", max_length=200)),
                (
                    "dimensions",
                    models.IntegerField(blank=True, help_text="Empty until the first vector is there.", null=True),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("is_current", models.BooleanField(db_default=False, default=False)),
                (
                    "last_error",
                    models.TextField(blank=True, db_default="", default="", help_text="Empty once it does well again."),
                ),
                ("failed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "embedder",
                "constraints": [
                    models.UniqueConstraint(fields=("name",), name="embedder_unique"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_current", True)), fields=("is_current",), name="embedder_one_is_current"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("dimensions__gte", 1), ("dimensions__lte", 4000)),
                        name="embedder_dimensions_are_in_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PendingEmbedding",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "kind", "row", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.CharField(choices=[("memory", "Memory"), ("episode", "Episode")], max_length=7)),
                ("row", models.BigIntegerField(help_text="The id of the memory or episode; it may be gone.")),
                ("attempts", models.SmallIntegerField(db_default=0, default=0)),
                ("next_attempt_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("last_error", models.TextField(blank=True, db_default="", default="")),
            ],
            options={
                "db_table": "pending_embedding",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["memory", "episode"])), name="pending_embedding_kind_is_known"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AskedSearch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("agent", models.CharField(max_length=120)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("found", models.IntegerField(help_text="How much was given.")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, to="memory.project"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "asked searches",
                "db_table": "asked_search",
                "default_permissions": (),
                "indexes": [models.Index(fields=["at"], name="asked_search_by_age")],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("found__gte", 0)), name="asked_search_found_is_counted")
                ],
            },
        ),
        migrations.CreateModel(
            name="TextStatistics",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("memory", "Memory"), ("episode", "Episode")], max_length=7)),
                ("documents", models.IntegerField()),
                ("mean_length", models.FloatField()),
                ("counted_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, to="memory.project"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "statistics of texts",
                "db_table": "text_statistics",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "project"), name="text_statistics_unique", nulls_distinct=False
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["memory", "episode"])), name="text_statistics_kind_is_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LexemeFrequency",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("memory", "Memory"), ("episode", "Episode"), ("english", "English")], max_length=7
                    ),
                ),
                ("lexeme", models.TextField()),
                ("documents", models.IntegerField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, to="memory.project"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "frequencies of words",
                "db_table": "lexeme_frequency",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "project", "lexeme"), name="lexeme_frequency_unique", nulls_distinct=False
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["memory", "episode", "english"])),
                        name="lexeme_frequency_kind_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProjectState",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("category", models.CharField(help_text="Such as decision, requirement, milestone.", max_length=64)),
                (
                    "key",
                    models.CharField(help_text="What there is one value of: lateral_support_material.", max_length=64),
                ),
                ("value", models.CharField(max_length=500)),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("superseded", "replaced")],
                        db_default="active",
                        default="active",
                        max_length=10,
                    ),
                ),
                (
                    "is_disputed",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether a conflict about it is open.",
                        verbose_name="disputed",
                    ),
                ),
                ("actor", models.CharField(help_text="Who set it.", max_length=120)),
                ("reason", models.TextField(blank=True, db_default="", default="")),
                ("set_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="state", to="memory.project"
                    ),
                ),
                (
                    "superseded_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="superseded",
                        to="memory.projectstate",
                    ),
                ),
                ("archived_by", models.CharField(blank=True, db_default="", default="", max_length=120)),
                ("archive_reason", models.TextField(blank=True, db_default="", default="")),
            ],
            options={
                "verbose_name": "project state",
                "verbose_name_plural": "project state",
                "db_table": "project_state",
                "indexes": [models.Index(fields=["project", "category", "key", "-id"], name="project_state_of_a_slot")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "active")),
                        fields=("project", "category", "key"),
                        name="project_state_has_one_value",
                        violation_error_message="This project has a value under this category and key.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("category__regex", "^[a-z0-9][a-z0-9._-]{0,63}$"),
                            ("key__regex", "^[a-z0-9][a-z0-9._-]{0,63}$"),
                        ),
                        name="project_state_is_named_plainly",
                        violation_error_message="Category and key are at most 64 small letters, digits and . _ - and"
                        " begin with a letter or a digit.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("value", ""), _negated=True), name="project_state_says_something"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("archived_at", None), ("status", "active"), ("superseded_by", None)),
                            models.Q(
                                ("archived_at__isnull", False),
                                ("is_disputed", False),
                                ("status", "superseded"),
                                models.Q(
                                    ("superseded_by", None),
                                    models.Q(("superseded_by", models.F("id")), _negated=True),
                                    _connector="OR",
                                ),
                            ),
                            _connector="OR",
                        ),
                        name="project_state_is_archived_when_it_holds_no_more",
                    ),
                ],
            },
        ),
        migrations.RunSQL(SQL, DROP),
    ]
