"""The rules of placing beyond the plain slot: supporters, the newer wins, lineage, and what was decided before."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.english.doubt import SpeechAct
from memory.graph import store
from memory.memories.forgetting import ForgetScope
from memory.memories.forgetting import forget as forget_rows
from memory.models import Dimension, Edge, EdgeHistory, Soas, Source
from resolution.actors import Actor
from resolution.intake import retirement
from resolution.models import Claim, DecidedTriple
from tests.arrange import forget, say

pytestmark = pytest.mark.django_db

NOW = timezone.now() - timedelta(days=1)  # later ones are past, too: what is said in the future is said now
HOUR = timedelta(hours=1)
HERE, THERE = b"h" * 16, b"t" * 16


def edge(concept: str = "gnommoweb", dimension: str = "type") -> Edge:
    return Edge.objects.get(concept__token=concept, dim__token=dimension)


def dimension(name: str, **fields: Any) -> Dimension:
    row = store.ensure_dimension(store.ensure_tokens([name])[name], is_isa=True)
    Dimension.objects.filter(pk=row.pk).update(**fields)
    return row


def decide(text: str, *agents: str, **fields: Any) -> DecidedTriple:
    concept, parent, dim = text.split()
    ids = store.ensure_tokens([concept, parent, dim])
    keys = {"concept_id": ids[concept], "parent_id": ids[parent], "dim_id": ids[dim]}
    usual = {"kind": "dismissed", "conversation": HERE, "decided_at": NOW}
    return DecidedTriple.objects.create(**(keys | usual | fields), agents=list(agents))


class TestSupporters:
    def test_the_same_agent_in_another_role_is_no_other_supporter(self) -> None:
        say("gnommoweb isa repo type", confidence=0.7, role="user")

        say("gnommoweb isa repo type", confidence=0.8, role="system", channel="user")
        say("gnommoweb isa repo type", confidence=0.7, role="user")

        assert edge().confidence == 0.7
        assert list(EdgeHistory.objects.order_by("pk").values_list("action", "role")) == [
            ("insert", "user"),
            ("confirm", "system"),
        ]

    def test_only_another_supporter_corroborates_a_fact(self) -> None:
        say("gnommoweb isa repo type", "dobby@10.0.0.7", role="user")

        say("gnommoweb isa repo type", "dobby@10.0.0.7", role="system", channel="user")
        say("gnommoweb isa repo type", "kreacher@10.0.0.7", role="tool")
        say("gnommoweb isa repo type", "kreacher@10.0.0.7", role="system", channel="user")
        assert not edge().is_corroborated

        say("gnommoweb isa repo type", "winky")
        say("gnommoweb isa repo type", "winky")
        assert edge().is_corroborated

    def test_a_confirmation_moves_the_times_but_never_back(self) -> None:
        say("gnommoweb isa repo type", at=NOW)
        say("gnommoweb isa repo type", at=NOW + HOUR)
        say("gnommoweb isa repo type", "winky", at=NOW - HOUR)

        assert (edge().said_at, edge().last_confirmed) == (NOW + HOUR, NOW + HOUR)

    def test_who_placed_an_edge_that_has_no_supporters_is_not_another_one(self) -> None:
        ids = store.ensure_tokens(["gnommoweb", "repo"])
        dim = dimension("type")
        Edge.objects.create(
            concept_id=ids["gnommoweb"], parent_id=ids["repo"], dim_id=dim.pk, is_isa=True, confidence=0.7,
            source=Source.INFERRED, agent="dobby",
        )  # fmt: skip

        say("gnommoweb isa repo type", "dobby")
        assert (edge().confidence, edge().is_corroborated) == (0.7, False)

        say("gnommoweb isa repo type", "winky")
        assert (edge().confidence, edge().is_corroborated) == (0.8, True)

    def test_strangers_of_one_address_are_one_supporter(self) -> None:
        say("gnommoweb isa repo type", "zero@10.0.0.7", confidence=0.7)
        for name in ("one", "two", "anonymous"):
            say("gnommoweb isa repo type", f"{name}@10.0.0.7", confidence=0.8)
        assert edge().confidence == 0.7

        say("gnommoweb isa repo type", "zero@10.0.0.8", confidence=0.7)

        assert edge().confidence == pytest.approx(0.715)


def supporters(text: str) -> set[str]:
    return {str(row) for row in store.select_support([edge(*text.split())])}


class TestCorrections:
    """What a correction, a refinement and a retraction of another's fact do."""

    FACT = "gnommoweb isa repo type"
    WAYS = (
        ("gnommoweb isa plotter type", SpeechAct.CORRECTS, "superseded", "conflict"),
        ("gnommoweb isa plotter type", SpeechAct.CHANGES, "superseded", "conflict"),
        ("gnommoweb isa git_repo type", SpeechAct.STATES, "superseded", "candidate"),
        (FACT, SpeechAct.RETRACTS, "retired", "conflict"),
    )

    @pytest.mark.parametrize(("text", "kind", "at_once", "otherwise"), WAYS)
    def test_they_take_effect_at_once_where_their_speaker_is_the_only_supporter(
        self, text: str, kind: SpeechAct, at_once: str, otherwise: str
    ) -> None:
        say(self.FACT, "dobby", source=Source.GUTASK, role="")
        say(self.FACT, "dobby")

        assert forget(text, "dobby", kind).status == at_once

    @pytest.mark.parametrize(("text", "kind", "at_once", "otherwise"), WAYS)
    @pytest.mark.parametrize("speaker", ["dobby", "winky", "hermione"])
    def test_otherwise_people_decide_or_it_waits(
        self, speaker: str, text: str, kind: SpeechAct, at_once: str, otherwise: str
    ) -> None:
        say(self.FACT, "dobby")
        say(self.FACT, "winky")

        assert forget(text, speaker, kind).status == otherwise
        assert edge().parent.token == "repo"
        is_retraction = kind is SpeechAct.RETRACTS
        assert Claim.objects.filter(collision_type="retraction").exists() == is_retraction

    @pytest.mark.parametrize(("text", "kind", "at_once", "otherwise"), WAYS)
    @pytest.mark.parametrize("more", [{"source": Source.GUTASK}, {"source": Source.OPERATOR}])
    def test_a_stronger_channel_takes_effect_at_once(
        self, more: dict[str, Any], text: str, kind: SpeechAct, at_once: str, otherwise: str
    ) -> None:
        say(self.FACT, "dobby")
        say(self.FACT, "winky")

        assert forget(text, "hermione", kind, role="", **more).status == at_once

    def test_persons_behind_one_agent_are_several_supporters(self) -> None:
        say(self.FACT, "webui", holder=("webui", "u-17"))
        assert edge().confidence == 0.8

        say(self.FACT, "webui", holder=("webui", "u-23"))

        assert edge().confidence == pytest.approx(0.81)
        assert supporters("gnommoweb type") == {"webui (u-17)", "webui (u-23)"}
        assert forget(self.FACT, "webui", holder=("webui", "u-17")).status == "conflict"

    def test_an_agent_with_and_without_a_person_raises_nothing(self) -> None:
        say(self.FACT, "webui", holder=("webui", "u-17"))

        say(self.FACT, "webui")

        assert (edge().confidence, edge().is_corroborated) == (0.8, False)

    def test_a_fact_that_returns_has_its_supporters(self) -> None:
        say(self.FACT, "dobby")
        say(self.FACT, "winky")
        row = retirement.retire_one(edge(), actor="hermione", reason="")
        assert row is not None

        retirement.put_back(row.pk, actor="hermione")

        assert supporters("gnommoweb type") == {"dobby", "winky"}

    def test_whoever_is_forgotten_supports_nothing(self) -> None:
        say(self.FACT, "webui", holder=("webui", "u-17"))
        say(self.FACT, "winky")

        forget_rows(ForgetScope(agent="webui", person="u-17"))

        assert supporters("gnommoweb type") == {"winky"}


