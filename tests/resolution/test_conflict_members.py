"""A conflict holds all claims to one slot and the fact that they dispute; whoever says the same as a claim supports
it."""

import pytest

from memory.models import Agent, Dimension, Edge, Source
from resolution.conflicts.members import describe_seen, read_rows
from resolution.conflicts.undo import undo
from resolution.intake.retirement import put_back, retire_one
from resolution.models import Claim, Conflict, ConflictMember, DecidedTriple
from tests.arrange import OPERATOR, dismiss, say, update

pytestmark = pytest.mark.django_db

SLOT = {"concept": "gnommoweb", "dimension": "type"}


@pytest.fixture(autouse=True)
def registered() -> None:
    for number, name in enumerate(("dobby", "winky", "kreacher", "luna")):
        Agent.objects.create(name=name, token_hash=f"{number}" * 64)


def dispute(parent: str, agent: str, **changes: object) -> Claim:
    claim = say(f"gnommoweb isa {parent} type", agent, **changes).claim
    assert claim is not None
    return claim


@pytest.fixture
def claims() -> tuple[Claim, Claim]:
    say("gnommoweb isa repo type")
    return dispute("virus", "winky"), dispute("worm", "luna")


def members(conflict: Conflict) -> set[tuple[str, int]]:
    return set(conflict.members.values_list("kind", "object_id"))


def current() -> tuple[str, int]:
    return "edge", Edge.objects.get(concept__token="gnommoweb", dim__token="type").pk


def support(claim: Claim) -> list[list[str]]:
    return list(ConflictMember.objects.get(kind="claim", object_id=claim.pk).support)


def test_all_claims_to_a_slot_are_one_conflict(claims: tuple[Claim, Claim]) -> None:
    conflict = Conflict.objects.get()

    assert {claim.conflict_id for claim in claims} == {conflict.pk}
    assert (conflict.slot_kind, conflict.slot_key, conflict.status) == ("edge_slot", SLOT, "open")
    assert members(conflict) == {current(), *(("claim", claim.pk) for claim in claims)}
    say("gnommoweb ispart hogwarts membership")
    assert say("gnommoweb ispart durmstrang membership", "winky").claim is not None
    assert Conflict.objects.count() == 2


def test_whoever_says_the_same_supports_it_once(claims: tuple[Claim, Claim]) -> None:
    virus, worm = claims
    for agent in ("winky", "kreacher", "kreacher"):
        assert dispute("virus", agent) == virus
    assert dispute("virus", "kreacher", source=Source.GUTASK, role="") == virus

    assert support(virus) == [["winky", "user"], ["kreacher", "user"], ["kreacher", "gutask"]]
    assert support(worm) == [["luna", "user"]]


def test_whoever_supported_a_claim_counts_as_having_said_it(claims: tuple[Claim, Claim]) -> None:
    virus, _ = claims
    dispute("virus", "kreacher")
    dismiss(virus.pk, OPERATOR, "no")

    assert DecidedTriple.objects.get().agents == ["kreacher", "winky"]
    assert say("gnommoweb isa virus type", "kreacher").status == "decided"
    assert say("gnommoweb isa virus type", "luna").status == "conflict"  # another agent's own voice


def test_a_conflict_is_open_while_one_of_its_claims_is(claims: tuple[Claim, Claim]) -> None:
    virus, worm = claims
    conflict = Conflict.objects.get()

    dismiss(virus.pk, OPERATOR, "no")
    conflict.refresh_from_db()
    assert (conflict.status, conflict.resolved_at) == ("open", None)
    decision = update(worm.pk, OPERATOR, "it is")
    conflict.refresh_from_db()
    assert (conflict.status, conflict.resolution) == ("resolved", Claim.objects.get(pk=worm.pk).resolution)
    assert conflict.resolved_at is not None
    undo(decision.pk, OPERATOR)
    conflict.refresh_from_db()
    assert (conflict.status, conflict.resolved_at, conflict.resolution) == ("open", None, None)
    dismiss(worm.pk, OPERATOR, "no")
    conflict.refresh_from_db()
    assert conflict.status == "dismissed"


