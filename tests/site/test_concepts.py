"""Concepts, facts and their history in the admin, used like a person."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries

from memory.models import Dimension, Edge, EdgeHistory, Evidence, Memory, Soas, Source
from memory.running import bootstrap
from resolution.actors import Actor
from resolution.intake.place import Outcome
from resolution.models import Claim, Decision
from resolution.naming.merging import merge as merge_concepts
from resolution.naming.names import name_concept
from resolution.pages import concept_detail
from resolution.pages.concept_detail import MEMBERS_MAX
from tests import arrange
from tests.arrange import contest, settle
from tests.worlds import Login

pytestmark = pytest.mark.django_db

QUERIES_MAX = 15
SEES = ("view_soas", "view_edge", "view_edgehistory", "view_conflict", "view_decision", "view_dimension",
        "view_observation", "view_evidence", "view_memory")  # fmt: skip
DOES = ("add_edge", "delete_edge", "change_soas")


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_config()
    bootstrap.load_dimensions()
    say("gnommoweb isa repo type")
    say("gnommoweb ispart heimdall runs-on", agent="kreacher")
    say("gnommoweb isa container type", agent="winky")
    Evidence.objects.create(concept=concept(), sentence="gnommoweb is a <repo>.", role="user", agent="dobby")


def say(text: str, agent: str = "dobby") -> Outcome:
    subject, _, parent, _ = text.split()
    return arrange.teach(text, agent, evidence=f"{subject} is {parent}")


def concept(token: str = "gnommoweb") -> Soas:
    return Soas.objects.get(token=token)


def edge(token: str = "gnommoweb", dimension: str = "runs-on") -> Edge:
    return Edge.objects.get(concept__token=token, dim__token=dimension)


def person(name: str, *codenames: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return user


def logged_in(client: Client, name: str, *codenames: str) -> Client:
    client.force_login(person(name, *codenames))
    return client


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    return Login(person("hermione", *SEES, *DOES))


@pytest.fixture(scope="module")
def viewer_login(world: None) -> Login:
    return Login(person("colin", *SEES))


def page(client: Client, path: str, **query: str) -> str:
    answer = client.get(f"/admin/memory/{path}", query)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def concept_page(client: Client, token: str = "gnommoweb") -> str:
    return page(client, f"soas/{concept(token).pk}/change/")


def post(client: Client, path: str, **fields: str) -> tuple[str, str]:
    """Where it leads, and what is told there."""
    answer = client.post(f"/admin/memory/{path}", {"_form_submitted": "true", **fields})
    assert answer.status_code == 302, answer.status_code
    return answer.headers["Location"], told(answer)


def told(answer: HttpResponse) -> str:
    return " ".join(str(message) for message in get_messages(answer.wsgi_request))  # type: ignore[attr-defined]


def teach(client: Client, statement: str, token: str = "gnommoweb", **fields: str) -> tuple[str, str]:
    return post(client, f"soas/{concept(token).pk}/teach/", statement=statement, **fields)


# --- the page of a concept ---


def test_a_concepts_page_tells_its_facts_their_disputes_and_what_is_in_it(operator: Client) -> None:
    say("kvasir ispart gnommoweb membership")
    claim = Claim.objects.get()

    shown = concept_page(operator)

    assert f'/admin/memory/soas/{concept("repo").pk}/change/"><strong>repo</strong>' in shown
    assert f'href="/admin/resolution/conflict/{claim.conflict_id}/change/">? disputed' in shown
    assert f'/admin/memory/soas/{concept("kvasir").pk}/change/">kvasir</a>' in shown
    assert "stated: gnommoweb runs on heimdall" in shown
    assert "gnommoweb is a &lt;repo&gt;." in shown


def test_the_page_of_a_dimension_leads_to_its_policy_and_its_facts(operator: Client) -> None:
    shown = concept_page(operator, "type")

    assert f"/admin/memory/dimension/{concept('type').pk}/change/" in shown
    assert f"/admin/memory/edge/?dim__id__exact={concept('type').pk}" in shown
    assert "Facts in it: 1<" in shown


def test_of_much_that_is_in_a_concept_the_page_says_how_much_is_left_out(operator: Client) -> None:
    held = members(MEMBERS_MAX + 7)

    shown = concept_page(operator, "hub")

    assert "and 7 more" in shown
    listed = page(operator, "edge/", parent__id__exact=str(concept("hub").pk))
    assert f"{len(held)} results" in listed


def test_what_nobody_counts_is_called_more_than(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concept_detail, "COUNTED_MAX", MEMBERS_MAX + 5)
    members(MEMBERS_MAX + 6)

    assert "and more than 5 more" in concept_page(operator, "hub")


def test_the_pages_of_a_concept_take_few_queries_however_much_is_known(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concept_detail, "COUNTED_MAX", 250)
    members(300)  # more than any page shows, searches or counts
    history("hub", 60)
    key = concept("hub").pk

    for path in (f"soas/{key}/change/", f"soas/{key}/neighbourhood/?depth=2", "soas/?q=m1", "edge/", "edgehistory/",
                 f"edge/?parent__id__exact={key}", f"edgehistory/?concept__id__exact={key}", "edge/?disputed=yes",
                 f"edge/{edge().pk}/change/", "soas/?kind=disputed", "soas/?kind=unknown"):  # fmt: skip
        with django_assert_max_num_queries(QUERIES_MAX):
            assert operator.get(f"/admin/memory/{path}").status_code == 200


def test_a_concept_or_fact_that_is_not_there_is_said_not_to_exist(operator: Client) -> None:
    for path in ("soas/999999/change/", "soas/x/change/", f"soas/{10**30}/change/", f"soas/{'9' * 5_000}/change/",
                 "edge/999999/change/", f"edge/{10**30}/change/", f"edge/{'9' * 5_000}/change/"):  # fmt: skip
        answer = operator.get(f"/admin/memory/{path}")
        assert answer.status_code == 302
        assert "doesn’t exist" in told(answer)


def members(count: int) -> list[int]:
    """As a bulk load stores them."""
    Soas.objects.bulk_create(Soas(token=token) for token in ["hub", *(f"m{i}" for i in range(count))])
    ids = list(Soas.objects.filter(token__regex=r"^m\d+$").values_list("pk", flat=True))
    hub_id, dim_id = concept("hub").pk, Dimension.objects.get(soas__token="membership").pk
    Edge.objects.bulk_create(
        Edge(concept_id=pk, parent_id=hub_id, dim_id=dim_id, is_isa=False, source=Source.OPERATOR) for pk in ids
    )
    return ids


def history(token: str, count: int) -> None:
    key, dim_id = concept(token).pk, concept("type").pk
    picture = {"concept_id": key, "parent_id": dim_id, "dim_id": dim_id, "is_isa": True}
    EdgeHistory.objects.bulk_create(
        EdgeHistory(concept_id=key, dim_id=dim_id, action="retire", before=picture, actor="x", source=Source.OPERATOR)
        for _ in range(count)
    )


def timeline(shown: str) -> list[tuple[str, list[str]]]:
    """The events of a page, each with the addresses that it links to."""
    events = shown.partition('<ol class="fst-history">')[2].partition("</ol>")[0].split("<li>")[1:]
    told = [" ".join(re.sub("<[^>]*>", "", one).split()) for one in events]
    return list(zip(told, (re.findall('href="([^"]*)"', one) for one in events), strict=True))


def test_a_concepts_timeline_links_what_was_stated_contradicted_decided_and_merged(client: Client) -> None:
    client.force_login(User.objects.create_superuser("albus"))
    actor = Actor("hermione", Source.OPERATOR)
    Claim.objects.update(conversation=b"1" * 16)
    decision = arrange.update(Claim.objects.get().pk, actor, "it is one")
    say("gnw isa container type")
    merge_concepts("gnw", "gnommoweb", actor)
    merge, conflict = Decision.objects.latest("pk"), Claim.objects.get().get_absolute_url()

    told = timeline(concept_page(client))

    def event(words: str) -> list[str]:
        [found] = [links for text, links in told if text.startswith(words)]
        return found

    assert event("gnw became another name of gnommoweb just now, hermione") == [address(merge)]
    assert event("Accepted: gnommoweb is a container [type] just now, hermione: “it is one”") == [
        conflict,
        address(decision),
    ]
    opened, speaker, message = event("contradicted: gnommoweb [type]: repo or container just now, winky")
    assert (opened, speaker) == (conflict, "/admin/memory/agent/speaker/?agent=winky")
    assert message.startswith("/admin/proxy/recollectionevent/origin/?conversation=3131")
    assert (
        event("stated: gnommoweb runs on heimdall just now, kreacher")[1]
        == "/admin/memory/agent/speaker/?agent=kreacher"
    )


def address(row: Decision) -> str:
    return f"/admin/resolution/decision/{row.pk}/change/"


# --- the picture ---


def picture(client: Client, token: str, **query: str) -> Any:
    return client.get(f"/admin/memory/soas/{concept(token).pk}/neighbourhood/", query).json()


def test_the_picture_has_a_page_for_each_node_and_marks_what_is_disputed(operator: Client) -> None:
    found = picture(operator, "gnommoweb")

    tokens = {node["id"]: node["token"] for node in found["nodes"]}
    assert set(tokens.values()) == {"gnommoweb", "repo", "heimdall", "container"}
    assert all(operator.get(node["href"]).status_code == 200 for node in found["nodes"])
    claim = f"/admin/resolution/conflict/{Claim.objects.get().conflict_id}/change/"
    assert {(tokens[line["parent"]], line["is_isa"], line["stands"], line["conflict"]) for line in found["edges"]} == {
        ("repo", True, True, claim),
        ("container", True, False, claim),
        ("heimdall", False, True, None),
    }
    assert (found["left_out"], found["is_least"]) == (0, False)


@pytest.mark.parametrize("depth", ["0", "3", "x", ""])
def test_the_picture_reaches_one_step_or_two(operator: Client, depth: str) -> None:
    answer = operator.get(f"/admin/memory/soas/{concept().pk}/neighbourhood/", {"depth": depth})

    assert answer.status_code == 400


# --- teaching ---


def test_a_fact_is_taught_in_plain_words(operator: Client) -> None:
    leads_to, said = teach(operator, "is owned by Hermione")

    assert leads_to == f"/admin/memory/soas/{concept().pk}/change/"
    assert said == "Stored: gnommoweb is owned by hermione. It is recalled from the next prompt on."
    stored = edge(dimension="owned-by")
    assert (stored.source, stored.agent) == ("operator", "hermione")


def test_what_was_known_is_confirmed(operator: Client) -> None:
    assert teach(operator, "runs on heimdall")[1] == "Confirmed: gnommoweb runs on heimdall was known already."


def test_what_collides_leads_to_the_conflict(operator: Client) -> None:
    said = teach(operator, "runs on turing")[1]

    claim = Claim.objects.get(dim__token="runs-on")
    assert said.startswith("Not stored yet: gnommoweb runs on turing. It contradicts: gnommoweb runs on heimdall")
    assert f'href="{claim.get_absolute_url()}"' in said
    assert edge().parent.token == "heimdall"


def test_what_stands_against_it_is_replaced_with_one_click(client: Client) -> None:
    decider = logged_in(client, "severus", "view_soas", "view_edge", "view_conflict", "add_edge", "change_conflict")
    leads_to, said = teach(decider, "runs on turing")

    assert said.startswith('<form method="post"')
    action, fields = re.findall(r'action="([^"]*)"', said)[0], dict(re.findall(r'name="([^"]*)" value="([^"]*)"', said))
    answer = decider.post(action, fields, follow=True)

    assert answer.redirect_chain == [(leads_to, 302)]
    assert edge().parent.token == "turing"
    assert "Decided. Accepted “gnommoweb runs on turing”; superseded" in answer.content.decode()


def test_what_is_not_understood_is_told_and_kept_in_the_field(operator: Client) -> None:
    leads_to, said = teach(operator, 'no "fact" at all')

    assert said.startswith("Nothing was stored. No fact was found in")
    assert 'value="no &quot;fact&quot; at all"' in operator.get(leads_to).content.decode()


def test_a_statement_about_another_concept_is_refused(operator: Client) -> None:
    said = teach(operator, "heimdall is a server")[1]

    assert said.startswith("Nothing was stored. That is about heimdall, not about gnommoweb")
    assert not Edge.objects.filter(concept__token="heimdall").exists()


def test_what_cannot_be_is_told_with_its_reason(operator: Client) -> None:
    leads_to, said = teach(operator, "-isa thing [owned-by]", token="owned-by", next="/admin/")

    assert "Nothing was stored." in said
    assert leads_to.startswith("/admin/?concept=")


def test_teaching_leads_back_to_where_it_was_asked_for_on_this_site_only(operator: Client) -> None:
    assert teach(operator, "runs on heimdall", next="/admin/?a=b")[0] == "/admin/?a=b"
    assert teach(operator, "runs on heimdall", next="https://evil.example/")[0].startswith("/admin/memory/soas/")


# --- retiring, and putting back ---


def retire(client: Client, key: int, reason: str = "") -> tuple[str, str]:
    """Send the dialog of the fact's page."""
    return post(client, f"edge/{key}/retire/", reason=reason)