class TestTheNewerWins:
    @pytest.fixture(autouse=True)
    def policy(self) -> None:
        dimension("type", on_collision="supersede")

    def test_a_later_statement_takes_the_place_and_the_history_has_both(self) -> None:
        say("gnommoweb isa repo type", at=NOW)

        outcome = say(
            "gnommoweb isa service type", "winky", at=NOW + HOUR, confidence=0.6, role="system", channel="user"
        )

        assert (outcome.status, str(outcome.existing)) == ("superseded", "gnommoweb -isa repo in context of type")
        standing = edge()
        assert (standing.parent.token, standing.agent, standing.confidence) == ("service", "winky", 0.6)
        assert (standing.said_at, standing.last_confirmed) == (NOW + HOUR, NOW + HOUR)
        row = EdgeHistory.objects.get(action="supersede")
        assert (row.actor, row.role, row.after["parent_id"]) == ("winky", "system", standing.parent_id)
        assert row.before["said_at"] == NOW.isoformat()
        assert not Claim.objects.exists()

    def test_an_earlier_statement_changes_nothing(self) -> None:
        say("gnommoweb isa repo type", at=NOW)

        outcome = say("gnommoweb isa service type", at=NOW - HOUR)

        assert (outcome.status, outcome.existing) == ("outdated", say("gnommoweb isa repo type").fact)
        assert edge().parent.token == "repo"
        assert not EdgeHistory.objects.filter(action="supersede").exists()

    def test_of_two_statements_of_one_moment_the_second_wins(self) -> None:
        say("gnommoweb isa repo type", at=NOW)

        assert say("gnommoweb isa service type", at=NOW).status == "superseded"

    def test_what_was_confirmed_later_is_not_beaten_by_what_was_said_between(self) -> None:
        say("gnommoweb isa repo type", at=NOW)
        say("gnommoweb isa repo type", at=NOW + 2 * HOUR)

        assert say("gnommoweb isa service type", at=NOW + HOUR).status == "outdated"

    def test_what_a_wrong_clock_has_put_into_the_future_stands_no_longer_than_other_facts(self) -> None:
        say("gnommoweb isa repo type", at=NOW + 3650 * 24 * HOUR)
        later = timezone.now() + timedelta(seconds=5)

        assert say("gnommoweb isa service type", at=NOW).status == "outdated"
        assert say("gnommoweb isa service type", at=later).status == "superseded"
        assert edge().said_at == later

    def test_a_newcomer_that_closes_a_ring_is_queued_and_the_world_stays(self) -> None:
        say("aa isa c type", at=NOW)
        say("b isa aa type", at=NOW)

        outcome = say("aa isa b type", at=NOW + HOUR)

        assert (outcome.status, Claim.objects.get().collision_type) == ("conflict", "cycle")
        assert edge("aa").parent.token == "c"

    def test_a_row_about_a_ring_is_resolved_when_the_ring_is_gone_and_it_is_stated_again(self) -> None:
        say("aa isa b type", at=NOW)
        say("b isa aa type", at=NOW)
        say("aa isa c type", at=NOW + HOUR)

        assert say("b isa aa type", at=NOW + HOUR).status == "inserted"
        assert Claim.objects.get().status == "resolved"

    def test_a_ring_that_the_replaced_fact_would_have_closed_is_none(self) -> None:
        say("aa isa b type", at=NOW)

        assert say("aa isa c type", at=NOW + HOUR).status == "superseded"
        assert say("b isa aa type", at=NOW + HOUR).status == "inserted"

    def test_decided_triples_are_not_looked_at(self) -> None:
        decide("gnommoweb repo type", "dobby")

        assert say("gnommoweb isa repo type", conversation=HERE).status == "inserted"
        assert DecidedTriple.objects.exists()


