"""Candidates on the desk: the same list, page, keys and undo as conflicts."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from memory.models import Soas
from memory.running import bootstrap
from resolution.models import Candidate, Decision
from tests.arrange import facts, say, teach
from tests.site.test_desk import PAGE_QUERIES, content, person, press, text
from tests.worlds import Login

pytestmark = pytest.mark.django_db

LIST = "/admin/resolution/candidate/"
MAY = ("view_candidate", "change_candidate", "change_conflict", "view_decision", "change_soas")


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_config()
    bootstrap.load_dimensions()


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    return Login(person("hermione", *MAY))


def quoted(fact: str) -> Candidate:
    """A page states the fact."""
    say(fact, role="tool", evidence="So says the page.")
    return Candidate.objects.latest("pk")


def decide(client: Client, row: Candidate, decision: str, **fields: str) -> Any:
    """From the candidate's page, as it is now."""
    seen = re.search(r'name="seen" value="([^"]*)"', content(client.get(row.get_absolute_url())))
    assert seen is not None
    sent = {"seen": unescape(seen[1]), "decision": decision, **fields}
    return client.post(f"{LIST}{row.pk}/decide/", sent, follow=True)


def state(row: Candidate) -> str:
    row.refresh_from_db()
    return row.state


def test_a_row_says_who_said_it_why_it_waits_and_what_it_contradicts(operator: Client) -> None:
    teach("skadi ispart tyr-1 runs-on")
    quoted("skadi ispart mars runs-on")

    shown = text(operator.get(LIST))

    assert "skadi runs on mars" in shown
    assert "said “So says the page.” — dobby, just now, 80 %" in shown
    assert "reason quoted from a page, tool or mail" in shown
    assert "contradicts skadi runs on tyr-1" in shown


def test_the_words_of_a_known_person_name_who_said_them(operator: Client) -> None:
    for_ada = {"for_speaker": "webui", "for_person": "ada", "voices": [["webui", "unsure"]]}
    row = Candidate.objects.create(
        concept="skadi", parent="virus", dimension="type", is_isa=True, channel="unsure", confidence=0.4, **for_ada
    )

    for address in (LIST, row.get_absolute_url()):
        shown = text(operator.get(address))
        assert "speaker-only said by ada (webui) , visible to nobody else" in shown
        assert "— ada (webui), just now, 40 %" in shown or "Said by ada (webui)" in shown


@pytest.mark.parametrize(("decision", "became", "left"), [("accept", "promoted", 1), ("dismiss", "dismissed", 0)])
def test_one_is_decided_with_a_reason_undone_and_the_next_one_opens(
    operator: Client, decision: str, became: str, left: int
) -> None:
    other, row = quoted("mimir isa repo type"), quoted("kvasir isa repo type")

    answer = decide(operator, row, decision, reason="I asked")

    done = {"accept": "Accepted", "dismiss": "Dismissed"}[decision]
    assert f"Decided. {done} “kvasir is a repo [type]”. Undo" in text(answer)
    assert answer.redirect_chain[-1][0] == other.get_absolute_url()
    assert (state(row), len(facts()), Decision.objects.get().reason) == (became, left, "I asked")

    undone = press(operator, answer, "Undo")

    assert undone.redirect_chain[-1][0] == row.get_absolute_url()
    assert (state(row), facts()) == ("open", set())


def test_one_that_contradicts_a_fact_becomes_a_conflict_and_says_so(operator: Client) -> None:
    teach("skadi isa repo type")

    answer = decide(operator, quoted("skadi isa container type"), "accept", then="list")

    decision = Decision.objects.get()
    assert f"which opened conflict {decision.arguments['conflict']}. Undo" in text(answer)


def select_all(client: Client) -> dict[str, list[str]]:
    listed = content(client.get(LIST))
    return {name: re.findall(rf'name="{name}" value="([^"]+)"', listed) for name in ("_selected_action", "seen")}


@pytest.mark.parametrize(
    ("action", "told", "became", "is_muted"),
    [
        ("accept", "2 accepted.", "promoted", False),
        ("dismiss", "2 dismissed.", "dismissed", False),
        ("mute", "2 dismissed.", "dismissed", True),
    ],
)
def test_several_are_decided_at_once_and_undone_together(
    operator: Client, action: str, told: str, became: str, is_muted: bool
) -> None:
    for word in ("kvasir", "mimir"):
        Soas.objects.get_or_create(token=word)
    rows = [quoted("kvasir isa repo type"), quoted("mimir isa repo type")]

    answer = operator.post(LIST, {**select_all(operator), "action": action, "reason": "spring"}, follow=True)

    assert told in text(answer)
    assert [state(row) for row in rows] == [became, became]
    assert set(Decision.objects.values_list("reason", flat=True)) == {"spring"}
    assert set(Soas.objects.filter(token__in=["kvasir", "mimir"]).values_list("is_muted", flat=True)) == {is_muted}

    press(operator, answer, "Undo all")

    assert [state(row) for row in rows] == ["open", "open"]


def test_what_was_decided_or_has_changed_since_it_was_shown_is_not_decided(operator: Client) -> None:
    first, second = quoted("kvasir isa repo type"), quoted("mimir isa repo type")
    chosen = select_all(operator)
    decide(operator, first, "dismiss")
    teach("mimir isa virus type")

    answer = operator.post(LIST, {**chosen, "action": "accept"}, follow=True)

    assert "2 skipped:" in text(answer)
    assert f"Candidate {first.pk} was already dismissed by hermione." in text(answer)
    assert f"Candidate {second.pk} has changed meanwhile." in text(answer)
    assert state(second) == "open"


def test_what_cannot_be_a_fact_still_waits_and_says_why(operator: Client) -> None:
    row = quoted("kvasir isa repo type")
    Candidate.objects.update(parent="kvasir")

    answer = decide(operator, row, "accept")

    assert f"Nothing was decided. Candidate {row.pk} cannot be a fact:" in text(answer)
    assert (state(row), Decision.objects.count()) == ("open", 0)


def test_who_may_not_undo_conflicts_is_offered_no_undo_and_a_viewer_no_decision(client: Client) -> None:
    row = quoted("kvasir isa repo type")
    client.force_login(person("vera", "view_candidate"))
    assert 'name="decision"' not in content(client.get(LIST)) + content(client.get(row.get_absolute_url()))
    assert client.post(f"{LIST}{row.pk}/decide/", {"decision": "accept"}).status_code == 403

    client.force_login(person("ron", "view_candidate", "change_candidate"))
    assert 'class="fst-button desk-undo"' not in content(decide(client, row, "dismiss"))


def test_the_list_and_a_page_take_few_queries(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(8):
        teach(f"thing{number} isa repo type")
        quoted(f"thing{number} isa virus type")

    with django_assert_max_num_queries(PAGE_QUERIES):
        assert "thing7 is a virus" in content(operator.get(LIST))
    with django_assert_max_num_queries(PAGE_QUERIES):
        operator.get(Candidate.objects.latest("pk").get_absolute_url())
