"""The pages of settings, agents, dimensions, schedules, accounts and records, used like a person."""

import re
from html import unescape
from typing import Any, Literal, get_args, get_origin

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask, PeriodicTasks
from pytest_django import DjangoAssertNumQueries

from memory.access import agent_tokens
from memory.admin.settings import SHOWN
from memory.models import Agent, Config, Dimension, Evidence, LanguageModel, LlmCall, Observation, Soas
from memory.running import bootstrap
from memory.settings import cron, registry
from memory.settings.grammar import describe_accepted, find_range
from resolution.conflicts import undo
from resolution.models import Candidate, Claim
from resolution.nightly import schedule as resolver_schedule
from resolution.nightly.resolver import approve
from tests.arrange import OPERATOR, dispute, teach, update
from tests.worlds import Login

pytestmark = pytest.mark.django_db

QUERIES = 12
CONFIG = "/admin/memory/config/"


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_config()
    bootstrap.load_dimensions()
    bootstrap.load_schedule()
    bootstrap.load_groups()


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    user = User.objects.create_user("hermione", is_staff=True)
    user.groups.add(Group.objects.get(name="operators"))
    return Login(user)


@pytest.fixture
def superuser(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("mcgonagall"))
    return client


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def shown() -> dict[str, Any]:
    """What the page of settings sends back when nothing was entered."""
    stored = dict(Config.objects.values_list("key", "value"))
    return {f"{SHOWN}{key}": value for key, value in stored.items()} | stored


def enter(client: Client, **entered: Any) -> str:
    return unescape(client.post(CONFIG, shown() | entered, follow=True).content.decode())


def value(key: str) -> str:
    return Config.objects.get(key=key).value


# --- settings ------------------------------------------------------------------------------------------


def test_all_settings_are_on_one_page_with_meaning_range_and_default(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
):
    with django_assert_max_num_queries(QUERIES):
        told = page(operator, CONFIG)

    for key, entry in registry.REGISTRY.items():
        assert f'id="{key}"' in told
        assert entry.description in told
        assert describe_accepted(entry) in told
        assert registry.group_of(key) in told


def other_value(key: str) -> str:
    """Another valid value of a setting than its default."""
    field = registry.REGISTRY[key]
    if get_origin(field.annotation) is Literal:
        return next(choice for choice in get_args(field.annotation) if choice != field.default)
    if field.annotation in (int, float):
        return registry.as_text(field.annotation(find_range(field)[1]))
    return {"resolution_schedule": "30 4 * * 1", "embedder": "none"}.get(key) or str(LanguageModel.objects.get().pk)


def test_each_setting_has_a_field_that_is_stored_and_logged_with_who_changed_it(operator: Client):
    LanguageModel.objects.create(provider="ollama", model_name="judge")
    entered = {key: other_value(key) for key in registry.REGISTRY}

    told = enter(operator, **entered)

    assert dict(Config.objects.values_list("key", "value")) == entered
    assert told.count("not the default") == len(entered)
    log = dict(LogEntry.objects.filter(user__username="hermione").values_list("object_id", "change_message"))
    for key, default in registry.defaults().items():
        assert log[key] == f"{key}: {default or 'none'} -> {entered[key]}"
        assert f'name="{key}"' in told
        assert log[key] in page(operator, f"{CONFIG}{key}/history/")


@pytest.mark.parametrize(
    "field",
    [
        '<input type="number" name="zero_hit_max" value="1" class="fst-input" min="0" max="20" step="1"',
        'name="llm_timeout_s" value="60.0" class="fst-input" min="1" max="3600" step="any"',
        '<option value="auto" selected>auto</option>',
        '<option value="" selected>none</option>',
    ],
)
def test_a_field_shows_what_its_setting_takes(operator: Client, field: str):
    assert field in page(operator, CONFIG)


