"""What a fresh database starts with, and that starting twice changes nothing."""

import io
import re

import psycopg
import pytest
from django.contrib.auth import authenticate, get_user_model
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django_celery_beat.models import PeriodicTask

from festinger_site import celery
from festinger_site.management.commands.bootstrap import install_pgmq
from memory.english.frequent_words import FREQUENT
from memory.english.tokenizer import OPERATORS
from memory.models import Config, Dimension, Edge, Soas
from memory.running import bootstrap

pytestmark = pytest.mark.django_db


def test_the_frequent_words_are_those_of_the_dictionary() -> None:
    operators = {name.lower() for name in OPERATORS}

    words = {word for word in bootstrap.common_words(4.5) if not any(map(str.isdigit, word))}

    assert words - operators == FREQUENT


def test_the_dictionary_is_about_29_000_common_words() -> None:
    assert 28_000 < len(bootstrap.common_words(bootstrap.ZIPF_FLOOR)) < 30_000
    assert {"agent", "type", "memory", "don't"} <= bootstrap.common_words(bootstrap.ZIPF_FLOOR)
    assert {"isa", "ispart"} <= bootstrap.common_words(bootstrap.ZIPF_FLOOR)  # nobody is to explain an operator
    assert not {"dobby", "ramanujan", "gnommoweb"} & bootstrap.common_words(bootstrap.ZIPF_FLOOR)


def test_loading_the_dictionary_marks_known_words_and_keeps_their_counts() -> None:
    Soas.objects.create(token="memory", encounter_count=50, saliency=1.7)

    first = bootstrap.load_dictionary(5.5)
    second = bootstrap.load_dictionary(5.5)

    word = Soas.objects.get(token="people")
    memory = Soas.objects.create(token="zorblat")
    assert (first > 100, second) == (True, 0)
    assert (word.is_common, word.saliency, memory.is_common) == (True, 0, False)
    assert Soas.objects.get(token="memory").encounter_count == 50


def test_the_seed_dimensions_have_roots_and_questions() -> None:
    assert (bootstrap.load_dimensions(), bootstrap.load_dimensions()) == (7, 0)

    assert dict(Dimension.objects.values_list("soas__token", "is_isa")) == {
        "type": True,
        "membership": False,
        "runs-on": False,
        "tech": False,
        "owned-by": False,
        "geography": False,
        "uses": False,
    }
    assert [row.soas.token for row in Dimension.objects.filter(is_additive=True)] == ["uses"]
    assert all(edge.is_root for edge in Edge.objects.all())
    assert Edge.objects.count() == 7
    assert not Dimension.objects.filter(question="").exists()


def test_settings_get_their_defaults_and_keep_their_values() -> None:
    bootstrap.load_config()
    Config.objects.filter(key="zero_hit_max").update(value="1")

    assert bootstrap.load_config() == 0
    assert Config.objects.get(key="zero_hit_max").value == "1"
    assert Config.objects.get(key="resolution_schedule").value == "0 2 * * *"


def test_settings_of_another_version_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    Config.objects.create(key="recall_share", value="80")

    bootstrap.load_config()

    [record] = [record for record in caplog.records if record.message == "config.ignored"]
    assert vars(record)["settings"].startswith("recall_share = '80': every conversation is searched")


def test_an_older_schedule_gets_what_it_lacks_and_keeps_what_operators_changed() -> None:
    bootstrap.load_schedule()
    PeriodicTask.objects.filter(task="memory.tasks.prune").update(name="tidying", enabled=False)
    PeriodicTask.objects.get(task="proxy.tasks.prune_events").delete()

    added = [bootstrap.load_schedule(), bootstrap.load_schedule()]

    assert added == [1, 0]
    scheduled = {task for _, task, *_ in (*bootstrap.SCHEDULE, *bootstrap.DAILY)}
    assert dict(PeriodicTask.objects.values_list("task", "enabled")) == {
        task: task != "memory.tasks.prune" for task in scheduled
    }


