"""Statements that give a concept another name."""

from typing import Any

import pytest
from django.utils import timezone

from memory.db.transactions import run_transaction
from memory.english.doubt import SpeechAct
from memory.graph.judging import Manner
from memory.graph.store import Assertion, Attribution
from memory.models import Alias, Edge, Soas, Source, Support
from memory.types import NAMES, Triple
from resolution.conflicts.undo import undo_run
from resolution.intake.place import Outcome
from resolution.models import Candidate, Run
from resolution.naming.names import place_or_name, promote
from tests.arrange import OPERATOR, dump, facts, say

pytestmark = pytest.mark.django_db


def name(
    other: str, own: str, kind: SpeechAct = SpeechAct.STATES, *, is_hedged: bool = False, **changes: Any
) -> Outcome:
    """Somebody says that the one is another name of the other; a change: that it is called so from now on."""
    said = {"source": Source.INFERRED, "confidence": 0.8, "at": timezone.now(), "role": "user"} | changes
    statement = Assertion(
        Triple(other, own, NAMES, False), Attribution("dobby", **said), Manner(kind, is_hedged=is_hedged)
    )
    return run_transaction(lambda: place_or_name([statement], is_metered=True))[0]


def names() -> list[str]:
    return sorted(map(str, Alias.objects.all()))


def test_what_has_no_facts_becomes_a_name_of_what_has() -> None:
    say("kvasir isa relay type")

    assert name("kvs", "kvasir").status == "inserted"
    assert name("kvasir", "kvas-1").status == "inserted"  # the other way round
    assert name("kvs", "kvasir").status == "confirmed"

    assert names() == ["kvas-1 = kvasir", "kvs = kvasir"]
    assert say("kvs ispart tyr runs-on").status == "inserted"
    assert facts() == {"kvasir isa relay type", "kvasir ispart tyr runs-on"}


def test_what_is_renamed_is_shown_by_its_new_name_and_the_run_can_be_undone() -> None:
    say("skadi isa printer type")
    say("tray-2 ispart skadi membership")
    before = dump()["edges"]

    assert name("skadi", "runar", SpeechAct.CHANGES).status == "superseded"

    assert facts() == {"runar isa printer type", "tray-2 ispart runar membership"}
    assert names() == ["skadi = runar"]
    run = Run.objects.get()
    assert (run.actor, run.note) == ("dobby", "Renamed skadi to runar")
    undo_run(run.pk, OPERATOR)
    assert (names(), [row[:7] for row in dump()["edges"]]) == ([], [row[:7] for row in before])


@pytest.mark.parametrize(
    "stated",
    [
        [("skadi isa printer type", {}), ("runar isa plotter type", {"agent": "winky"})],
        [("skadi isa printer type", {}), ("skadi isa printer type", {"agent": "winky"})],
        [("skadi isa printer type", {"source": Source.GUTASK, "role": "", "agent": "winky"})],
        [("kvasir isa relay skadi", {})],
    ],
    ids=["facts of both", "stated by others, too", "stated on purpose by another", "a dimension"],
)
def test_what_takes_more_waits_for_an_operator(stated: list[tuple[str, dict[str, Any]]]) -> None:
    for text, changes in stated:
        say(text, **changes)
    before = facts()

    assert name("skadi", "runar", SpeechAct.CHANGES).status == "candidate"

    assert (facts(), names()) == (before, [])
    waiting = Candidate.objects.get()
    assert (str(waiting), waiting.why, waiting.state) == ("skadi is another name of runar", "two names", "open")
    promotion = promote(waiting.pk, OPERATOR)
    assert promotion is not None
    assert (promotion.outcome.status, names()) == ("superseded", ["skadi = runar"])
    waiting.refresh_from_db()
    assert waiting.state == "promoted"


@pytest.mark.parametrize("more", [{"agent": "dobby"}, {"agent": "winky", "channel": "assistant"}])
def test_two_names_with_facts_are_merged_by_whoever_may_correct_all_of_these(more: dict[str, Any]) -> None:
    say("skadi isa printer type")
    Edge.objects.update(channel=more.get("channel", "user"))
    Support.objects.update(agent=more["agent"])
    say("runar ispart tyr runs-on")

    assert name("skadi", "runar").status == "superseded"

    assert facts() == {"runar isa printer type", "runar ispart tyr runs-on"}


def test_a_belief_waits_and_a_word_of_the_dictionary_needs_an_operator() -> None:
    say("kvasir isa relay type")
    Soas.objects.create(token="bear", is_common=True)

    assert name("kvs", "kvasir", is_hedged=True).status == "candidate"
    assert name("bear", "kvasir").status == "candidate"

    assert names() == []
    assert not Edge.objects.filter(concept__token__in=["kvs", "bear"]).exists()
