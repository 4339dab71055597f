"""Memories and episodes in the admin."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from memory.admin import base
from memory.channels import Channel
from memory.memories import store
from memory.memories.scope import Scope, Speaker
from memory.models import Config, Episode, Memory, MemoryHistory, Project, Source
from memory.running import bootstrap
from memory.search.found import Found
from memory.timing import undate
from memory.types import TripleIds
from resolution.actors import Actor
from resolution.admin.memories import searching
from resolution.conflicts import decide as deciding
from resolution.conflicts.verdict import MemberKey, Verdict
from resolution.memories import service
from resolution.memories.remarks import compose
from resolution.models import Conflict, Decision, Run
from resolution.nightly.consolidation import consolidate_memories
from resolution.nightly.jobs import carry_out_requested
from resolution.nightly.runs import run_now
from tests.arrange import say
from tests.llm_server import LlmServer, llm

__all__ = ["llm"]

pytestmark = pytest.mark.django_db

PAGE = "/admin/memory/memory/"
SEEN = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
FORM = {"category": "preference", "project": "", "agent": "dobby", "person": "harry", "_save": "Save"}


@pytest.fixture(scope="module", autouse=True)
def settings_of_festinger(module_db: None) -> None:
    bootstrap.load_config()


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("hermione"))
    return client


def remember(text: str, channel: Channel = Channel.USER, **changes: Any) -> Memory:
    scope = Scope(Speaker("dobby", "harry"))
    remark = compose(text, "", scope, channel, timezone.now() - timedelta(days=1), source=Memory.Source.STATED)
    [done] = service.remember([remark])
    assert done.memory is not None
    Memory.objects.filter(pk=done.memory.pk).update(**changes)
    return done.memory


def consolidate() -> Run:
    return run_now(Run.Trigger.CONSOLIDATE, "", consolidate_memories)


def see(client: Client, path: str) -> str:
    return " ".join(client.get(path).content.decode().split())


def forget(client: Client, path: str, key: int) -> str:
    """Return what is told when the page that asks was answered."""
    fields = {"action": "delete_selected", "_selected_action": [key], "post": "yes"}
    return client.post(path, fields, follow=True).content.decode()


def test_what_an_operator_writes_is_a_memory_that_meets_what_stands(operator: Client) -> None:
    old = remember("I prefer a rebase workflow.")

    told = operator.post(f"{PAGE}add/", FORM | {"text": "I prefer a merge-commit workflow."}, follow=True)

    new = Memory.objects.exclude(pk=old.pk).get()
    assert (new.channel, new.agent, new.person, new.status) == ("operator", "dobby", "harry", "active")
    assert "It contradicts" in told.content.decode()
    assert [one.is_disputed for one in Memory.objects.order_by("pk")] == [True, True]
    assert "was written" in see(operator, f"{PAGE}{new.pk}/change/")
    assert "hermione" in see(operator, f"{PAGE}{new.pk}/change/")


def test_an_edit_is_in_the_history_and_masks_secrets(operator: Client) -> None:
    memory = remember("Remember that lunch is at noon.")

    operator.post(f"{PAGE}{memory.pk}/change/", FORM | {"category": "other", "text": "Lunch: password=Xy7abcdefgh12"})

    memory.refresh_from_db()
    assert "Xy7abcdefgh12" not in memory.text
    assert memory.text.startswith("Lunch")
    assert MemoryHistory.objects.filter(memory=memory, action="edit", actor="hermione").exists()
    assert not MemoryHistory.objects.filter(after__icontains="Xy7abcdefgh12").exists()


def edit(client: Client, memory: Memory, **fields: Any) -> str:
    """Save the memory's form, and return the page that follows."""
    answer = client.post(f"{PAGE}{memory.pk}/change/", FORM | {"text": memory.text} | fields, follow=True)
    return answer.content.decode()


def press_undo(client: Client, page: str) -> str:
    """Press the button of the message on the page, and return the page that follows."""
    [form] = re.findall(r'<form method="post" action="(/admin/resolution/conflict/bulk/undo/)"(.*?)</form>', page, re.S)
    fields = dict(re.findall(r'name="([a-z_]+)" value="([^"]*)"', form[1]))
    return client.post(form[0], fields, follow=True).content.decode()