def permissions_of(name: str) -> set[str]:
    return set(Group.objects.get(name=name).permissions.values_list("codename", flat=True))


def test_the_groups_are_made_once_viewers_look_and_operators_operate() -> None:
    made = [bootstrap.load_groups(), bootstrap.load_groups()]

    assert made == [["viewers", "operators"], []]
    assert {"view_conflict", "view_edge", "view_recollectionevent", "view_periodictask"} <= permissions_of("viewers")
    assert {name for name in permissions_of("viewers") if not name.startswith("view_")} == set()
    assert {"change_conflict", "add_edge", "change_config"} <= permissions_of("operators")
    assert not {"change_user", "change_group", "delete_soas"} & permissions_of("operators")


def test_a_group_gets_what_a_newer_version_adds() -> None:
    bootstrap.load_groups()
    Group.objects.get(name="operators").permissions.remove(Permission.objects.get(codename="change_config"))

    assert bootstrap.load_groups() == ["operators"]
    assert "change_config" in permissions_of("operators")


def test_a_group_that_a_superuser_changed_is_left_alone(client: Client) -> None:
    bootstrap.load_groups()
    client.force_login(get_user_model().objects.create_superuser("superuser"))
    group = Group.objects.get(name="operators")
    kept = group.permissions.exclude(codename="change_config").values_list("pk", flat=True)

    client.post(f"/admin/auth/group/{group.pk}/change/", {"name": "operators", "permissions": list(kept)})

    assert bootstrap.load_groups() == []
    assert "change_config" not in permissions_of("operators")


def test_what_is_scheduled_exists() -> None:
    celery.app.loader.import_default_modules()

    assert {row[1] for row in (*bootstrap.SCHEDULE, *bootstrap.DAILY)} <= celery.app.tasks.keys()


def test_the_first_operator_gets_a_password_once() -> None:
    password = bootstrap.create_first_operator()

    assert authenticate(username="admin", password=password) == get_user_model().objects.get()
    assert bootstrap.create_first_operator() is None


def test_the_command_prints_the_password_once() -> None:
    outs = [io.StringIO(), io.StringIO()]
    Soas.objects.create(token="the", is_common=True)  # a dictionary, as far as the command looks

    for out in outs:
        call_command("bootstrap", stdout=out)

    first, second = (out.getvalue().splitlines() for out in outs)
    assert re.fullmatch(r"operator: admin, password: \S+ \(shown this once\)", first[-1])
    assert second == []
    assert PeriodicTask.objects.filter(task="memory.tasks.pulse_of_beat").count() == 1


@pytest.mark.django_db(transaction=True)
def test_pgmq_is_installed_once_and_its_version_kept(settings: pytest.FixtureRequest) -> None:
    parameters = connection.get_connection_params()
    settings.DATABASE_URL = psycopg.conninfo.make_conninfo(  # type: ignore[attr-defined]
        "", host=parameters.get("host"), port=parameters.get("port"), user=parameters["user"],
        password=parameters.get("password"), dbname=parameters["dbname"],
    )  # fmt: skip

    installed = [install_pgmq(), install_pgmq()]

    with connection.cursor() as cursor:
        cursor.execute("SELECT obj_description('pgmq'::regnamespace)")
        assert cursor.fetchone()[0].startswith("PGMQ 1.")
        cursor.execute("DROP SCHEMA pgmq CASCADE")
    assert installed == [True, False]


@pytest.mark.django_db(transaction=True)
def test_every_migration_can_be_taken_back() -> None:
    for app in ("resolution", "memory"):
        call_command("migrate", app, "zero", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_proc WHERE proname LIKE 'festinger%' OR proname LIKE 'urd%'")
        left = cursor.fetchone()
        cursor.execute("SELECT to_regclass('urd'), to_regclass('resolution_queue')")
        tables = cursor.fetchone()

    call_command("migrate", verbosity=0)

    assert (left, tables) == ((0,), (None, None))