def test_a_schedule_is_told_in_words_and_with_its_next_time(operator: Client):
    due = timezone.localtime(cron.first_after("0 2 * * *", timezone.now()))

    assert f"At 02:00 AM UTC. Next: {due:%A, %d %B, %H:%M}" in page(operator, CONFIG)


def test_beside_the_switch_stands_how_many_of_a_models_answers_people_accepted(operator: Client):
    model = LanguageModel.objects.create(provider="ollama", model_name="judge")
    Config.objects.filter(key="resolve_model_id").update(value=str(model.pk))
    assert "that people decided" not in page(operator, CONFIG)

    claims = [dispute(f"{name} ispart tyr runs-on", f"{name} ispart loki runs-on") for name in ("aa", "bb", "cc", "dd")]
    Claim.objects.update(status="proposed", proposal={"decision": "dismiss", "reason": "so", "model": "judge"})
    approve(claims[0].conflict_id, OPERATOR)
    update(claims[1].pk, OPERATOR, "the other way")
    undo.undo(approve(claims[2].conflict_id, OPERATOR).pk, OPERATOR, "too soon")
    for state in ("promoted", "dismissed", "open"):
        Candidate.objects.create(
            concept=f"ee-{state}", parent="repo", dimension="type", is_isa=True, channel="explained", confidence=0.5,
            voices=[[str(model), "explained"]], state=state,
        )  # fmt: skip

    assert f"Of 4 answers of {model} that people decided, 50% were accepted." in page(operator, CONFIG)


def test_one_bad_value_stores_nothing_and_loses_nothing(operator: Client):
    told = enter(operator, zero_hit_max="many", llm_daily_calls="77")

    assert "zero_hit_max takes a whole number from 0 to 20, not 'many'" in told
    assert 'name="llm_daily_calls" value="77"' in told
    assert 'name="zero_hit_max" value="many"' in told
    assert (value("zero_hit_max"), value("llm_daily_calls")) == ("1", "1000")


def test_what_means_the_same_is_no_change(operator: Client):
    told = enter(operator, recollection_recency_days="90", zero_hit_max=" 1 ")

    assert "Nothing was changed." in told
    assert not LogEntry.objects.exists()


def test_of_two_operators_the_second_is_told_and_may_insist(operator: Client):
    seen = shown()
    Config.objects.filter(key="zero_hit_max").update(value="5")

    told = operator.post(CONFIG, seen | {"zero_hit_max": "2", "llm_daily_calls": "77"}).content.decode()

    assert "Somebody else has changed this in the meantime: it is 5 now." in told
    assert (value("zero_hit_max"), value("llm_daily_calls")) == ("5", "1000")
    assert f'name="{SHOWN}zero_hit_max" value="5"' in told
    enter(operator, zero_hit_max="2", llm_daily_calls="77")
    assert (value("zero_hit_max"), value("llm_daily_calls")) == ("2", "77")


def test_what_the_other_did_elsewhere_stays(operator: Client):
    seen = shown()
    Config.objects.filter(key="zero_hit_max").update(value="5")

    operator.post(CONFIG, seen | {"llm_daily_calls": "77"})

    assert (value("zero_hit_max"), value("llm_daily_calls")) == ("5", "77")


def test_a_setting_is_reset_and_what_was_entered_beside_it_is_kept_but_not_stored(operator: Client):
    Config.objects.filter(key="zero_hit_max").update(value="5")

    told = enter(operator, reset="zero_hit_max", llm_daily_calls="77")

    assert (value("zero_hit_max"), value("llm_daily_calls")) == ("1", "1000")
    assert 'name="llm_daily_calls" value="77"' in told
    assert "What you entered in other fields is not stored yet." in told
    assert LogEntry.objects.get().change_message == "zero_hit_max: 5 -> 1"


def test_the_address_of_one_setting_leads_to_it(operator: Client):
    answer = operator.get(f"{CONFIG}zero_hit_max/change/")

    assert (answer.status_code, answer.headers["Location"]) == (302, f"{CONFIG}#zero_hit_max")


