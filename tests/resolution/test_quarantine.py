"""What one agent has stated goes to the candidates, and comes back when the quarantine is undone."""

import io
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.channels import Channel
from memory.english.doubt import SpeechAct
from memory.graph.store import Attribution, select_supported
from memory.memories import store
from memory.memories.forgetting import ForgetScope
from memory.memories.forgetting import forget as forget_speaker
from memory.memories.scope import Scope, Speaker
from memory.models import Agent, Alias, Edge, Memory, MemoryHistory, Source, Support
from memory.timing import undate
from resolution.conflicts import members
from resolution.conflicts.undo import undo, undo_run
from resolution.memories.remarks import Remark
from resolution.memories.service import remember
from resolution.models import Candidate, Claim, Run
from resolution.naming.merging import merge
from resolution.naming.names import name_concept
from resolution.quarantine import find_suspects, quarantine
from tests.arrange import OPERATOR, configure, decompose, dispute, dump, facts, forget, graph, say, update
from tests.memory.memories.said import remembered

pytestmark = pytest.mark.django_db

FACT = "gnommoweb isa repo type"
BAD = "gnommoweb ispart evil runs-on"
ON_PURPOSE: dict[str, Any] = {"source": Source.GUTASK, "role": ""}


@pytest.fixture(autouse=True)
def registered() -> None:
    for number, name in enumerate(("dobby", "winky", "mallory")):
        Agent.objects.create(name=name, token_hash=f"{number}" * 64)


def expel(agent: str = "mallory", since: timedelta | None = None) -> Run:
    start = timezone.now() - since if since is not None else None
    return quarantine(find_suspects(agent, start), OPERATOR, Run.Trigger.QUARANTINE, f"Quarantine of {agent}")


def edge(dimension: str) -> Edge:
    return Edge.objects.get(concept__token="gnommoweb", dim__token=dimension)


def test_exactly_its_facts_wait_among_the_candidates_and_come_back() -> None:
    configure(quota_facts_per_hour=10_000)
    for number in range(60):
        say(f"thing{number} isa kind type", "mallory" if number % 3 == 0 else "dobby")
    before, everything = graph(), dump()

    run = expel()

    assert len(facts()) == 40
    assert all(int(fact.split()[0].removeprefix("thing")) % 3 for fact in facts())
    assert Candidate.objects.filter(state="open", why="quarantined", channel="user").count() == 20
    assert (run.status, run.counts) == ("done", {"quarantined": 20, "kept": 0, "dismiss": 0})
    report = undo_run(run.pk, OPERATOR)
    assert (len(report.undone), report.refused) == (20, [])
    assert graph() == before
    assert dump() == everything
    assert not Candidate.objects.filter(state="open").exists()


def test_an_operator_who_undid_a_decision_vouches_for_nothing() -> None:
    claim = dispute("skadi isa queue type", "skadi isa stream type")
    done = decompose(claim.pk, OPERATOR, "", existing_dimension="form", new_dimension="use")
    undo(done.pk, OPERATOR)

    assert [one.voucher for one in find_suspects("dobby").facts] == [None]


def test_of_the_names_of_an_address_only_the_forgotten_one_loses_its_facts() -> None:
    say("kvasir isa relay type", "zero@10.0.0.7")
    say("skadi isa printer type", "mass@10.0.0.7")
    asked = list(select_supported(Edge.objects.all(), "mass@10.0.0.7"))

    forget_speaker(ForgetScope(agent="mass@10.0.0.7"))

    assert [str(edge.concept) for edge in asked] == ["skadi"]
    assert facts() == {"kvasir isa relay type"}
    assert Support.objects.filter(agent="anonymous@10.0.0.7").count() == 1


def test_what_it_has_corrected_is_as_it_was_before() -> None:
    say(FACT, "dobby")
    assert forget("gnommoweb isa container type", "mallory", SpeechAct.CORRECTS, **ON_PURPOSE).status == "superseded"

    expel()

    assert facts() == {FACT}


