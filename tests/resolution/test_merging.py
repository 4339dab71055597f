"""Two names become one concept, and two again."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Alias, Dimension, Edge, EdgeHistory, Evidence, Soas
from memory.running import bootstrap
from proxy.admin.home import find_unexplained
from resolution.conflicts.undo import undo, undo_run
from resolution.errors import DecisionError, InvalidDecision, UnknownId
from resolution.intake.retirement import put_back, retire_one
from resolution.intake.teaching import teach
from resolution.models import Candidate, Claim, ConflictMember, DecidedTriple, Decision
from resolution.naming.merging import delete_dimension, merge, preview
from tests.arrange import OPERATOR, decompose, dismiss, dispute, dump, facts, graph, say, status, timeless

pytestmark = pytest.mark.django_db


def outcomes(concept: str, into: str) -> dict[str, str]:
    return {f"{one.was.concept} {one.was.parent}": one.outcome.status for one in preview(concept, into).moved}


def test_facts_about_it_and_facts_that_lead_to_it_are_the_others() -> None:
    say("orsolya isa person type", confidence=0.7, at=timezone.now() - timedelta(days=9))
    Edge.objects.filter(concept__token="orsolya").update(last_confirmed=timezone.now(), is_corroborated=True)
    was = Edge.objects.get(concept__token="orsolya")
    say("kvasir ispart orsolya owned-by")
    say("orsolya_venn ispart data_team membership")

    done = merge("orsolya", "orsolya_venn", OPERATOR, "one person")

    assert facts() == {
        "orsolya_venn isa person type",
        "orsolya_venn ispart data_team membership",
        "kvasir ispart orsolya_venn owned-by",
    }
    now = Edge.objects.get(concept__token="orsolya_venn", dim__token="type")
    for name in ("agent", "channel", "confidence", "said_at", "last_confirmed", "is_corroborated"):
        assert getattr(now, name) == getattr(was, name)
    told = EdgeHistory.objects.filter(action="move")
    assert {(row.actor, row.reason) for row in told} == {("hermione", "Merged orsolya into orsolya_venn: one person")}
    assert str(Alias.objects.get()) == "orsolya = orsolya_venn"
    assert (done.is_rename, done.counts()) == (False, {"moved": 2})


def test_what_both_say_is_confirmed_and_what_they_say_otherwise_is_a_conflict() -> None:
    say("kv isa service type", "winky")
    say("kvasir isa service type", "dobby")
    say("kv ispart tyr runs-on", "winky")
    say("kvasir ispart baldur runs-on", "dobby")
    sure = Edge.objects.get(concept__token="kvasir", dim__token="type").confidence

    assert outcomes("kv", "kvasir") == {"kv service": "confirmed", "kv tyr": "conflict"}
    assert not Claim.objects.exists()  # a preview changes nothing
    merge("kv", "kvasir", OPERATOR)

    assert facts() == {"kvasir isa service type", "kvasir ispart baldur runs-on"}
    assert Edge.objects.get(concept__token="kvasir", dim__token="type").confidence > sure
    assert str(Claim.objects.get()) == "kvasir [runs-on]: baldur or tyr"


def test_what_would_be_its_own_parent_or_a_ring_is_told() -> None:
    say("kv ispart kvasir membership")
    say("kv isa tool type")
    say("tool isa kvasir type")

    assert outcomes("kv", "kvasir") == {
        "kv kvasir": "invalid",
        "kv tool": "conflict",
    }
    merge("kv", "kvasir", OPERATOR)

    assert facts() == {"tool isa kvasir type"}
    assert Claim.objects.get().collision_type == "cycle"


def test_open_conflicts_move_with_all_who_support_them() -> None:
    claim = dispute("kv isa service type", "kv isa container type")
    say("kv isa container type", "kreacher")
    about_it = dispute("gnommoweb ispart odin owned-by", "gnommoweb ispart kv owned-by")
    against_it = dispute("hugin ispart kv owned-by", "hugin ispart munin owned-by")

    done = merge("kv", "kvasir", OPERATOR)

    assert (status(claim), status(about_it), status(against_it)) == ("dismissed", "dismissed", "pending")
    now = Claim.objects.filter(status="pending")
    assert {str(row) for row in now} == {
        "kvasir [type]: service or container",
        "gnommoweb [owned-by]: odin or kvasir",
        "hugin [owned-by]: kvasir or munin",
    }
    member = ConflictMember.objects.get(object_id=now.get(concept__token="kvasir").pk)
    assert [agent for agent, _ in member.support] == ["winky", "kreacher"]
    assert done.run is not None
    undo_run(done.run.pk, OPERATOR)
    assert set(Claim.objects.filter(status="pending")) == {claim, about_it, against_it}
    claim.refresh_from_db()
    assert str(claim) == "kv [type]: service or container"


def test_decisions_candidates_and_sentences_move() -> None:
    dismiss(dispute("kv isa service type", "kv isa container type").pk, OPERATOR, "no")
    say("kv isa daemon role", role="assistant")
    say("gnommoweb ispart kv membership", role="assistant")
    say("kvasir isa daemon role", "winky", role="assistant")
    kv = Soas.objects.get(token="kv")
    Evidence.objects.create(concept=kv, sentence="kv is down", role="user", agent="dobby")

    merge("kv", "kvasir", OPERATOR)

    assert str(DecidedTriple.objects.get()) == "kvasir IN container [type]: dismissed"
    assert say("kv isa container type", "winky").status == "decided"
    waiting = {str(row.triple): row.voices for row in Candidate.objects.filter(state="open")}
    assert waiting == {
        "kvasir -isa daemon in context of role": [["winky", "assistant"], ["dobby", "assistant"]],
        "gnommoweb -ispart kvasir in context of membership": [["dobby", "assistant"]],
    }
    assert str(Evidence.objects.get()) == "kvasir: kv is down"


def test_what_is_said_of_the_old_name_is_learned_of_the_concept() -> None:
    say("kv isa service type")
    merge("kv", "kvasir", OPERATOR)

    assert str(say("kv ispart tyr runs-on").fact) == "kvasir -ispart tyr in context of runs-on"
    assert say("kv isa kvasir type").status == "invalid"
    assert say("gnommoweb ispart kv membership").status == "inserted"
    assert [outcome.status for outcome in teach("kvasir", "kv is a daemon [role]", OPERATOR)] == ["inserted"]
    Soas.objects.filter(token="kv").update(novelty=0, saliency=2)
    assert not find_unexplained(1.0).exists()
    assert "gnommoweb ispart kvasir membership" in facts()


def test_a_dimension_is_renamed_with_all_that_refers_to_it() -> None:
    bootstrap.load_dimensions()
    say("gnommoweb isa repo gu")
    say("kvasir isa service gu", role="assistant")
    dimension = Dimension.objects.get(soas__token="gu")
    Dimension.objects.filter(pk=dimension.pk).update(question="What at GU?", on_collision="supersede")
    decompose(dispute("dd isa x gu2", "dd isa y gu2").pk, OPERATOR, "", existing_dimension="form", new_dimension="use")
    before = timeless(dump())

    done = merge("gu", "glitch_university", OPERATOR)

    new = Dimension.objects.get(soas__token="glitch_university")
    assert (done.is_rename, new.question, new.on_collision) == (True, "What at GU?", "supersede")
    assert "gnommoweb isa repo glitch_university" in facts()
    assert Candidate.objects.get().dimension == "glitch_university"
    assert say("hugin isa raven gu").fact.dimension == "glitch_university"
    assert not Dimension.objects.filter(soas__token="gu").exists()

    Edge.objects.get(concept__token="hugin").delete()
    assert done.run is not None
    assert undo_run(done.run.pk, OPERATOR).refused == []
    assert timeless(dump()) == before
    assert not Dimension.objects.filter(soas__token="glitch_university").exists()


def test_two_dimensions_become_one_and_what_was_split_from_one_is_the_others() -> None:
    claim = dispute("dd isa x kind", "dd isa y kind")
    decompose(claim.pk, OPERATOR, "", existing_dimension="form", new_dimension="use")
    say("gnommoweb isa repo kind")
    say("gnommoweb isa service type")
    say("kvasir isa service kind")
    before = timeless(dump())

    done = merge("kind", "type", OPERATOR)

    assert "kvasir isa service type" in facts()
    assert [str(row) for row in Claim.objects.filter(status="pending")] == ["gnommoweb [type]: service or repo"]
    assert {str(row.split_from) for row in Dimension.objects.filter(soas__token__in=["form", "use"])} == {"type"}
    undo(Decision.objects.get(run=done.run).pk, OPERATOR)
    assert timeless(dump()) == before


def test_a_dimension_takes_the_place_of_the_one_it_was_split_from() -> None:
    claim = dispute("dd isa x kind", "dd isa y kind")
    decompose(claim.pk, OPERATOR, "", existing_dimension="form", new_dimension="use")
    before = timeless(dump())

    done = merge("kind", "form", OPERATOR)

    assert str(Dimension.objects.get(soas__token="use").split_from) == "form"
    assert Dimension.objects.get(soas__token="form").split_from is None
    undo(Decision.objects.get(run=done.run).pk, OPERATOR)
    assert timeless(dump()) == before


def test_a_dimension_without_facts_is_deleted_and_comes_back() -> None:
    say("gnommoweb isa repo kind")
    Dimension.objects.update(question="Which?")
    with pytest.raises(DecisionError, match="holds facts"):
        delete_dimension("kind", OPERATOR)
    edge = Edge.objects.get(concept__token="gnommoweb")
    edge.delete()
    empty = timeless(graph())

    run = delete_dimension("kind", OPERATOR, "a mistake")

    assert graph() == {"edges": [], "dimensions": []}
    assert undo_run(run.pk, OPERATOR).refused == []
    assert timeless(graph()) == empty


@pytest.mark.parametrize(
    ("concept", "into", "error", "says"),
    [
        ("nobody", "kvasir", UnknownId, "There is no concept nobody"),
        ("type", "kind", InvalidDecision, "every installation has"),
        ("kvasir", "the", InvalidDecision, "a function word"),
        ("kvasir", "k v", InvalidDecision, "is not a name"),
        ("kvasir", "kvasir", InvalidDecision, "into itself"),
        ("kvasir", "kv", InvalidDecision, "into itself"),
        ("kv", "odin", InvalidDecision, "is an alias of kvasir"),
    ],
)
def test_what_cannot_be_merged(concept: str, into: str, error: type[Exception], says: str) -> None:
    bootstrap.load_dimensions()
    say("kv isa service type")
    merge("kv", "kvasir", OPERATOR)

    with pytest.raises(error, match=says):
        preview(concept, into)


def test_it_is_not_undone_once_what_it_moved_was_changed() -> None:
    say("kv isa service type")
    done = merge("kv", "kvasir", OPERATOR)
    Edge.objects.get(concept__token="kvasir").delete()

    assert done.run is not None
    report = undo_run(done.run.pk, OPERATOR)

    assert "kvasir [type] has changed since: it is now empty." in report.refused[0][1]
    assert Alias.objects.exists()


def test_what_was_decided_about_the_old_name_is_not_undone_before_the_merge() -> None:
    decided = dismiss(dispute("kv isa service type", "kv isa container type").pk, OPERATOR, "no")
    say("kv ispart tyr runs-on")
    retired = retire_one(Edge.objects.get(concept__token="kv", dim__token="runs-on"), actor="hermione", reason="")
    done = merge("kv", "kvasir", OPERATOR)
    assert retired is not None
    assert done.run is not None

    with pytest.raises(DecisionError, match="kv is another name of kvasir by now"):
        undo(decided.pk, OPERATOR)
    with pytest.raises(DecisionError, match="kv is another name of kvasir by now"):
        put_back(retired.pk, actor="hermione")

    undo_run(done.run.pk, OPERATOR)
    undo(decided.pk, OPERATOR)
    put_back(retired.pk, actor="hermione")
    assert facts() == {"kv isa service type", "kv ispart tyr runs-on"}
    assert [str(row) for row in Claim.objects.filter(status="pending")] == ["kv [type]: service or container"]
