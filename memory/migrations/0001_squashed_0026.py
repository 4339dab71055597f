"""The tables, functions and triggers of version 0.3.0, for databases that are new."""

import re
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
# With their triggers.
DROP = "DROP FUNCTION " + ", ".join(re.findall(r"CREATE FUNCTION (\w+)", SQL)) + " CASCADE"


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("memory", "0001_initial"),
        ("memory", "0002_noise_of_embedders"),
        ("memory", "0003_english_lexemes"),
        ("memory", "0004_announced_vectors"),
        ("memory", "0005_heard_messages"),
        ("memory", "0006_whose_words"),
        ("memory", "0007_edits"),
        ("memory", "0008_templates_of_programs"),
        ("memory", "0009_labels"),
        ("memory", "0010_notifications"),
        ("memory", "0011_request_ids"),
        ("memory", "0012_installed_versions"),
        ("memory", "0013_personal_memories"),
        ("memory", "0014_index_words_by_speaker"),
        ("memory", "0015_conclusions_are_personal"),
        ("memory", "0016_episode_is_fiction"),
        ("memory", "0017_placements_tail_and_system"),
        ("memory", "0018_requests_to_forget"),
        ("memory", "0019_messages_said_again"),
        ("memory", "0020_given_notes_without_use"),
        ("memory", "0021_fixed_limits"),
        ("memory", "0022_announce_what_is_indexed"),
        ("memory", "0023_one_announcement_of_changes"),
        ("memory", "0024_support"),
        ("memory", "0025_models_of_the_upstream"),
        ("memory", "0026_wordings"),
    ]
    dependencies = []

    operations = [
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
                            ("operator", "operator: also resolves conflicts"),
                        ],
                        db_default="agent",
                        default="agent",
                        max_length=16,
                    ),
                ),
                (
                    "recall",
                    models.BooleanField(db_default=True, default=True, help_text="Add what is known to its prompts."),
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
                    "ask",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Ask about unknown names in its prompts, where it recalls.",
                    ),
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
                    "episodes",
                    models.CharField(
                        choices=[("default", "default (from the settings)"), ("on", "kept"), ("off", "not kept")],
                        db_default="default",
                        default="default",
                        help_text="Whether its conversations are kept to be found again.",
                        max_length=8,
                    ),
                ),
                (
                    "allows_all_projects",
                    models.BooleanField(db_default=False, default=False, verbose_name="may name any project"),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "db_table": "agent",
            },
        ),
        migrations.CreateModel(
            name="Soas",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("token", models.CharField(max_length=64)),
                (
                    "label",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="As it is typed, where that is not the token: PEEK polymer for peek_polymer.",
                        max_length=64,
                    ),
                ),
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
                (
                    "conversation_count",
                    models.IntegerField(
                        db_default=0,
                        default=0,
                        help_text="Conversations whose users spoke of it while it had no facts.",
                    ),
                ),
                ("asked_count", models.IntegerField(db_default=0, default=0)),
                ("write_attempts", models.IntegerField(db_default=0, default=0)),
                ("last_seen", models.DateTimeField(blank=True, null=True)),
                ("asked_at", models.DateTimeField(blank=True, null=True)),
                ("write_attempted_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "concept",
                "db_table": "soas",
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
            name="Edge",
            fields=[
                ("edge_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "is_additive",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        editable=False,
                        help_text="Whether its dimension keeps all: with it a foreign key to the dimension (sql/triggers.sql).",  # noqa: E501
                    ),
                ),
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
                ("agent", models.CharField(blank=True, db_default="", default="", max_length=120)),
                (
                    "is_corroborated",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether several agents have stated it, each by itself.",
                    ),
                ),
                (
                    "said_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="When it was last stated; of two statements the later one supersedes.",
                    ),
                ),
                ("last_confirmed", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name": "fact",
                "db_table": "urd",
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
                ("role", models.CharField(blank=True, db_default="", default="", max_length=16)),
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
                    "conversation",
                    models.BinaryField(
                        blank=True, help_text="The digest of its opening, where it was said.", null=True
                    ),
                ),
                ("reason", models.TextField(blank=True, db_default="", default="")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name": "change of a fact",
                "verbose_name_plural": "changes of facts",
                "db_table": "edge_history",
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
                ("is_current", models.BooleanField(db_default=False, default=False)),
                (
                    "noise_mean",
                    models.FloatField(
                        blank=True,
                        help_text="Of the cosine of texts that have nothing to do with each other.",
                        null=True,
                    ),
                ),
                (
                    "noise_deviation",
                    models.FloatField(
                        blank=True,
                        help_text="The standard deviation of that. Both are empty until they are measured.",
                        null=True,
                    ),
                ),
                (
                    "last_error",
                    models.TextField(blank=True, db_default="", default="", help_text="Empty once it does well again."),
                ),
                ("failed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "db_table": "embedder",
            },
        ),
        migrations.CreateModel(
            name="EnglishLexeme",
            fields=[
                ("lexeme", models.TextField(primary_key=True, serialize=False)),
                ("messages", models.IntegerField(help_text="That have it, of a million short ones.")),
            ],
            options={
                "db_table": "english_lexeme",
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Episode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("set_aside_at", models.DateTimeField(blank=True, editable=False, null=True)),
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
                (
                    "unsure",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), blank=True, db_default=[], default=list, size=None
                    ),
                ),
                (
                    "is_fiction",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="It asks for a text, or tells a story: no memory is made of it.",
                    ),
                ),
                ("place", models.BinaryField(blank=True, help_text="Where it stands in its conversation.", null=True)),
                ("lexemes", django.contrib.postgres.search.SearchVectorField(editable=False)),
                ("said_at", models.DateTimeField()),
                (
                    "read_at",
                    models.DateTimeField(blank=True, help_text="When it was looked through for memories.", null=True),
                ),
                ("attempts", models.IntegerField(db_default=0, default=0)),
                ("next_attempt_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "episode",
            },
        ),
        migrations.CreateModel(
            name="Evidence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("set_aside_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("sentence", models.CharField(max_length=300)),
                ("role", models.CharField(max_length=16)),
                ("agent", models.CharField(max_length=120)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("said_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name_plural": "evidence",
                "db_table": "evidence",
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
            ],
            options={
                "db_table": "extraction_mark",
            },
        ),
        migrations.CreateModel(
            name="ForgetRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("agent", models.CharField(max_length=120)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                (
                    "effect",
                    models.CharField(
                        choices=[
                            ("conversation", "Conversation"),
                            ("about", "everything about it"),
                            ("edit", "what a message said before its edit"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "topic_kind",
                    models.CharField(
                        blank=True,
                        choices=[("words", "words"), ("own", "own"), ("speaker", "speaker")],
                        db_default="",
                        default="",
                        max_length=8,
                    ),
                ),
                (
                    "topic",
                    models.TextField(
                        blank=True, db_default="", default="", help_text="Empty once the rows are deleted."
                    ),
                ),
                ("conversation", models.BinaryField(blank=True, help_text="The digest of its opening.", null=True)),
                ("request", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("said_at", models.DateTimeField()),
                (
                    "row_count",
                    models.IntegerField(db_default=0, default=0, help_text="How many rows it has set aside."),
                ),
                (
                    "settled_at",
                    models.DateTimeField(blank=True, help_text="When facts and memories had followed.", null=True),
                ),
                (
                    "retired",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text="Facts, in the history.",
                        size=None,
                    ),
                ),
                ("undone_at", models.DateTimeField(blank=True, null=True)),
                ("undone_by", models.CharField(blank=True, db_default="", default="", max_length=120)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "request to forget",
                "verbose_name_plural": "set aside",
                "db_table": "forget_request",
            },
        ),
        migrations.CreateModel(
            name="ForgottenEpisode",
            fields=[
                ("digest", models.BinaryField(primary_key=True, serialize=False)),
            ],
            options={
                "db_table": "forgotten_episode",
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
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "given_note",
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="HeardMessage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "digest",
                    models.BinaryField(help_text="Of the message and of who said it in which project.", unique=True),
                ),
                ("key", models.BinaryField(help_text="The message's, as in seen_message.")),
                ("agent", models.CharField(help_text="As it calls itself, or as its token says.", max_length=120)),
                (
                    "speaker",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="As episodes have it.", max_length=120
                    ),
                ),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("role", models.CharField(max_length=16)),
                ("text", models.TextField()),
                ("said_at", models.DateTimeField()),
                (
                    "voice",
                    models.CharField(
                        choices=[
                            ("shared", "shared"),
                            ("unsure", "unsure"),
                            ("fiction", "fiction"),
                            ("quoted", "quoted"),
                            ("nobody's", "nobody's"),
                        ],
                        db_default="shared",
                        default="shared",
                        max_length=8,
                    ),
                ),
                ("is_dated", models.BooleanField(default=True, help_text="Said when it was seen, not in a history.")),
                (
                    "is_kept",
                    models.BooleanField(default=False, help_text="It may be remembered, not only learned from."),
                ),
                (
                    "ends_request",
                    models.BooleanField(db_default=False, default=False, help_text="It was the last of its request."),
                ),
                (
                    "request",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The id of the request that brought it.",
                        max_length=64,
                    ),
                ),
                ("attempts", models.IntegerField(db_default=0, default=0)),
                (
                    "next_attempt_at",
                    models.DateTimeField(
                        blank=True,
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="Empty: it failed so often that it is set aside.",
                        null=True,
                    ),
                ),
                ("last_error", models.TextField(blank=True, db_default="", default="")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name": "message that waits",
                "verbose_name_plural": "messages that wait",
                "db_table": "heard_message",
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
                ("busy_since", models.DateTimeField(help_text="When the oldest prompt under way began.", null=True)),
                ("idle_since", models.DateTimeField(help_text="When the last prompt ended.", null=True)),
            ],
            options={
                "db_table": "heartbeat",
            },
        ),
        migrations.CreateModel(
            name="InstalledVersion",
            fields=[
                ("version", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("before", models.CharField(blank=True, help_text="Empty where the database was new.", max_length=32)),
                (
                    "backup",
                    models.CharField(
                        blank=True, help_text="The file that was made before its migrations.", max_length=500
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "installed_version",
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
                        help_text="Empty for the provider's own; for Ollama, for the upstream of config.yaml or FESTINGER_UPSTREAM. OpenAI's ends in /v1.",  # noqa: E501
                        max_length=200,
                        validators=[memory.models.operating.http_address],
                    ),
                ),
                ("api_key", models.TextField(blank=True, db_default="", default="", editable=False)),
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
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "verbose_name": "language model",
                "db_table": "models",
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
                (
                    "result",
                    models.CharField(
                        choices=[
                            ("under_way", "under way"),
                            ("answered", "Answered"),
                            ("refused", "answer refused"),
                            ("failed", "Failed"),
                            ("abandoned", "Abandoned"),
                        ],
                        db_default="under_way",
                        default="under_way",
                        help_text="Abandoned: a prompt came meanwhile; the call does not count for the day.",
                        max_length=9,
                    ),
                ),
                ("error", models.TextField(blank=True, db_default="", default="")),
                (
                    "request",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The id of the request that it was made for.",
                        max_length=64,
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name": "call of a language model",
                "verbose_name_plural": "calls of language models",
                "db_table": "llm_call",
            },
        ),
        migrations.CreateModel(
            name="Memory",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("set_aside_at", models.DateTimeField(blank=True, editable=False, null=True)),
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
                        help_text="One memory of a slot is active; empty: none.",
                        max_length=200,
                    ),
                ),
                (
                    "other_slot",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The slot of B, where A is preferred to B.",
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
                            ("candidate", "candidate"),
                            ("active", "Active"),
                            ("deprecated", "low confidence"),
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
                    "is_personal",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.ExpressionWrapper(
                            models.Q(
                                ("category__in", ["identity", "preference", "episodic"]),
                                models.Q(
                                    ("category", "project"), ("project", None), models.Q(("person", ""), _negated=True)
                                ),
                                ("channel", "explained"),
                                _connector="OR",
                            ),
                            output_field=models.BooleanField(),
                        ),
                        output_field=models.BooleanField(),
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
                ("conversation", models.BinaryField(blank=True, null=True)),
                ("reason", models.TextField(blank=True, db_default="", default="")),
                (
                    "run",
                    models.BigIntegerField(
                        blank=True, help_text="Of the consolidation or the quarantine that made the change.", null=True
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
            ],
            options={
                "verbose_name_plural": "lineage of memories",
                "db_table": "memory_lineage",
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
            },
        ),
        migrations.CreateModel(
            name="NamedConversation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("conversation", models.BinaryField(help_text="The digest of its opening.")),
            ],
            options={
                "db_table": "named_conversation",
            },
        ),
        migrations.CreateModel(
            name="NotificationDelivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("conflict.opened", "a conflict was opened"),
                            ("health.changed", "the health has changed"),
                            ("loop.broken", "a loop of a model was broken"),
                            ("run.failed", "a run has failed"),
                            ("test", "a test"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "payload",
                    models.JSONField(help_text="Its summary, how many events it tells of, and the newest of them."),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("delivered", "Delivered"), ("failed", "Failed")],
                        db_default="waiting",
                        default="waiting",
                        max_length=9,
                    ),
                ),
                ("attempts", models.IntegerField(db_default=0, default=0)),
                ("next_attempt_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("attempted_at", models.DateTimeField(blank=True, null=True, verbose_name="last attempt")),
                (
                    "last_status",
                    models.IntegerField(
                        blank=True, help_text="The HTTP status of the last answer.", null=True, verbose_name="status"
                    ),
                ),
                ("last_error", models.TextField(blank=True, db_default="", default="", verbose_name="error")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name_plural": "notification deliveries",
                "db_table": "notification_delivery",
            },
        ),
        migrations.CreateModel(
            name="NotificationTarget",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("webhook", "webhook"), ("mail", "mail")],
                        db_default="webhook",
                        default="webhook",
                        max_length=8,
                    ),
                ),
                (
                    "address",
                    models.CharField(
                        help_text="A URL such as https://host/hook, or a mail address. It may be private.",
                        max_length=500,
                    ),
                ),
                ("secret", models.TextField(blank=True, db_default="", default="", editable=False)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("conflict.opened", "a conflict was opened"),
                                ("health.changed", "the health has changed"),
                                ("loop.broken", "a loop of a model was broken"),
                                ("run.failed", "a run has failed"),
                            ],
                            max_length=20,
                        ),
                        size=None,
                    ),
                ),
                ("is_on", models.BooleanField(db_default=True, default=True, verbose_name="on")),
                (
                    "told_health",
                    models.CharField(
                        choices=[("good", "Good"), ("warning", "Warning"), ("bad", "Bad")],
                        db_default="good",
                        default="good",
                        editable=False,
                        max_length=8,
                    ),
                ),
                (
                    "seen_health",
                    models.CharField(
                        choices=[("good", "Good"), ("warning", "Warning"), ("bad", "Bad")],
                        db_default="good",
                        default="good",
                        editable=False,
                        help_text="At the last look: a change is told when two looks agree.",
                        max_length=8,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "db_table": "notification_target",
            },
        ),
        migrations.CreateModel(
            name="Observation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("set_aside_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("kind", models.CharField(choices=[("triple", "Triple"), ("concept", "Concept")], max_length=8)),
                ("digest", models.BinaryField(help_text="The message's, as in seen_message.")),
                ("concept", models.CharField(max_length=64)),
                ("parent", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("dimension", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("is_isa", models.BooleanField(db_default=False, default=False)),
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
                (
                    "is_hedged",
                    models.BooleanField(
                        db_default=False, default=False, help_text="Only believed, or had from others."
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
                    "for_speaker",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="Of an unsure one.", max_length=120
                    ),
                ),
                ("for_person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                (
                    "paragraph",
                    models.CharField(blank=True, db_default="", default="", help_text="Its digest.", max_length=32),
                ),
                ("confidence", models.FloatField(db_default=0.0, default=0.0)),
                ("role", models.CharField(max_length=16)),
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
                            ("outdated", "older than the current statement"),
                            ("candidate", "candidate"),
                            ("over_quota", "too much was said in that hour"),
                            ("invalid", "Invalid"),
                            ("explained", "explained by a language model"),
                            ("unknown", "unknown to the language model"),
                            ("needless", "known, muted or gone by then"),
                        ],
                        db_default="",
                        default="",
                        max_length=12,
                    ),
                ),
                (
                    "request",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The id of the request that brought it.",
                        max_length=64,
                    ),
                ),
                ("attempts", models.IntegerField(db_default=0, default=0)),
                ("last_error", models.TextField(blank=True, db_default="", default="")),
                ("next_attempt_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "observation",
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
                ("archived_by", models.CharField(blank=True, db_default="", default="", max_length=120)),
                ("archive_reason", models.TextField(blank=True, db_default="", default="")),
            ],
            options={
                "verbose_name": "project state",
                "verbose_name_plural": "project state",
                "db_table": "project_state",
            },
        ),
        migrations.CreateModel(
            name="PromptOpening",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("agent", models.CharField(max_length=120)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("digest", models.BinaryField(help_text="Of the opening, without case, white space and signs.")),
                ("text", models.CharField(help_text="The opening, secrets masked.", max_length=300)),
                (
                    "seen",
                    models.JSONField(
                        default=list, help_text="The conversations, and digests of what followed in them."
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("counting", "is counted"),
                            ("template", "a program's template"),
                            ("own", "somebody's own words"),
                        ],
                        db_default="counting",
                        default="counting",
                        max_length=8,
                    ),
                ),
                ("found_at", models.DateTimeField(blank=True, null=True)),
                (
                    "hidden_at",
                    models.DateTimeField(blank=True, help_text="When what was kept of it was hidden.", null=True),
                ),
                ("last_seen", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name": "template of a program",
                "verbose_name_plural": "templates of programs",
                "db_table": "prompt_opening",
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
            },
        ),
        migrations.CreateModel(
            name="Support",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("edge", "fact")], max_length=16)),
                ("object_id", models.BigIntegerField()),
                ("agent", models.CharField(blank=True, max_length=120)),
                ("person", models.CharField(blank=True, db_default="", default="", max_length=200)),
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
                        help_text="The strongest it was stated through.",
                        max_length=12,
                    ),
                ),
                (
                    "is_partial",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether it only stated less: an app, of a Flask app.",
                    ),
                ),
                ("said_at", models.DateTimeField(help_text="When it was first stated.")),
                ("confirmed_at", models.DateTimeField(help_text="When the history last noted a repeat.", null=True)),
            ],
            options={
                "db_table": "support",
                "default_permissions": (),
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
            name="UpstreamModel",
            fields=[
                ("name", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("options", models.JSONField(db_default={}, default=dict, help_text="As its last client sent them.")),
                ("keep_alive", models.JSONField(help_text="As its last client sent it.", null=True)),
                ("used_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "upstream_model",
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
                            ("queue", "open a conflict"),
                            ("supersede", "the newer wins"),
                            ("keep_all", "keep all"),
                        ],
                        db_default="queue",
                        default="queue",
                        help_text="What becomes of a statement whose slot is taken. Queue: it waits in the conflicts, the world stays as it is. The newer wins: what was said later stands at once, the other goes into the history. Keep all: a concept may have several facts here, which stand beside each other.",  # noqa: E501
                        max_length=16,
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
            },
        ),
        migrations.AddIndex(
            model_name="soas",
            index=models.Index(fields=["-saliency", "-id"], name="soas_most_salient_first"),
        ),
        migrations.AddIndex(
            model_name="soas",
            index=models.Index(
                condition=models.Q(("is_common", True)), fields=["-saliency", "-id"], name="soas_common"
            ),
        ),
        migrations.AddIndex(
            model_name="soas",
            index=models.Index(condition=models.Q(("is_muted", True)), fields=["-saliency", "-id"], name="soas_muted"),
        ),
        migrations.AddIndex(
            model_name="soas",
            index=models.Index(
                condition=models.Q(("conversation_count__gt", 0)), fields=["-saliency", "-id"], name="soas_spoken_of"
            ),
        ),
        migrations.AddIndex(
            model_name="soas",
            index=django.contrib.postgres.indexes.GinIndex(
                models.Func(
                    models.F("token"),
                    models.Value("[_.'@+-]"),
                    function="regexp_split_to_array",
                    output_field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None),
                ),
                condition=models.Q(("token__regex", "[_.'@+-]")),
                name="soas_by_part",
            ),
        ),
        migrations.AddConstraint(
            model_name="soas",
            constraint=models.UniqueConstraint(
                fields=("token",), name="soas_token_unique", violation_error_message="This token exists."
            ),
        ),
        migrations.AddConstraint(
            model_name="soas",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("token", memory.models.graph.NormalForm(django.db.models.functions.text.Lower("token")))
                ),
                name="soas_token_is_normal",
                violation_error_message="A token is written in lower case and in Unicode's NFKC.",
            ),
        ),
        migrations.AddConstraint(
            model_name="soas",
            constraint=models.CheckConstraint(
                condition=models.Q(("token__regex", '^[^[:space:][:cntrl:]<>"`\\\\/:=(){}\\[\\],;!?]+$')),
                name="soas_token_stays_in_its_alphabet",
                violation_error_message="A token is letters and digits, joined by _ - . ' @ or +.",
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
        migrations.AddConstraint(
            model_name="soas",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("asked_count__gte", 0),
                    ("conversation_count__gte", 0),
                    ("encounter_count__gte", 0),
                    ("write_attempts__gte", 0),
                ),
                name="soas_counts_are_not_negative",
                violation_error_message="Counts start at 0.",
            ),
        ),
        migrations.AddConstraint(
            model_name="soas",
            constraint=models.CheckConstraint(
                condition=models.Q(("novelty__gte", 0), ("novelty__lte", 1), ("saliency__gte", 0)),
                name="soas_scores_are_in_range",
                violation_error_message="Saliency is at least 0, novelty between 0 and 1.",
            ),
        ),
        migrations.AddField(
            model_name="edge",
            name="concept",
            field=models.ForeignKey(
                db_column="id",
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="edges",
                to="memory.soas",
            ),
        ),
        migrations.AddField(
            model_name="edge",
            name="dim",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="dimension_edges",
                to="memory.soas",
                verbose_name="dimension",
            ),
        ),
        migrations.AddField(
            model_name="edge",
            name="parent",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="children", to="memory.soas"
            ),
        ),
        migrations.AddField(
            model_name="edgehistory",
            name="concept",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="history", to="memory.soas"
            ),
        ),
        migrations.AddField(
            model_name="edgehistory",
            name="dim",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="dimension_history",
                to="memory.soas",
                verbose_name="dimension",
            ),
        ),
        migrations.AddConstraint(
            model_name="embedder",
            constraint=models.UniqueConstraint(fields=("name",), name="embedder_unique"),
        ),
        migrations.AddConstraint(
            model_name="embedder",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_current", True)), fields=("is_current",), name="embedder_one_is_current"
            ),
        ),
        migrations.AddConstraint(
            model_name="embedder",
            constraint=models.CheckConstraint(
                condition=models.Q(("dimensions__gte", 1), ("dimensions__lte", 4000)),
                name="embedder_dimensions_are_in_range",
            ),
        ),
        migrations.AddConstraint(
            model_name="englishlexeme",
            constraint=models.CheckConstraint(
                condition=models.Q(("messages__gte", 0)), name="english_lexeme_messages_are_counted"
            ),
        ),
        migrations.AddField(
            model_name="evidence",
            name="concept",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="evidence", to="memory.soas"
            ),
        ),
        migrations.AddIndex(
            model_name="forgetrequest",
            index=models.Index(fields=["agent", "person"], name="forget_request_of_a_speaker"),
        ),
        migrations.AddIndex(
            model_name="forgetrequest",
            index=models.Index(
                condition=models.Q(("settled_at", None)), fields=["id"], name="forget_request_unsettled"
            ),
        ),
        migrations.AddConstraint(
            model_name="forgetrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(("topic_kind__in", ["", "words", "own", "speaker"])),
                name="forget_request_topic_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="forgetrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(("effect__in", ["conversation", "about", "edit"])),
                name="forget_request_effect_is_known",
            ),
        ),
        migrations.AddField(
            model_name="evidence",
            name="set_aside_by",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="memory.forgetrequest",
            ),
        ),
        migrations.AddField(
            model_name="episode",
            name="set_aside_by",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="memory.forgetrequest",
            ),
        ),
        migrations.AddConstraint(
            model_name="forgottenepisode",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 32),
                name="forgotten_episode_digest_is_whole",
            ),
        ),
        migrations.AddIndex(
            model_name="givennote",
            index=models.Index(fields=["kind", "row"], name="given_note_by_row"),
        ),
        migrations.AddIndex(
            model_name="givennote",
            index=models.Index(fields=["at"], name="given_note_by_age"),
        ),
        migrations.AddConstraint(
            model_name="givennote",
            constraint=models.UniqueConstraint(fields=("request", "kind", "row"), name="given_note_unique"),
        ),
        migrations.AddConstraint(
            model_name="givennote",
            constraint=models.CheckConstraint(
                condition=models.Q(("request__regex", "^[0-9a-f]{16}$")), name="given_note_request_is_an_id"
            ),
        ),
        migrations.AddConstraint(
            model_name="givennote",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("conversation"), 16),
                name="given_note_conversation_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="givennote",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["memory", "episode"])), name="given_note_kind_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="heartbeat",
            constraint=models.UniqueConstraint(fields=("name", "host", "pid"), name="heartbeat_one_a_process"),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("input_price", None), ("input_price__gte", 0), _connector="OR"),
                    models.Q(("output_price", None), ("output_price__gte", 0), _connector="OR"),
                ),
                name="models_prices_are_not_negative",
                violation_error_message="A price is at least 0.",
            ),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(
                condition=models.Q(("api_key", ""), ("api_key__startswith", "gAAAA"), _connector="OR"),
                name="models_api_key_is_encrypted",
                violation_error_message="A key is stored encrypted.",
            ),
        ),
        migrations.AddConstraint(
            model_name="languagemodel",
            constraint=models.CheckConstraint(
                condition=models.Q(("provider__in", ["claude", "openai", "ollama"])), name="models_provider_is_known"
            ),
        ),
        migrations.AddField(
            model_name="llmcall",
            name="model",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="calls", to="memory.languagemodel"
            ),
        ),
        migrations.AddField(
            model_name="memory",
            name="merged_into",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="merged",
                to="memory.memory",
            ),
        ),
        migrations.AddField(
            model_name="memory",
            name="set_aside_by",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="memory.forgetrequest",
            ),
        ),
        migrations.AddField(
            model_name="memory",
            name="superseded_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="superseded",
                to="memory.memory",
            ),
        ),
        migrations.AddField(
            model_name="memoryhistory",
            name="memory",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="history", to="memory.memory"
            ),
        ),
        migrations.AddField(
            model_name="memorylineage",
            name="memory",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="lineage", to="memory.memory"
            ),
        ),
        migrations.AddConstraint(
            model_name="mutepattern",
            constraint=models.UniqueConstraint(
                fields=("pattern",),
                name="mute_pattern_unique",
                violation_error_message="This pattern is muted already.",
            ),
        ),
        migrations.AddConstraint(
            model_name="mutepattern",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("pattern__regex", "[[:alnum:]].*[[:alnum:]]"),
                    ("pattern__regex", '^[^[:space:][:cntrl:]<>"`\\\\/:=(){}\\[\\],;!?|^$]+$'),
                ),
                name="mute_pattern_is_of_names",
                violation_error_message="A pattern is letters, digits and _ - . ' @ +, with * for anything.",
            ),
        ),
        migrations.AddField(
            model_name="namedconversation",
            name="concept",
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="memory.soas"),
        ),
        migrations.AddConstraint(
            model_name="notificationtarget",
            constraint=models.UniqueConstraint(
                fields=("kind", "address"),
                name="notification_target_is_there_once",
                violation_error_message="There is a target with this address.",
            ),
        ),
        migrations.AddConstraint(
            model_name="notificationtarget",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("address__regex", "^https?://[^@[:space:]]+$"), ("kind", "webhook")),
                    models.Q(("address__regex", "^[^@[:space:]]+@[^@[:space:]]+$"), ("kind", "mail")),
                    _connector="OR",
                ),
                name="notification_target_has_an_address",
                violation_error_message="A webhook takes an http(s) URL, mail an address such as ada@host.",
            ),
        ),
        migrations.AddConstraint(
            model_name="notificationtarget",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "webhook"), ("secret__startswith", "gAAAA")),
                    models.Q(("kind", "mail"), ("secret", "")),
                    _connector="OR",
                ),
                name="notification_target_secret_is_encrypted",
                violation_error_message="A webhook has a secret, which is stored encrypted.",
            ),
        ),
        migrations.AddConstraint(
            model_name="notificationtarget",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("events__contained_by", ["conflict.opened", "health.changed", "loop.broken", "run.failed"]),
                    ("events__len__gte", 1),
                ),
                name="notification_target_events_are_known",
                violation_error_message="A target has at least one event.",
            ),
        ),
        migrations.AddConstraint(
            model_name="notificationtarget",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("seen_health__in", ["good", "warning", "bad"]), ("told_health__in", ["good", "warning", "bad"])
                ),
                name="notification_target_health_is_known",
            ),
        ),
        migrations.AddField(
            model_name="notificationdelivery",
            name="target",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="memory.notificationtarget",
            ),
        ),
        migrations.AddField(
            model_name="observation",
            name="set_aside_by",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="memory.forgetrequest",
            ),
        ),
        migrations.AddConstraint(
            model_name="pendingembedding",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["memory", "episode"])), name="pending_embedding_kind_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.UniqueConstraint(
                fields=("slug",), name="project_slug_unique", violation_error_message="This project exists."
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("slug__regex", "^[a-z0-9][a-z0-9._-]{0,63}$")),
                name="project_slug_is_plain",
                violation_error_message="A slug is at most 64 small letters, digits and . _ - and begins with a letter or a digit.",  # noqa: E501
            ),
        ),
        migrations.AddField(
            model_name="heardmessage",
            name="project",
            field=models.ForeignKey(
                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="memory.project"
            ),
        ),
        migrations.AddField(
            model_name="extractionmark",
            name="project",
            field=models.ForeignKey(
                db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, to="memory.project"
            ),
        ),
        migrations.AddField(
            model_name="episode",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="episodes",
                to="memory.project",
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="allowed_projects",
            field=models.ManyToManyField(
                blank=True,
                help_text="Other projects that its requests may name.",
                related_name="allowed_agents",
                to="memory.project",
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="project",
            field=models.ForeignKey(
                blank=True,
                help_text="Default project, for requests that name none.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="agents",
                to="memory.project",
            ),
        ),
        migrations.AddField(
            model_name="projectstate",
            name="project",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="state", to="memory.project"
            ),
        ),
        migrations.AddField(
            model_name="projectstate",
            name="superseded_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="superseded",
                to="memory.projectstate",
            ),
        ),
        migrations.AddIndex(
            model_name="promptopening",
            index=models.Index(
                condition=models.Q(("state", "counting")), fields=["last_seen"], name="prompt_opening_by_age"
            ),
        ),
        migrations.AddIndex(
            model_name="promptopening",
            index=models.Index(
                condition=models.Q(("state", "counting"), _negated=True), fields=["-id"], name="prompt_opening_found"
            ),
        ),
        migrations.AddConstraint(
            model_name="promptopening",
            constraint=models.UniqueConstraint(fields=("agent", "person", "digest"), name="prompt_opening_counts_once"),
        ),
        migrations.AddConstraint(
            model_name="promptopening",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 16),
                name="prompt_opening_digest_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="promptopening",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["counting", "template", "own"])), name="prompt_opening_state_is_known"
            ),
        ),
        migrations.AddField(
            model_name="episode",
            name="hidden_by",
            field=models.ForeignKey(
                blank=True,
                help_text="The template of a program that it came of.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                to="memory.promptopening",
            ),
        ),
        migrations.AddIndex(
            model_name="seenmessage",
            index=models.Index(fields=["last_seen"], name="seen_message_by_age"),
        ),
        migrations.AddConstraint(
            model_name="seenmessage",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 32),
                name="seen_message_digest_is_whole",
            ),
        ),
        migrations.AddIndex(
            model_name="support",
            index=models.Index(fields=["agent", "kind"], name="support_by_agent"),
        ),
        migrations.AddConstraint(
            model_name="support",
            constraint=models.UniqueConstraint(
                fields=("kind", "object_id", "agent", "person"), name="support_counts_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="support",
            constraint=models.CheckConstraint(condition=models.Q(("kind__in", ["edge"])), name="support_kind_is_known"),
        ),
        migrations.AddConstraint(
            model_name="support",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="support_channel_is_known",
            ),
        ),
        migrations.AddField(
            model_name="alias",
            name="concept",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="aliases", to="memory.soas"
            ),
        ),
        migrations.AddField(
            model_name="dimension",
            name="split_from",
            field=models.ForeignKey(
                blank=True,
                help_text="The dimension this one was decomposed from.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="splits",
                to="memory.dimension",
            ),
        ),
        migrations.AddIndex(
            model_name="edge",
            index=models.Index(fields=["dim", "concept"], name="urd_by_dimension"),
        ),
        migrations.AddConstraint(
            model_name="edge",
            constraint=models.UniqueConstraint(fields=("concept", "parent", "dim"), name="urd_unique_triple"),
        ),
        migrations.AddConstraint(
            model_name="edge",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_additive", False)),
                fields=("concept", "dim"),
                name="urd_one_parent_per_dimension",
                violation_error_message="This concept already has a parent in this dimension.",
            ),
        ),
        migrations.AddConstraint(
            model_name="edge",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("concept", models.F("parent")), _negated=True),
                    models.Q(("concept", models.F("parent")), ("parent", models.F("dim"))),
                    _connector="OR",
                ),
                name="urd_only_roots_refer_to_themselves",
                violation_error_message="A concept cannot be its own parent.",
            ),
        ),
        migrations.AddConstraint(
            model_name="edge",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("is_additive", False),
                    models.Q(("concept", models.F("dim")), _negated=True),
                    ("concept", models.F("parent")),
                    _connector="OR",
                ),
                name="urd_root_has_its_slot_alone",
                violation_error_message="A dimension holds no fact about itself.",
            ),
        ),
        migrations.AddConstraint(
            model_name="edge",
            constraint=models.CheckConstraint(
                condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                name="urd_confidence_is_in_range",
                violation_error_message="Confidence is between 0 and 1.",
            ),
        ),
        migrations.AddConstraint(
            model_name="edge",
            constraint=models.CheckConstraint(
                condition=models.Q(("source__in", ["cloud_llm", "inferred", "festinger", "gutask", "operator"])),
                name="urd_source_is_known",
                violation_error_message="The source is not known.",
            ),
        ),
        migrations.AddConstraint(
            model_name="edge",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="urd_channel_is_known",
            ),
        ),
        migrations.AddIndex(
            model_name="edgehistory",
            index=models.Index(fields=["concept", "dim", "-at"], name="edge_history_of_a_slot"),
        ),
        migrations.AddIndex(
            model_name="edgehistory",
            index=models.Index(fields=["action", "-id"], name="edge_history_by_action"),
        ),
        migrations.AddIndex(
            model_name="edgehistory",
            index=models.Index(fields=["source", "-id"], name="edge_history_by_source"),
        ),
        migrations.AddIndex(
            model_name="edgehistory",
            index=models.Index(fields=["actor", "-id"], name="edge_history_by_actor"),
        ),
        migrations.AddIndex(
            model_name="edgehistory",
            index=models.Index(
                condition=models.Q(("conversation", None), _negated=True),
                fields=["conversation"],
                name="edge_history_by_conversation",
            ),
        ),
        migrations.AddConstraint(
            model_name="edgehistory",
            constraint=models.CheckConstraint(
                condition=models.Q(("action__in", ["insert", "confirm", "supersede", "retire", "move", "undo"])),
                name="edge_history_action_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="edgehistory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="edge_history_channel_is_known",
            ),
        ),
        migrations.AddIndex(
            model_name="evidence",
            index=models.Index(fields=["agent", "person"], name="evidence_of_a_speaker"),
        ),
        migrations.AddConstraint(
            model_name="evidence",
            constraint=models.UniqueConstraint(fields=("concept", "sentence"), name="evidence_says_it_once"),
        ),
        migrations.AddConstraint(
            model_name="evidence",
            constraint=models.CheckConstraint(
                condition=models.Q(("sentence", ""), _negated=True), name="evidence_says_something"
            ),
        ),
        migrations.AddIndex(
            model_name="llmcall",
            index=models.Index(fields=["at"], name="llm_call_by_age"),
        ),
        migrations.AddConstraint(
            model_name="llmcall",
            constraint=models.CheckConstraint(
                condition=models.Q(("duration_ms__gte", 0), ("input_tokens__gte", 0), ("output_tokens__gte", 0)),
                name="llm_call_counts_are_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="llmcall",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("purpose__in", ["explain", "resolve", "test", "embed", "compare", "extract", "detect"])
                ),
                name="llm_call_purpose_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="llmcall",
            constraint=models.CheckConstraint(
                condition=models.Q(("result__in", ["under_way", "answered", "refused", "failed", "abandoned"])),
                name="llm_call_result_is_known",
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
        migrations.AddIndex(
            model_name="memoryhistory",
            index=models.Index(
                condition=models.Q(("run", None), _negated=True),
                fields=["run", "memory"],
                name="memory_history_of_a_run",
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
        migrations.AddConstraint(
            model_name="memoryhistory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
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
        migrations.AddConstraint(
            model_name="namedconversation",
            constraint=models.UniqueConstraint(
                fields=("concept", "conversation"), name="named_conversation_counts_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="namedconversation",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("conversation"), 16),
                name="named_conversation_is_whole",
            ),
        ),
        migrations.AddIndex(
            model_name="notificationdelivery",
            index=models.Index(
                condition=models.Q(("state", "waiting")),
                fields=["target", "event", "next_attempt_at"],
                name="notification_delivery_due",
            ),
        ),
        migrations.AddIndex(
            model_name="notificationdelivery",
            index=models.Index(fields=["target", "event", "-attempted_at"], name="notification_delivery_attempts"),
        ),
        migrations.AddIndex(
            model_name="notificationdelivery",
            index=models.Index(fields=["created_at"], name="notification_delivery_by_age"),
        ),
        migrations.AddConstraint(
            model_name="notificationdelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("state", "waiting"), ("attempted_at__isnull", False), _connector="OR"),
                name="notification_delivery_was_attempted",
            ),
        ),
        migrations.AddConstraint(
            model_name="notificationdelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("event__in", ["conflict.opened", "health.changed", "loop.broken", "run.failed", "test"])
                ),
                name="notification_delivery_event_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="notificationdelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["waiting", "delivered", "failed"])),
                name="notification_delivery_state_is_known",
            ),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(
                condition=models.Q(("state", "pending")),
                fields=["kind", "next_attempt_at", "id"],
                name="observation_due",
            ),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(fields=["created_at"], name="observation_by_age"),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(fields=["concept", "-id"], name="observation_of_a_concept"),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(
                condition=models.Q(("state", "done")), fields=["outcome", "-id"], name="observation_by_outcome"
            ),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(condition=models.Q(("state", "failed")), fields=["-id"], name="observation_failed"),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(
                condition=models.Q(("set_aside_by", None), _negated=True),
                fields=["set_aside_by"],
                name="observation_set_aside",
            ),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(
                condition=models.Q(("kind", "triple")), fields=["agent", "for_person"], name="observation_of_a_speaker"
            ),
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind", "triple")),
                fields=("digest", "concept", "parent", "dimension", "is_isa"),
                name="observation_says_it_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind", "concept"), ("state", "pending")),
                fields=("concept",),
                name="observation_asks_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 32),
                name="observation_digest_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.CheckConstraint(
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
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.CheckConstraint(
                condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                name="observation_confidence_is_in_range",
            ),
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["triple", "concept"])), name="observation_kind_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.CheckConstraint(
                condition=models.Q(("says__in", ["states", "retracts", "changes", "corrects", "adds"])),
                name="observation_says_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["pending", "done", "failed"])), name="observation_state_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="observation_channel_is_known",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["lexemes"], gin_pending_list_limit=64, name="memory_words"
            ),
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
            index=models.Index(
                condition=models.Q(("other_slot", ""), _negated=True),
                fields=["project", "category", "other_slot"],
                name="memory_of_b",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(django.db.models.functions.text.Lower("text"), name="memory_by_text"),
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
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("set_aside_by", None), _negated=True),
                fields=["set_aside_by"],
                name="memory_set_aside",
            ),
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
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="memory_channel_is_known",
            ),
        ),
        migrations.AddIndex(
            model_name="heardmessage",
            index=models.Index(fields=["key"], name="heard_message_of_a_key"),
        ),
        migrations.AddIndex(
            model_name="heardmessage",
            index=models.Index(
                condition=models.Q(("next_attempt_at", None)), fields=["id"], name="heard_message_set_aside"
            ),
        ),
        migrations.AddConstraint(
            model_name="heardmessage",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("digest"), 32),
                name="heard_message_digest_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="heardmessage",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(memory.models.messages.OctetLength("key"), 32),
                name="heard_message_key_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="heardmessage",
            constraint=models.CheckConstraint(
                condition=models.Q(("voice__in", ["shared", "unsure", "fiction", "quoted", "nobody's"])),
                name="heard_message_voice_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="extractionmark",
            constraint=models.UniqueConstraint(
                fields=("agent", "person", "project"), name="extraction_mark_unique", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(
                fields=("name",), name="agent_name_unique", violation_error_message="This agent exists."
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(fields=("token_hash",), name="agent_token_unique"),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("token_hash__regex", "^[0-9a-f]{64}$")), name="agent_token_is_hashed"
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("scope__in", ["agent", "operator"])), name="agent_scope_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("can_teach__in", ["auto", "always", "never"])), name="agent_can_teach_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(("episodes__in", ["default", "on", "off"])), name="agent_episodes_is_known"
            ),
        ),
        migrations.AddIndex(
            model_name="projectstate",
            index=models.Index(fields=["project", "category", "key", "-id"], name="project_state_of_a_slot"),
        ),
        migrations.AddConstraint(
            model_name="projectstate",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "active")),
                fields=("project", "category", "key"),
                name="project_state_has_one_value",
                violation_error_message="This project has a value under this category and key.",
            ),
        ),
        migrations.AddConstraint(
            model_name="projectstate",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("category__regex", "^[a-z0-9][a-z0-9._-]{0,63}$"), ("key__regex", "^[a-z0-9][a-z0-9._-]{0,63}$")
                ),
                name="project_state_is_named_plainly",
                violation_error_message="Category and key are at most 64 small letters, digits and . _ - and begin with a letter or a digit.",  # noqa: E501
            ),
        ),
        migrations.AddConstraint(
            model_name="projectstate",
            constraint=models.CheckConstraint(
                condition=models.Q(("value", ""), _negated=True), name="project_state_says_something"
            ),
        ),
        migrations.AddConstraint(
            model_name="projectstate",
            constraint=models.CheckConstraint(
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
            index=models.Index(
                condition=models.Q(("place", None), _negated=True), fields=["place"], name="episode_at_a_place"
            ),
        ),
        migrations.AddIndex(
            model_name="episode",
            index=models.Index(
                condition=models.Q(("set_aside_by", None), _negated=True),
                fields=["set_aside_by"],
                name="episode_set_aside",
            ),
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
        migrations.AddConstraint(
            model_name="episode",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["user", "assistant"])), name="episode_role_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="alias",
            constraint=models.CheckConstraint(
                condition=models.Q(("soas", models.F("concept")), _negated=True),
                name="alias_is_another_name",
                violation_error_message="A concept is no alias of itself.",
            ),
        ),
        migrations.AddConstraint(
            model_name="alias",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("channel__in", ["operator", "gutask", "user", "unsure", "explained", "assistant", "quoted"])
                ),
                name="alias_channel_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="dimension",
            constraint=models.CheckConstraint(
                condition=models.Q(("on_collision__in", ["queue", "supersede", "keep_all"])),
                name="dimension_on_collision_is_known",
                violation_error_message="On a collision a dimension queues, supersedes or keeps all.",
            ),
        ),
        migrations.AddConstraint(
            model_name="dimension",
            constraint=models.CheckConstraint(
                condition=models.Q(("split_from", models.F("soas")), _negated=True),
                name="dimension_is_not_split_from_itself",
                violation_error_message="A dimension cannot be split from itself.",
            ),
        ),
        migrations.RunSQL(SQL, DROP),
    ]
