"""The rows of data/rows.jsonl about the night and the detective, each played with its own texts."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from math import exp
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from memory.channels import Channel
from memory.memories import store
from memory.models import GivenNote, LlmCall, Memory, Project, ProjectState
from memory.search.vectors import queue, schema
from resolution.conflicts.decide import decide
from resolution.conflicts.verdict import Verdict
from resolution.detective import opening, reading, run
from resolution.detective.lines import load_lines
from resolution.detective.story import StoryRow, name_lines, render_lines
from resolution.models import Conflict
from resolution.nightly import doubts
from tests.arrange import OPERATOR, configure, dispute, say, update
from tests.llm_server import LlmServer
from tests.resolution.test_consolidation import ANN, BOB, NOW, conclude, hear, picture, state
from tests.resolution.test_consolidation import run as consolidate
from tests.resolution.test_consolidation_model import verdicts
from tests.resolution.test_detective import choose_model, confuse, read_project, remember

pytestmark = pytest.mark.django_db

ROWS = [json.loads(line) for line in (Path(__file__).parent / "data" / "rows.jsonl").read_text().splitlines()]
PLAYED = {row["id"]: row for row in ROWS if row["id"].startswith(("consolidation", "detective"))}
PLAYS: dict[str, Callable[..., None]] = {}


def plays(*ids: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def note(play: Callable[..., None]) -> Callable[..., None]:
        PLAYS.update(dict.fromkeys(ids, play))
        return play

    return note


@pytest.fixture
def model(llm: LlmServer) -> LlmServer:
    configure(consolidate_model_id=llm.model("openai").pk)
    llm.answers_by(lambda asked: {"verdicts": {}, "memories": []})
    return llm


@pytest.mark.parametrize("row", PLAYED)
def test_a_row_holds(row: str, model: LlmServer) -> None:
    assert schema.make_tables() == ""
    PLAYS[row](PLAYED[row]["given"], model)


# --- the night ---


def told(given: dict[str, Any], category: str = "other", **more: Any) -> list[Memory]:
    [texts] = [value for key, value in given.items() if key.startswith("memories")]
    found = [state(text, category, **more) for text in texts]
    queue.embed_due()
    return found


def is_put_to(model: LlmServer, *texts: str) -> bool:
    return any(all(json.dumps(text)[1:-1] in asked.prompt for text in texts) for asked in model.asked)


@plays("consolidation-r01", "consolidation-r02")
def play_pair_for_the_model(given: Any, model: LlmServer) -> None:
    one, other = told(given)
    before = picture()
    consolidate()
    assert is_put_to(model, one.text, other.text)
    assert (picture(), Conflict.objects.count()) == (before, 0)


@plays("consolidation-r03")
def play_paraphrases_of_an_agent(given: Any, model: LlmServer) -> None:
    told(given, channel=Channel.GUTASK)
    before = picture()
    model.answers_by(lambda asked: verdicts("MERGE", "MERGE", "MERGE"))
    assert consolidate().counts == {"proposed": 2}
    assert picture() == before
    assert len(doubts.find_proposed()) == 3


@plays("consolidation-r04", "consolidation-f01", "consolidation-f02", "consolidation-f03")
def play_ageing(given: Any, _: LlmServer) -> None:
    said = given["memory"]
    by_model = said["source"] == "model" and not said["confirmed"]
    days = said.get("days") or said["days since the last evidence"]
    memory = state("The kettle is in room 5.", days=days, confidence=said["confidence"],
                   channel=Channel.EXPLAINED if by_model else Channel.USER)  # fmt: skip
    Memory.objects.update(evidence_count=said.get("evidence_count", 1))
    expected = store.current_confidence(memory, timezone.now())
    assert expected == pytest.approx(
        said["confidence"] * exp(-0.01 * days) if by_model else memory.confidence, abs=1e-4
    )
    for _run in range(5):
        consolidate()
        memory.refresh_from_db()
        assert store.current_confidence(memory, timezone.now()) == pytest.approx(expected, abs=1e-4)
        assert memory.status == ("deprecated" if expected < 0.3 else "active")


@plays("consolidation-f04")
def play_disputed_memory(given: Any, _: LlmServer) -> None:
    memory = conclude("The kettle is in room 5.", days=given["memory"]["days"])
    Memory.objects.update(is_disputed=True)
    consolidate()
    memory.refresh_from_db()
    assert memory.status == "active"


@plays("consolidation-f05")
def play_other_forms(given: Any, _: LlmServer) -> None:
    told(given, confidence=0.9)
    consolidate()
    assert not Conflict.objects.exists()


@plays("consolidation-f06", "consolidation-f07")
def play_contradiction(given: Any, _: LlmServer) -> None:
    told(given, "project")
    for _night in range(2):
        consolidate()
        conflict = Conflict.objects.get()
        assert (conflict.status, conflict.members.count()) == ("open", 2)
        assert {memory.status for memory in Memory.objects.all()} == {"active"}
        assert min(Memory.objects.values_list("confidence", flat=True)) == pytest.approx(store.GIVEN_LEAST)


@plays("consolidation-f08")
def play_two_owners(given: Any, model: LlmServer) -> None:
    texts = given["memories"]
    state(texts["anna"], "preference", ANN)
    state(texts["bert"], "preference", BOB)
    queue.embed_due()
    before = picture()
    consolidate()
    assert (picture(), Conflict.objects.count(), is_put_to(model, *texts.values())) == (before, 0, False)


@plays("consolidation-f09")
def play_failed_call(given: Any, model: LlmServer) -> None:
    told(given)
    before = picture()
    model.answers("no JSON")
    done = consolidate("failed")
    assert (picture(), done.counts) == (before, {"undecided": 1})
    assert "1 pair stays undecided" in done.note


@plays("consolidation-f10")
def play_dry_run(given: Any, _: LlmServer) -> None:
    conclude("The kettle is in room 5.", days=given["memory"]["days"])
    before = picture()
    out = StringIO()
    call_command("consolidate", "--dry-run", stdout=out, no_color=True)
    assert "Deprecate: The kettle is in room 5." in out.getvalue()
    assert picture() == before


@plays("consolidation-f11")
def play_evidence(given: Any, _: LlmServer) -> None:
    memory = state(given["memory"]["text"], "identity", confidence=0.6, channel=Channel.EXPLAINED)
    given_it, without = (hear(text.partition(" (")[0] + ".") for text in given["messages of the speaker"])
    GivenNote.objects.create(request="0" * 16, conversation=bytes(given_it.conversation), kind="memory", row=memory.pk)
    queue.embed_due()
    consolidate()
    memory.refresh_from_db()
    said = set(memory.lineage.values_list("row", flat=True))
    assert given_it.pk not in said
    assert memory.confidence == pytest.approx(0.62 if without.pk in said else 0.6)


@plays("consolidation-f12")
def play_without_a_model(given: Any, _: LlmServer) -> None:
    configure(consolidate_model_id=0)
    told(given)
    before = picture()
    assert consolidate().status == "done"
    assert (picture(), Conflict.objects.count()) == (before, 0)


# --- the detective ---


def make_project() -> Project:
    return Project.objects.create(slug="p05", name="Interferometer")


def story_of(project: Project | None, *changed: StoryRow, seed: str = "") -> list[str]:
    lines = reading.read_story(project, changed, now=timezone.now(), seed=seed)
    return [line.partition(" ")[2] for line in render_lines(name_lines(lines))]


def ask(question: str, project: Project | None, *memories: Memory) -> Conflict:
    """Open a question about the memories, of which the first is asked about."""
    rows = {line.row.id: line for line in load_lines([StoryRow("memory", each.pk) for each in memories], project)}
    lines = tuple(rows[each.pk] for each in memories)
    found = opening.open_for(run.Finding("model", lines, lines[0], question), project)
    return Conflict.objects.get(pk=found)


def answer(conflict: Conflict, action: str, reason: str = "") -> None:
    decide(conflict.pk, Verdict(action, reason), OPERATOR)  # type: ignore[arg-type]


@plays("detective-r01", "detective-r02", "detective-f01", "detective-f11")
def play_answer(given: Any, _: LlmServer) -> None:
    told = " ".join([*given.get("history of project p05", given.get("history", ())), given.get("answer", "")])
    project = make_project()
    asked = remember("We use Postgres 14.", project, days=3)
    other = remember("The migration went to Postgres 17.", project, days=1)
    question = "Is Postgres 14 still the database version?"
    action = "dismiss" if "dismissed" in told else "no" if told.endswith("no") else "yes"
    answer(ask(question, project, asked, other), action, "test")

    story = story_of(project)
    [line] = [line for line in story if "[decided]" in line]
    assert "?." not in line
    assert line.endswith("Reason: test")
    assert {
        "yes": f"yes: {question} accepted “We use Postgres 14”; superseded “The migration went to Postgres 17”.",
        "no": f"no: {question} superseded “We use Postgres 14”.",
        "dismiss": f"{question} Dismissed, as no conflict: “We use Postgres 14”",
    }[action] in line
    gone = {"yes": other, "no": asked}.get(action)
    assert [line for line in story if "(replaced)" in line] == [
        line for line in story if gone and gone.text in line and "(replaced)" in line
    ]
    assert Memory.objects.filter(status="superseded").count() == (gone is not None)


@plays("detective-f02", "detective-f03")
def play_known_pair(given: Any, model: LlmServer) -> None:
    choose_model(model)
    texts = ("We use REST.", "We use GraphQL.")
    one, other = (remember(text, days=days) for text, days in zip(texts, (3, 1), strict=True))
    is_answered = "answered" in str(given)
    answer(ask("Is REST still in use?", None, one, other), "yes" if is_answered else "dismiss")
    confuse(model, *reversed(texts), question="Is GraphQL still in use?")
    read_project(None)
    assert model.asked
    assert Conflict.objects.count() == 1


@plays("detective-f04")
def play_decision_of_the_desk(_given: Any, _: LlmServer) -> None:
    claim = dispute("brevik ispart odin-2 runs-on", "brevik ispart odin-3 runs-on")
    update(claim.pk, OPERATOR, "moved in May")
    story = story_of(None)
    assert "odin-3" in story[-1]
    assert "[decided]" in story[-1]
    assert "moved in May" in story[-1]


@plays("detective-f05")
def play_change_in_a_conversation(_given: Any, _: LlmServer) -> None:
    talk = b"t" * 16
    old = remember("The port is 8431.", days=1, conversation=talk)
    new = remember("The port is 8432 now.", days=0.99, conversation=talk)
    store.supersede(old, new, store.Change("ann", Channel.USER, NOW))
    first, second = story_of(None)
    assert first.endswith("The port is 8431. (replaced)")
    assert second.endswith("The port is 8432 now.")


@plays("detective-f06")
def play_order(_given: Any, _: LlmServer) -> None:
    project = make_project()
    remember("In January the mirror was cut.", project, days=300)
    say("p05.mirror ispart cell membership", "winky")
    row = ProjectState.objects.create(project=project, category="decision", key="material", value="PEEK", actor="olga")
    ProjectState.objects.filter(pk=row.pk).update(set_at=timezone.now() + timedelta(seconds=-1))
    parts = ["mirror was cut", "is part of cell", "material = PEEK"]
    story = story_of(project)
    assert Counter(next(part for part in parts if part in line) for line in story) == Counter(parts)
    assert [line[:16] for line in story] == sorted(line[:16] for line in story)


@plays("detective-f07")
def play_forgetting(_given: Any, _: LlmServer) -> None:
    for number in range(reading.WHOLE_MAX + 50):
        remember(f"The shelf {number} has {number} books of the kind {number * 7}.", days=30)
    old = remember("The broker is Kvarn.", days=300)
    new = remember("The broker is Torvex.", days=0)
    stories = [story_of(None, StoryRow("memory", new.pk), seed="7") for _again in range(2)]
    assert stories[0] == stories[1]
    assert {text for text in (old.text, new.text) if any(text in line for line in stories[0])} == {old.text, new.text}
    assert len(stories[0]) < reading.WHOLE_MAX / 2


@plays("detective-f08")
def play_short_story(_given: Any, _: LlmServer) -> None:
    for number in range(12):
        remember(f"The shelf {number} has {number} books.", days=730)
    assert len(story_of(None)) == 12


@plays("detective-f09")
def play_no_detective(_given: Any, model: LlmServer) -> None:
    remember("We use REST.", days=3)
    remember("We use GraphQL.")
    done = read_project(None)
    assert done is not None
    assert (done.status, model.asked, Conflict.objects.count()) == ("skipped", [], 0)
    assert "No model is chosen" in done.note


@plays("detective-f10")
def play_malformed_answer(_given: Any, model: LlmServer) -> None:
    choose_model(model)
    remember("We use REST.", days=3)
    remember("We use GraphQL.")
    model.answers(
        "We use both, it seems.", {"confusions": [{"fact_ids": ["00000000"], "question": "Is it so?", "asked_id": ""}]}
    )
    for _again in range(2):
        done = read_project(None)
        assert done is not None
        assert (done.counts["failed"], Conflict.objects.count()) == (1, 0)
    assert LlmCall.objects.count() == 2
