"""Fills a fresh database. Each step can run again: it adds what is missing and changes nothing."""

import logging
import secrets
from collections.abc import Collection, Sequence

from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.db import connection, transaction
from django.db.models import Q
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from memory.cache.loader import ENGLISH_MESSAGES
from memory.english.tokenizer import OPERATORS, tokenise
from memory.graph import store
from memory.models import Config, Dimension, EnglishLexeme, Soas
from memory.settings import cron, registry
from memory.types import ADDITIVE_SEEDS, SEED_DIMENSIONS

logger = logging.getLogger(__name__)

ZIPF_FLOOR = 3.0  # about 29,000 English words; below are names and jargon that must not count as common
OPERATOR = "admin"
MESSAGE_WORDS = 12  # of a short message
LEXEME_FLOOR = 1e-6  # of all words; a rarer one counts as a name
LEXEMES = """
    INSERT INTO english_lexeme (lexeme, messages)
    SELECT lexeme, least(%(messages)s, sum(frequency) * %(words)s * %(messages)s)::int
    FROM (
        SELECT (tsvector_to_array(to_tsvector('english', word)))[1] AS lexeme, frequency
        FROM unnest(%(all)s::text[], %(frequencies)s::float8[]) AS english (word, frequency)
    ) stems
    WHERE lexeme IS NOT NULL GROUP BY lexeme
"""

# name, task, every, period. Operators change the rows in the admin.
SCHEDULE = (
    ("Beat heartbeat", "memory.tasks.pulse_of_beat", 10, IntervalSchedule.SECONDS),
    ("Process statements", "resolution.tasks.sweep", 5, IntervalSchedule.SECONDS),
    ("Read messages for memories", "resolution.tasks.read_episodes", 5, IntervalSchedule.SECONDS),
    ("Start due resolver runs", "resolution.tasks.resolve_due", 1, IntervalSchedule.MINUTES),
    ("Check changed project histories", "resolution.tasks.detect_due", 1, IntervalSchedule.MINUTES),
    ("Compute vectors", "memory.tasks.embed", 2, IntervalSchedule.SECONDS),
    ("Deliver notifications", "memory.tasks.deliver_notifications", 5, IntervalSchedule.SECONDS),
    ("Check health", "proxy.tasks.look_at_health", 1, IntervalSchedule.MINUTES),
    ("Delete expired rows", "memory.tasks.prune", 1, IntervalSchedule.HOURS),
    ("Delete expired events", "proxy.tasks.prune_events", 1, IntervalSchedule.HOURS),
    ("Hourly metrics", "proxy.tasks.take_figures", 5, IntervalSchedule.MINUTES),
    ("Purge prompt text", "proxy.tasks.forget_prompt_texts", 1, IntervalSchedule.MINUTES),
)
# Tasks at a time of the day: cron fields, in FESTINGER_TIME_ZONE.
DAILY = (
    ("backup", "festinger_site.tasks.back_up", "0 1 * * *"),
    ("Nightly jobs", "resolution.tasks.nightly", "0 3 * * *"),
)

VIEWERS_GROUP = "viewers"
OPERATORS_GROUP = "operators"
APPS = ("memory", "resolution", "proxy", "django_celery_beat")
# Permissions of operators besides viewing. Accounts and groups are for superusers.
OPERATING = {
    "resolution.change_conflict": "decide conflicts, undo decisions, run the resolver",
    "resolution.change_candidate": "promote and dismiss candidates",
    "memory.add_edge": "teach, import, try again what failed",
    "memory.delete_edge": "retire facts and put them back",
    "memory.change_soas": "mute concepts and unmute them",
    "memory.change_dimension": "change what dimensions do",
    "memory.change_config": "change settings",
    "memory.add_languagemodel": "add language models",
    "memory.change_languagemodel": "change and test language models",
    "memory.delete_languagemodel": "delete language models",
    "memory.add_notificationtarget": "add targets of notifications",
    "memory.change_notificationtarget": "change, switch off and test targets of notifications, try again what failed",
    "memory.delete_notificationtarget": "delete targets of notifications",
    "memory.add_agent": "add agents",
    "memory.change_agent": "change agents, rotate and revoke their tokens",
    "memory.delete_agent": "delete agents, and so revoke their tokens",
    "memory.add_memory": "write memories",
    "memory.change_memory": "edit memories, promote and deprecate them, take them back, restore and merge them",
    "memory.delete_memory": "delete memories permanently",
    "memory.delete_episode": "delete messages permanently",
    "memory.add_project": "add projects",
    "memory.change_project": "change projects, let requests without a token name them",
    "memory.add_projectstate": "set project state",
    "memory.change_projectstate": "replace and retire project state",
    "memory.delete_project": "delete projects that nothing belongs to",
    "django_celery_beat.change_periodictask": "change schedules",
}


def load_dictionary(floor: float = ZIPF_FLOOR) -> int:
    """Add the English words of at least this Zipf frequency as common words; return how many were added or marked."""
    # A word that exists already keeps its encounters and is only marked.
    words = sorted(common_words(floor))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO soas (token, is_common) SELECT word, true FROM unnest(%s::text[]) AS word"
            " ON CONFLICT (token) DO UPDATE SET is_common = true, saliency = 0 WHERE NOT soas.is_common",
            [words],
        )
        return int(cursor.rowcount)