def test_a_language_model_is_chosen_from_those_there_are_and_a_lost_one_is_told(operator: Client):
    model = LanguageModel.objects.create(provider="ollama", model_name="judge")
    Config.objects.filter(key="resolve_model_id").update(value="777")

    told = page(operator, CONFIG)
    assert f'<option value="{model.pk}">ollama judge</option>' in told
    assert '<option value="777" selected>777, which is not there</option>' in told

    enter(operator, write_model_id=str(model.pk))
    assert value("write_model_id") == str(model.pk)


def test_what_a_command_changed_is_told_as_changed_outside(operator: Client):
    call_command("add_model", "ollama", "judge", write=True)

    row = page(operator, CONFIG).partition('id="write_model_id"')[2].partition('id="resolve_model_id"')[0]

    assert ", not in the admin" in row


def test_stored_values_that_are_not_obeyed_are_told(operator: Client):
    Config.objects.filter(key="zero_hit_max").update(value="many")
    Config.objects.create(key="vocabulary_max", value="5")

    told = page(operator, CONFIG)

    assert "not 'many'. The default applies instead." in told
    assert "vocabulary_max = '5': at most 1,000,000 words" in told


# --- agents --------------------------------------------------------------------------------------------


def token_in(told: str) -> str:
    return told.partition('x-ref="token">')[2].partition("<")[0]


def test_an_agent_is_made_and_its_token_shown_once(operator: Client):
    switches = {"recall": "on", "ask": "on"}
    answer = operator.post("/admin/memory/agent/add/", {"name": " dobby ", "scope": "agent", **switches})

    agent = Agent.objects.get()
    token = token_in(answer.content.decode())
    assert (agent.name, agent.token_hash) == ("dobby", agent_tokens.token_hash(token))
    assert (agent.recall, agent.learn, agent.ask) == (True, False, True)
    assert "no-store" in answer.headers["Cache-Control"]
    later = (
        "/admin/memory/agent/",
        f"/admin/memory/agent/{agent.pk}/change/",
        f"/admin/memory/agent/{agent.pk}/history/",
    )
    assert not any(token in page(operator, path) or agent.token_hash in page(operator, path) for path in later)
    assert token not in str(dict(operator.session)) + str(operator.cookies) + LogEntry.objects.get().change_message


def test_a_token_is_replaced_and_the_old_one_dead_at_once(operator: Client):
    agent, old = agent_tokens.create("dobby", "agent")

    [seen] = re.findall(r'name="seen" value="(\w+)"', page(operator, f"/admin/memory/agent/{agent.pk}/rotate/"))
    sent = {"_form_submitted": "true", "seen": seen}
    told = operator.post(f"/admin/memory/agent/{agent.pk}/rotate/", sent).content.decode()

    agent.refresh_from_db()
    new = agent_tokens.token_hash(token_in(told))
    assert agent.token_hash == new != agent_tokens.token_hash(old)
    assert LogEntry.objects.get().change_message == "New token; the previous one is refused."

    told = operator.post(f"/admin/memory/agent/{agent.pk}/rotate/", sent, follow=True).content.decode()
    agent.refresh_from_db()
    assert "Nothing was changed: the token has been rotated" in told  # the form was sent again
    assert agent.token_hash == new


@pytest.mark.parametrize(
    ("name", "told"), [("dobby", "This agent exists."), ("a\tb", "1 to 100 printable characters"), (" ", "required")]
)
def test_a_name_that_cannot_be_is_told(operator: Client, name: str, told: str):
    agent_tokens.create("dobby", "agent")

    assert told in operator.post("/admin/memory/agent/add/", {"name": name, "scope": "agent"}).content.decode()
    assert Agent.objects.count() == 1


def test_an_agents_scope_is_changed_and_its_name_not(operator: Client):
    agent, _ = agent_tokens.create("dobby", "agent")

    form = {"name": "winky", "scope": "operator", "recall": "on", "learn": "on", "ask": "on"}
    operator.post(f"/admin/memory/agent/{agent.pk}/change/", form)

    agent.refresh_from_db()
    assert (agent.name, agent.scope) == ("dobby", "operator")
    assert LogEntry.objects.get().change_message == "scope: agent -> operator"


