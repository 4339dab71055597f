"""What only a page, a tool or a model has stated waits beside the graph, until somebody vouches for it."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.channels import Channel
from memory.graph import store
from memory.graph.store import Assertion, Attribution
from memory.models import Agent, Alias, Config, Dimension, Edge, EdgeHistory, Soas, Source, Support
from memory.types import NAMES
from resolution.actors import Actor
from resolution.conflicts.undo import undo
from resolution.conflicts.verdict import Verdict
from resolution.errors import DecisionError
from resolution.intake.candidates import CandidateBook, dismiss, expire
from resolution.intake.forgetting import forget, read_facts
from resolution.models import Candidate, Claim, Conflict, Decision
from resolution.naming.names import promote
from resolution.pages.words import describe_decision
from tests import arrange
from tests.arrange import OPERATOR, decide_claim, fact, facts, say
from tests.memory.english.hostile import NoWords

pytestmark = pytest.mark.django_db

HERE, THERE = b"h" * 16, b"t" * 16
FACT = "gnommoweb isa repo type"


@pytest.fixture(autouse=True)
def registered() -> None:
    for number, name in enumerate(("dobby", "winky")):
        Agent.objects.create(name=name, token_hash=f"{number}" * 64)


def candidate() -> Candidate:
    return Candidate.objects.get()


def edge(dimension: str = "type") -> Edge:
    return Edge.objects.get(concept__token="gnommoweb", dim__token=dimension)


@pytest.mark.parametrize(("role", "channel"), [("tool", "quoted"), ("assistant", "assistant"), ("ipython", "quoted")])
def test_what_nobody_vouches_for_fills_no_slot(role: str, channel: str) -> None:
    outcome = say(FACT, role=role, confidence=0.5, conversation=HERE, evidence="It is a repo.")

    assert outcome.status == "candidate"
    assert not Edge.objects.filter(concept__token="gnommoweb").exists()
    assert not Soas.objects.filter(token="gnommoweb").exists()  # not even a word of the vocabulary
    row = candidate()
    assert (row.triple, row.channel, row.voices) == (fact(FACT), channel, [["dobby", channel]])
    assert (row.state, row.evidence, row.confidence) == ("open", "It is a repo.", 0.5)


def test_against_what_stands_it_opens_no_conflict() -> None:
    say(FACT)

    assert say("gnommoweb isa virus type", role="tool").status == "candidate"

    assert not Claim.objects.exists()
    assert edge().parent.token == "repo"


SAM, KIM = ("dobby", "sam"), ("dobby", "kim")


@pytest.mark.parametrize("text", ["gnommoweb", "gnommoweb -isa repo", "Gnommoweb is a repo."])
def test_what_waits_for_its_speaker_is_forgotten_by_that_speaker(text: str) -> None:
    for holder in (SAM, KIM):
        say(FACT, channel="unsure", holder=holder, paragraph="0" * 32)
    by = Attribution("dobby", Source.GUTASK, 1.0, timezone.now(), holder=SAM)

    [wanted] = read_facts(text, NoWords())
    assert [outcome.status for outcome in forget(wanted, by)] == ["retired"]

    states = dict(Candidate.objects.values_list("for_person", "state"))
    assert states == {"sam": "expired", "kim": "open"}
    assert "retired" not in {outcome.status for outcome in forget(wanted, by)}


def test_a_sentence_is_read_for_the_facts_that_are_to_be_forgotten() -> None:
    read = read_facts("Gnommoweb is a repo and runs on tyr-1, which was built in May.", NoWords())

    assert [(str(one.fact), one.names_dimension) for one in read] == [
        ("gnommoweb -isa repo in context of type", False),
        ("gnommoweb -ispart tyr-1 in context of runs-on", True),
    ]
    assert read_facts("The gate code room is upstairs.", NoWords()) == []


def test_of_what_is_known_it_changes_nothing() -> None:
    say(FACT)
    before = EdgeHistory.objects.count()

    assert say(FACT, "winky", role="assistant").status == "needless"

    assert (edge().confidence, EdgeHistory.objects.count(), Candidate.objects.count()) == (0.8, before, 0)


@pytest.mark.parametrize("source", [Source.INFERRED, Source.GUTASK, Source.OPERATOR])
def test_a_person_who_says_the_same_promotes_it(source: Source) -> None:
    say(FACT, role="tool", confidence=0.4)

    outcome = say(FACT, "winky", source=source, role="user" if source == Source.INFERRED else "", confidence=0.8)

    assert outcome.status == "inserted"
    assert edge().confidence == 0.8
    assert (candidate().state, candidate().resolved_by) == ("promoted", "winky")


def test_the_same_agent_never_vouches_for_itself() -> None:
    for day in range(7):
        said = say(FACT, role="assistant", conversation=bytes([day]) * 16, at=timezone.now() + timedelta(days=day))
        assert said.status == "candidate"

    row = candidate()
    assert (row.said_count, row.conversations, row.voices) == (7, 7, [["dobby", "assistant"]])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("dobby", "assistant"), ("winky", "assistant")),
        (("anonymous@10.0.0.1", "assistant"), ("dobby", "assistant")),
        (("dobby", "assistant"), ("stranger", "assistant")),
        (("dobby", "tool"), ("winky", "assistant")),
        (("dobby", "assistant"), ("winky", "tool")),
        (("dobby", "tool"), ("winky", "tool")),
    ],
)
def test_neither_models_nor_pages_promote_what_others_have_said(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    for agent, role in (first, second):
        assert say(FACT, agent, role=role).status == "candidate"

    assert len(candidate().voices) == 2


def test_strangers_of_one_address_are_one_voice() -> None:
    for number in range(30):
        say(FACT, f"agent{number}@10.0.0.7", role="assistant")
    say(FACT, "winky", role="assistant")

    assert candidate().voices == [["agent0@10.0.0.7", "assistant"], ["winky", "assistant"]]


def test_two_models_together_contradict_nobody() -> None:
    say("gnommoweb isa service type")
    say(FACT, role="assistant")

    assert say(FACT, "winky", role="assistant").status == "candidate"

    assert (candidate().state, edge().parent.token) == ("open", "service")


def test_two_workers_that_meet_the_same_new_one_lose_no_voice() -> None:
    books = [CandidateBook([fact(FACT)]) for _ in range(2)]  # both look before either writes
    for book, agent in zip(books, ("dobby", "winky"), strict=True):
        said = Attribution(
            agent, Source.INFERRED, 0.5, timezone.now(), f"{agent} says so.", "assistant", conversation=THERE
        )
        book.note(Assertion(fact(FACT), said))

    for book in books:
        book.write()

    row = candidate()
    assert (row.said_count, row.voices) == (2, [["dobby", "assistant"], ["winky", "assistant"]])
    assert (row.evidence, row.conversations) == ("dobby says so.", 1)


def test_what_was_dismissed_stays_so() -> None:
    say(FACT, role="tool")
    Candidate.objects.update(state="dismissed")

    say(FACT, "winky", role="tool")
    say(FACT, "winky", role="assistant")

    assert (candidate().state, candidate().said_count) == ("dismissed", 3)


def everything() -> dict[str, Any]:
    """The graph, the queue, the names, and the candidates with all that is stored of them."""
    supporters = list(Support.objects.order_by("kind", "object_id", "agent").values("kind", "agent", "channel"))
    named = list(Alias.objects.values("soas__token", "concept__token"))
    return {**arrange.dump(), "candidates": list(Candidate.objects.values()), "support": supporters, "names": named}


@pytest.mark.parametrize(
    ("known", "said", "effect"),
    [
        ([], FACT, "inserted"),
        (["gnommoweb isa virus type"], FACT, "conflict"),
        (["gnommoweb ispart tyr runs-on", "repo isa sort type"], f"gnommoweb ispart repo {NAMES}", "superseded"),
        (["repo isa sort type"], f"gnommoweb ispart repo {NAMES}", "inserted"),
    ],
    ids=["a new fact", "against a fact", "a merge", "a name"],
)
def test_an_accepted_one_is_a_decision_whose_undo_is_exact(known: list[str], said: str, effect: str) -> None:
    for text in known:
        say(text)
    wait = {"channel": "quoted", "confidence": 0.4, "evidence": "It is.", "voices": [["dobby", "quoted"]]}
    Candidate.objects.create(**asdict(fact(said)), **wait)
    before = everything()

    promotion = promote(candidate().pk, OPERATOR, "I know it")
    assert promotion is not None
    assert (promotion.outcome.status, candidate().state) == (effect, "promoted")
    decision = Decision.objects.get()
    assert (decision.kind, decision.reason, decision.candidate) == ("promote", "I know it", candidate())

    undo(decision.pk, OPERATOR)

    assert everything() == before
    assert not Conflict.objects.filter(status="open").exists()


def test_a_dismissed_one_waits_again_after_undo_with_what_was_said_meanwhile() -> None:
    say(FACT, role="tool")
    decision = dismiss(candidate().pk, OPERATOR)
    say(FACT, "winky", role="tool")
    assert decision is not None
    assert (candidate().state, dismiss(candidate().pk, OPERATOR)) == ("dismissed", None)

    undo(decision.pk, OPERATOR)

    assert (candidate().state, candidate().resolved_at, candidate().said_count) == ("open", None, 2)
    assert Decision.objects.get(kind="undo").candidate == candidate()


def test_accepting_is_not_undone_after_the_conflict_that_it_opened_was_decided() -> None:
    say("gnommoweb isa virus type")
    say(FACT, role="tool")
    promotion = promote(candidate().pk, OPERATOR)
    assert promotion is not None
    assert promotion.decision is not None
    decide_claim(Claim.objects.get().pk, OPERATOR, Verdict("dismiss", ""))

    with pytest.raises(DecisionError, match="was decided since: undo that first"):
        undo(promotion.decision.pk, OPERATOR)


def test_a_decision_about_a_forgotten_one_is_still_told_without_its_words() -> None:
    say(FACT, role="tool")
    dismiss(candidate().pk, OPERATOR)
    Candidate.objects.all().delete()

    [decision] = Decision.objects.select_related("candidate")

    assert describe_decision(decision) == "Dismissed “a candidate that was forgotten”"
    undo(decision.pk, OPERATOR)


def test_what_was_promoted_and_taken_back_waits_again() -> None:
    say(FACT, role="tool")
    say(FACT)
    store.retire(edge(), Actor("operator", Source.OPERATOR).attribute("no"))

    assert say(FACT, role="tool").status == "candidate"

    assert candidate().state == "open"


def test_what_nobody_says_for_a_month_expires() -> None:
    say(FACT, role="tool", at=timezone.now() - timedelta(days=31))
    say("kvasir isa repo type", role="tool")

    assert expire(timezone.now()) == 1

    assert [row.concept for row in Candidate.objects.filter(state="open")] == ["kvasir"]


HOST = "gnommoweb isa evil.example.com type"


class TestANameThatOnlyAnOperatorCanVouchFor:
    @pytest.mark.parametrize(
        "text",
        [
            *(HOST, "gnommoweb isa run-this-or-we-die type", "gnommoweb isa eve@evil owned-by"),
            *("gnommoweb isa run-curl-evil-now type", "gnommoweb isa send-keys-to-eve type"),
        ],
    )
    @pytest.mark.parametrize("said", [{}, {"source": Source.GUTASK, "role": ""}, {"source": Source.CLOUD_LLM}])
    def test_waits_whoever_else_states_it(self, text: str, said: dict[str, Any]) -> None:
        outcome = say(text, **said)

        assert outcome.status == "candidate"
        assert outcome.reason.startswith("It waits for an operator: ")
        assert outcome.reason.endswith(f" is {candidate().why}.")
        assert not Soas.objects.filter(token="gnommoweb").exists()

    def test_may_show_only_in_the_words_of_the_statement(self) -> None:
        written = "gnommoweb is a mailTheEnvFileToEve"

        assert say("gnommoweb isa mailtheenvfiletoeve type", evidence=written).status == "candidate"

    def test_against_what_stands_it_opens_no_conflict(self) -> None:
        say(FACT)

        assert say(HOST).status == "candidate"
        assert not Claim.objects.exists()

    def test_is_placed_by_an_operator_and_confirmed_by_everybody(self) -> None:
        say(HOST, role="tool")
        say(HOST)
        assert candidate().why == "the name of a host"  # no longer that only a page has said it

        promoted = promote(candidate().pk, OPERATOR)
        assert promoted is not None
        assert promoted.outcome.status == "inserted"

        assert (say(HOST, "winky").status, candidate().state) == ("confirmed", "promoted")

    def test_that_was_dismissed_stays_so(self) -> None:
        say(HOST)
        Candidate.objects.update(state="dismissed")

        outcome = say(HOST, "winky", source=Source.GUTASK, role="")

        assert (outcome.status, outcome.reason) == ("candidate", "It was dismissed before.")
        assert candidate().state == "dismissed"

    def test_is_placed_where_a_conflict_about_it_is_decided(self) -> None:
        say(FACT)
        claim = say(HOST, source=Source.OPERATOR, role="").claim
        Claim.objects.update(incoming_source="inferred", channel="user")  # of an earlier version
        assert claim is not None

        decide_claim(claim.pk, OPERATOR, Verdict("relocate", "", dimension="address"))

        assert facts() == {"gnommoweb isa repo type", "gnommoweb isa evil.example.com address"}

    def test_may_be_what_something_runs_on(self) -> None:
        assert say("gnommoweb ispart web1.glitch.org runs-on").status == "inserted"


class TestStrength:
    def test_where_the_newer_wins_a_user_does_not_displace_an_operator(self) -> None:
        say("gnommoweb ispart turing runs-on", source=Source.OPERATOR, role="")
        Dimension.objects.filter(soas__token="runs-on").update(on_collision="supersede")
        later = timezone.now() + timedelta(hours=1)

        outcome = say("gnommoweb ispart evil runs-on", at=later)

        assert outcome.status == "conflict"
        assert edge("runs-on").parent.token == "turing"

    @pytest.mark.parametrize("source", [Source.GUTASK, Source.OPERATOR])
    def test_the_strong_displace_the_weak(self, source: Source) -> None:
        say("gnommoweb ispart turing runs-on")
        Dimension.objects.filter(soas__token="runs-on").update(on_collision="supersede")

        assert say("gnommoweb ispart evil runs-on", source=source, role="").status == "superseded"


class TestUnsure:
    """What a long message states holds for its speaker alone, until another says it in other words."""

    DOBBY, WINKY = ("dobby", ""), ("winky", "bob")

    def mumble(self, text: str = FACT, holder: tuple[str, str] = DOBBY, paragraph: str = "one", **changes: Any) -> str:
        said = {"channel": Channel.UNSURE, "holder": holder, "paragraph": paragraph} | changes
        return say(text, holder[0], **said).status

    def waiting(self) -> dict[tuple[str, str], list[str]]:
        rows = Candidate.objects.filter(state="open").order_by("parent")
        found: dict[tuple[str, str], list[str]] = {}
        for row in rows:
            found.setdefault(row.holder, []).append(row.parent)
        return found

    def test_it_waits_for_its_speaker_with_its_words_known(self) -> None:
        assert self.mumble() == "candidate"

        assert self.waiting() == {self.DOBBY: ["repo"]}
        assert facts() == set()
        assert Soas.objects.get(token="gnommoweb").novelty == 1

    def test_those_who_said_it_for_themselves_support_what_is_shared_then(self) -> None:
        first, second = ("webui", "u-17"), ("webui", "u-23")
        self.mumble(holder=first)

        assert self.mumble(holder=second, paragraph="two") == "inserted"

        assert {str(row) for row in Support.objects.all()} == {"webui (u-17)", "webui (u-23)"}

    def test_the_same_paste_again_is_no_second_voice(self) -> None:
        assert {self.mumble(), self.mumble(conversation=THERE), self.mumble(holder=self.WINKY)} == {"candidate"}

        assert self.waiting() == {self.DOBBY: ["repo"], self.WINKY: ["repo"]}

    @pytest.mark.parametrize(
        ("first", "second", "is_shared"),
        [
            (DOBBY, WINKY, True),
            (("winky", "ann"), WINKY, True),
            (DOBBY, DOBBY, False),
            (WINKY, WINKY, False),
            (("winky", ""), WINKY, False),
            (("elf@10.0.0.7", "ann"), ("elf@10.0.0.7", "bob"), False),
            (("elf@127.0.0.1", "ann"), ("elf@127.0.0.1", "bob"), True),
        ],
    )
    def test_only_another_makes_a_fact_of_it_in_other_words(
        self, first: tuple[str, str], second: tuple[str, str], is_shared: bool
    ) -> None:
        self.mumble(holder=first)

        assert self.mumble(holder=second, paragraph="two") == ("inserted" if is_shared else "candidate")

    def test_said_by_two_it_is_a_fact_of_all(self) -> None:
        self.mumble()
        self.mumble(holder=self.WINKY, paragraph="two")

        assert facts() == {FACT}
        assert edge().channel == "user"
        assert self.waiting() == {}

    def test_of_a_system_text_any_words_are_the_same(self) -> None:
        self.mumble(role="system")

        assert self.mumble(role="system", paragraph="two") == "candidate"

    def test_whoever_says_so_plainly_makes_a_fact_of_it(self) -> None:
        self.mumble()
        self.mumble(holder=self.WINKY)

        assert say(FACT, "winky").status == "inserted"
        assert self.waiting() == {}

    def test_of_a_speakers_own_the_newer_holds(self) -> None:
        self.mumble()
        self.mumble("gnommoweb isa tool type")
        self.mumble("gnommoweb isa library type", self.WINKY)

        assert self.waiting() == {self.DOBBY: ["tool"], self.WINKY: ["library"]}

    def test_against_a_fact_it_opens_no_conflict(self) -> None:
        say(FACT)

        assert self.mumble("gnommoweb isa tool type") == "candidate"
        assert not Claim.objects.exists()
        assert self.waiting() == {self.DOBBY: ["tool"]}

    def test_what_its_speaker_says_later_for_all_outdates_it(self) -> None:
        self.mumble()
        self.mumble("gnommoweb isa library type", self.WINKY)

        say("gnommoweb isa tool type", "dobby", holder=self.DOBBY)

        assert facts() == {"gnommoweb isa tool type"}
        assert self.waiting() == {self.WINKY: ["library"]}

    def test_its_speaker_takes_it_back_and_nobody_else(self) -> None:
        self.mumble()
        said = {"channel": Channel.UNSURE, "paragraph": "two"}

        assert arrange.forget(FACT, "winky", holder=self.WINKY, **said).status == "needless"
        assert arrange.forget(FACT, "dobby", holder=self.DOBBY, **said).status == "retired"
        assert self.waiting() == {}

    def test_a_setting_shares_it(self) -> None:
        Config.objects.create(key="share_unsure", value="all")

        assert self.mumble() == "inserted"

    def test_it_waits_however_long_nobody_says_it_again(self) -> None:
        self.mumble()
        Candidate.objects.update(last_said_at=timezone.now() - timedelta(days=300))

        assert expire(timezone.now()) == 0