def test_what_is_disputed_anew_is_another_conflict_which_a_reopened_claim_joins(claims: tuple[Claim, Claim]) -> None:
    virus, worm = claims
    decisions = [dismiss(claim.pk, OPERATOR, "no") for claim in claims]
    anew = dispute("service", "kreacher")
    assert anew.conflict_id != virus.conflict_id

    undo(decisions[0].pk, OPERATOR)

    virus.refresh_from_db()
    worm.refresh_from_db()
    assert virus.conflict_id == anew.conflict_id != worm.conflict_id
    assert members(Conflict.objects.get(status="open")) == {current(), ("claim", virus.pk), ("claim", anew.pk)}
    assert Conflict.objects.get(pk=worm.conflict_id).status == "dismissed"


def test_a_conflict_has_the_priority_of_its_most_urgent_claim(claims: tuple[Claim, Claim]) -> None:
    dispute("worm", "kreacher", source=Source.GUTASK, role="")
    conflict = Conflict.objects.get()
    assert conflict.priority == 1

    dismiss(claims[1].pk, OPERATOR, "no")

    conflict.refresh_from_db()
    assert conflict.priority == 0


def test_with_its_last_claim_a_conflict_goes(claims: tuple[Claim, Claim]) -> None:
    virus, worm = claims
    virus.delete()
    assert members(Conflict.objects.get()) == {current(), ("claim", worm.pk)}
    worm.delete()

    assert not Conflict.objects.exists()
    assert not ConflictMember.objects.exists()


def test_the_fact_that_takes_the_place_of_another_is_disputed_instead(claims: tuple[Claim, Claim]) -> None:
    virus, worm = claims
    repo, conflict = current(), Conflict.objects.get()

    seen = describe_seen(read_rows(conflict.members.exclude(kind="claim", object_id=worm.pk)))
    decision = update(virus.pk, OPERATOR, "it is", seen=seen)
    assert members(conflict) == {repo, current(), ("claim", virus.pk), ("claim", worm.pk)}
    assert repo != current()
    undo(decision.pk, OPERATOR)
    assert members(conflict) == {repo, ("claim", virus.pk), ("claim", worm.pk)}

    row = retire_one(Edge.objects.get(pk=repo[1]), actor="a", reason="")
    assert row is not None
    put_back(row.pk, actor="a")
    assert current() in members(conflict)


def test_the_fact_that_closes_a_ring_is_a_member_and_stays_in_its_own_conflict() -> None:
    say("b ispart c membership")
    ring = say("c ispart b membership", "winky")
    own = say("b ispart d membership", "winky")
    assert ring.conflict_id is None
    assert ring.claim is not None
    assert own.claim is not None
    edge = Edge.objects.get(concept__token="b", dim__token="membership")

    assert members(ring.claim.conflict) == {("edge", edge.pk), ("claim", ring.claim.pk)}
    assert members(own.claim.conflict) == {("edge", edge.pk), ("claim", own.claim.pk)}
    undo(dismiss(ring.claim.pk, OPERATOR, "no").pk, OPERATOR)
    assert Conflict.objects.filter(status="open").count() == 2


@pytest.mark.parametrize("source", [Source.INFERRED, Source.GUTASK, Source.OPERATOR])
def test_a_claim_keeps_the_channel_it_came_through(source: Source) -> None:
    say("gnommoweb ispart ramanujan runs-on", source=Source.OPERATOR, role="")
    role, policy = ("user", "supersede") if source == Source.INFERRED else ("", "queue")
    Dimension.objects.filter(soas__token="runs-on").update(on_collision=policy)

    claim = say("gnommoweb ispart turing runs-on", "winky", source=source, role=role).claim

    assert claim is not None
    assert Claim.objects.get().channel == {"inferred": "user"}.get(source, source)
