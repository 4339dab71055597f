"""The conflicts desk, used like a person: what is pressed, what happens, and what is said about it."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory.models import Source
from memory.running import bootstrap
from resolution.actors import Actor
from resolution.admin.conflicts import ConflictAdmin
from resolution.conflicts import undo
from resolution.models import Claim, Decision, Run
from resolution.pages.conflicts import read_seen
from tests.arrange import OPERATOR, dismiss, dispute, dispute_by_forgetting, facts, say, status, update
from tests.worlds import Login

pytestmark = pytest.mark.django_db

PAGE_QUERIES = 15
LIST = "/admin/resolution/conflict/"
SENT = {"_form_submitted": "true"}  # a dialog's form
TYPE = "claims__collision_type__exact"


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_config()
    bootstrap.load_dimensions()


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    """No superuser: what they may do, and its queries, are those of an operator."""
    return Login(person("hermione", "view_conflict", "view_decision", "view_run", "change_conflict"))


def person(name: str, *permissions: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def kinds(concept: str = "gnommoweb") -> Claim:
    return dispute(f"{concept} isa repo type", f"{concept} isa container type")


def places(concept: str = "kvasir") -> Claim:
    return dispute(f"{concept} ispart turing runs-on", f"{concept} ispart bohr runs-on")


def mixed(concept: str = "sleipnir") -> Claim:
    return dispute(f"{concept} isa horse role", f"{concept} ispart stable role")


def ring(name: str = "part") -> Claim:
    say(f"alpha-{name} ispart beta-{name} membership")
    claim = say(f"beta-{name} ispart alpha-{name} membership", "winky").claim
    assert claim is not None
    return claim


def page_of(claim: Claim) -> str:
    return claim.get_absolute_url()


def content(answer: Any) -> str:
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == 200
    return answer.content.decode()


def text(answer: Any) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", content(answer))).split())


def seen_on(client: Client, claim: Claim) -> str:
    """Return what the conflict's page says was seen."""
    found = re.search(r'name="seen" value="([^"]*)"', content(client.get(page_of(claim))))
    assert found is not None
    return unescape(found[1])


def decide(client: Client, claim: Claim, decision: str, query: str = "", **fields: str) -> Any:
    """From the conflict's page, as it is now; ``update`` is its button for the claim."""
    decision = f"claim:{claim.pk}" if decision == "update" else decision
    sent = {"seen": seen_on(client, claim), "decision": decision, **fields}
    return client.post(f"{LIST}{claim.conflict_id}/decide/{query}", sent, follow=True)


def press(client: Client, answer: Any, button: str) -> Any:
    """The button in a message."""
    forms = re.findall(r'<form method="post" action="([^"]*)" class="fst-row">(.*?)</form>', content(answer), re.DOTALL)
    [(action, form)] = [(action, form) for action, form in forms if f">{button}</button>" in form]
    fields = dict(re.findall(r'name="([^"]*)" value="([^"]*)"', form))
    return client.post(unescape(action), {name: unescape(value) for name, value in fields.items()}, follow=True)


# --- the list ---


def test_a_row_says_both_claims_in_a_line_each(operator: Client) -> None:
    kinds()

    shown = text(operator.get(LIST))

    shown = shown.replace("2 days", "2\xa0days")
    assert "fact gnommoweb is a repo [type] — dobby, read in a prompt, 2\xa0days ago, 71 %" in shown
    assert "claim gnommoweb is a container [type] — winky, read in a prompt, just now, 80 %" in shown
    assert "two types" in shown