def test_what_it_has_taken_back_returns_unless_others_have_changed_it_since() -> None:
    for text in (FACT, "kvasir isa relay type", "skadi isa printer type", "tyr isa host type"):
        say(text, "dobby")
    for text in (FACT, "kvasir isa relay type", "skadi isa printer type"):
        assert forget(text, "mallory", **ON_PURPOSE).status == "retired"
    forget("tyr isa host type", "dobby")
    say("kvasir isa daemon type", "mallory")  # in its place
    say("skadi isa plotter type", "winky")
    before, everything = graph(), dump()

    run = expel()

    assert facts() == {FACT, "kvasir isa relay type", "skadi isa plotter type"}
    assert (edge("type").agent, run.counts["restored"]) == ("dobby", 2)
    report = undo_run(run.pk, OPERATOR)
    assert report.refused == []
    assert (graph(), dump()) == (before, everything)
    assert [str(row) for row in find_suspects("mallory", timezone.now()).retracted] == []


def test_names_that_it_gave_end() -> None:
    say("kvasir isa relay type", "dobby")
    name_concept("kvs", "kvasir", Attribution("mallory", Source.GUTASK, 1.0, timezone.now()))
    name_concept("kvas", "kvasir", Attribution("dobby", Source.GUTASK, 1.0, timezone.now()))

    run = expel()

    assert list(Alias.objects.values_list("soas__token", flat=True)) == ["kvas"]
    undo_run(run.pk, OPERATOR)
    assert Alias.objects.count() == 2


def test_whoever_vouched_under_a_former_name_still_does() -> None:
    say(BAD, "mallory")
    say(BAD, "dobby")
    say("kvasir ispart evil membership", "dobby")
    say("kvasir ispart evil membership", "mallory")
    merge("gnommoweb", "gnommo", OPERATOR)
    merge("evil", "turing", OPERATOR)
    Edge.objects.update(agent="mallory")

    expel()

    assert facts() == {"gnommo ispart turing runs-on", "kvasir ispart turing membership"}


def test_what_it_gave_out_as_old_goes_by_when_it_was_read() -> None:
    say(BAD, "mallory", at=datetime.fromtimestamp(undate(time.time()), UTC))

    expel(since=timedelta(hours=1))

    assert facts() == set()


def test_it_does_not_bring_its_facts_back_by_saying_them_again_but_others_do() -> None:
    say(FACT, "mallory")
    expel()

    assert say(FACT, "mallory").status == "decided"
    assert Candidate.objects.get().state == "open"
    assert say(FACT, "dobby").status == "inserted"
    assert (edge("type").agent, Candidate.objects.get().state) == ("dobby", "promoted")


@pytest.mark.parametrize(
    ("voice", "stays"),
    [
        ({"agent": "dobby"}, True),
        ({"agent": "dobby", "source": Source.GUTASK, "role": ""}, True),
        ({"agent": "hermione", "source": Source.OPERATOR, "role": ""}, True),
        ({"agent": "anonymous@10.0.0.1"}, True),
        ({"agent": "dobby", "role": "assistant"}, False),
        ({"agent": "mallory", "role": "system"}, False),
    ],
)
def test_what_another_voice_has_said_too_stays_as_surely_as_that_voice(voice: dict[str, str], stays: bool) -> None:
    say(BAD, "mallory", confidence=0.8)
    say(BAD, **{"confidence": 0.7, **voice})  # type: ignore[arg-type]

    run = expel()

    assert (BAD in facts()) == stays
    if stays and voice.get("source") is None:
        assert (edge("runs-on").agent, edge("runs-on").confidence) == (voice["agent"], 0.8)
        assert not edge("runs-on").is_corroborated
    undo_run(run.pk, OPERATOR)
    assert BAD in facts()