def test_a_fact_is_retired_and_put_back_by_the_button_in_the_message(operator: Client) -> None:
    key = edge().pk
    before = Edge.objects.filter(pk=key).values("parent_id", "confidence", "agent", "last_confirmed").get()

    leads_to, said = retire(operator, key, reason="it has moved")
    row = EdgeHistory.objects.get(action="retire")
    button = re.search(r'action="/admin/memory/(edgehistory/\d+/put-back/)"', said)
    assert (row.actor, row.reason, Edge.objects.filter(pk=key).exists()) == ("hermione", "it has moved", False)
    assert button is not None
    assert "csrfmiddlewaretoken" in said

    back_at, said = post(operator, button[1], next=leads_to)

    assert back_at == leads_to == f"/admin/memory/soas/{concept().pk}/change/"
    assert "gnommoweb runs on heimdall</a> is current again." in said
    assert Edge.objects.filter(pk=edge().pk).values(*before).get() == before


def test_what_cannot_be_put_back_is_told_with_the_reason(operator: Client) -> None:
    retire(operator, edge().pk)
    row = EdgeHistory.objects.get(action="retire")
    teach(operator, "runs on turing")

    said = post(operator, f"edgehistory/{row.pk}/put-back/")[1]  # after what was told before

    assert "Nothing was put back. It cannot be put back" in said
    assert said.endswith("its place is taken: gnommoweb runs on turing.")