def test_the_list_is_narrowed_and_says_when_nothing_fits(operator: Client) -> None:
    kinds()
    places()

    found = text(operator.get(LIST, {TYPE: "ispart_ispart"}))
    nothing = text(operator.get(LIST, {"q": "nobody"}))

    assert "kvasir" in found
    assert "gnommoweb is" not in found
    assert "No conflict fits these filters." in nothing


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, {"mimir", "gnommoweb", "kvasir"}),
        ({TYPE: "ispart_ispart"}, {"kvasir"}),
        ({"claims__incoming_source__exact": "gutask"}, {"mimir"}),
        ({"claims__agent__icontains": "dob"}, {"mimir"}),
        ({"detected_at_to": "2000-01-01"}, set()),
        ({"detected_at_from": "2000-01-01", "detected_at_to": "nonsense"}, {"mimir", "gnommoweb", "kvasir"}),
        ({"slot_kind__exact": "memory_slot"}, set()),
        ({"status": "dismissed"}, {"odin"}),
        ({"status": "all"}, {"mimir", "gnommoweb", "kvasir", "odin"}),
        ({"status": "nonsense"}, {"mimir", "gnommoweb", "kvasir"}),
        ({"project": "elsewhere"}, set()),
        ({"speaker": "one"}, set()),
        ({"speaker": "several"}, {"mimir", "gnommoweb", "kvasir"}),
        ({"q": "gnom"}, {"gnommoweb"}),
        ({"q": "BOHR"}, {"kvasir"}),
        ({"q": "turing"}, {"kvasir"}),
        ({"q": "9" * 30}, set()),
    ],
)
def test_each_filter_narrows_the_list(operator: Client, wanted: dict[str, str], found: set[str]) -> None:
    kinds()
    places()
    say("mimir isa repo type", "winky")
    say("mimir isa container type", "dobby", source=Source.GUTASK)
    dismiss(kinds("odin").pk, OPERATOR, "")

    assert listed(operator, **wanted) == found


def test_a_conflict_is_found_by_its_number(operator: Client) -> None:
    kinds()

    assert listed(operator, q=f"#{places().conflict_id}") == {"kvasir"}


def listed(client: Client, **filters: str) -> set[str]:
    """Return the concepts of the conflicts that the list shows."""
    titles = re.findall(r'class="fst-link desk-open" href="[^"]*">([^<]*)', content(client.get(LIST, filters)))
    return {title.split()[0] for title in titles}


def test_pages_of_the_list_keep_the_filters(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConflictAdmin, "list_per_page", 5)
    for number in range(6):
        kinds(f"thing{number}")

    first = content(operator.get(LIST, {TYPE: "isa_isa"}))
    second = text(operator.get(LIST, {TYPE: "isa_isa", "p": "2"}))

    assert re.search(rf"\?(p=2&amp;{TYPE}=isa_isa|{TYPE}=isa_isa&amp;p=2)", first)
    assert "thing5 is a repo" not in first
    assert "thing5 is a repo" in second


def test_a_row_is_decided_with_one_click_and_the_list_is_where_it_was(operator: Client) -> None:
    claim, other = kinds(), kinds("mimir")
    row = re.search(r'name="seen" value="([^"]*)"', content(operator.get(LIST, {TYPE: "isa_isa"})))
    assert row is not None

    sent = {"seen": unescape(row[1]), "decision": f"claim:{claim.pk}", "then": "list"}
    answer = operator.post(f"{LIST}{claim.conflict_id}/decide/?{TYPE}=isa_isa", sent, follow=True)

    assert answer.redirect_chain == [(f"{LIST}?{TYPE}=isa_isa", 302)]
    told = "Accepted “gnommoweb is a container [type]”; superseded “gnommoweb is a repo [type]”"
    assert f"Decided. {told}. Undo" in text(answer)
    assert (status(claim), status(other)) == ("resolved", "pending")


def select_all(client: Client, **filters: str) -> dict[str, list[str]]:
    """Return the fields of the list's form, with all rows selected."""
    listed = content(client.get(LIST, filters))
    return {name: re.findall(rf'name="{name}" value="([^"]+)"', listed) for name in ("_selected_action", "seen")}


