"""The admin, used like a person: rows are found by searching, what may be changed is changed by posting."""

from datetime import datetime

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from festinger_site.theme import MENU
from memory.access import agent_tokens
from memory.models import Config, Dimension, Edge, EdgeHistory, Evidence, Observation, PromptOpening, Soas, Source
from memory.running import bootstrap
from proxy.models import LoopEvent, RecollectionEvent
from resolution.actors import Actor
from resolution.models import Candidate, Claim, Run
from tests.arrange import dismiss, dispute, facts, teach
from tests.worlds import Login

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_config()
    bootstrap.load_dimensions()
    for i in (7, 8):
        teach(f"thing{i} isa repo type")
        teach(f"thing{i} isa container type")
        RecollectionEvent.objects.create(
            request=f"{i:016x}", agent="dobby", model="smollm2", wire="chat", enrich_ms=1.5,
            block=f"<recollection>\nthing{i}: [type] repo\n</recollection>", reasons={f"thing{i}": "recalled"},
        )  # fmt: skip
        LoopEvent.objects.create(
            request=f"{i:016x}", agent="dobby", model="smollm2", wire="chat", kind="cycle", count=3, period=2,
            steps=["note", "temperature"], repeated=[f"open(<{i}>)", f"close(<{i}>)"],
        )  # fmt: skip


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    return Login(User.objects.create_superuser("operator"))


def test_the_search_of_each_list_finds_the_rows_with_the_word_and_no_others(operator: Client) -> None:
    for name in ("dobby", "winky"):
        agent_tokens.create(name, "agent")
        Run.objects.create(trigger="api", mode="auto", status="done", actor=name)
        Observation.objects.create(
            kind="concept", concept=name, digest=b"0" * 32, role="user", agent="harry", said_at=timezone.now()
        )
        teach(f"{name} isa elf type")
        claim = teach(f"{name} isa servant type").claim
        assert claim is not None
        dismiss(claim.pk, Actor("hermione", Source.OPERATOR), "no")
    words = {
        "memory/agent": "dobby", "memory/observation": "dobby", "resolution/run": "dobby",
        "resolution/decidedtriple": "dobby", "resolution/decision": "dobby", "memory/dimension": "runs-on",
    }  # fmt: skip

    found = {path: (results(operator, path, word), results(operator, path, "nobody")) for path, word in words.items()}

    assert found == dict.fromkeys(words, (1, 0))


def results(client: Client, path: str, searched: str) -> int:
    answer = client.get(f"/admin/{path}/", {"q": searched})
    assert answer.status_code == 200
    return int(answer.context["cl"].result_count)


def test_candidates_and_templates_are_those_that_wait_until_others_are_chosen(operator: Client) -> None:
    stated = {"concept": "kvasir", "dimension": "type", "is_isa": True, "channel": "quoted", "confidence": 0.4}
    opened = {"agent": "harry", "text": "Tag this chat:", "seen": [], "found_at": timezone.now()}
    for state in ("open", "dismissed"):
        Candidate.objects.create(**stated, parent=state, state=state, voices=[])
    for number, state in enumerate(("template", "own")):
        PromptOpening.objects.create(**opened, digest=bytes([number]) * 16, state=state)

    assert results(operator, "resolution/candidate", "KVA") == 1
    assert results(operator, "resolution/candidate", "asir") == 0
    for path, waiting, other in (
        ("resolution/candidate", "open", "dismissed"),
        ("memory/promptopening", "template", "own"),
    ):
        for query, shown in (({}, waiting), ({"state": other}, other)):
            rows = operator.get(f"/admin/{path}/", query).context["cl"].result_list
            assert [row.state for row in rows] == [shown]


@pytest.mark.parametrize(
    ("path", "query", "found"),
    [
        ("memory/edge", {"agent": "winky"}, ["kvasir"]),
        ("memory/edge", {"agent": "winky", "person": "ron"}, []),
        ("memory/observation", {"agent": "winky"}, ["kvasir"]),
        ("memory/observation", {"created_at_from": "2026-01-02", "created_at_to": "2026-01-02"}, ["kvasir"]),
        ("memory/observation", {"created_at_to": "2026-01-01"}, []),
    ],
)
def test_lists_are_narrowed_by_speaker_and_day(
    path: str, query: dict[str, str], found: list[str], operator: Client
) -> None:
    said_at = timezone.make_aware(datetime(2026, 1, 2, 23, 59))
    teach("kvasir isa repo type", "winky")
    for concept, agent, at in (("kvasir", "winky", said_at), ("mimir", "dobby", timezone.now())):
        row = Observation.objects.create(
            kind="triple", digest=concept.encode().ljust(32), concept=concept, parent="repo", dimension="type",
            role="user", agent=agent, said_at=at, state="done", outcome="inserted",
        )  # fmt: skip
        Observation.objects.filter(pk=row.pk).update(created_at=at)

    rows = operator.get(f"/admin/{path}/", query).context["cl"].result_list

    assert [str(row.concept) for row in rows] == found