def picture() -> list[tuple[Any, ...]]:
    columns = ("text", "category", "project", "slot", "is_personal", "status", "is_disputed", "confidence")
    return list(Memory.objects.order_by("pk").values_list(*columns))


def test_an_edit_is_undone_with_all_that_it_changed(operator: Client) -> None:
    rebase, lunch = remember("I prefer a rebase workflow."), remember("Remember that lunch is at noon.")
    project = Project.objects.create(slug="heron")
    before = picture()

    edited = edit(operator, lunch, text="I prefer a merge-commit workflow.")
    assert "It contradicts" in edited
    assert "1 decision undone" in press_undo(operator, edited)
    assert picture() == before
    assert not Conflict.objects.filter(status="open").exists()

    moved = edit(operator, lunch, category="other", project=str(project.pk), text="Lunch is at one.")
    assert "1 decision undone" in press_undo(operator, moved)
    assert picture() == before

    edit(operator, lunch, text="I prefer a merge-commit workflow.")
    disputed = picture()
    agreed = edit(operator, rebase, text="I prefer tea.")
    assert [one.is_disputed for one in Memory.objects.all()] == [False, False]
    press_undo(operator, agreed)
    assert picture() == disputed
    assert Conflict.objects.get(status="open").members.count() == 2


def test_an_edit_is_undone_in_the_timeline_and_not_once_another_followed(operator: Client) -> None:
    memory = remember("Remember that lunch is at noon.")
    edit(operator, memory, text="Lunch is at one.")
    second = edit(operator, memory, text="Lunch is at two.")
    first, last = Decision.objects.order_by("pk")
    page = see(operator, f"{PAGE}{memory.pk}/change/")
    back = quote(f"{PAGE}{memory.pk}/change/", safe="")
    addresses = [f"/admin/resolution/decision/{one.pk}/undo/?next={back}" for one in (first, last)]
    assert all(f'href="{address}"' in page for address in addresses)

    refused = operator.post(addresses[0], {"_form_submitted": "true"}, follow=True).content.decode()
    assert "has changed since: its text is another" in refused
    undone = operator.post(addresses[1], {"_form_submitted": "true", "reason": "a typo"}, follow=True)

    memory.refresh_from_db()
    assert undone.redirect_chain == [(f"{PAGE}{memory.pk}/change/", 302)]
    assert memory.text == "Lunch is at one."
    assert addresses[1] not in see(operator, f"{PAGE}{memory.pk}/change/")
    assert "not undone" in press_undo(operator, second)
    decisions = see(operator, "/admin/resolution/decision/")
    assert f"Changed memory {memory.pk}" in decisions
    assert re.search(rf'<a href="{PAGE}{memory.pk}/change/"[^>]*>Lunch is at one.</a>', decisions)
    changed = see(operator, f"/admin/resolution/decision/{last.pk}/change/")
    assert "“Lunch is at one.”, Active, 100 % → “Lunch is at two.”, Active, 100 %" in changed


def test_many_are_promoted_taken_back_and_restored(operator: Client) -> None:
    waiting = [remember(f"Remember that lunch {number} is at noon.", Channel.ASSISTANT) for number in range(3)]
    keys = [one.pk for one in waiting]
    assert {one.status for one in Memory.objects.all()} == {"candidate"}
    assert "lunch 1 is at noon" not in see(operator, PAGE).lower()
    assert "lunch 1 is at noon" in see(operator, f"{PAGE}?status=candidate").lower()

    for action, became in (
        ("promote_them", "active"), ("take_them_back", "invalid"), ("restore_them", "active"),
        ("deprecate_them", "deprecated"), ("restore_them", "active"),
    ):  # fmt: skip
        operator.post(f"{PAGE}?status=all", {"action": action, "_selected_action": keys})
        assert {one.status for one in Memory.objects.all()} == {became}
    again = operator.post(f"{PAGE}?status=all", {"action": "promote_them", "_selected_action": keys}, follow=True)

    assert "3 skipped" in again.content.decode()
    assert "is no candidate any longer" in again.content.decode()


