"""What an action takes when all rows of a list are chosen, also those of other pages; and where links of lists lead."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from memory.admin import base
from memory.models import Edge, EdgeHistory, Memory, Observation, Soas, Source
from memory.running import bootstrap
from memory.types import TripleIds, whole_number
from resolution.actors import Actor
from resolution.conflicts import rulings
from resolution.intake import quotas, retirement
from resolution.models import Claim, Conflict
from resolution.pages.concept_detail import CONFLICTS_MAX
from tests.arrange import configure, dismiss, remember, teach
from tests.worlds import Login

pytestmark = pytest.mark.django_db

MAX = 3


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_config()
    bootstrap.load_dimensions()


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "ACTION_MAX", MAX)


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    return Login(User.objects.create_superuser("hermione"))


def take_all(client: Client, place: str, action: str, some: Any, **query: str) -> str:
    """Chooses one row, and then all of all pages; what is told."""
    chosen = {"action": action, "_selected_action": str(some.pk), "select_across": "1"}
    answer = client.post(f"/admin/memory/{place}/", chosen, query_params=query)
    assert answer.status_code == 302
    return [str(message) for message in get_messages(answer.wsgi_request)][-1]


def facts() -> list[Edge]:
    return [edge for edge in Edge.objects.all() if not edge.is_root]


def test_of_many_facts_so_many_are_retired_and_the_rest_when_it_is_done_again(operator: Client) -> None:
    for i in range(MAX + 2):
        teach(f"thing{i} isa repo type")

    first = take_all(operator, "edge", "retire", facts()[0], flavour="isa")
    left = facts()
    second = take_all(operator, "edge", "retire", left[0], flavour="isa")

    assert len(left) == 2
    assert ">3 retired. Only 3 rows are processed at a time; repeat for the rest.<" in first
    assert (">2 retired.<" in second, facts()) == (True, [])


def test_the_message_about_retired_facts_puts_them_back_except_where_others_have_their_place(operator: Client) -> None:
    for i in range(MAX):
        teach(f"thing{i} isa repo type")
    told = take_all(operator, "edge", "retire", facts()[0], flavour="isa")
    teach("thing1 isa container type", "winky")

    address, fields = read_form(told)
    answer = operator.post(address, fields, follow=True)

    assert answer.redirect_chain == [("/admin/memory/edge/?flavour=isa", 302)]
    assert {str(fact) for fact in facts()} == {
        "thing0 is a repo [type]", "thing1 is a container [type]", "thing2 is a repo [type]"
    }  # fmt: skip
    refused, back = [str(message) for message in answer.context["messages"]][-2:]
    assert back == "2 put back."
    assert refused.startswith("1 not put back. It cannot be put back, because its place is taken")


def test_what_there_was_no_time_to_put_back_is_offered_again(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    teach("thing isa repo type")
    address, fields = read_form(take_all(operator, "edge", "retire", facts()[0], flavour="isa"))

    monkeypatch.setattr("resolution.admin.facts.UNDOING_S", 0.0)
    answer = operator.post(address, fields, follow=True)

    offered = [str(message) for message in answer.context["messages"]][-1]
    assert (facts(), ">0 put back, 1 still to do.<" in offered) == ([], True)
    assert read_form(offered)[1]["rows"] == fields["rows"]


@pytest.mark.parametrize(
    ("action", "status", "became"),
    [("promote_them", "candidate", "active"), ("deprecate_them", "active", "deprecated"),
     ("take_them_back", "candidate", "invalid"), ("restore_them", "invalid", "active")],
)  # fmt: skip
def test_the_message_about_memories_undoes_what_was_done_to_them(
    operator: Client, action: str, status: str, became: str
) -> None:
    archived = timezone.now() if status == "invalid" else None
    rows = [remember(f"The gate {number} is open.") for number in range(2)]
    Memory.objects.update(status=status, archived_at=archived, confidence=0.4)
    before = list(Memory.objects.order_by("pk").values_list("status", "confidence"))

    told = take_all(operator, "memory", action, rows[0], status="all")
    assert set(Memory.objects.values_list("status", flat=True)) == {became}
    address, fields = read_form(told)
    operator.post(address, fields)

    assert list(Memory.objects.order_by("pk").values_list("status", "confidence")) == before


def read_form(message: str) -> tuple[str, dict[str, str]]:
    """The address and the fields of the button in a message."""
    [address] = re.findall(r'action="([^"]*)"', message)
    return address, {name: unescape(value) for name, value in re.findall(r'name="([^"]*)" value="([^"]*)"', message)}


def test_all_facts_of_the_list_are_retired_and_no_root(operator: Client) -> None:
    teach("thing isa repo type")
    root = Edge.objects.get(concept__token="type")

    told = take_all(operator, "edge", "retire", facts()[0])
    told_of_roots = take_all(operator, "edge", "retire", root, flavour="root")

    assert ">1 retired.<" in told
    assert told_of_roots == "0 retired. 3 skipped: a dimension's root stays."
    assert facts() == []


def test_what_fails_late_leaves_retired_what_was_retired_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retirement, "PORTION", 2)
    for i in range(5):
        teach(f"thing{i} isa repo type")
    remember, last = rulings.remember, facts()[-1]

    def fail(agents: dict[TripleIds, set[str]], *args: Any) -> None:
        if any(ids.concept_id == last.concept_id for ids in agents):
            raise RuntimeError
        remember(agents, *args)

    monkeypatch.setattr(rulings, "remember", fail)
    with pytest.raises(RuntimeError):
        retirement.retire(facts(), actor="hermione", reason="")

    assert facts() == [last]
    assert EdgeHistory.objects.filter(action="retire").count() == 4


def test_so_many_concepts_are_muted_and_unmuted_at_once(operator: Client) -> None:
    Soas.objects.all().update(is_common=True)
    words = Soas.objects.bulk_create(Soas(token=f"word{i}") for i in range(MAX + 1))
    more = ". Only 3 rows are processed at a time; repeat for the rest."

    assert f"3 muted: word0, word1, word2{more}" in take_all(operator, "soas", "mute", words[0])
    assert "1 muted: word3." in take_all(operator, "soas", "mute", words[0])
    assert f"3 no longer muted: word0, word1, word2{more}" in take_all(operator, "soas", "unmute", words[0])
    assert Soas.objects.filter(is_muted=True).count() == 1


def test_so_many_concepts_become_common_words_and_names_again(operator: Client) -> None:
    Soas.objects.all().update(is_common=True)
    words = Soas.objects.bulk_create(Soas(token=f"word{i}", encounter_count=100, saliency=2.0) for i in range(2))

    assert "2 common words now: word0, word1." in take_all(operator, "soas", "mark_common", words[0])
    assert set(Soas.objects.filter(token__startswith="word").values_list("saliency", flat=True)) == {0.0}

    keys = ",".join(str(word.pk) for word in words)
    told = operator.post("/admin/memory/soas/marks/", {"mark": "common", "to": "false", "keys": keys}, follow=True)
    assert "2 names now: word0, word1." in told.content.decode()
    assert set(Soas.objects.filter(token__startswith="word").values_list("saliency", flat=True)) == {2.0}


def test_of_many_observations_so_many_are_tried_again(operator: Client) -> None:
    rows = [
        Observation(
            kind="concept", concept=f"thing{i}", digest=b"0" * 32, role="user", agent="dobby", state="failed",
            said_at=timezone.now(),
        )
        for i in range(MAX + 1)
    ]  # fmt: skip
    rows = Observation.objects.bulk_create(rows)

    told = take_all(operator, "observation", "try_again", rows[0])
    take_all(operator, "observation", "try_again", rows[0])

    assert (
        told
        == "3 wait again, a worker takes them within seconds. Only 3 rows are processed at a time; repeat for the rest."
    )
    assert not Observation.objects.filter(state="failed").exists()


@pytest.mark.parametrize("dimension", ["type", "kept+by", "o'brien"])
def test_the_count_of_open_conflicts_leads_to_exactly_these(operator: Client, dimension: str) -> None:
    for name, place in (("thing", dimension), ("other", "runs-on")):
        for parent in ("repo", "container", "tool"):
            teach(f"{name} {'isa' if place == 'type' else 'ispart'} {parent} {place}")
    wanted = set(Claim.objects.filter(dim__token=dimension).values_list("conflict", flat=True))

    dimensions = operator.get("/admin/memory/dimension/").content.decode()
    [row] = [row for row in dimensions.split("<tr") if f">{escape(dimension)}</a>" in row]
    [(address, count)] = re.findall(r'href="(/admin/resolution/conflict/[^"]*)"[^>]*>(\d+)</a>', row)

    assert count == str(len(wanted)) == "1"
    assert listed(operator, address) == wanted


def test_all_conflicts_about_a_concept_are_those_that_are_decided_too(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(quota_conflicts_per_hour=1_000)
    monkeypatch.setattr(quotas, "CONFLICT_MEMBERS_MAX", 1_000)
    for i in range(CONFLICTS_MAX + 2):
        teach(f"thing isa parent{i} type")
    dismiss(Claim.objects.latest("pk").pk, Actor("hermione", Source.OPERATOR), "")
    key = Soas.objects.get(token="thing").pk

    shown = operator.get(f"/admin/memory/soas/{key}/change/").content.decode()
    [address] = re.findall(r'href="([^"]*)">All conflicts about it', shown)

    assert listed(operator, unescape(address)) == set(Conflict.objects.values_list("pk", flat=True))


def listed(client: Client, address: str) -> set[int]:
    """The conflicts on the desk's page."""
    shown = client.get(address).content.decode()
    return set(map(int, re.findall(r"/admin/resolution/conflict/(\d+)/change/", shown)))


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", "²", "٣", "9" * 19, "9" * 5_000, "1\n"])
def test_a_text_that_is_no_number_of_a_row_names_none(text: str) -> None:
    assert whole_number(text) is None


def test_a_number_of_a_row_has_up_to_18_digits() -> None:
    assert (whole_number("7"), whole_number("9" * 18)) == (7, 10**18 - 1)