def test_several_are_decided_at_once_and_each_that_cannot_be_is_skipped_with_the_reason(operator: Client) -> None:
    first, second, decided = kinds("first"), places("second"), kinds("third")
    chosen = select_all(operator)
    update(decided.pk, OPERATOR, "")

    sent = {**chosen, "action": "dismiss", "reason": "spring cleaning"}
    answer = operator.post(LIST, sent, follow=True)

    shown = text(answer)
    assert "2 dismissed." in shown
    assert (
        f"1 skipped: Conflict {decided.conflict_id} was already decided by hermione: new fact replaces existing."
        in shown
    )
    assert (status(first), status(second), status(decided)) == ("dismissed", "dismissed", "resolved")
    assert set(Decision.objects.filter(kind="dismiss").values_list("reason", flat=True)) == {"spring cleaning"}


def test_what_was_decided_together_is_undone_together(operator: Client) -> None:
    claims = [kinds("first"), kinds("second")]
    before = facts()
    sent = {**select_all(operator), "action": "use_newest"}

    answer = operator.post(f"{LIST}?{TYPE}=isa_isa", sent, follow=True)
    undone = press(operator, answer, "Undo all")

    assert "2 given to the newest." in text(answer)
    assert "2 decisions undone." in text(undone)
    assert undone.redirect_chain == [(f"{LIST}?{TYPE}=isa_isa", 302)]
    assert (facts(), [status(claim) for claim in claims]) == (before, ["pending", "pending"])


def test_what_was_decided_in_the_list_is_undone_there(operator: Client) -> None:
    claim = kinds()

    undone = press(operator, decide(operator, claim, "dismiss", then="list"), "Undo")

    assert undone.redirect_chain == [(LIST, 302)]
    assert status(claim) == "pending"


def test_only_what_is_proposed_is_approved(operator: Client) -> None:
    proposed, pending = kinds("first"), kinds("second")
    propose(proposed, "update")

    answer = operator.post(LIST, {**select_all(operator), "action": "approve"}, follow=True)

    assert "1 decided as proposed." in text(answer)
    assert f"1 skipped: Nothing is proposed for conflict {pending.conflict_id}: it is pending." in text(answer)
    assert (status(proposed), status(pending)) == ("resolved", "pending")


def test_of_several_claims_to_a_place_none_is_chosen_in_bulk(operator: Client) -> None:
    first = kinds()
    rival = say("gnommoweb isa tool type", "alice").claim
    assert rival is not None

    answer = operator.post(LIST, {**select_all(operator), "action": "use_newest"}, follow=True)

    assert f"1 skipped: Conflict {first.conflict_id} has several sides: decide it on its page." in text(answer)
    assert (status(first), status(rival)) == ("pending", "pending")


@pytest.mark.parametrize("sent", [{}, {"action": "dismiss"}, {"action": "", "_selected_action": "1"}])
def test_without_a_choice_nothing_happens_to_the_selected(operator: Client, sent: dict[str, str]) -> None:
    claim = kinds()

    operator.post(LIST, {**sent, "index": "0"}, follow=True)

    assert status(claim) == "pending"


# --- one conflict, decided ---

BOTH = {"existing_dimension": "Artifact Type", "new_dimension": "deployment"}
OTHER = {"dimension": "packaging"}