def act(client: Client, memory: Memory, act: str, **fields: Any) -> str:
    """Send the dialog of an act on the memory's page, and return the page that follows."""
    answer = client.post(f"{PAGE}{memory.pk}/{act}/", {"_form_submitted": "true", **fields}, follow=True)
    return " ".join(answer.content.decode().split())


@pytest.mark.parametrize(
    ("name", "became", "did"),
    [("deprecate", "deprecated", "deprecate"), ("take_back", "invalid", "invalidate")],
)
def test_one_is_deprecated_or_taken_back_on_its_page_and_restored(
    operator: Client, name: str, became: str, did: str
) -> None:
    memory = remember("Remember that lunch is at noon.", confidence=0.2)
    assert "Kept in the history." in see(operator, f"{PAGE}{memory.pk}/{name}/")
    assert memory.history.count() == 1

    shown = act(operator, memory, name, reason="nobody eats")
    memory.refresh_from_db()
    row = memory.history.latest("id")
    assert (memory.status, row.action, row.reason, row.actor) == (became, did, "nobody eats", "hermione")
    assert f"{PAGE}{memory.pk}/restore/" in shown
    assert f"{PAGE}{memory.pk}/deprecate/" not in shown
    assert "1 decision undone" in press_undo(operator, shown)
    memory.refresh_from_db()
    assert (memory.status, memory.confidence) == ("active", 0.2)

    act(operator, memory, name)
    act(operator, memory, "restore")
    memory.refresh_from_db()
    assert (memory.status, memory.confidence > 0.5) == ("active", True)
    consolidate()
    memory.refresh_from_db()
    assert memory.status == "active"


def test_a_memorys_timeline_links_what_was_said_contradicted_and_decided(operator: Client) -> None:
    old = remember("I prefer a rebase workflow.")
    old.history.update(conversation=b"1" * 16)
    new = remember("I prefer a merge-commit workflow.")
    conflict = Conflict.objects.get()
    verdict = Verdict("supersede_others", "they said so", MemberKey(new.pk, "memory"))
    decision = deciding.decide(conflict.pk, verdict, Actor("luna", Source.OPERATOR))

    timeline = see(operator, f"{PAGE}{old.pk}/change/").partition("Timeline</h2>")[2].partition("</section>")[0]
    told = timeline.split("<li>")[1:]
    [replaced, contradicted, said] = [
        next(event for event in told if re.sub("<[^>]*>", "", event).strip().startswith(what))
        for what in ("was replaced", "contradicted: ", "was written")
    ]

    assert ", luna: “they said so” ·" in replaced
    assert f"/admin/resolution/decision/{decision.pk}/change/" in replaced
    assert conflict.get_absolute_url() in contradicted
    assert "/admin/memory/agent/speaker/?agent=dobby" in said
    assert "/admin/proxy/recollectionevent/origin/?conversation=3131" in said


def test_two_are_merged_by_hand_and_separated_again(operator: Client) -> None:
    one, other = remember("Remember that lunch is at noon."), remember("Remember that we eat lunch at noon.")
    third = remember("Remember that the lunch of dobby is late.")
    before = [store.take_snapshot(memory) for memory in (one, other)]

    told = operator.post(PAGE, {"action": "merge_them", "_selected_action": [one.pk, other.pk]}, follow=True)
    shown = " ".join(told.content.decode().split())
    assert "Which text stays?" in shown
    assert third.text in shown.partition("Others like it")[2]
    fields = {"ids": f"{one.pk},{other.pk}", "winner": other.pk, "reason": "the same"}
    told = operator.post(f"{PAGE}merge/", fields, follow=True)

    assert "1 memory merged into this one." in told.content.decode()
    one.refresh_from_db()
    other.refresh_from_db()
    assert (one.status, one.merged_into_id, other.evidence_count) == ("merged_into", other.pk, 2)
    assert "the same" in see(operator, f"{PAGE}{other.pk}/change/")

    loser = see(operator, f"{PAGE}{one.pk}/change/")
    assert "merged into" in loser
    assert f"{PAGE}{one.pk}/separate/" in loser
    assert f"{PAGE}{one.pk}/restore/" not in loser
    merge = Decision.objects.get()
    assert one.text in see(operator, f"{PAGE}{other.pk}/separate/")
    assert "memories of their own again" in act(operator, other, "separate", merge=merge.pk)
    one.refresh_from_db()
    other.refresh_from_db()
    assert [store.take_snapshot(memory) for memory in (one, other)] == before
    assert not other.lineage.exists()
    operator.post(f"{PAGE}merge/", fields)
    assert "Select a valid choice" in act(operator, other, "separate", merge=merge.pk)
    assert Decision.objects.get(undone_by=None, kind="consolidate").pk != merge.pk