def test_the_history_offers_to_put_back_only_what_has_a_free_place(operator: Client) -> None:
    retire(operator, edge().pk)
    row = EdgeHistory.objects.get(action="retire")

    assert f'hx-get="/admin/memory/edgehistory/{row.pk}/put-back/' in page(operator, "edgehistory/")
    assert f"/admin/memory/edgehistory/{row.pk}/put-back/" in concept_page(operator)
    teach(operator, "runs on turing")
    assert "/put-back/" not in page(operator, "edgehistory/")
    assert "/put-back/" not in concept_page(operator)


def test_where_a_dimension_keeps_all_a_fact_can_be_put_back_beside_others(operator: Client) -> None:
    for name in ("redis", "nginx"):
        say(f"gnommoweb ispart {name} uses")
    retire(operator, Edge.objects.get(parent__token="redis", dim__token="uses").pk)
    row = EdgeHistory.objects.get(action="retire")

    assert f'hx-get="/admin/memory/edgehistory/{row.pk}/put-back/' in page(operator, "edgehistory/")
    assert f"/admin/memory/edgehistory/{row.pk}/put-back/" in concept_page(operator)


def test_a_root_is_not_retired(operator: Client) -> None:
    said = retire(operator, edge("type", "type").pk)[1]

    assert said == "Nothing was retired: a dimension's root stays."
    assert Edge.objects.filter(concept__token="type", dim__token="type").exists()


