"""The tables, functions and triggers of version 0.3.0, for databases that are new."""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.functions.datetime
import django.db.models.functions.math
import django.db.models.lookups
from django.db import migrations, models

import memory.models.messages
import proxy.models

SQL = Path(__file__).with_suffix(".sql").read_text()


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("proxy", "0001_initial"),
        ("proxy", "0002_client_request"),
        ("proxy", "0003_blocks_by_place"),
        ("proxy", "0004_login_failures_by_address_and_account"),
    ]
    dependencies = [("memory", "0001_squashed_0026")]

    operations = [
        migrations.CreateModel(
            name="HourlyFigures",
            fields=[
                ("hour", models.DateTimeField(help_text="When it began.", primary_key=True, serialize=False)),
                ("tokens", models.IntegerField(help_text="Of the vocabulary, without common words.", null=True)),
                ("edges", models.IntegerField(help_text="Facts; roots are not counted.", null=True)),
                ("conflicts_open", models.IntegerField(null=True)),
                ("conflicts_opened", models.IntegerField()),
                ("conflicts_closed", models.IntegerField()),
                ("requests", models.IntegerField(help_text="Prompts that were looked at.")),
                ("recollections", models.IntegerField(help_text="Prompts that were sent on with a block in them.")),
                ("loops", models.IntegerField(help_text="Loops that something was done about.")),
                (
                    "enrich_ms_p50",
                    models.FloatField(help_text="Of the time that was added to prompts; null without any.", null=True),
                ),
                ("enrich_ms_p99", models.FloatField(null=True)),
                ("taken_at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "hourly figures",
                "db_table": "hourly_figures",
                "default_permissions": ("view",),
                "constraints": [
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            django.db.models.functions.math.Mod(proxy.models.Epoch("hour"), 3600), 0
                        ),
                        name="hourly_figures_begin_with_the_hour",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("conflicts_closed__gte", 0),
                            ("conflicts_opened__gte", 0),
                            ("loops__gte", 0),
                            ("recollections__gte", 0),
                            ("requests__gte", 0),
                        ),
                        name="hourly_figures_are_not_negative",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Injection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "place",
                    models.BinaryField(help_text="The digest of all that comes before the block, and of the speaker."),
                ),
                (
                    "answer",
                    models.BinaryField(db_default=b"", default=b"", help_text="The digest of what the model answered."),
                ),
                ("block", models.TextField(blank=True, help_text="Empty where nothing stands there.")),
                (
                    "content",
                    models.JSONField(
                        default=dict,
                        help_text="The facts, memories and episodes that the block shows, and the concepts it asks about.",  # noqa: E501
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "injection",
                "indexes": [models.Index(fields=["at"], name="injection_by_age")],
                "constraints": [
                    models.CheckConstraint(
                        condition=django.db.models.lookups.In(memory.models.messages.OctetLength("place"), [0, 16]),
                        name="injection_place_is_a_digest",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.In(memory.models.messages.OctetLength("answer"), [0, 16]),
                        name="injection_answer_is_a_digest",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LoginFailures",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=8)),
                (
                    "who",
                    models.CharField(
                        help_text="The address or network, or a digest of the account's name.", max_length=64
                    ),
                ),
                ("failures", models.IntegerField()),
                ("last_at", models.DateTimeField()),
            ],
            options={
                "db_table": "login_failures",
                "default_permissions": (),
                "indexes": [models.Index(fields=["last_at"], name="login_failures_by_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "who"), name="login_failures_are_counted_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["address", "account"])), name="login_failures_kind_is_known"
                    ),
                    models.CheckConstraint(condition=models.Q(("failures__gte", 1)), name="login_failures_are_some"),
                ],
            },
        ),
        migrations.CreateModel(
            name="LoopEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("agent", models.CharField(max_length=120)),
                ("model", models.CharField(max_length=200)),
                (
                    "wire",
                    models.CharField(help_text="The wire format: chat, generate, chat_completions, ...", max_length=16),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("request", models.CharField(help_text="As in the header X-Festinger-Request.", max_length=16)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("same", "the same output"),
                            ("near", "almost the same output"),
                            ("cycle", "a cycle of outputs"),
                            ("complaint", "the client complained"),
                            ("tail", "the tail of an answer"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "count",
                    models.IntegerField(help_text="How often in a row; of a cycle, how often it was gone through."),
                ),
                ("period", models.IntegerField(db_default=1, default=1, help_text="How many outputs the cycle has.")),
                (
                    "steps",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("note", "Note"),
                                ("temperature", "Temperature"),
                                ("truncate", "Truncate"),
                                ("break", "Break"),
                                ("stop", "Stop"),
                            ],
                            max_length=12,
                        ),
                        help_text="What was done, the strongest step last.",
                        size=None,
                    ),
                ),
                (
                    "repeated",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="How each repeated output begins, secrets masked.",
                        size=None,
                    ),
                ),
            ],
            options={
                "db_table": "loop_event",
                "indexes": [
                    models.Index(fields=["at"], name="loop_event_by_age"),
                    models.Index(fields=["wire", "at"], name="loop_event_by_wire"),
                    models.Index(fields=["kind", "at"], name="loop_event_by_kind"),
                    models.Index(fields=["request"], name="loop_event_by_request", opclasses=["varchar_pattern_ops"]),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("request", "kind"), name="loop_event_is_told_once"),
                    models.CheckConstraint(
                        condition=models.Q(("request__regex", "^[0-9a-f]{16}$")), name="loop_event_request_is_an_id"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("count__gte", 1), ("period__gte", 1)), name="loop_event_repeats_something"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("steps__contained_by", ["note", "temperature", "truncate", "break", "stop"]),
                            ("steps__len__gte", 1),
                        ),
                        name="loop_event_steps_are_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["same", "near", "cycle", "complaint", "tail"])),
                        name="loop_event_kind_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RecollectionEvent",
            fields=[
                ("agent", models.CharField(max_length=120)),
                ("model", models.CharField(max_length=200)),
                (
                    "wire",
                    models.CharField(help_text="The wire format: chat, generate, chat_completions, ...", max_length=16),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "request",
                    models.CharField(
                        help_text="As in the header X-Festinger-Request.",
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "client_request",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="What its client called it, in X-Request-Id.",
                        max_length=64,
                    ),
                ),
                (
                    "conversation",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="The digest of its opening.", max_length=32
                    ),
                ),
                ("block", models.TextField(blank=True)),
                (
                    "style",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="How new facts are written for this model.",
                        max_length=12,
                    ),
                ),
                ("reasons", models.JSONField(default=dict, help_text="By concept.")),
                ("reasons_left_out", models.IntegerField(db_default=0, default=0)),
                (
                    "notes",
                    models.JSONField(
                        db_default=[],
                        default=list,
                        help_text="The memories and episodes that were found, by id, each with why.",
                    ),
                ),
                (
                    "search",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="What came of the search for them.",
                        max_length=60,
                    ),
                ),
                (
                    "search_ms",
                    models.FloatField(help_text="How long it took; empty where nothing was searched.", null=True),
                ),
                (
                    "restrictions",
                    models.JSONField(
                        db_default={},
                        default=dict,
                        help_text="What was not done for this request (recall, learn, ask), and why.",
                    ),
                ),
                (
                    "unread_characters",
                    models.IntegerField(
                        db_default=0, default=0, help_text="Of new text that the latency budget left for the next time."
                    ),
                ),
                ("enrich_ms", models.FloatField()),
                (
                    "prompt_text",
                    models.TextField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="What the last message of a user said, where that is kept.",
                    ),
                ),
            ],
            options={
                "db_table": "recollection_event",
                "indexes": [
                    models.Index(fields=["at"], name="recollection_event_by_age"),
                    models.Index(fields=["wire", "at"], name="recollection_event_by_wire"),
                    models.Index(fields=["conversation", "at"], name="recollection_event_in_order"),
                    models.Index(
                        condition=models.Q(("block", ""), _negated=True),
                        fields=["at"],
                        name="recollection_event_with_block",
                    ),
                    models.Index(
                        condition=models.Q(("prompt_text", ""), _negated=True),
                        fields=["at"],
                        name="recollection_event_with_text",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("enrich_ms__gte", 0),
                            ("reasons_left_out__gte", 0),
                            ("unread_characters__gte", 0),
                            models.Q(("search_ms", None), ("search_ms__gte", 0), _connector="OR"),
                        ),
                        name="recollection_event_amounts_are_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("request__regex", "^[0-9a-f]{16}$")),
                        name="recollection_event_request_is_an_id",
                    ),
                ],
            },
        ),
        migrations.RunSQL(SQL, migrations.RunSQL.noop),
    ]