def test_an_empty_list_says_what_would_be_here_and_a_filtered_one_offers_a_reset(operator: Client) -> None:
    shown = operator.get("/admin/memory/forgetrequest/").content.decode()
    filtered = operator.get("/admin/memory/edge/", {"agent": "nobody"}).content.decode()

    assert "What somebody asked to forget is set aside" in shown
    assert "No facts fit this search and these filters." in filtered


def test_a_list_is_called_as_in_the_menu(operator: Client) -> None:
    items = [item for section in MENU for item in section["items"]]
    lists = {str(item["link"]): item["title"] for item in items if str(item["link"]) != "/admin/"}

    titles = {path: operator.get(path).context.get("title") for path in lists}

    assert titles == lists


def test_the_menu_counts_what_needs_an_operator(operator: Client) -> None:
    Run.objects.create(trigger="schedule", mode="auto", status="failed")

    [first, *_] = operator.get("/admin/").context["sidebar_navigation"]

    badges = {item["title"]: item.get("badge") for item in first["items"] if item.get("badge")}
    assert badges == {"Conflicts": "2", "Runs": "1"}


def test_a_concept_is_found_with_its_facts(operator: Client) -> None:
    found = operator.get("/admin/memory/soas/", {"q": "thing7"}).content.decode()
    page = operator.get(f"/admin/memory/soas/{Soas.objects.get(token='thing7').pk}/change/").content.decode()

    assert "thing7" in found
    assert "thing8" not in found
    assert "repo" in page


def test_concepts_are_muted_and_unmuted_by_an_action(operator: Client) -> None:
    concept = Soas.objects.get(token="thing7")

    for action, muted in (("mute", True), ("unmute", False)):
        operator.post("/admin/memory/soas/", {"action": action, "_selected_action": [concept.pk]})
        concept.refresh_from_db()
        assert concept.is_muted is muted


def test_a_setting_is_changed_and_a_bad_value_refused(operator: Client) -> None:
    operator.post("/admin/memory/config/", {"shown-zero_hit_max": "1", "zero_hit_max": "2"})
    refused = operator.post("/admin/memory/config/", {"shown-zero_hit_max": "2", "zero_hit_max": "many"})

    assert "takes a whole number from 0 to 20" in refused.content.decode()
    assert Config.objects.get(key="zero_hit_max").value == "2"


def test_what_a_dimension_does_on_a_collision_is_for_operators_to_choose(operator: Client) -> None:
    dimension = Soas.objects.get(token="type").dimension
    path = f"/admin/memory/dimension/{dimension.pk}/change/"

    operator.post(path, {"question": dimension.question, "on_collision": "supersede"})
    refused = operator.post(path, {"question": dimension.question, "on_collision": "ignore"})

    dimension.refresh_from_db()
    assert (dimension.on_collision, refused.status_code) == ("supersede", 200)


def test_a_dimension_keeps_one_fact_again_only_while_no_concept_has_several(operator: Client) -> None:
    claim = dispute("kvasir ispart rust tech", "kvasir ispart lua tech")
    path = f"/admin/memory/dimension/{claim.dim_id}/change/"

    told = operator.post(path, {"question": "", "on_collision": "keep_all"}, follow=True).content.decode()
    refused = operator.post(path, {"question": "", "on_collision": "queue"}).content.decode()

    assert "1 claim that waited is placed" in told
    assert facts() >= {"kvasir ispart rust tech", "kvasir ispart lua tech"}
    assert "It holds several facts about kvasir (2): retire all but one of each first." in refused
    Edge.objects.get(parent__token="lua").delete()
    operator.post(path, {"question": "", "on_collision": "queue"})
    assert Dimension.objects.get(pk=claim.dim_id).on_collision == "queue"