def test_a_fact_that_has_gone_is_not_retired_again(operator: Client) -> None:
    key = edge().pk
    retire(operator, key)

    assert retire(operator, key)[1].endswith("Nothing was retired: that fact is no longer current.")
    assert EdgeHistory.objects.filter(action="retire").count() == 1


# --- the marks ---


def mark(client: Client, name: str, to: str) -> None:
    post(client, "soas/marks/", mark=name, to=to, keys=str(concept().pk))


def test_a_concept_is_muted_and_unmuted(operator: Client) -> None:
    for value, is_muted in (("true", True), ("false", False)):
        mark(operator, "muted", value)
        assert concept().is_muted is is_muted


def test_a_name_that_became_a_dictionary_word_is_salient_no_more(operator: Client) -> None:
    Soas.objects.filter(pk=concept().pk).update(encounter_count=100, saliency=2.0)

    mark(operator, "common", "true")
    assert (concept().is_common, concept().saliency) == (True, 0.0)
    mark(operator, "common", "false")
    assert (concept().is_common, concept().saliency) == (False, 2.0)


# --- lists ---


def found(client: Client, path: str, **query: str) -> set[str]:
    """The concepts that a list shows."""
    shown = client.get(f"/admin/memory/{path}/", query).content.decode()
    return set(re.findall(r"/memory/soas/\d+/change/[^>]*>\s*([^<\s]+)\s*<", shown))