def test_deleting_an_agent_says_that_its_token_is_refused(operator: Client):
    agent, _ = agent_tokens.create("dobby", "agent")
    agent.allowed_projects.create(slug="glitch", name="Glitch University")
    path = f"/admin/memory/agent/{agent.pk}/delete/"

    assert "token is refused from then on" in (told := page(operator, path))
    assert "dobby may name glitch" in told
    operator.post(path, {"post": "yes"})
    assert not Agent.objects.exists()


# --- dimensions ----------------------------------------------------------------------------------------


def test_a_dimension_is_listed_with_its_facts_and_open_conflicts(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
):
    for i in range(3):
        teach(f"thing{i} isa repo type")
    teach("thing1 isa container type")
    dimension = Soas.objects.get(token="type")

    with django_assert_max_num_queries(QUERIES):
        told = page(operator, "/admin/memory/dimension/")

    assert re.search(rf'<a href="/admin/memory/edge/\?dim__id__exact={dimension.pk}"[^>]*>3</a>', told)
    assert f"/admin/resolution/conflict/?dim__id__exact={dimension.pk}" in told
    facts = f"/admin/memory/edge/?dim__id__exact={dimension.pk}"
    assert "thing2" in page(operator, facts)
    assert page(operator, f"{facts}&flavour=root").count("made with the dimension") == 1


@pytest.mark.parametrize(
    ("chosen", "listed"), [("", {"type"}), ("?facts=none", {"runs-on"}), ("?facts=all", {"type", "runs-on"})]
)
def test_a_dimension_without_facts_is_listed_where_it_is_asked_for(operator: Client, chosen: str, listed: set[str]):
    teach("gnommoweb isa repo type")

    told = page(operator, f"/admin/memory/dimension/{chosen}")

    assert {name for name in ("type", "runs-on") if f">{name}</a>" in told} == listed


def test_a_dimensions_page_says_what_a_change_means_and_logs_it(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
):
    row = Dimension.objects.get(soas__token="type")
    split = Soas.objects.create(token="build-type")
    Dimension.objects.create(soas=split, is_isa=True, split_from=row)
    path = f"/admin/memory/dimension/{row.pk}/change/"

    with django_assert_max_num_queries(QUERIES):
        told = page(operator, path)

    assert "applies to later statements" in told
    assert "build-type" in told
    operator.post(path, {"question": row.question, "on_collision": "supersede"})
    assert LogEntry.objects.get().change_message == "on_collision: queue -> supersede"


# --- records -------------------------------------------------------------------------------------------


def observed(concept: str, **fields: Any) -> Observation:
    given = {"kind": "concept", "digest": b"0" * 32, "role": "user", "agent": "dobby", "said_at": timezone.now()}
    return Observation.objects.create(concept=concept, **given | fields)


def test_observations_are_readable_and_lead_to_their_concepts(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
):
    known = Soas.objects.create(token="gnommoweb")
    row = observed("gnommoweb", kind="triple", parent="repo", dimension="type", is_isa=True, state="done",
                   outcome="confirmed")  # fmt: skip
    for i in range(20):
        observed(f"unknown{i}")

    with django_assert_max_num_queries(QUERIES):
        told = page(operator, "/admin/memory/observation/")
    with django_assert_max_num_queries(QUERIES):
        one = page(operator, f"/admin/memory/observation/{row.pk}/change/")

    assert f'href="/admin/memory/soas/{known.pk}/change/"' in told
    assert "What is unknown7?" in told
    assert "confirmed" in one


