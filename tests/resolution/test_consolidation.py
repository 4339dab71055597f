"""A night over the memories, and how it is taken back."""

from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from memory.channels import Channel
from memory.memories import store
from memory.memories.scope import Scope, Speaker
from memory.memories.slots import find_slots
from memory.memories.store import Change, Draft
from memory.models import GivenNote, Memory, MemoryHistory, MemoryLineage, Source
from memory.search.vectors import queue, schema
from resolution.actors import Actor
from resolution.conflicts.change_log import recording
from resolution.conflicts.memories import open_between
from resolution.conflicts.undo import undo_run
from resolution.models import Conflict, Decision, Run
from resolution.nightly import consolidation
from resolution.nightly.runs import run_now
from tests.arrange import OPERATOR
from tests.memory.memories.said import ANN, said

pytestmark = pytest.mark.django_db

BOB = Scope(Speaker("agent-zero", "bob"))
NOW = timezone.now()


@pytest.fixture
def vectors(db: None) -> None:
    assert schema.make_tables() == ""


def state(text: str, category: str = "project", scope: Scope = ANN, days: float = 1, **more: Any) -> Memory:
    """Stated by a user so many days ago."""
    confidence, channel = more.pop("confidence", 0.8), more.pop("channel", Channel.USER)
    draft = Draft(text, category, scope, confidence, Memory.Source.STATED, find_slots(text, category))
    return store.create(draft, Change("agent-zero", channel, NOW - timedelta(days=days), **more))


def conclude(text: str, *, days: float = 150) -> Memory:
    """By a language model."""
    return state(text, days=days, channel=Channel.EXPLAINED)


def run(status: str = "done") -> Run:
    done = run_now(Run.Trigger.CONSOLIDATE, "anna", consolidation.consolidate_memories)
    assert done.status == status
    return done


def picture() -> list[tuple[Any, ...]]:
    names = (
        "text",
        "status",
        "confidence",
        "is_disputed",
        "evidence_count",
        "merged_into",
        "last_updated",
        "archived_at",
    )
    return list(Memory.objects.order_by("id").values_list(*names)) + list(
        MemoryLineage.objects.order_by("memory", "kind", "row").values_list("memory", "kind", "row")
    )


def hear(text: str, at: datetime = NOW, **more: Any) -> Any:
    return said(text, said_at=at, read_at=at, **more)


def test_two_that_nobody_is_sure_of_are_left_to_the_model() -> None:
    for days in (2, 1):
        state("The release is on Friday.", confidence=0.6, days=days)
        state("The kettle is in room 5.", confidence=0.7, days=days)

    done = run()

    assert done.counts == {"merged": 1, "undecided": 1}
    held = Memory.objects.filter(status="active").values_list("text", flat=True)
    assert sorted(held) == ["The kettle is in room 5.", *["The release is on Friday."] * 2]


def test_without_vectors_it_does_what_words_allow_and_says_so() -> None:
    state("The release is on Friday.", confidence=0.7, episode=7)
    winner = state("The release is on Friday", confidence=0.9, episode=8)
    faded = conclude("The kettle is in room 5.")
    state("The user is a nurse.", "identity", days=900)
    state("The stapler is in room 6.", days=900)  # a person has said so
    conclude("The kettle is never in room 7.")
    conclude("The kettle is in room 7.", days=140)
    Memory.objects.filter(text__endswith="room 7.").update(is_disputed=True)
    before = picture()

    assert consolidation.preview()[0] == {"merged": 1, "deprecated": 1}
    assert picture() == before
    done = run()

    assert done.counts == {"merged": 1, "deprecated": 1}
    assert "only memories with almost the same words" in done.note
    winner.refresh_from_db()
    assert (winner.evidence_count, winner.merged.get().status) == (2, "merged_into")
    assert {row for _, _, row in winner.lineage.values_list("memory", "kind", "row")} == {7, 8, winner.merged.get().pk}
    assert set(Memory.objects.filter(status="deprecated")) == {faded}
    reasons = dict(MemoryHistory.objects.filter(run=done.pk).values_list("memory", "reason"))
    assert reasons[winner.pk] == f"the same in other forms: memories {winner.pk}, {winner.merged.get().pk}"
    assert reasons[faded.pk] == "18% sure by now, and nobody has said it"

    assert len(undo_run(done.pk, OPERATOR).undone) == 2
    assert picture() == before
    assert undo_run(done.pk, OPERATOR).undone == []
    assert run().counts == {}  # what was put back stays