def test_teaching_a_muted_word_says_when_it_is_recalled(operator: Client) -> None:
    Soas.objects.filter(token="heimdall").update(is_muted=True)

    told = operator.post(
        f"/admin/memory/soas/{concept('heimdall').pk}/teach/", {"statement": "is a server"}, follow=True
    ).content.decode()

    assert "Stored: heimdall is a server [type]. It is recalled once it is no longer muted." in told


def test_a_concept_is_found_by_how_it_begins_and_by_its_parts(operator: Client) -> None:
    say("glitch_university isa school type")

    assert found(operator, "soas", q="gnomm") == {"gnommoweb"}
    assert found(operator, "soas", q="Glitch Uni") == {"glitch_university"}
    assert found(operator, "soas", q="Univers") == {"glitch_university"}
    assert found(operator, "soas", q="web") == set()
    assert found(operator, "soas", q="_") == set()


def test_dictionary_words_are_left_out_until_they_are_asked_for(operator: Client) -> None:
    Soas.objects.filter(token="repo").update(is_common=True)

    assert "repo" not in found(operator, "soas")
    assert found(operator, "soas", kind="common") == {"repo"}
    assert found(operator, "soas", q="rep") == {"repo"}


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [("known", {"gnommoweb"}), ("disputed", {"gnommoweb"}), ("muted", {"heimdall"})],
)
def test_concepts_are_filtered_by_kind(operator: Client, kind: str, tokens: set[str]) -> None:
    Soas.objects.filter(token="heimdall").update(is_muted=True)

    assert found(operator, "soas", kind=kind) == tokens


def test_a_concept_without_facts_about_it_is_unknown(operator: Client) -> None:
    Soas.objects.create(token="mystery")

    tokens = found(operator, "soas", kind="unknown")

    assert "mystery" in tokens
    assert "gnommoweb" not in tokens


def test_facts_are_found_by_how_the_concept_or_what_it_is_in_begins(operator: Client) -> None:
    say("kvasir isa service type")

    assert found(operator, "edge", q="kvas") == {"kvasir", "service", "type"}
    assert found(operator, "edge", q="serv") == {"kvasir", "service", "type"}
    assert found(operator, "edge", q="asir") == set()

    say("dobby isa house-elf type")
    assert found(operator, "edge", q="elf") == {"dobby", "house-elf", "type"}