@pytest.mark.parametrize(
    ("make", "decision", "fields", "stands"),
    [
        (kinds, "dismiss", {}, {"gnommoweb isa repo type"}),
        (kinds, "update", {}, {"gnommoweb isa container type"}),
        (kinds, "decompose", BOTH, {"gnommoweb isa repo artifact_type", "gnommoweb isa container deployment"}),
        (kinds, "relocate", OTHER, {"gnommoweb isa repo type", "gnommoweb isa container packaging"}),
        (places, "dismiss", {}, {"kvasir ispart turing runs-on"}),
        (places, "update", {}, {"kvasir ispart bohr runs-on"}),
        (places, "decompose", BOTH, {"kvasir ispart turing artifact_type", "kvasir ispart bohr deployment"}),
        (places, "relocate", OTHER, {"kvasir ispart turing runs-on", "kvasir ispart bohr packaging"}),
        (mixed, "dismiss", {}, {"sleipnir isa horse role"}),
        (mixed, "update", {}, {"sleipnir ispart stable role"}),
        (mixed, "decompose", BOTH, {"sleipnir isa horse artifact_type", "sleipnir ispart stable deployment"}),
        (mixed, "relocate", OTHER, {"sleipnir isa horse role", "sleipnir ispart stable packaging"}),
        (ring, "dismiss", {}, {"alpha-part ispart beta-part membership"}),
        (ring, "update", {}, {"beta-part ispart alpha-part membership"}),
        (ring, "decompose", BOTH,
         {"alpha-part ispart beta-part artifact_type", "beta-part ispart alpha-part deployment"}),
        (ring, "relocate", OTHER, {"alpha-part ispart beta-part membership", "beta-part ispart alpha-part packaging"}),
    ],
)  # fmt: skip
def test_each_type_is_decided_each_way_and_undone(
    operator: Client, make: Any, decision: str, fields: dict[str, str], stands: set[str]
) -> None:
    claim = make()
    before = facts()

    answer = decide(operator, claim, decision, reason="I know it", **fields)
    decided = facts()
    undone = press(operator, answer, "Undo")

    assert decided == stands
    assert Decision.objects.get(kind="supersede" if decision == "update" else decision).reason == "I know it"
    assert facts() == before
    assert undone.redirect_chain[-1][0].startswith(claim.conflict.get_absolute_url())
    assert "Undone: the graph is as it was before that decision." in text(undone)
    assert status(claim) == "pending"


@pytest.mark.parametrize(("decision", "left"), [("dismiss", {"gnommoweb isa repo type"}), ("update", set())])
def test_a_retraction_is_kept_or_taken_out(operator: Client, decision: str, left: set[str]) -> None:
    claim = dispute_by_forgetting("gnommoweb isa repo type", evidence="forget that gnommoweb is a repo")

    shown, listed = text(operator.get(page_of(claim))), text(operator.get(LIST))
    assert "claim no longer: gnommoweb is a repo [type]" in shown
    assert ("Remove it" in shown, "Use new" in shown, "Both are true" in shown) == (True, False, False)
    assert claim.get_collision_type_display() in listed
    assert "Remove it :" in listed

    told = text(decide(operator, claim, decision))

    assert facts() == left
    assert ("superseded “gnommoweb" if decision == "update" else "Kept “gnommoweb") in told


def test_where_the_fact_says_something_else_there_the_operator_says_so(operator: Client) -> None:
    claim = mixed()

    answer = decide(operator, claim, "relocate", dimension="home", is_isa="isa")

    assert "sleipnir isa stable home" in facts()
    assert "Decided. Moved to another dimension: sleipnir is a stable [home]." in text(answer)


def test_the_next_conflict_opens_by_itself_with_the_lists_filters(operator: Client) -> None:
    first, _, third = kinds("first"), places("second"), kinds("third")

    answer = decide(operator, first, "dismiss", f"?{TYPE}=isa_isa")

    assert answer.redirect_chain == [(f"{third.conflict.get_absolute_url()}?{TYPE}=isa_isa", 302)]
    assert "Decided. Kept “first is a repo [type]”; rejected “first is a container [type]”." in text(answer)


def test_after_the_last_one_the_list_says_that_none_is_open(operator: Client) -> None:
    answer = decide(operator, kinds(), "dismiss")

    assert answer.redirect_chain == [(LIST, 302)]
    assert "No conflict is open." in text(answer)


def test_next_leads_past_a_conflict_without_deciding_it(operator: Client) -> None:
    first, second = kinds("first"), kinds("second")

    answer = operator.get(f"{LIST}next/", {"after": first.conflict_id})

    assert answer.headers["Location"] == second.conflict.get_absolute_url()
    assert (status(first), status(second)) == ("pending", "pending")


@pytest.mark.parametrize("after", ["", "x", "9" * 40, "-1", "12345678"])
def test_next_of_nothing_is_the_first(operator: Client, after: str) -> None:
    first = kinds("first")

    assert operator.get(f"{LIST}next/", {"after": after}).headers["Location"] == first.conflict.get_absolute_url()