class TestAChangedPolicy:
    """Rows were queued, then the dimension is made to supersede."""

    @pytest.fixture(autouse=True)
    def rows(self) -> None:
        say("gnommoweb isa repo type", at=NOW)
        say("gnommoweb isa service type", at=NOW + HOUR)
        say("gnommoweb isa container type", at=NOW + 3 * HOUR)
        dimension("type", on_collision="supersede")

    def test_a_newer_statement_closes_what_is_older(self) -> None:
        say("gnommoweb isa module type", at=NOW + 2 * HOUR)

        rows = Claim.objects.order_by("said_at")
        assert [(row.incoming_parent.token, row.status) for row in rows] == [
            ("service", "dismissed"),
            ("container", "pending"),
        ]
        assert rows[0].resolution == {"reason": "A later statement replaced it."}
        assert rows[0].resolved_at is not None

    def test_a_row_whose_newcomer_now_stands_is_resolved(self) -> None:
        say("gnommoweb isa service type", at=NOW + 2 * HOUR)

        row = Claim.objects.get(incoming_parent__token="service")
        assert (edge().parent.token, row.status) == ("service", "resolved")


class TestLineage:
    @pytest.fixture(autouse=True)
    def dimensions(self) -> None:
        split = dimension("role", split_from=dimension("type"))
        dimension("duty", split_from=split)

    @pytest.mark.parametrize("place", ["role", "duty"])
    def test_a_fact_that_stands_in_a_dimension_split_from_its_own_is_confirmed_there(self, place: str) -> None:
        say(f"gnommoweb isa repo {place}", "winky")

        outcome = say("gnommoweb isa repo type", "dobby")

        assert outcome.status == "confirmed"
        assert edge(dimension=place).confidence == pytest.approx(0.81)
        assert not Edge.objects.filter(concept__token="gnommoweb", dim__token="type").exists()

    def test_a_fact_that_stands_in_a_split_dimension_is_confirmed_there_also_where_its_own_slot_is_taken(self) -> None:
        say("gnommoweb isa service type")
        say("gnommoweb isa repo role")

        assert say("gnommoweb isa repo type").status == "confirmed"
        assert not Claim.objects.exists()

    def test_a_supporter_of_a_fact_that_has_moved_since_raises_nothing(self) -> None:
        say("gnommoweb isa repo type", "dobby")
        store.move(
            edge(), Dimension.objects.get(soas__token="role").pk, Actor("operator", Source.OPERATOR).attribute("")
        )

        say("gnommoweb isa repo type", "dobby")

        assert edge(dimension="role").confidence == 0.8

    def test_a_fact_of_the_split_dimension_is_not_looked_for_in_the_whole(self) -> None:
        say("gnommoweb isa repo type")

        assert say("gnommoweb isa repo role").status == "inserted"