def test_facts_are_filtered_by_dispute_dimension_and_kind(operator: Client) -> None:
    runs_on = str(concept("runs-on").pk)

    assert found(operator, "edge", disputed="yes") == {"gnommoweb", "repo", "type"}
    assert found(operator, "edge", dim__id__exact=runs_on, flavour="ispart") == {"gnommoweb", "heimdall"}
    assert found(operator, "edge", flavour="isa") == {"gnommoweb", "repo", "type"}
    assert "heimdall" not in found(operator, "edge", flavour="root")


def test_a_fact_that_another_layer_disputes_is_marked(operator: Client) -> None:
    say("mimir isa desktop type")
    edge = Edge.objects.get(concept__token="mimir")
    conflict = contest("cross_layer", [settle("mimir_type", "server"), edge])

    assert "mimir" in found(operator, "edge", disputed="yes")
    assert f"/admin/resolution/conflict/{conflict.pk}/change/" in page(operator, "edge/")


def test_a_facts_page_tells_who_said_it_and_what_it_collided_with(operator: Client) -> None:
    say("gnommoweb isa repo type", agent="luna")

    shown = page(operator, f"edge/{edge(dimension='type').pk}/change/")

    assert ">luna</a></td>" in shown
    assert "confirmed: gnommoweb is a repo [type]" in shown
    assert "gnommoweb [type]: repo or container" in shown


def test_the_history_is_told_in_words(operator: Client) -> None:
    row = EdgeHistory.objects.get(concept__token="gnommoweb", dim__token="runs-on")

    assert "stated: gnommoweb runs on heimdall" in page(operator, "edgehistory/")
    assert "stated: gnommoweb runs on heimdall" in page(operator, f"edgehistory/{row.pk}/change/")


# --- permissions ---


CHANGES: list[Callable[[], str]] = [
    lambda: f"soas/{concept().pk}/teach/",
    lambda: "soas/marks/",
    lambda: f"edge/{edge().pk}/retire/",
    lambda: f"edgehistory/{EdgeHistory.objects.earliest('pk').pk}/put-back/",
]


@pytest.mark.parametrize("path", CHANGES)
def test_a_viewer_changes_nothing(viewer: Client, path: Callable[[], str]) -> None:
    mark = {"mark": "muted", "to": "true", "keys": concept().pk}
    answer = viewer.post(f"/admin/memory/{path()}", {"statement": "is owned by me", "_form_submitted": "true", **mark})

    assert answer.status_code == 403
    assert (Edge.objects.filter(concept=concept()).count(), concept().is_muted) == (2, False)


def test_nothing_is_posted_to_the_page_of_a_concept_or_a_fact(operator: Client) -> None:
    for path in (f"soas/{concept().pk}/change/", f"edge/{edge().pk}/change/"):
        assert operator.post(f"/admin/memory/{path}", {"is_muted": "on"}).status_code == 403


@pytest.mark.parametrize("path", CHANGES)
def test_nothing_is_changed_by_looking(operator: Client, path: Callable[[], str]) -> None:
    changes = EdgeHistory.objects.count()

    operator.get(f"/admin/memory/{path()}")

    assert (EdgeHistory.objects.count(), concept().is_muted) == (changes, False)


def test_a_viewer_is_offered_no_button(viewer: Client) -> None:
    assert 'method="post"' not in concept_page(viewer).partition('id="content"')[2]
    assert "Retire" not in page(viewer, f"edge/{edge().pk}/change/")


def test_a_fact_is_retired_from_its_page_and_its_concept_s_but_no_root(operator: Client) -> None:
    asked = f"/admin/memory/edge/{edge().pk}/retire/"

    assert asked in page(operator, f"edge/{edge().pk}/change/")
    assert asked in concept_page(operator)
    assert "It is no longer recalled" in operator.get(asked).content.decode()
    root = edge("type", "type").pk
    assert f"edge/{root}/retire/" not in page(operator, f"edge/{root}/change/")