def propose(claim: Claim, decision: str, **names: str) -> None:
    claim.status = Claim.Status.PROPOSED
    claim.proposal = {"decision": decision, "reason": "it was read twice", "model": "judge",
                         "at": timezone.now().isoformat(), **names}  # fmt: skip
    claim.save()


def test_what_the_model_proposes_is_shown_with_its_reason_and_done(operator: Client) -> None:
    claim = kinds()
    propose(claim, "decompose", existing_dimension="artifact", new_dimension="deployment")

    shown = text(operator.get(page_of(claim)))
    decide(operator, claim, "approve")

    assert (
        "Both are true: artifact for the current fact, deployment for the new one it was read twice judge Approve"
        in shown
    )
    assert facts() == {"gnommoweb isa repo artifact", "gnommoweb isa container deployment"}
    assert Decision.objects.get().reason == "it was read twice"


def test_another_proposal_than_the_one_that_was_read_is_not_approved(operator: Client) -> None:
    claim = kinds()
    propose(claim, "update")
    seen = seen_on(operator, claim)
    propose(claim, "dismiss")

    answer = operator.post(f"{LIST}{claim.conflict_id}/decide/", {"seen": seen, "decision": "approve"})

    assert "has changed meanwhile" in text(answer)
    assert status(claim) == "proposed"


@pytest.mark.parametrize(
    ("decision", "fields", "why"),
    [
        ("decompose", {"existing_dimension": "type", "new_dimension": ""}, "Enter a dimension for the new fact."),
        ("decompose", {"existing_dimension": "a1", "new_dimension": "a1"}, "they must differ"),
        (
            "decompose",
            {"existing_dimension": "123", "new_dimension": "b1"},
            "cannot be the dimension of the current fact",
        ),
        ("relocate", {"dimension": ""}, "Enter a dimension for the new fact."),
        ("relocate", {"dimension": "type"}, "name another dimension"),
        ("relocate", {"dimension": "membership"}, "That place is taken"),
        ("", {}, "Choose one of the decisions."),
        ("sing", {}, "'sing' is no member"),
        ("approve", {}, "Nothing is proposed"),
    ],
)
def test_what_cannot_be_is_said_and_the_typed_text_is_kept(
    operator: Client, decision: str, fields: dict[str, str], why: str
) -> None:
    say("gnommoweb ispart hogwarts membership")
    claim = kinds()

    answer = decide(operator, claim, decision, reason="because <I> say so", **fields)

    assert "Nothing was decided." in text(answer)
    assert why in text(answer)
    assert "because &lt;I&gt; say so</textarea>" in content(answer)
    assert all(f'name="{name}" value="{value}"' in content(answer) for name, value in fields.items())
    assert status(claim) == "pending"


def test_the_second_of_two_operators_is_told_who_decided_what(operator: Client) -> None:
    claim = kinds()
    second = Client()
    second.force_login(person("ron", "view_conflict", "change_conflict"))
    seen = seen_on(second, claim)
    decide(operator, claim, "update")

    answer = second.post(f"{LIST}{claim.conflict_id}/decide/", {"seen": seen, "decision": "dismiss"})

    assert f"Conflict {claim.conflict_id} was already decided by hermione: the others replaced." in text(answer)
    assert Decision.objects.count() == 1


def test_a_page_that_is_older_than_the_world_decides_nothing_and_shows_the_new_state(operator: Client) -> None:
    claim = kinds()
    seen = seen_on(operator, claim)
    rival = say("gnommoweb isa tool type", "alice").claim
    assert rival is not None
    update(rival.pk, OPERATOR, "")

    answer = operator.post(f"{LIST}{claim.conflict_id}/decide/", {"seen": seen, "decision": f"claim:{claim.pk}"})

    assert "was already decided by" in text(answer)
    assert "claim gnommoweb is a tool [type] resolved" in text(answer)
    assert facts() == {"gnommoweb isa tool type"}


