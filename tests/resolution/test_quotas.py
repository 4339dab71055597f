"""How much one agent may change in an hour, and how much may pile up in one place."""

from collections.abc import Sequence

import pytest
from django.utils import timezone

from memory.models import Agent, Dimension, Edge, Soas, Source
from resolution.intake import quotas
from resolution.intake.place import Outcome, place_statements
from resolution.models import AgentHour, Candidate, Claim
from resolution.naming.names import promote
from tests.arrange import OPERATOR, configure, facts, say
from tests.resolution.test_learning import observe, settle_due

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def registered() -> None:
    Agent.objects.create(name="dobby", token_hash="0" * 64)


def state_many(count: int, agent: str = "dobby", start: int = 0, **changes: object) -> list[Outcome]:
    return [say(f"thing{number} isa kind type", agent, **changes) for number in range(start, start + count)]


def statuses(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.status for outcome in outcomes]


def used(agent: str) -> tuple[int, int, int, int]:
    row = AgentHour.objects.get(agent=agent)
    return row.facts, row.conflicts, row.candidates, row.exceeded


def test_what_a_prompt_states_beyond_the_quota_waits_and_is_told_why() -> None:
    configure(quota_facts_per_hour=2)

    assert statuses(state_many(4)) == ["inserted", "inserted", "candidate", "candidate"]

    assert {row.why for row in Candidate.objects.all()} == {"quota_facts_per_hour"}
    assert not Soas.objects.filter(token="thing3").exists()
    assert used("dobby") == (2, 0, 2, 2)
    assert statuses(state_many(2)) == ["confirmed", "confirmed"]  # what is known may be said again
    promote(Candidate.objects.get(concept="thing3").pk, OPERATOR)  # an operator is not metered
    assert "thing3 isa kind type" in facts()


def test_gutask_is_told_when_it_may_go_on() -> None:
    configure(quota_facts_per_hour=1)

    first, second = state_many(2, source=Source.GUTASK, role="")

    assert (first.status, second.status) == ("inserted", "over_quota")
    assert second.excess is not None
    assert second.excess.setting == "quota_facts_per_hour"
    assert 0 < (second.excess.retry_after_s or 0) <= 3600
    assert not Candidate.objects.exists()


def test_agents_without_a_token_share_one_quota_and_gutask_of_this_machine_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure(quota_facts_per_hour=2)
    monkeypatch.setitem(quotas.PER_HOUR, quotas.GUTASK, 3)
    strangers = [*state_many(2, "zero"), *state_many(1, "anonymous@10.0.0.7", start=2)]

    assert statuses(strangers) == ["inserted", "inserted", "candidate"]
    assert statuses(state_many(1, start=3)) == ["inserted"]  # a registered one
    local = state_many(4, "anonymous@127.0.0.1", start=10, source=Source.GUTASK, role="")
    assert statuses(local) == ["inserted"] * 3 + ["over_quota"]
    assert used(AgentHour.STRANGERS)[0] == 2
    assert used(AgentHour.LOCAL_GUTASK)[0] == 3


def test_conflicts_have_a_quota_of_their_own() -> None:
    configure(quota_conflicts_per_hour=1)
    state_many(3, "winky")

    disputed = [say(f"thing{number} isa virus type") for number in range(3)]

    assert statuses(disputed) == ["conflict", "candidate", "candidate"]
    assert say("thing0 isa virus type").status == "conflict"  # a repeat opens none
    assert Claim.objects.count() == 1
    assert used("dobby")[:2] == (0, 1)


def test_a_flood_of_candidates_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(quotas.PER_HOUR, "quota_candidates_per_hour", 2)

    said = state_many(4, role="tool")

    assert statuses(said) == ["candidate", "candidate", "over_quota", "over_quota"]
    assert statuses(state_many(1, role="tool")) == ["candidate"]  # it is one already
    assert Candidate.objects.count() == 2


def test_the_next_hour_begins_anew() -> None:
    configure(quota_facts_per_hour=1)
    state_many(1)
    AgentHour.objects.update(hour=AgentHour.objects.get().hour - AgentHour.KEPT)

    assert statuses(state_many(1, start=1)) == ["inserted"]

    assert quotas.prune(timezone.now()) == 1  # the one that is of no use any more


@pytest.mark.parametrize("source", [Source.INFERRED, Source.GUTASK, Source.CLOUD_LLM])
def test_one_concept_takes_no_more_than_so_many_facts(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "FACTS_PER_CONCEPT_MAX", 2)
    said = [say(f"gnommoweb isa kind{number} dim{number}", source=source) for number in range(3)]

    waits = "over_quota" if source == Source.GUTASK else "candidate"
    assert statuses(said) == ["inserted", "inserted", waits]
    excess = said[2].excess
    assert excess is None or (excess.setting, excess.retry_after_s) == ("facts_per_concept_max", None)
    assert say("gnommoweb isa kind9 dim9", source=Source.OPERATOR).status == "inserted"


def test_statements_about_one_concept_make_few_dimensions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "NEW_DIMENSIONS_PER_CONCEPT_MAX", 2)
    say("heimdall isa server place")

    said = [say(f"gnommoweb isa kind{name} {name}") for name in ("type", "place", "first", "second", "third")]

    assert statuses(said) == ["inserted"] * 4 + ["candidate"]
    assert not Dimension.objects.filter(soas__token="three").exists()
    assert say("heimdall isa kindthree three").status == "inserted"  # another concept may
    assert say("gnommoweb isa kindthree three").status == "inserted"  # which makes it no dimension of one concept


def test_few_newcomers_dispute_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "CONFLICT_MEMBERS_MAX", 2)
    say("gnommoweb isa repo type")

    said = [say(f"gnommoweb isa kind{number} type", "winky") for number in range(3)]

    assert statuses(said) == ["conflict", "conflict", "candidate"]
    assert Edge.objects.get(concept__token="gnommoweb").parent.token == "repo"


def test_many_statements_of_one_transaction_use_the_quota_up_together() -> None:
    configure(quota_facts_per_hour=3)
    for number in range(5):
        observe(f"thing{number} isa kind type")

    settle_due()

    assert len(facts()) == 3
    assert place_statements([]) == []