def test_the_project_is_a_field_and_what_contradicts_the_memory_there_is_told(operator: Client) -> None:
    project = Project.objects.create(slug="hogwarts", name="Hogwarts")
    there, moved = (
        remember("I prefer a merge-commit workflow.", project=project),
        remember("I prefer a rebase workflow."),
    )
    page, form = f"{PAGE}{moved.pk}/change/", FORM | {"text": moved.text, "project": project.pk}

    told = operator.post(page, form | {"_continue": "Save"}, follow=True).content.decode()

    moved.refresh_from_db()
    there.refresh_from_db()
    assert (moved.project, moved.is_disputed, there.is_disputed) == (project, True, True)
    assert "both are marked as disputed" in told
    assert "what all projects share → hogwarts" in told
    operator.post(page, form | {"project": ""})
    there.refresh_from_db()
    assert not there.is_disputed
    operator.post(page, form)
    again = remember(moved.text)
    assert again != moved
    assert "Hogwarts has it already" in operator.post(f"{PAGE}{again.pk}/change/", form).content.decode()


def test_a_dialog_that_the_page_sends_is_left_for_the_page(operator: Client) -> None:
    memory = remember("Remember that lunch is at noon.")

    sent = {"_form_submitted": "true"}
    answer = operator.post(f"{PAGE}{memory.pk}/deprecate/", sent, headers={"HX-Request": "true"})

    assert (answer.status_code, answer.headers["HX-Redirect"]) == (200, f"{PAGE}{memory.pk}/change/")


def test_what_is_not_the_same_or_not_of_the_same_is_not_merged(operator: Client) -> None:
    mine = remember("I prefer a rebase workflow.")
    project = Project.objects.create(slug="hogwarts", name="Hogwarts")
    others = {
        "different people": remember("I prefer rebase workflows."),
        "different projects": remember("Remember that lunch is at noon."),
        "is not current": remember("Remember that tea is at five."),
        "is disputed": remember("Remember that supper is at eight."),
    }
    Memory.objects.filter(pk=others["different people"].pk).update(person="ron")
    Memory.objects.filter(pk=others["different projects"].pk).update(project=project)
    Memory.objects.filter(pk=others["is disputed"].pk).update(is_disputed=True)
    service.invalidate(others["is not current"].pk, Actor("hermione", Source.OPERATOR))

    for why, other in others.items():
        fields = {"ids": f"{mine.pk},{other.pk}", "winner": mine.pk}
        shown = operator.post(f"{PAGE}merge/", fields).content.decode()
        assert why in shown
        assert ">Merge</button>" not in shown
    assert not MemoryHistory.objects.filter(action="merge").exists()


def test_a_search_as_an_agent_finds_what_that_agent_is_given(operator: Client) -> None:
    remember("Remember that the billing database was moved to Postgres.")
    remember("I prefer a database with a rebase workflow.")
    asked = {"query": "billing database", "types": "memories", "agent": "dobby", "person": "harry", "project": ""}

    own = operator.post(f"{PAGE}search/", asked).content.decode()
    others = operator.post(f"{PAGE}search/", asked | {"person": "ron"}).content.decode()

    assert "billing database was moved" in own
    assert ("rebase workflow" in own, "rebase workflow" in others) == (True, False)
    assert "billing database was moved" in others  # what concerns no person is for all