def test_an_unknown_conflict_is_said(operator: Client) -> None:
    shown = text(operator.get(f"{LIST}12345/change/", follow=True))
    decided = text(operator.post(f"{LIST}12345/decide/", {"decision": "dismiss"}, follow=True))

    assert "There is no conflict 12345." in shown
    assert "There is no conflict 12345." in decided


def test_what_people_and_prompts_said_is_shown_as_text(operator: Client) -> None:
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type", evidence="<script>alert(1)</script>")

    shown = content(operator.get(page_of(claim)))

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<script>alert(1)" not in shown


# --- who may ---


def test_a_viewer_looks_and_decides_nothing(client: Client) -> None:
    claim = kinds()
    decided = dismiss(kinds("mimir").pk, OPERATOR, "")
    client.force_login(person("viewer", "view_conflict", "view_decision"))
    assert select_all(client) == {"_selected_action": [], "seen": []}
    sent = {"_selected_action": claim.conflict_id, "seen": read_seen(claim.conflict_id), "action": "dismiss",
            "decision": "dismiss"}  # fmt: skip

    answers = [
        client.post(f"{LIST}{claim.conflict_id}/decide/", sent),
        client.post(LIST, sent),
        client.post(reverse("admin:resolution_decision_undo", args=[decided.pk])),
        client.post(page_of(claim), sent),
    ]

    assert [answer.status_code for answer in answers] == [403, 200, 403, 405]
    assert status(claim) == "pending"
    assert not Decision.objects.filter(kind="undo").exists()
    for path in (LIST, page_of(claim), f"/admin/resolution/decision/{decided.pk}/change/"):
        shown = content(client.get(path))
        assert 'name="decision"' not in shown
        assert f"/decision/{decided.pk}/undo/" not in shown


def test_whoever_may_not_look_sees_no_conflict(client: Client) -> None:
    claim = kinds()
    client.force_login(person("gardener", "view_run"))

    for path in (LIST, page_of(claim), f"{LIST}next/"):
        assert client.get(path).status_code == 403


@pytest.mark.parametrize("seen", ["", "x", "{other}:1-00"])
def test_what_does_not_say_what_was_seen_decides_nothing(operator: Client, seen: str) -> None:
    claim, other = kinds(), kinds("kvasir")

    sent = {"seen": seen.format(other=other.conflict_id), "decision": "dismiss"}
    answer = operator.post(f"{LIST}{claim.conflict_id}/decide/", sent)

    claim.refresh_from_db()
    assert "Nothing was decided: the form does not say what you saw." in text(answer)
    assert claim.status == "pending"


@pytest.mark.parametrize("path", [f"{LIST}1/decide/", f"{LIST}bulk/undo/"])
def test_an_address_that_decides_leads_away_when_it_is_only_opened(operator: Client, path: str) -> None:
    assert operator.get(path).status_code == 302


# --- decisions ---


def test_a_decision_is_told_in_words_and_undone_with_a_reason(operator: Client) -> None:
    claim = kinds()
    decision = update(claim.pk, OPERATOR, "it moved")
    path = f"/admin/resolution/decision/{decision.pk}/change/"

    shown = text(operator.get(path))
    undoing = reverse("admin:resolution_decision_undo", args=[decision.pk])
    asked = text(operator.get(undoing))
    assert ("Why" in asked, facts()) == (True, {"gnommoweb isa container type"})
    operator.post(undoing, SENT | {"reason": "it has not"})

    assert "Accepted: gnommoweb is a container [type]" in shown
    assert "gnommoweb is a repo [type], 71 % → gnommoweb is a container [type], 80 %" in shown
    assert (Decision.objects.get(kind="undo").reason, facts()) == ("it has not", {"gnommoweb isa repo type"})
    assert undoing not in content(operator.get(path))


