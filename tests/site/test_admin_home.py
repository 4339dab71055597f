"""The admin's first page, used like a person: what waits, how the last run ended, what nobody has explained."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory.graph.saliency import saliency
from memory.llm import USES
from memory.models import (
    Config,
    Evidence,
    GivenNote,
    Heartbeat,
    InstalledVersion,
    LanguageModel,
    LlmCall,
    Observation,
    Soas,
    Source,
)
from memory.running import bootstrap
from proxy.models import LoopEvent, RecollectionEvent
from resolution.models import Conflict, Decision, Run
from tests.arrange import say, teach_both
from tests.memory.memories.said import said
from tests.standin import StandIn
from tests.worlds import Login

pytestmark = pytest.mark.django_db

HOME = "/admin/"
QUERIES = 18
VIEWS = (
    "view_conflict",
    "view_run",
    "view_soas",
    "view_evidence",
    "view_loopevent",
    "view_heartbeat",
    "view_hourlyfigures",
    "view_episode",
    "view_givennote",
    "view_memory",
    "view_config",
)
CHANGES = ("change_conflict", "add_edge", "change_soas", "change_config")


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_config()
    bootstrap.load_dimensions()


def person(name: str, *permissions: str) -> User:
    """With these permissions by way of a group, as people have them."""
    group = Group.objects.create(name=f"{name}s")
    group.permissions.set(Permission.objects.filter(codename__in=permissions))
    user = User.objects.create_user(name, is_staff=True)
    user.groups.add(group)
    return user


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    return Login(person("operator", *VIEWS, *CHANGES))


@pytest.fixture(scope="module")
def viewer_login(world: None) -> Login:
    return Login(person("viewer", *VIEWS))


def named(token: str, count: int) -> Soas:
    counts = {"encounter_count": count, "conversation_count": 1}
    return Soas.objects.create(token=token, saliency=saliency(count), last_seen=timezone.now(), **counts)


def page(client: Client, address: str = HOME) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return str(answer.content.decode())


def text(html: str) -> str:
    words = " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
    return re.sub(r" ([,.;:])", r"\1", words)


def test_where_nothing_waits_the_page_says_so(operator: Client) -> None:
    shown = text(page(operator))

    assert "Nothing is disputed." in shown
    assert "There has been none yet." in shown
    assert "Nothing to explain." in shown
    assert "None detected." in shown


def test_the_page_says_what_is_kept_of_what_is_said(operator: Client) -> None:
    said("We moved the billing database.")
    assert "1 message, kept 90 days, secrets masked. Turn off" in text(page(operator))

    Config.objects.filter(key="episodes").update(value="off")
    assert "1 message; nothing more is kept. Turn on" in text(page(operator))


def test_what_waits_is_counted_and_the_next_ones_lead_to_the_desk(operator: Client) -> None:
    for number in range(6):
        teach_both(f"thing{number}", source=Source.INFERRED)
    first = teach_both("kvasir")
    Conflict.objects.filter(concept__token="thing0").update(detected_at=timezone.now() - timedelta(days=3))

    html = page(operator)

    assert "7 1 high priority; oldest 3 days ago" in text(html)
    assert "kvasir is a repo or container [type] priority" in text(html)
    assert text(html).index("kvasir is") < text(html).index("thing0 is")
    assert "thing5 is" not in text(html)
    assert html.count(first.conflict.get_absolute_url()) == 2  # its line, and the button


def test_the_last_run_is_told_with_its_outcome(operator: Client) -> None:
    now = timezone.now()
    Run.objects.create(trigger="schedule", mode="auto", status="done", started_at=now - timedelta(days=2))
    run = Run.objects.create(
        trigger="api", actor="dobby", mode="auto", status="done", conflicts_total=4, conflicts_seen=4,
        counts={"update": 3, "failed": 1}, note="gnommoweb [type]: repo or container: no answer",
        model_name="judge", input_tokens=1200, output_tokens=34, started_at=now - timedelta(hours=2),
        ended_at=now - timedelta(hours=2) + timedelta(seconds=90),
    )  # fmt: skip

    html = page(operator)

    assert f"done Run {run.pk} over the API by dobby; 2 hours ago, took 1 minute" in text(html)
    assert "4 of 4 conflicts: 3 updated, 1 failed. gnommoweb [type]: repo or container: no answer" in text(html)
    assert "judge: 1,234 tokens" in text(html)
    assert reverse("admin:resolution_run_progress", args=[run.pk]) not in html  # nothing to wait for


LACKS = (
    "No language model resolves conflicts automatically: operators decide them.",
    "No language model consolidates memories at night: only rules do.",
    "No language model reads project histories",
)


def test_what_a_model_is_lacking_for_is_told_once_another_use_has_one(operator: Client) -> None:
    assert not [lack for lack in LACKS if lack in text(page(operator))]  # the offer of one model for all is enough

    model = LanguageModel.objects.create(provider="ollama", model_name="judge")
    Config.objects.filter(key="write_model_id").update(value=str(model.pk))

    shown = text(page(operator))
    assert [lack for lack in LACKS if lack in shown] == [*LACKS]
    Config.objects.filter(key="resolve_model_id").update(value=str(model.pk))
    assert LACKS[0] not in text(page(operator))


def test_a_model_of_the_upstream_is_offered_and_used_for_everything_with_a_click(
    operator: Client, viewer: Client, settings: Any
) -> None:
    with StandIn() as ollama:
        settings.FESTINGER_UPSTREAM = ollama.url
        assert "proxy_home_model" not in page(viewer)
        assert "/model/" in page(operator)
        offer = page(operator, reverse("admin:proxy_home_model"))
        name = re.findall(r"<option>(.*?)</option>", offer)[0]
        use = reverse("admin:proxy_home_use_model")
        assert viewer.post(use, {"model": name}).status_code == 403
        assert "has no model" in text(operator.post(use, {"model": "none:1b"}, follow=True).content.decode())
        assert not LanguageModel.objects.exists()

        told = text(operator.post(use, {"model": name}, follow=True).content.decode())

    assert f"{name} is used for learning and decisions" in told
    model = LanguageModel.objects.get(model_name=name)
    tuning = Config.tuning()
    assert {getattr(tuning, use) for use in USES} == {model.pk}
    assert tuning.resolution_mode == "propose"
    assert f"{model} has 4 of 4 uses." in text(page(operator, reverse("admin:proxy_home_model")))


def test_a_run_is_started_from_the_page_which_then_follows_it(operator: Client) -> None:
    answer = operator.post(reverse("admin:resolution_conflict_run"), {"next": HOME}, follow=True)

    run = Run.objects.get()
    assert answer.redirect_chain == [(HOME, 302)]
    html = answer.content.decode()
    assert f'hx-get="{reverse("admin:resolution_run_progress", args=[run.pk])}"' in html
    assert re.search(r"<button [^>]*disabled[^>]*>Run resolution now", html)
    assert "It waits for a worker" in text(html)


def test_the_words_that_are_named_most_are_asked_about(operator: Client) -> None:
    for number in range(12):
        named(f"word{number:02}", 100 - number)
    kvasir = named("kvasir", 1_000)
    Evidence.objects.create(concept=kvasir, sentence="<b>restart</b> kvasir.", role="user", agent="dobby")

    html = page(operator)

    assert "named 1000 times" in text(html)
    assert "&lt;b&gt;restart&lt;/b&gt; kvasir." in html
    assert "word08" in html
    assert "word09" not in html


def test_a_word_is_taught_on_the_page(operator: Client) -> None:
    kvasir = named("kvasir", 1_000)
    address = reverse("admin:memory_soas_teach", args=[kvasir.pk])
    assert f'action="{address}"' in page(operator)

    answer = operator.post(address, {"statement": "is a repo", "next": HOME}, follow=True)

    assert answer.redirect_chain == [(HOME, 302)]
    assert [str(edge) for edge in kvasir.edges.all()] == ["kvasir is a repo [type]"]
    assert address not in answer.content.decode()  # it is known now


def test_what_is_no_statement_is_refused_and_stays_in_its_field(operator: Client) -> None:
    kvasir, turing = named("kvasir", 1_000), named("turing", 900)

    address = reverse("admin:memory_soas_teach", args=[kvasir.pk])
    html = operator.post(address, {"statement": 'well, "you" know', "next": HOME}, follow=True).content.decode()

    assert "Nothing was stored." in text(html)
    assert re.search(rf'id="fst-teach-{kvasir.pk}" name="statement" value="well, &quot;you&quot; know"', html)
    assert re.search(rf'id="fst-teach-{turing.pk}" name="statement" value=""', html)


def test_a_word_is_muted_on_the_page(operator: Client) -> None:
    kvasir = named("kvasir", 1_000)

    given = {"mark": "muted", "to": "true", "keys": kvasir.pk, "next": HOME}
    answer = operator.post(reverse("admin:memory_soas_marks"), given, follow=True)

    kvasir.refresh_from_db()
    assert kvasir.is_muted
    shown = answer.content.decode()
    assert shown.count(f'name="keys" value="{kvasir.pk}"') == shown.count(">Undo</button>") == 1  # in the message


def test_all_words_on_the_page_are_muted_and_that_is_undone(operator: Client) -> None:
    words = [named(f"word{number:02}", 100 - number) for number in range(12)]
    html = page(operator)
    keys = ",".join(str(word.pk) for word in words[:10])
    assert f'name="keys" value="{keys}"' in html

    given = {"mark": "muted", "to": "true", "keys": keys, "next": HOME}
    told = operator.post(reverse("admin:memory_soas_marks"), given, follow=True).content.decode()

    assert "10 muted: word00, word01," in text(told)
    left = Soas.objects.filter(is_muted=False, token__startswith="word").values_list("token", flat=True)
    assert set(left) == {"word10", "word11"}
    assert f'name="keys" value="{keys}"' in told  # of Undo
    operator.post(reverse("admin:memory_soas_marks"), given | {"to": "false"})
    assert not Soas.objects.filter(is_muted=True).exists()


def test_figures_of_the_memories_are_told(operator: Client) -> None:
    for number in range(4):
        GivenNote.objects.create(request=f"{number:016x}", conversation=bytes(16), kind="memory", row=1)
    for purpose, cost in (("compare", "0.02"), ("extract", None), ("embed", "0.005"), ("explain", "7")):
        LlmCall.objects.create(model_name="m", purpose=purpose, cost=cost, input_tokens=10)
    counts = {"merged": 3, "disputed_by_model": 1}
    Run.objects.create(trigger="consolidate", mode="", status="done", counts=counts, model_name="judge")

    shown = text(page(operator))

    assert "Memories: 3 merged into others, 1 found in contradiction by the model." in shown
    assert "4 injected (1 distinct)" in shown
    assert "3 times, 0.0250 US dollars, of it 0.0050 for vectors; of 1 the price is not known." in shown


def test_how_often_each_way_of_finding_was_right_is_told(operator: Client) -> None:
    for tier, kinds in {
        "reversal": ["answer"] * 3 + ["dismiss"],
        "model": ["supersede", "accept"] + ["dismiss"] * 3,
    }.items():
        for number, kind in enumerate(kinds):
            conflict = Conflict.objects.create(
                slot_kind="narrative",
                key=f"story {tier} {number}",
                slot_key={"rows": [tier, number]},
                tier=tier,
                question="Is it so?",
                status="resolved",
            )
            decision = Decision.objects.create(kind=kind, conflict=conflict, actor="anna", source="operator")
    Decision.objects.create(kind="undo", undoes=decision, actor="anna", source="operator")
    Run.objects.create(
        trigger="detect", mode="", status="done", counts={"asked_reversal": 1, "lines": 12}, conflicts_seen=1
    )

    assert "1 of 1 stories: 12 lines read, 1 asked about reverted values." in text(page(operator))
    shown = text(page(operator, reverse("admin:proxy_home_precision")))
    assert "Found by reverted value 3 answered, 1 dismissed: right in 75 %" in shown
    assert "Found by a language model 2 answered, 2 dismissed: right in 50 %" in shown
    assert "too often wrong" not in shown  # four decisions tell nothing yet
    conflict.decisions.model.objects.create(kind="dismiss", conflict=conflict, actor="anna", source="operator")
    assert page(operator, reverse("admin:proxy_home_precision")).count("too often wrong") == 1


def test_loops_of_the_last_day_are_counted(operator: Client) -> None:
    common = {"agent": "dobby", "model": "smollm2", "wire": "chat", "kind": "same", "count": 3, "repeated": ["x"]}
    for number, steps in enumerate((["note"], ["note", "break"], ["stop"])):
        LoopEvent.objects.create(request=f"{number:016x}", steps=steps, **common)
    old = timezone.now() - timedelta(days=2)
    LoopEvent.objects.create(request=f"{9:016x}", steps=["break"], at=old, **common)

    assert "3 detected, 2 stopped." in text(page(operator))


def test_a_viewer_sees_it_all_and_has_no_buttons(viewer: Client) -> None:
    teach_both("gnommoweb", source=Source.INFERRED)
    kvasir = named("kvasir", 1_000)

    html = page(viewer)

    assert "gnommoweb is a repo or container [type]" in text(html)
    assert "kvasir" in html
    assert "View the first conflict" in html
    content = html.partition('id="fst-morning"')[2]
    assert "<form" not in content
    assert viewer.post(reverse("admin:resolution_conflict_run"), {"next": HOME}).status_code == 403
    assert (
        viewer.post(reverse("admin:memory_soas_teach", args=[kvasir.pk]), {"statement": "is a repo"}).status_code == 403
    )
    assert viewer.post(reverse("admin:memory_soas_marks"), {"mark": "muted", "keys": kvasir.pk}).status_code == 403


def test_who_may_see_nothing_sees_an_empty_page(client: Client) -> None:
    teach_both("gnommoweb", source=Source.INFERRED)
    client.force_login(person("guest"))

    html = page(client)

    assert "gnommoweb" not in html
    assert reverse("admin:proxy_home_health") not in html
    assert client.get(reverse("admin:proxy_home_health")).status_code == 403


def test_the_page_opens_within_few_queries(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    model = LanguageModel.objects.create(provider="ollama", model_name="judge")
    Config.objects.filter(key="resolve_model_id").update(value=str(model.pk))
    Run.objects.create(trigger="api", mode="auto", status="done")
    for number in range(12):
        teach_both(f"thing{number}", source=Source.INFERRED)
        named(f"word{number}", 100)

    with django_assert_max_num_queries(QUERIES):
        page(operator)


def health(client: Client) -> str:
    return text(page(client, reverse("admin:proxy_home_health")))


def test_the_health_says_what_postgres_knows_and_what_to_do(viewer: Client) -> None:
    Heartbeat.objects.create(name="worker", at=timezone.now() - timedelta(minutes=3))
    Heartbeat.objects.create(name="beat")

    shown = health(viewer)

    assert "No heartbeat from a worker for 3 minutes: statements are not placed" in shown
    assert "It is started again by itself." in shown
    assert "ok Beat" in shown


def test_observations_that_nobody_takes_are_told(viewer: Client) -> None:
    for number in range(3):
        Observation.objects.create(
            kind="triple", digest=bytes([number]) * 32, concept="kvasir", parent="repo", dimension="type", role="user",
            agent="dobby", said_at=timezone.now(), next_attempt_at=timezone.now() - timedelta(minutes=20),
        )  # fmt: skip
    Observation.objects.create(
        kind="concept", digest=bytes(32), concept="turing", role="user", agent="dobby", said_at=timezone.now()
    )

    shown = health(viewer)

    assert "0 messages, 3 statements and 1 concept wait to be learned; the oldest has been due for 20 minutes." in shown


def test_a_setting_that_cannot_be_read_is_told(viewer: Client) -> None:
    Config.objects.filter(key="zero_hit_max").update(value="many")

    assert "zero_hit_max takes a whole number from 0 to 20, not 'many'" in health(viewer)


def test_the_health_is_found_within_few_queries(
    viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(QUERIES):
        health(viewer)


def test_someone_without_an_account_learns_nothing(client: Client) -> None:
    for address in (HOME, reverse("admin:proxy_home_health")):
        assert client.get(address).status_code == 302


def test_the_page_of_an_app_lists_its_models_and_nothing_of_the_first_page(operator: Client) -> None:
    shown = page(operator, "/admin/memory/")

    assert f'href="{reverse("admin:memory_soas_changelist")}"' in shown.partition('id="content"')[2]
    assert 'id="fst-morning"' not in shown


def test_an_upgrade_is_told_for_two_weeks_with_what_it_asks_of_operators(operator: Client) -> None:
    now = timezone.now()
    upgrade = InstalledVersion.objects.create(version="0.2.0", before="0.1.0", backup="/srv/before.tar", at=now)
    Config.objects.create(key="recall_share", value="80")

    page = unescape(operator.get(HOME).content.decode())

    assert "Upgraded to 0.2.0" in page
    assert "1 setting that you had changed and that is gone" in page
    assert "<li>recall_share = '80': every conversation is searched" in page
    assert "The backup from before: <code>/srv/before.tar</code>" in page
    assert "<li>Beat runs in the worker." in page
    upgrade.at = now - timedelta(days=15)
    upgrade.save()
    assert "Upgraded to" not in operator.get(HOME).content.decode()


def test_a_new_installation_is_no_upgrade(operator: Client) -> None:
    InstalledVersion.objects.create(version="0.2.0", before="", at=timezone.now())

    assert "Upgraded to" not in operator.get(HOME).content.decode()


def test_a_new_installation_has_first_steps_that_tick_themselves_and_go(operator: Client) -> None:
    InstalledVersion.objects.all().delete()
    InstalledVersion.objects.create(version="0.3.0", before="")
    page = operator.get(HOME)
    assert page.context["first_steps"] == {"has_prompt": False, "has_learned": False, "has_recalled": False}
    assert "http://testserver/v1" in page.content.decode()

    say("kvasir isa search-service type")
    RecollectionEvent.objects.create(request="0" * 16, enrich_ms=1)
    page = operator.get(HOME)
    assert page.context["first_steps"] == {"has_prompt": True, "has_learned": True, "has_recalled": False}

    RecollectionEvent.objects.create(request="1" * 16, enrich_ms=1, block="kvasir is a search service.")
    assert "First steps" not in operator.get(HOME).content.decode()