def test_a_search_lists_facts_with_their_concepts_and_what_is_weak_under_a_line(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = remember("Remember that tyr-1 stands in a cellar.")
    at = timezone.now().timestamp()
    found = [
        Found("fact", 7, "zwiebel runs on tyr-1.", 0.9, at, "dobby", "", "operator", "", fact=TripleIds(3, 4, 5)),
        Found("memory", weak.pk, weak.text, 0.8, at, "dobby", "", "user", "project", is_weak=True),
    ]
    monkeypatch.setattr(searching, "search", lambda scope, query, *, types, limit: found)
    asked = {"query": "What runs on tyr-1?", "types": "both", "agent": "dobby", "person": "harry", "project": ""}

    page = operator.post(f"{PAGE}search/", asked).content.decode()

    fact, line, memory = (page.index(each) for each in ("zwiebel runs on tyr-1.", "Weak: these may", "in a cellar"))
    assert fact < line < memory
    assert 'href="/admin/memory/soas/3/change/"' in page


def test_whose_memories_a_text_is_tried_with_is_chosen_by_who_may_see_them(operator: Client, client: Client) -> None:
    viewer = User.objects.create_user("luna", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_edge"))
    client.force_login(viewer)

    for may_see, page in ((True, see(operator, "/admin/try/")), (False, see(client, "/admin/try/"))):
        assert ('name="person"' in page, 'name="project"' in page) == (may_see, may_see)
        assert ("Shown without memories, episodes and project state" in page) != may_see


def test_who_may_only_look_is_offered_nothing_and_refused_what_is_posted(client: Client) -> None:
    memory, other = remember("Remember that lunch is at noon."), remember("Remember that tea is at five.")
    viewer = User.objects.create_user("luna", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_memory"))
    client.force_login(viewer)
    posts = {
        f"{memory.pk}/take_back/": {"_form_submitted": "true"},
        "merge/": {"ids": f"{memory.pk},{other.pk}", "winner": memory.pk},
        f"{memory.pk}/separate/": {"_form_submitted": "true", "merge": 1},
    }

    page = see(client, f"{PAGE}{memory.pk}/change/").partition('id="content"')[2]
    assert "Delete permanently" not in page
    assert f"{PAGE}{memory.pk}/take_back/" not in page
    assert [client.post(f"{PAGE}{path}", fields).status_code for path, fields in posts.items()] == [403] * 3
    forget(client, PAGE, memory.pk)
    assert set(Memory.objects.values_list("status", flat=True)) == {"active"}
    assert 'value="episodes"' not in see(client, f"{PAGE}search/")


@pytest.mark.parametrize("rare_max", [1, base.RARE_MAX])
def test_rare_and_frequent_words_are_found_in_any_form(
    operator: Client, monkeypatch: pytest.MonkeyPatch, rare_max: int
) -> None:
    monkeypatch.setattr(base, "RARE_MAX", rare_max)
    memory = remember("Remember that the billing database was moved.")
    for number, text in enumerate(("We moved the billing database.", "It runs now.", "Lunch is served.")):
        Episode.objects.create(
            text=text, agent="dobby", person="harry", role="user", digest=bytes([number]) * 32,
            conversation=b"0" * 16, said_at=timezone.now(), lexemes="",
        )  # fmt: skip
    episode = Episode.objects.get(text__startswith="We moved")
    Episode.objects.filter(pk=episode.pk).update(lexemes="move:1 bill:2 databas:3")
    memory.lineage.create(kind="episode", row=episode.pk)

    assert "billing database" in see(operator, f"{PAGE}?q=moving databases")
    assert "billing database" in see(operator, f"{PAGE}?q=bil data")
    assert "billing database" not in see(operator, f"{PAGE}?q=lunch")
    found = see(operator, "/admin/memory/episode/?q=moving")
    assert "We moved the billing" in found
    assert "Lunch" not in found
    assert "We moved" not in see(operator, "/admin/memory/episode/?q=dobby")  # who says it is a filter
    page = see(operator, f"/admin/memory/episode/{episode.pk}/change/")
    assert "It runs now." in page  # what was said next
    Episode.objects.filter(pk=episode.pk).update(said_at=datetime.fromtimestamp(undate(SEEN.timestamp()), UTC))
    assert "before 2026-03-01 12:30" in see(operator, f"/admin/memory/episode/{episode.pk}/change/")
    assert str(memory) in page
    assert "“We moved the billing database.”" in see(operator, f"{PAGE}{memory.pk}/change/")


def test_what_is_forgotten_goes_with_what_was_made_of_nothing_else(operator: Client) -> None:
    made, kept, chosen = (remember(f"Remember that lunch {number} is at noon.") for number in range(3))
    episodes = [
        Episode.objects.create(
            text=f"Remember lunch {number}.", agent="dobby", role="user", digest=bytes([number]) * 32,
            conversation=b"0" * 16, said_at=timezone.now(), lexemes="",
        ) for number in range(2)
    ]  # fmt: skip
    made.lineage.create(kind="episode", row=episodes[0].pk)
    for episode in episodes:
        kept.lineage.create(kind="episode", row=episode.pk)

    path = "/admin/memory/episode/"
    asked = operator.post(path, {"action": "delete_selected", "_selected_action": [episodes[0].pk]}).content.decode()
    assert "1 episode and 1 memory would be forgotten for good" in asked
    assert f"{path}{episodes[0].pk}/delete/" in see(operator, f"{path}{episodes[0].pk}/change/")
    assert "1 episode and 1 memory would be forgotten" in see(operator, f"{path}{episodes[0].pk}/delete/")
    assert episodes[0].text in asked
    assert Memory.objects.count() == 3

    told = forget(operator, path, episodes[0].pk)
    operator.post(f"{PAGE}{chosen.pk}/delete/", {"post": "yes"})

    assert "1 episode and 1 memory forgotten for good" in told
    assert list(Memory.objects.all()) == [kept]
    assert list(Episode.objects.all()) == [episodes[1]]
    assert not MemoryHistory.objects.exclude(memory=kept).exists()
    assert "lunch" not in "".join(LogEntry.objects.values_list("object_repr", flat=True)).lower()


def test_a_consolidation_shows_what_it_did_and_is_undone_on_its_page(operator: Client, llm: LlmServer) -> None:
    old = remember("I prefer a rebase workflow.")
    long_ago = timezone.now() - timedelta(days=200)
    Memory.objects.filter(pk=old.pk).update(channel="explained", last_updated=long_ago)
    for text in ("Remember that the big table is free.", "Remember that the large table is free."):
        remember(text, confidence=0.5)
    Config.objects.update_or_create(key="consolidate_model_id", defaults={"value": str(llm.model("ollama").pk)})
    llm.answers({"verdicts": {"pair_1": {"reasoning": "the same", "decision": "MERGE"}}})
    run = consolidate()

    page = see(operator, f"/admin/resolution/run/{run.pk}/change/")
    assert "1 proposed, 1 dropped for low confidence" in page
    assert page.count("Merge or keep both") == 2
    assert old.text in page
    assert "ollama ollama-test decided MERGE" in page
    assert "100 tokens read, 20 written" in page
    assert "Undo this whole run: 2 decisions" in page
    assert "3 of 3 memories" in see(operator, "/admin/resolution/run/")

    told = operator.post(
        f"/admin/resolution/run/{run.pk}/undo/", {"_form_submitted": "true", "reason": "still so"}, follow=True
    )
    assert "2 decisions were undone" in told.content.decode()
    old.refresh_from_db()
    assert old.status == "active"
    assert "still so" in see(operator, f"{PAGE}{old.pk}/change/")


def test_an_upgrade_shows_what_it_did_and_is_undone_on_its_page(operator: Client) -> None:
    remember("The user uses Helix.")
    say("ingrun isa surgeon type", evidence="> ingrun is a surgeon", conversation=bytes(16))
    later = timezone.now() + timedelta(hours=1)
    Run.objects.create(trigger=Run.Trigger.UPGRADE, mode="", status="requested", started_at=later)

    [run] = carry_out_requested()

    page = see(operator, f"/admin/resolution/run/{run.pk}/change/")
    facts = f"/admin/memory/edge/?edge_id__in={run.facts[0]}"
    assert "1 memories put among the candidates, 1 shared facts to look at" in page
    assert facts in page
    assert "ingrun" in see(operator, facts)
    assert Memory.objects.get().status == "candidate"
    operator.post(
        f"/admin/resolution/run/{run.pk}/undo/", {"_form_submitted": "true", "reason": "they were right"}, follow=True
    )
    assert Memory.objects.get().status == "active"