def test_strangers_of_one_address_are_one_supporter() -> None:
    say(BAD, "one@10.0.0.1")
    say(BAD, "two@10.0.0.1")
    say(FACT, "one@10.0.0.1")
    say(FACT, "one@10.0.0.2")

    expel("one@10.0.0.1")

    assert facts() == {FACT}


def test_a_fact_of_others_that_it_supported_stays_as_it_was() -> None:
    say(FACT, "dobby", confidence=0.9)
    say(FACT, "mallory", confidence=0.9, **ON_PURPOSE)
    assert edge("type").channel == "gutask"
    before = dump()

    run = expel()

    assert (edge("type").agent, edge("type").channel, edge("type").is_corroborated) == ("dobby", "user", False)
    assert [str(row) for row in Support.objects.all()] == ["dobby"]
    undo_run(run.pk, OPERATOR)
    assert {str(row) for row in Support.objects.all()} == {"dobby", "mallory"}
    assert dump() == before


def test_what_a_person_decided_for_stays() -> None:
    say("gnommoweb ispart turing runs-on", "dobby")
    claim = say(BAD, "mallory").claim
    assert claim is not None
    update(claim.pk, OPERATOR, "")

    expel()

    assert BAD in facts()


def test_what_it_had_replaced_comes_back_also_over_several_steps() -> None:
    say("gnommoweb ispart turing runs-on", "dobby", at=timezone.now() - timedelta(days=3))
    edge("runs-on").dim.dimension.__class__.objects.filter(soas__token="runs-on").update(on_collision="supersede")
    say("gnommoweb ispart evil1 runs-on", "mallory", at=timezone.now() - timedelta(days=2))
    say("gnommoweb ispart evil2 runs-on", "mallory")
    assert edge("runs-on").parent.token == "evil2"
    before = graph()

    run = expel()

    assert (edge("runs-on").parent.token, edge("runs-on").agent) == ("turing", "dobby")
    undo_run(run.pk, OPERATOR)
    assert graph() == before


def test_its_conflicts_are_closed_and_a_rival_takes_the_room_it_leaves() -> None:
    say(FACT, "dobby")
    disputing = say("gnommoweb isa virus type", "mallory").claim
    say("kvasir isa worm type", "mallory")
    rival = say("kvasir isa service type", "winky").claim
    assert disputing is not None
    assert rival is not None

    run = expel()

    disputing.refresh_from_db()
    assert disputing.status == "dismissed"
    assert "kvasir isa service type" in facts()
    undo_run(run.pk, OPERATOR)
    assert set(Claim.objects.filter(status="pending")) == {disputing, rival}
    assert "kvasir isa worm type" in facts()


def test_only_what_it_said_first_since_then() -> None:
    say(FACT, "mallory", at=timezone.now())
    Support.objects.update(said_at=timezone.now() - timedelta(days=2))
    old = find_suspects("mallory", timezone.now() - timedelta(days=1))
    assert old.facts == []
    say(BAD, "mallory")

    expel(since=timedelta(hours=1))

    assert facts() == {FACT}


def test_the_command_shows_does_and_takes_back() -> None:
    say(FACT, "mallory")

    def command(*words: str) -> str:
        out = io.StringIO()
        call_command("quarantine", *words, stdout=out)
        return out.getvalue()

    memory = remark("The cat of the office is called Momo.")
    shown = command("mallory", "--dry-run")
    assert "1 fact and 1 memory would go" in shown
    assert f"memory {memory.pk}: The cat of the office is called Momo.\n" in shown
    assert facts() == {FACT}
    assert "1 fact and 1 memory went to the candidates" in command("mallory", "--since", "2020-01-01")
    assert (facts(), statuses()) == (set(), {memory.text: "candidate"})
    run = Run.objects.get()
    assert "2 decisions undone" in command("--undo", str(run.pk))
    assert facts() == {FACT}
    assert "Nothing came from nobody" in command("nobody")
    with pytest.raises(CommandError, match="is no quarantine"):
        command("--undo", "4711")
    with pytest.raises(CommandError, match="is no time"):
        command("mallory", "--since", "yesterday")