@pytest.mark.parametrize(("became", "found"), [("pending", "waiting"), ("failed", "failing"), ("unknown", "asked")])
def test_observations_are_filtered_by_what_became_of_them(operator: Client, became: str, found: str):
    observed("waiting")
    observed("failing", state="failed")
    observed("asked", state="done", outcome="unknown")

    told = page(operator, f"/admin/memory/observation/?became={became}")

    words = {word for word in ("waiting", "failing", "asked") if f"What is {word}?" in told}
    assert words == {found}


def test_what_failed_is_tried_again_and_the_rest_is_skipped(operator: Client):
    failed = observed("gnommoweb", state="failed", attempts=5, last_error="it failed")
    waits_already, waiting = observed("dobby", state="failed"), observed("dobby")
    chosen = [failed.pk, waits_already.pk, waiting.pk]

    data = {"action": "try_again", "_selected_action": chosen}
    told = operator.post("/admin/memory/observation/", data, follow=True).content.decode()

    failed.refresh_from_db()
    waits_already.refresh_from_db()
    assert (failed.state, failed.attempts, failed.last_error) == ("pending", 0, "")
    assert waits_already.state == "failed"
    assert "1 wait again" in told
    assert "2 skipped" in told


def test_calls_and_sentences_lead_to_what_they_are_about(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
):
    concept = Soas.objects.create(token="gnommoweb")
    Evidence.objects.create(concept=concept, sentence="gnommoweb is a repo.", role="user", agent="dobby")
    model = LanguageModel.objects.create(provider="ollama", model_name="judge")
    LlmCall.objects.create(model=model, model_name="ollama judge", purpose="explain", subject="gnommoweb")
    LlmCall.objects.create(model_name="one that is gone", purpose="resolve", subject="run 3, conflict 12")

    with django_assert_max_num_queries(QUERIES):
        calls = page(operator, "/admin/memory/llmcall/")
    with django_assert_max_num_queries(QUERIES):
        sentences = page(operator, "/admin/memory/evidence/")

    assert f'href="/admin/memory/soas/{concept.pk}/change/"' in calls
    assert f'href="/admin/memory/languagemodel/{model.pk}/change/"' in calls
    assert 'href="/admin/resolution/conflict/12/change/"' in calls
    assert f'href="/admin/memory/soas/{concept.pk}/change/"' in sentences


# --- schedules -----------------------------------------------------------------------------------------


def schedule(task: str) -> tuple[PeriodicTask, str]:
    row = PeriodicTask.objects.get(task=task)
    return row, f"/admin/django_celery_beat/periodictask/{row.pk}/change/"


def test_an_interval_is_changed_and_beat_told(operator: Client):
    row, path = schedule("memory.tasks.prune")
    told_at = PeriodicTasks.last_change()

    operator.post(path, {"enabled": "on", "every": "2", "period": "hours"})

    row.refresh_from_db()
    assert str(row.interval) == "every 2 hours"
    assert PeriodicTasks.last_change() > told_at
    assert LogEntry.objects.get().change_message == "every: 1 -> 2"
    others = IntervalSchedule.objects.filter(every=1, period="hours", periodictask__isnull=False)
    assert others.exists()  # whoever shares the interval keeps it


def test_schedules_are_switched_off_and_on(operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries):
    row, _ = schedule("memory.tasks.prune")

    for action, is_on in (("switch_off", False), ("switch_on", True)):
        data = {"action": action, "_selected_action": [row.pk]}
        operator.post("/admin/django_celery_beat/periodictask/", data)
        row.refresh_from_db()
        assert row.enabled is is_on
    with django_assert_max_num_queries(QUERIES):
        page(operator, "/admin/django_celery_beat/periodictask/")


def test_the_jobs_of_the_night_are_chosen_on_the_page_of_their_schedule(operator: Client):
    row, path = schedule("resolution.tasks.nightly")
    assert page(operator, path).count("checked") >= 4  # the switch and three jobs

    operator.post(path, {"enabled": "on", "jobs": ["consolidate", "detect"]})
    row.refresh_from_db()
    assert (row.enabled, row.args) == (True, '["consolidate", "detect"]')

    operator.post(path, {"enabled": "on", "jobs": ["consolidate", "sweep", "detect"]})
    row.refresh_from_db()
    assert row.args == "[]"