def test_a_concepts_page_without_a_right_shows_nothing_of_what_it_is_for(client: Client) -> None:
    told = {
        "view_edge": ("<strong>repo</strong>", 'id="fst-neighbourhood"', "concept.js"),
        "view_edgehistory": ("stated: gnommoweb runs on heimdall",),
        "view_evidence": ("gnommoweb is a &lt;repo&gt;.", 'id="fst-evidence"'),
        "view_conflict": ("/admin/resolution/conflict/", "disputed", "repo or container"),
        "view_memory": ("Gnommoweb was moved.", 'id="fst-memories"'),
    }
    Memory.objects.create(text="Gnommoweb was moved.", agent="dobby", source="operator")

    for right, texts in told.items():
        shown = content(logged_in(client, f"with {right}", "view_soas", right), f"soas/{concept().pk}/change/")
        others = [text for name, theirs in told.items() if name != right for text in theirs]
        assert [text for text in texts if text not in shown] == []
        assert [text for text in others if text in shown] == []


def test_of_what_is_not_shown_no_table_is_read(client: Client) -> None:
    filch = logged_in(client, "filch", "view_soas")

    with CaptureQueriesContext(connection) as captured:
        shown = concept_page(filch)

    asked = " ".join(query["sql"] for query in captured)
    assert [
        table for table in ("urd", "evidence", "edge_history", "resolution_queue", '"memory"') if table in asked
    ] == []
    assert "unknown</span>" not in shown


def test_a_concepts_page_shows_the_memories_that_name_it_in_any_of_its_names(operator: Client) -> None:
    say("glitch_university isa university type", "dobby")
    name_concept("glitchy", "glitch_university", Actor("hermione", Source.OPERATOR).attribute(""))
    named = ["The Glitch University moved.", "We love glitch_university's food.", "Ask glitchy first."]
    others = ["A universal glitch.", "The glitch is at the university."]
    for text in (*named, *others):
        Memory.objects.create(text=text, agent="dobby", source="operator")
    gone = {"status": "invalid", "archived_at": timezone.now()}
    Memory.objects.create(text="Glitch University is gone.", agent="dobby", source="operator", **gone)

    shown = concept_page(operator, "glitch_university").partition('id="fst-memories"')[2].partition("</section>")[0]

    assert [text for text in (*named, *others, "is gone") if escape(text) in shown] == named
    assert f'href="/admin/memory/memory/{Memory.objects.get(text=named[0]).pk}/change/"' in shown


def test_a_facts_page_without_a_right_shows_nothing_of_what_it_is_for(client: Client) -> None:
    path = f"edge/{edge(dimension='type').pk}/change/"
    of_history, of_conflicts = (">dobby</a></td>", "stated: gnommoweb is a repo"), ("repo or container", "disputed")

    seen = {
        rights: content(logged_in(client, f"with {rights}", "view_edge", *rights), path)
        for rights in ((), ("view_edgehistory",), ("view_conflict",))
    }

    assert [text for text in (*of_history, *of_conflicts) if text in seen[()]] == []
    assert [text in seen["view_edgehistory",] for text in (*of_history, *of_conflicts)] == [True, True, False, False]
    assert [text in seen["view_conflict",] for text in (*of_history, *of_conflicts)] == [False, False, True, True]


def test_without_the_right_to_look_at_conflicts_no_list_and_no_picture_names_one(client: Client) -> None:
    filch = logged_in(client, "filch", "view_soas", "view_edge")

    drawn = picture(filch, "gnommoweb")
    assert "container" not in {node["token"] for node in drawn["nodes"]}
    assert {(line["stands"], line["conflict"]) for line in drawn["edges"]} == {(True, None)}
    assert "/admin/resolution/conflict/" not in content(filch, "edge/")
    assert found(filch, "edge", disputed="yes") == found(filch, "edge")
    assert found(filch, "soas", kind="disputed") == found(filch, "soas")


def content(client: Client, path: str) -> str:
    """A page without what is around it, the same on all."""
    head, _, body = page(client, path).partition("</head>")
    return head + body.partition('id="content"')[2]


def test_without_permission_to_look_nothing_is_shown(client: Client) -> None:
    someone = logged_in(client, "filch", "view_edge")

    assert someone.get(f"/admin/memory/soas/{concept().pk}/change/").status_code == 403
    assert someone.get(f"/admin/memory/soas/{concept().pk}/neighbourhood/").status_code == 403