def remark(text: str, agent: str = "mallory", *, channel: Channel = Channel.USER, **more: Any) -> Memory:
    """Return what is in force after it was said; in a conversation of its own, a moment after all before it."""
    scope = Scope(Speaker(f"{agent}"), None)
    fields = {"category": "project", "source": Memory.Source.STATED, "at": timezone.now(), "confidence": 0.9} | more
    [done] = remember([Remark(text, scope=scope, channel=channel, **fields)])
    assert done.memory is not None
    return done.memory


def statuses() -> dict[str, str]:
    return dict(Memory.objects.values_list("text", "status"))


def test_its_memories_wait_as_candidates_and_come_back() -> None:
    remark("The staging cluster has three nodes.", "dobby")
    remark("The staging cluster is in Oslo.")
    remark("The cat of the office is called Momo.")
    before = list(Memory.objects.order_by("pk").values("text", "status", "confidence", "is_disputed", "superseded_by"))

    run = expel()

    assert statuses() == {
        "The staging cluster has three nodes.": "active",
        "The staging cluster is in Oslo.": "candidate",
        "The cat of the office is called Momo.": "candidate",
    }
    assert run.counts == {"quarantined": 0, "kept": 0, "dismiss": 0, "memories": 2}
    assert [said.run for said in MemoryHistory.objects.filter(action="quarantine")] == [run.pk] * 2
    report = undo_run(run.pk, OPERATOR)
    assert (len(report.undone), report.refused) == (2, [])
    again = list(Memory.objects.order_by("pk").values("text", "status", "confidence", "is_disputed", "superseded_by"))
    assert again == before


def test_a_memory_that_another_voice_has_stated_too_stays_with_that_voices_confidence() -> None:
    memory = remark("The staging cluster is in Oslo.", channel=Channel.GUTASK, confidence=1.0)
    remark("The staging cluster is in Oslo.", "dobby")

    run = expel()

    memory.refresh_from_db()
    assert (memory.status, memory.channel, memory.confidence) == ("active", "user", 0.8)
    assert run.counts["memories_kept"] == 1


def test_only_another_voice_brings_a_memory_back() -> None:
    text = "The staging cluster is in Oslo."
    remark(text)
    expel()

    remark(text)
    assert statuses() == {text: "candidate"}

    remark(text, "dobby")
    assert statuses() == {text: "active"}


def test_what_its_memories_had_replaced_holds_again_where_the_place_is_free() -> None:
    old, bad, worse = (
        remembered(text, Scope(Speaker(agent), None), category="project")
        for text, agent in (
            ("The lead is Ann.", "dobby"),
            ("The lead is Eve.", "mallory"),
            ("The lead is Max.", "mallory"),
        )
    )
    for before, after in ((old, bad), (bad, worse)):
        store.supersede(before, after, members.change_of(OPERATOR, ""))

    run = expel()

    assert statuses() == {
        "The lead is Ann.": "active",
        "The lead is Eve.": "superseded",
        "The lead is Max.": "candidate",
    }
    undo_run(run.pk, OPERATOR)
    assert statuses() == {
        "The lead is Ann.": "superseded",
        "The lead is Eve.": "superseded",
        "The lead is Max.": "active",
    }


def test_what_only_its_memory_disputed_is_as_sure_as_before() -> None:
    mine = remark("The release day is Monday.", "dobby")
    theirs = remark("The release day is Friday.")
    mine.refresh_from_db()
    theirs.refresh_from_db()
    assert (mine.is_disputed, theirs.is_disputed) == (True, True)

    run = expel()

    mine.refresh_from_db()
    assert (mine.is_disputed, mine.confidence) == (False, 0.9)
    undo_run(run.pk, OPERATOR)
    mine.refresh_from_db()
    assert mine.is_disputed