def test_the_resolvers_schedule_is_kept_from_the_settings_and_says_so(operator: Client):
    resolver_schedule.sync_beat_schedule()
    row, path = schedule(resolver_schedule.TASK)

    told = page(operator, path)

    assert "/admin/memory/config/#resolution_schedule" in told
    assert 'name="every"' not in told
    operator.post(path, {})
    row.refresh_from_db()
    assert (row.enabled, str(row.crontab.hour)) == (False, "2")


def test_a_changed_schedule_of_the_resolver_is_beats_at_once(operator: Client):
    resolver_schedule.sync_beat_schedule()
    told_at = PeriodicTasks.last_change()

    operator.post(CONFIG, shown() | {"resolution_schedule": "30 4 * * 1"})

    row, _ = schedule(resolver_schedule.TASK)
    assert (row.crontab.minute, row.crontab.hour, row.crontab.day_of_week) == ("30", "4", "1")
    assert PeriodicTasks.last_change() > told_at


def test_a_schedule_that_somebody_else_changed_meanwhile_leaves_beats_row_alone(operator: Client):
    resolver_schedule.sync_beat_schedule()
    entered = shown() | {"resolution_schedule": "30 4 * * 1"}
    Config.objects.filter(key="resolution_schedule").update(value="0 5 * * *")

    operator.post(CONFIG, entered)

    assert schedule(resolver_schedule.TASK)[0].crontab.hour == "2"


def test_other_kinds_of_schedules_are_out_of_sight(superuser: Client):
    for name in ("intervalschedule", "crontabschedule", "solarschedule", "clockedschedule"):
        assert superuser.get(f"/admin/django_celery_beat/{name}/").status_code == 404


# --- accounts ------------------------------------------------------------------------------------------


def test_a_new_account_may_log_in_and_do_what_its_group_may(superuser: Client):
    group = Group.objects.get(name="viewers")
    password = "correct-horse-battery"

    superuser.post(
        "/admin/auth/user/add/",
        {"username": "luna", "groups": [group.pk], "usable_password": "true", "password1": password,
         "password2": password},
    )  # fmt: skip

    luna = Client()
    luna.post("/admin/login/", {"username": "luna", "password": password})
    assert luna.get(CONFIG).status_code == 200
    assert luna.get("/admin/auth/user/").status_code == 403
    assert list(User.objects.get(username="luna").groups.all()) == [group]


def test_the_last_superuser_cannot_shut_himself_out(superuser: Client):
    only = User.objects.get(username="mcgonagall")
    path = f"/admin/auth/user/{only.pk}"
    fields = {"username": "mcgonagall", "is_staff": "on", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}

    told = superuser.post(f"{path}/change/", fields | {"is_active": "on"}).content.decode()

    assert "This is the last account that can manage accounts" in told
    only.set_password("nine lives")
    only.save()
    superuser.force_login(only)
    without = {"usable_password": "false", "unset-password": "true"}
    told = superuser.post(f"{path}/password/", without, follow=True).content.decode()
    assert "it must keep its password" in told
    only.refresh_from_db()
    assert only.is_superuser
    assert only.has_usable_password()
    User.objects.create_superuser("dumbledore")
    superuser.post(f"{path}/change/", fields | {"is_active": "on"})
    only.refresh_from_db()
    assert not only.is_superuser


def test_an_account_is_not_deleted_with_the_log_of_what_it_did(superuser: Client):
    user = User.objects.create_user("snape")

    assert superuser.post(f"/admin/auth/user/{user.pk}/delete/", {"post": "yes"}).status_code == 403
    superuser.post("/admin/auth/user/", {"action": "delete_selected", "_selected_action": [user.pk], "post": "yes"})
    assert User.objects.filter(pk=user.pk).exists()