class TestDecidedTriples:
    def test_what_was_decided_is_neither_stored_nor_queued_again(self) -> None:
        say("gnommoweb isa service type")
        decided = decide("gnommoweb repo type", "dobby")

        outcome = say("gnommoweb isa repo type", conversation=THERE)

        assert (outcome.status, outcome.decided) == ("decided", decided)
        assert str(outcome.existing) == "gnommoweb -isa service in context of type"
        assert outcome.reason.startswith("It was dismissed on ")
        assert not Claim.objects.exists()

    def test_what_was_decided_is_not_stored_where_the_slot_is_empty(self) -> None:
        decide("gnommoweb repo type", "dobby", kind="retired")

        assert say("gnommoweb isa repo type", conversation=THERE).status == "decided"
        assert not Edge.objects.filter(concept__token="gnommoweb").exists()

    def test_a_ring_that_was_decided_about_does_not_come_back(self) -> None:
        say("aa isa b type")
        decide("b aa type", "dobby")

        assert say("b isa aa type").status == "decided"
        assert not Claim.objects.exists()

    def test_a_decided_fact_is_confirmed_where_it_was_moved_to(self) -> None:
        say("gnommoweb isa repo role", "winky")
        moved_to = Dimension.objects.get(soas__token="role").pk
        decide("gnommoweb repo type", "dobby", kind="relocated", moved_to_id=moved_to)

        outcome = say("gnommoweb isa repo type", "kreacher", conversation=THERE)

        assert outcome.status == "confirmed"
        assert edge(dimension="role").confidence == pytest.approx(0.81)
        assert DecidedTriple.objects.exists()

    @pytest.mark.parametrize(
        ("agent", "conversation", "days", "status"),
        [
            ("winky", HERE, 0, "conflict"),
            ("winky@10.0.0.7", HERE, 6, "decided"),
            ("winky@10.0.0.7", HERE, 8, "conflict"),
            ("dobby", THERE, 8, "conflict"),
            ("dobby", THERE, 6, "decided"),
            ("dobby", HERE, 8, "decided"),
        ],
    )
    def test_another_agent_reopens_it_or_another_conversation_after_a_week(
        self, agent: str, conversation: bytes, days: int, status: str
    ) -> None:
        say("gnommoweb isa service type")
        decide("gnommoweb repo type", "dobby")

        outcome = say("gnommoweb isa repo type", agent, conversation=conversation, at=NOW + timedelta(days=days))

        assert outcome.status == status
        assert DecidedTriple.objects.exists() == (status == "decided")

    @pytest.mark.parametrize(("agent", "days", "status"), [("dobby", 1, "decided"), ("dobby", 8, "conflict"),
                                                           ("winky", 1, "conflict")])  # fmt: skip
    def test_what_an_agent_states_on_purpose_is_not_queued_again_within_a_week(
        self, agent: str, days: int, status: str
    ) -> None:
        say("gnommoweb isa service type")
        decide("gnommoweb repo type", "dobby")

        outcome = say("gnommoweb isa repo type", agent, source=Source.GUTASK, at=NOW + timedelta(days=days), role="")

        assert outcome.status == status

    def test_on_purpose_it_may_be_stated_where_nothing_stands(self) -> None:
        decide("gnommoweb repo type", "dobby")

        assert say("gnommoweb isa repo type", source=Source.GUTASK).status == "inserted"
        assert not DecidedTriple.objects.exists()

    def test_an_operator_is_never_stopped(self) -> None:
        say("gnommoweb isa service type")
        decide("gnommoweb repo type", "dobby")

        assert say("gnommoweb isa repo type", "dobby", source=Source.OPERATOR).status == "conflict"
        assert not DecidedTriple.objects.exists()