def test_by_their_meaning_memories_are_supported_merged_and_disputed(vectors: None) -> None:
    tea = state("The user likes green tea.", "other")
    state("The user enjoys green tea now.", "other", confidence=0.7)
    of_project = state("The API cache is enabled in production.")
    against = state("The API cache is disabled in production.", days=0.5)
    evidence = hear("I like green tea.")
    hear("Do I like green tea?")
    hear("I don't like green tea.")
    hear("The user likes green tea.", role="assistant")
    echo = hear("The user likes green tea!")
    GivenNote.objects.create(request="0" * 16, conversation=bytes(echo.conversation), kind="memory", row=tea.pk)
    state("The user likes green tea.", "preference", BOB)
    queue.embed_due()
    before = picture()

    done = run()

    tea.refresh_from_db()
    assert (tea.status, tea.last_updated) == ("active", evidence.said_at)
    assert ("episode", evidence.pk) in tea.lineage.values_list("kind", "row")
    assert ("episode", echo.pk) not in tea.lineage.values_list("kind", "row")
    assert tea.confidence == pytest.approx(0.8 + 0.05 * 0.2)
    assert tea.merged.get().text == "The user enjoys green tea now."
    assert set(Memory.objects.filter(is_disputed=True)) == {of_project, against}
    assert (done.counts["merged"], done.counts["disputed"], done.note) == (1, 1, "")

    assert undo_run(done.pk, OPERATOR).refused == []
    assert picture() == before


NUMBERED = (
    *(f"edge{number}" for number in range(1, 13)), *(f"db-{number}" for number in range(1, 13)),
    *(f"crate{number:02}x" for number in range(1, 13)), *(f"room {number}" for number in range(1, 13)),
    *(f"port 80{number}" for number in range(80, 86)), *(f"version 3.{number}" for number in range(1, 7)),
)  # fmt: skip


def test_a_week_of_nights_changes_nothing_of_names_that_differ_in_a_digit(vectors: None) -> None:
    for at, name in enumerate(NUMBERED):
        if at % 2:
            state(f"We never check {name} on Sundays.")
        else:
            state(f"We check {name} on Sundays.")
    queue.embed_due()
    before = picture()

    assert [run().counts.get(name, 0) for _ in range(7) for name in ("merged", "disputed", "supported")] == [0] * 21

    assert picture() == before
    assert not Conflict.objects.exists()


def test_a_memory_is_halved_once_however_many_contradict_it(vectors: None) -> None:
    told = state("edge1 reboots on Sundays.", confidence=1.0)
    for against in ("never reboots", "does not reboot", "no longer reboots"):
        state(f"edge1 {against} on Sundays.", days=0.5)
    queue.embed_due()

    assert run().counts["disputed"] == 3
    run()

    told.refresh_from_db()
    assert (told.status, told.is_disputed, told.confidence) == ("active", True, store.GIVEN_LEAST)
    assert Conflict.objects.get(status="open").members.count() == 4


def test_what_has_become_something_else_since_is_not_undone(vectors: None) -> None:
    faded, other = conclude("The kettle is in room 5."), conclude("The broker is Kafka.")
    done = run()
    store.invalidate(Memory.objects.get(pk=faded.pk), Change("anna", Channel.OPERATOR, NOW))

    against = state("The broker is NATS.")

    report = undo_run(done.pk, OPERATOR)

    assert len(report.undone) == 1
    assert [why for _, why in report.refused] == [f"“{faded}” has changed since: it is taken back."]
    assert dict(Memory.objects.values_list("pk", "status")) == {
        faded.pk: "invalid", other.pk: "active", against.pk: "active",
    }  # fmt: skip
    assert set(Memory.objects.filter(is_disputed=True)) == {other, against}  # and what holds again is looked at


def test_the_command_shows_runs_and_takes_back() -> None:
    conclude("The kettle is in room 5.")

    def call(*arguments: str) -> str:
        out = StringIO()
        call_command("consolidate", *arguments, stdout=out, no_color=True)
        return out.getvalue()

    assert "Deprecate: The kettle is in room 5. (18% sure by now" in call("--dry-run")
    assert not Run.objects.exists()
    assert "1 memory: 1 dropped for low confidence." in call()
    assert "1 decision undone." in call(f"--undo={Run.objects.get().pk}")
    assert MemoryHistory.objects.filter(run=Run.objects.get().pk).count() == 2


def test_the_resolvers_run_goes_on_beside_it() -> None:
    Run.objects.create(trigger="schedule", mode="auto")
    assert run().status == "done"


def test_undoing_a_night_leaves_open_what_rules_had_found_before_it() -> None:
    one, other = (state(f"The deployment target is {name}.") for name in ("Nomad", "Fly"))
    third = state("The cluster is in the basement.")
    store.dispute(one, other, Change("ann", Channel.USER, NOW))
    open_between(one, [other])
    done = Run.objects.create(trigger=Run.Trigger.CONSOLIDATE, mode="", status=Run.Status.DONE)
    with recording(Decision.Kind.CONSOLIDATE, Actor("festinger", Source.FESTINGER, done), ""):
        store.dispute(other, third, Change("festinger", Channel.OPERATOR, NOW, run=done.pk))
        open_between(third, [other], Conflict.Tier.MODEL)
    assert Conflict.objects.get().members.count() == 3

    assert undo_run(done.pk, OPERATOR).refused == []

    assert Conflict.objects.get().status == "open"
    assert {one, other} <= set(Memory.objects.filter(is_disputed=True))