def has_dictionary() -> bool:
    return Soas.objects.filter(is_common=True).exists()


def common_words(floor: float) -> set[str]:
    """Return the dictionary in the tokeniser's spelling, and the operators of statements. Source: wordfreq, English,
    large list."""
    from wordfreq import get_frequency_dict  # a second to import: only here

    least = 10 ** (floor - 9)  # Zipf's scale is the logarithm of the occurrences in a thousand million words
    frequent = (word for word, frequency in get_frequency_dict("en").items() if frequency >= least)
    return {token.text for word in frequent for token in tokenise(word)} | set(map(str.lower, OPERATORS))


def load_lexemes() -> int:
    """Store how common words are in English, as Postgres stems them, unless that was done before; return how many rows
    were added."""
    if EnglishLexeme.objects.exists():
        return 0
    from wordfreq import get_frequency_dict  # takes a second to import: only here

    common = {word: frequency for word, frequency in get_frequency_dict("en").items() if frequency >= LEXEME_FLOOR}
    counts = {"messages": ENGLISH_MESSAGES, "words": MESSAGE_WORDS}
    with connection.cursor() as cursor:
        cursor.execute(LEXEMES, {"all": [*common], "frequencies": [*common.values()], **counts})
        return int(cursor.rowcount)


@transaction.atomic
def load_dimensions(
    seeds: Sequence[tuple[str, str, bool]] = SEED_DIMENSIONS, additive: Collection[str] = ADDITIVE_SEEDS
) -> int:
    """Add the dimensions (name, question, is_isa) with their roots; return how many were added."""
    ids = store.ensure_tokens([name for name, _, _ in seeds])
    before = Dimension.objects.count()
    # In the order of ids, as all writers lock dimensions: two hosts that start together cannot deadlock.
    for name, question, is_isa in sorted(seeds, key=lambda seed: ids[seed[0]]):
        store.ensure_dimension(ids[name], is_isa=is_isa, question=question, keeps_all=name in additive)
    return Dimension.objects.count() - before


def load_config() -> int:
    """Add a row for each setting that has none; return how many. Log the values of settings that are gone."""
    stored = dict(Config.objects.values_list("key", "value"))
    if ignored := registry.list_ignored(stored):
        logger.warning("config.ignored", extra={"settings": "; ".join(ignored)})
    missing = [Config(key=key, value=value) for key, value in registry.defaults().items() if key not in stored]
    Config.objects.bulk_create(missing, ignore_conflicts=True)
    return len(missing)


def load_schedule() -> int:
    """Add a row for each task that has none; return how many."""
    before = PeriodicTask.objects.count()
    for name, task, every, period in SCHEDULE:
        # Looked up by task, too: an operator may have renamed the row.
        if PeriodicTask.objects.filter(Q(name=name) | Q(task=task)).exists():
            continue
        interval, _ = IntervalSchedule.objects.get_or_create(every=every, period=period)
        PeriodicTask.objects.create(name=name, task=task, interval=interval)
    for name, task, schedule in DAILY:
        if not PeriodicTask.objects.filter(Q(name=name) | Q(task=task)).exists():
            columns = cron.columns(schedule)
            # Not unique in django-celery-beat's table: the first of several equal schedules will do.
            crontab = CrontabSchedule.objects.filter(**columns).first() or CrontabSchedule.objects.create(**columns)
            PeriodicTask.objects.create(name=name, task=task, crontab=crontab)
    return PeriodicTask.objects.count() - before


def load_groups() -> list[str]:
    """Add the groups and the permissions that they lack; return the names of those that were changed. A deleted group
    comes back as it was."""
    allowed = {VIEWERS_GROUP: view_permissions(), OPERATORS_GROUP: view_permissions() | OPERATING.keys()}
    changed = []
    for name, wanted in allowed.items():
        group, _ = Group.objects.get_or_create(name=name)
        # Left alone once a superuser has changed it: removed permissions must not come back with the next start.
        if LogEntry.objects.filter(
            content_type__app_label="auth", content_type__model="group", object_id=group.pk
        ).exists():
            continue
        found = Permission.objects.select_related("content_type").exclude(group=group)
        missing = [each for each in found if f"{each.content_type.app_label}.{each.codename}" in wanted]
        if missing:
            group.permissions.add(*missing)
            changed.append(name)
    return changed


def view_permissions() -> set[str]:
    """Return the permissions to view all tables of Festinger, and the schedules."""
    models = (model for app in APPS for model in apps.get_app_config(app).get_models())
    return {f"{model._meta.app_label}.view_{model._meta.model_name}" for model in models}


def create_first_operator() -> str | None:
    """Create the first operator and return the generated password; None if a superuser exists."""
    users = get_user_model()
    if users.objects.filter(is_superuser=True).exists():
        return None
    password = secrets.token_urlsafe(12)
    users.objects.create_superuser(OPERATOR, password=password)
    return password