class TestTheQueue:
    def test_a_row_tells_who_said_it_and_where(self) -> None:
        say("gnommoweb isa repo type")

        say(
            "gnommoweb isa service type",
            "winky",
            role="system",
            channel="user",
            conversation=THERE,
            evidence="it is",
            at=NOW,
        )

        row = Claim.objects.get()
        assert (row.agent, row.role, bytes(row.conversation), row.evidence) == ("winky", "system", THERE, "it is")
        assert (row.said_at, row.priority, row.incoming_source) == (NOW, 0, "inferred")

    def test_who_states_an_open_conflict_on_purpose_raises_only_its_priority(self) -> None:
        say("gnommoweb isa repo type")
        first = say("gnommoweb isa service type", "winky").claim

        second = say("gnommoweb isa service type", "dobby", source=Source.GUTASK, confidence=1.0).claim

        row = Claim.objects.get()
        assert first == second == row
        assert (row.priority, row.agent, row.incoming_source, row.incoming_confidence) == (1, "winky", "inferred", 0.8)

    def test_a_row_is_resolved_when_its_newcomer_comes_to_stand(self) -> None:
        say("gnommoweb isa repo type")
        say("gnommoweb isa service type")
        store.retire(edge(), Actor("operator", Source.OPERATOR).attribute(""))

        assert say("gnommoweb isa service type").status == "inserted"
        assert Claim.objects.get().status == "resolved"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gnommoweb isa gnommoweb type", "gnommoweb cannot be its own parent"),
        ("type isa repo type", "type cannot be its own dimension"),
        ("gnommoweb isa type type", "type cannot be its own dimension"),
        ("Gnommoweb isa repo type", "'Gnommoweb' is not a name"),
        ("gnommoweb isa 1234 type", "'1234' is not a name"),
        ("the isa repo type", "'the' is a function word, not a name"),
    ],
)
def test_what_cannot_be_a_fact_is_invalid_and_leaves_no_word(text: str, reason: str) -> None:
    outcome = say(text)

    assert (outcome.status, outcome.reason) == ("invalid", reason)
    assert not Soas.objects.exists()