def test_a_record_is_not_added_by_hand(operator: Client) -> None:
    records = ("memory/edge", "memory/edgehistory", "memory/evidence", "resolution/conflict", "resolution/decision",
               "resolution/run", "resolution/decidedtriple", "memory/soas", "proxy/recollectionevent",
               "proxy/loopevent")  # fmt: skip

    statuses = {path: operator.get(f"/admin/{path}/add/").status_code for path in records}

    assert statuses == dict.fromkeys(records, 403)


def test_a_fact_is_looked_at_and_not_edited(operator: Client) -> None:
    edge = Edge.objects.filter(concept__token="thing7").get()
    path = f"/admin/memory/edge/{edge.pk}/change/"

    assert operator.get(path).status_code == 200
    assert operator.post(path, {"confidence": "0.1"}).status_code == 403


def test_a_fact_is_retired_into_the_history_and_a_root_stays(operator: Client) -> None:
    edge = Edge.objects.filter(concept__token="thing7").get()
    root = Edge.objects.get(concept__token="type", dim__token="type")
    selected = {"action": "retire", "_selected_action": [edge.pk, root.pk]}

    page = operator.post("/admin/memory/edge/", selected, follow=True).content.decode()
    page_of_roots = operator.post("/admin/memory/edge/?flavour=root", selected, follow=True).content.decode()

    assert "1 retired." in page
    assert "0 retired. 1 skipped" in page_of_roots
    assert list(Edge.objects.filter(pk__in=[edge.pk, root.pk])) == [root]
    history = EdgeHistory.objects.get(action="retire")
    assert (history.actor, history.source, history.before["parent_id"]) == ("operator", "operator", edge.parent_id)


def test_a_viewer_cannot_retire(client: Client) -> None:
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_edge"))
    client.force_login(viewer)
    edge = Edge.objects.filter(concept__token="thing7").get()

    client.post("/admin/memory/edge/", {"action": "retire", "_selected_action": [edge.pk]})

    assert Edge.objects.filter(pk=edge.pk).exists()


def test_a_conflict_shows_both_sides(operator: Client) -> None:
    claim = Claim.objects.filter(concept__token="thing7").get()

    page = operator.get(claim.get_absolute_url()).content.decode()

    assert "repo" in page
    assert "container" in page


def test_evidence_is_found_by_its_concept(operator: Client) -> None:
    for i in (7, 8):
        concept = Soas.objects.get(token=f"thing{i}")
        Evidence.objects.create(concept=concept, sentence=f"so much for {i}.", role="user", agent="dobby")

    found = operator.get("/admin/memory/evidence/", {"q": "thing7"}).content.decode()

    assert "so much for 7." in found
    assert "so much for 8." not in found


def test_what_was_recalled_is_found_by_its_request_and_shown_as_it_was(operator: Client) -> None:
    found = operator.get("/admin/proxy/recollectionevent/", {"q": f"{7:016x}"}).content.decode()
    page = operator.get(f"/admin/proxy/recollectionevent/{7:016x}/change/").content.decode()

    assert f"{7:016x}" in found
    assert f"{8:016x}" not in found
    assert "&lt;recollection&gt;\nthing7: [type] repo\n&lt;/recollection&gt;</pre>" in page
    assert "&quot;thing7&quot;: &quot;recalled&quot;" in page
    assert operator.post(f"/admin/proxy/recollectionevent/{7:016x}/change/", {"agent": "x"}).status_code == 403


def test_what_was_done_about_a_loop_is_found_by_its_request(operator: Client) -> None:
    event = LoopEvent.objects.get(request=f"{7:016x}")

    found = operator.get("/admin/proxy/loopevent/", {"q": event.request}).content.decode()
    page = operator.get(f"/admin/proxy/loopevent/{event.pk}/change/").content.decode()

    assert "note, temperature" in found
    assert f"{8:016x}" not in found
    assert "open(&lt;7&gt;)\nclose(&lt;7&gt;)</pre>" in page
    assert operator.post(f"/admin/proxy/loopevent/{event.pk}/change/", {"count": "1"}).status_code == 403


def test_someone_without_an_account_gets_the_login_page(client: Client) -> None:
    answer = client.get("/admin/memory/soas/")

    assert (answer.status_code, answer.headers["Location"].startswith("/admin/login/")) == (302, True)