def test_what_cannot_be_undone_is_said_where_it_was_asked_for(operator: Client) -> None:
    decision = update(kinds().pk, OPERATOR, "")
    undo.undo(decision.pk, OPERATOR)
    path = f"/admin/resolution/decision/{decision.pk}/change/"

    refused = operator.post(
        reverse("admin:resolution_decision_undo", args=[decision.pk]), SENT | {"next": path}, follow=True
    )
    unknown = operator.post(reverse("admin:resolution_decision_undo", args=[12345]), SENT, follow=True)

    assert refused.redirect_chain == [(path, 302)]
    assert f"Nothing was undone. Decision {decision.pk} was already undone by hermione." in text(refused)
    assert "There is no decision 12345." in text(unknown)


@pytest.mark.parametrize("elsewhere", ["https://example.org/", "//example.org/", "%", "admin:index", "x"])
def test_undoing_leads_to_no_other_site_nor_nowhere(operator: Client, elsewhere: str) -> None:
    claim = kinds()
    decision = dismiss(claim.pk, OPERATOR, "")

    path = reverse("admin:resolution_decision_undo", args=[decision.pk])
    answer = operator.post(path, SENT | {"next": elsewhere})

    assert answer.headers["Location"] == page_of(claim)


def test_a_decision_is_undone_in_the_list_of_decisions_once(operator: Client) -> None:
    claim = kinds()
    decision = dismiss(claim.pk, OPERATOR, "")
    path = "/admin/resolution/decision/"
    [address] = re.findall(r'hx-get="([^"]*/undo/[^"]*)"', content(operator.get(path)))

    undone = operator.post(address, SENT, follow=True)

    assert address.partition("?")[0] == reverse("admin:resolution_decision_undo", args=[decision.pk])
    assert undone.redirect_chain == [(path, 302)]
    assert address not in content(undone)
    assert status(claim) == "pending"


def test_decisions_are_found_by_concept_and_by_who_decided(operator: Client) -> None:
    dismiss(kinds().pk, OPERATOR, "")
    dismiss(kinds("mimir").pk, Actor("ron", OPERATOR.source), "")
    path = "/admin/resolution/decision/"

    by_concept, by_actor = (text(operator.get(path, {"q": word})) for word in ("gnom", "RON"))

    assert ("rejected “gnommoweb" in by_concept, "rejected “mimir" in by_concept) == (True, False)
    assert ("rejected “gnommoweb" in by_actor, "rejected “mimir" in by_actor) == (False, True)


# --- runs ---


def test_after_asking_for_a_run_one_is_back_where_one_was(operator: Client) -> None:
    answer = operator.post(f"{LIST}run/", {"next": "/admin/"})
    Run.objects.update(status=Run.Status.DONE)
    elsewhere = operator.post(f"{LIST}run/", {"next": "//example.org"})

    assert (answer.headers["Location"], elsewhere.headers["Location"]) == ("/admin/", "/admin/resolution/run/")


# --- speed ---


@pytest.mark.parametrize("make", [kinds, places, mixed, ring])
def test_a_page_takes_few_queries(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries, make: Any
) -> None:
    claim = make()
    run = Run.objects.create(trigger="api", mode="auto", status="done")
    done = dismiss(claim.pk, Actor("resolver", OPERATOR.source, run), "no")
    undo.undo(done.pk, OPERATOR)
    for number in range(5):
        say(f"{claim.concept} isa thing{number} {claim.dim}", f"agent{number}")

    with django_assert_max_num_queries(PAGE_QUERIES):
        shown = operator.get(page_of(claim))
    with django_assert_max_num_queries(PAGE_QUERIES):
        operator.get(f"/admin/resolution/decision/{done.pk}/change/")

    assert "thing4" in content(shown)


def test_the_list_takes_few_queries_however_it_is_asked_for(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(4):
        kinds(f"thing{number}")
        ring(f"part{number}")

    for query in ({}, {"q": "thing", "claims__agent__icontains": "winky", TYPE: "isa_isa"}, {"status": "all"}):
        with django_assert_max_num_queries(PAGE_QUERIES):
            assert "thing1 is a repo" in content(operator.get(LIST, query))
