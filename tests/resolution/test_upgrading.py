"""The run after an upgrade: memories that rules made of prose become candidates, and shared facts are listed."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from memory.channels import Channel
from memory.memories import store
from memory.memories.scope import Scope, Speaker
from memory.memories.slots import find_slots
from memory.memories.store import Change, Draft
from memory.models import Edge, Episode, Memory, Source
from resolution.actors import Actor
from resolution.conflicts.memories import dispute
from resolution.conflicts.undo import undo_run
from resolution.memories import service
from resolution.models import Conflict, Run
from resolution.nightly import upgrading
from resolution.nightly.jobs import carry_out_requested
from tests.arrange import say

pytestmark = pytest.mark.django_db

SAM = Scope(Speaker("dobby", "sam"))
OPERATOR = Actor("anna", Source.OPERATOR)
START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def run() -> Run:
    return Run.objects.create(
        trigger=Run.Trigger.UPGRADE,
        mode="",
        status=Run.Status.REQUESTED,
        started_at=timezone.now() + timedelta(hours=1),
    )


def hear(text: str, person: str = "sam") -> Episode:
    count = Episode.objects.count()
    return Episode.objects.create(
        digest=count.to_bytes(32), conversation=count.to_bytes(16), agent="dobby", person=person, role="user",
        text=text, said_at=START, read_at=START,
    )  # fmt: skip


def read(text: str, said: str, category: str = "preference") -> Memory:
    """Make a memory as a rule of an earlier version did, of a message."""
    by = Change("dobby", Channel.USER, START, episode=hear(said).pk if said else None)
    return store.create(Draft(text, category, SAM, 0.8, Memory.Source.STATED, find_slots(text, category)), by)


def as_now(memory: Memory) -> tuple[str, str]:
    memory.refresh_from_db()
    return memory.status, memory.text


def test_memories_of_prose_become_candidates_in_their_own_words_and_come_back_by_undo(run: Run) -> None:
    memory = read("The user uses Helix.", "Hello there. I use Helix now. Which theme is best?")
    nurse = read("The user is a nurse.", "My birthday is 3 May. I'm a nurse.", "identity")
    gone = read("The user likes tea.", "")

    assert carry_out_requested() == [run]

    assert as_now(memory) == ("candidate", "I use Helix now.")
    assert as_now(nurse) == ("candidate", "I'm a nurse.")
    assert as_now(gone) == ("candidate", "The user likes tea.")
    run.refresh_from_db()
    assert (run.status, run.counts, run.conflicts_seen, run.conflicts_total) == ("done", {"memories": 3}, 3, 3)
    assert carry_out_requested() == []

    report = undo_run(run.pk, OPERATOR)
    assert (len(report.undone), report.refused) == (3, [])
    assert as_now(memory) == ("active", "The user uses Helix.")
    assert memory.slot == "helix"


def test_memories_that_somebody_asked_for_or_vouched_for_stay(run: Run) -> None:
    said = "I use Helix."
    kept = [
        read("The user likes tea.", "My name is Sam. Remember that I like tea."),
        *(read(f"The user uses {name}.", f"I use {name}.") for name in ("Vim", "Emacs", "Nano", "Zed")),
    ]
    edited, promoted, restored, confirmed = kept[1:]
    service.edit(edited.pk, OPERATOR, text="The user uses Vim 9.", category="preference")
    store.promote(promoted, Change("dobby", Channel.GUTASK, START), confidence=1.0)
    service.invalidate(restored.pk, OPERATOR)
    service.restore(restored.pk, OPERATOR)
    store.confirm(confirmed, Change("winky", Channel.USER, START), is_other_voice=True)
    again = read("The user uses Helix.", said)
    store.confirm(again, Change("dobby", Channel.USER, START), is_other_voice=False)
    asked = store.create(
        Draft("I like milk.", "preference", SAM, 1.0, Memory.Source.WRITTEN, find_slots("", "")),
        Change("dobby", Channel.GUTASK, START),
    )

    carry_out_requested()

    assert [as_now(memory)[0] for memory in (*kept, asked)] == ["active"] * 6
    assert as_now(again) == ("candidate", said)


def test_the_speaker_s_word_brings_a_candidate_back(run: Run) -> None:
    memory = read("The user uses Helix.", "I use Helix now.")
    carry_out_requested()

    remark = Draft("I use Helix now.", "preference", SAM, 0.9, Memory.Source.STATED, find_slots("", ""))
    assert [one.pk for one in store.find_same(remark.scope, remark.text)] == [memory.pk]
    assert service.promote(memory.pk, OPERATOR).status == "promoted"


def test_conflicts_with_one_current_member_left_close_and_open_again_by_undo(run: Run) -> None:
    memory = read("The user prefers rebase to merge commits.", "I prefer rebase to merge commits.")
    other = store.create(
        Draft(
            "I prefer merge commits.", "preference", SAM, 1.0, Memory.Source.WRITTEN,
            find_slots("I prefer merge commits.", "preference"),
        ),
        Change("dobby", Channel.GUTASK, START),
    )  # fmt: skip
    dispute(other, [memory], Change("dobby", Channel.GUTASK, START))

    carry_out_requested()

    assert Conflict.objects.get().status == "resolved"
    other.refresh_from_db()
    assert not other.is_disputed
    assert as_now(memory)[0] == "candidate"

    undo_run(run.pk, OPERATOR)
    assert list(Conflict.objects.filter(status="open").values_list("members__object_id", flat=True).order_by("pk"))
    assert Memory.objects.filter(is_disputed=True, status="active").count() == 2


def test_a_run_that_was_stopped_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (read(f"The user uses {name}.", f"I use {name}.") for name in ("Vim", "Emacs"))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(upgrading, "close_moot_conflicts", die)
        with pytest.raises(KeyboardInterrupt):
            carry_out_requested()
    assert as_now(first)[0] == "active"

    carry_out_requested()
    assert {as_now(first)[0], as_now(second)[0]} == {"candidate"}


def test_a_memory_that_fails_stops_no_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (read(f"The user uses {name}.", f"I use {name}.") for name in ("Vim", "Emacs"))
    monkeypatch.setattr(
        upgrading,
        "close_moot_conflicts",
        lambda ids: (_ for _ in ()).throw(ZeroDivisionError) if first.pk in ids else None,
    )

    carry_out_requested()

    assert (as_now(first)[0], as_now(second)[0]) == ("active", "candidate")
    run.refresh_from_db()
    assert run.counts == {"memories": 1, "failed": 1}


def test_shared_facts_that_would_be_their_speakers_alone_are_listed(run: Run) -> None:
    for name, person in (("ingrun", "sam"), ("odin", "")):
        sentence = f"{name} is a surgeon."
        episode = hear(f"{sentence} What shall I cook?", person)
        say(f"{name} isa surgeon type", evidence=sentence, conversation=bytes(episode.conversation))
    say("liv isa beagle type", evidence="> liv is a beagle", conversation=bytes(16))
    say("kvasir isa service type", "winky", source=Source.GUTASK, channel=Channel.GUTASK, evidence="> kvasir")

    carry_out_requested()

    run.refresh_from_db()
    listed = Edge.objects.filter(pk__in=run.facts).values_list("concept__token", flat=True)
    assert (sorted(listed), run.counts) == (["ingrun", "liv"], {"facts": 2})
    assert Edge.objects.filter(concept__token__in=["ingrun", "odin", "liv", "kvasir"]).count() == 4
