"""The detective at work: what it reads, asks and leaves alone."""

import itertools
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.channels import Channel
from memory.memories import store
from memory.memories.scope import Scope, Speaker
from memory.memories.slots import find_slots
from memory.memories.store import Change, Draft
from memory.models import Agent, Config, Dimension, Edge, EdgeHistory, LlmCall, Memory, Project, ProjectState
from resolution.detective import changes, reading, run
from resolution.detective.story import StoryRow
from resolution.models import Conflict, ConflictMember, Run
from resolution.nightly.runs import run_now
from resolution.tasks import detect_due, nightly
from tests.arrange import OPERATOR, dismiss, dispute, say
from tests.llm_server import LlmServer, Says

pytestmark = pytest.mark.django_db

NOW = timezone.now()
NUMBERS = itertools.count()


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(slug="p05", name="Interferometer")


def remember(text: str, project: Project | None = None, days: float = 1, **more: Any) -> Memory:
    agent, category = more.pop("agent", "ann"), more.pop("category", "project")
    conversation = more.pop("conversation", f"{next(NUMBERS):016}".encode())
    scope = Scope(Speaker(agent), project.pk if project else None)
    draft = Draft(text, category, scope, 0.8, Memory.Source.STATED, find_slots(text, category))
    by = Change(agent, more.pop("channel", Channel.USER), NOW - timedelta(days=days), conversation)
    return store.create(draft, by)


def settle(value: str, project: Project, key: str = "lateral_support_mass") -> ProjectState:
    return ProjectState.objects.create(project=project, category="parameter", key=key, value=value, actor="olga")


def state(text: str, conversation: str, agent: str = "dobby", evidence: str = "") -> None:
    """In passing, in the slot of a dimension in which the newer statement wins."""
    dimension = text.split()[-1]
    Dimension.objects.filter(soas__token=dimension).update(on_collision="supersede")
    say(text, agent, conversation=conversation.ljust(16).encode(), evidence=evidence or text)


def there_and_back(name: str = "orders-api", agent: str = "dobby") -> None:
    state(f"{name} ispart rest protocol", "one", agent)
    state(f"{name} ispart graphql protocol", "two", agent, "We switched to GraphQL.")
    state(f"{name} ispart rest protocol", "three", agent)


def read_project(project: Project | None, actor: str = "command") -> Run:
    return run_now(Run.Trigger.DETECT, actor, run.make_job(project))


def asked() -> list[tuple[str, str, str]]:
    return list(
        Conflict.objects.filter(slot_kind="narrative").order_by("id").values_list("tier", "project", "question")
    )


def confuse(server: LlmServer, *texts: str, question: str = "Is it still the case?") -> None:
    """The model takes the lines with these texts for confusing, wherever they stand together."""

    def answer(asked: Any) -> dict[str, Any]:
        ids = [read_id(asked.prompt, text) for text in texts]
        found = [name for name in ids if name]
        is_there = len(found) == len(texts)
        return {"confusions": [{"fact_ids": found, "question": question, "asked_id": found[-1]}] if is_there else []}

    server.answers_by(answer)


def read_id(prompt: str, text: str) -> str:
    line = next((line for line in prompt.splitlines() if text in line), "")
    return line[:8]


def choose_model(server: LlmServer) -> None:
    row = server.model("ollama")
    Config.objects.update_or_create(key="detective_model_id", defaults={"value": str(row.pk)})


# --- what is read ---


def test_a_projects_story_is_what_belongs_to_it_and_the_rest_is_a_story_of_its_own(project: Project) -> None:
    Agent.objects.create(name="dobby", token_hash="0" * 64, project=project)
    say("p05.mirror ispart cell membership", "winky")
    say("lens ispart cell membership", "dobby")
    say("wiki ispart tyr runs-on", "winky")
    say("p050.mirror ispart cell membership", "winky")
    remember("The mirror is polished.", project)
    old = remember("The mirror is cut.", project)
    store.invalidate(old, Change("ann", Channel.USER, NOW))
    remember("The wiki has a backup.")
    settle("4.8 kg", project)

    def told(of: Project | None) -> list[str]:
        lines = reading.read_story(of, [], now=timezone.now(), seed="")
        return sorted(f"{line.text}{f' ({line.ending})' if line.ending else ''}" for line in lines)

    assert told(project) == [
        "The mirror is cut. (taken back)", "The mirror is polished.", "lateral_support_mass = 4.8 kg",
        "lens is part of cell", "p05.mirror is part of cell",
    ]  # fmt: skip
    assert told(None) == ["The wiki has a backup.", "p050.mirror is part of cell", "wiki runs on tyr"]
    assert {key: len(rows) for key, rows in changes.find_changes(NOW - timedelta(1)).rows.items()} == {
        project.pk: 5, None: 3
    }  # fmt: skip


def test_of_a_long_story_some_is_left_and_always_what_is_about_what_has_changed() -> None:
    for number in range(reading.WHOLE_MAX + 50):
        remember(f"The shelf {number} has {number} books of the kind {number * 7}.", days=30)
    new = remember("The gizmo is in cupboard 7.", days=0)
    old = remember("The gizmo is broken.", days=300)
    there_and_back()
    slot = EdgeHistory.objects.filter(concept__token="orders-api").order_by("id")
    changed = [StoryRow("memory", new.pk), StoryRow("edge_history", slot[2].pk)]

    lines = reading.read_story(None, changed, now=timezone.now(), seed="7")

    rows = {line.row for line in lines}
    assert {*changed, StoryRow("memory", old.pk)} <= rows
    assert {StoryRow("edge_history", row.pk) for row in slot} <= rows
    assert len(rows) < reading.WHOLE_MAX / 2
    assert rows == {line.row for line in reading.read_story(None, changed, now=timezone.now(), seed="7")}


# --- what is asked without a model ---


def test_there_and_back_in_three_conversations_is_one_question_and_is_not_asked_twice() -> None:
    there_and_back()

    done = read_project(None, "anna")

    assert done is not None
    assert (done.status, done.counts["asked_reversal"]) == ("done", 1)
    assert "No language model reads project histories" in done.note
    [(tier, _, question)] = asked()
    assert (tier, question.startswith("Is “orders-api is in rest [protocol]” still the case?")) == ("reversal", True)
    members = ConflictMember.objects.order_by("object_id").values_list("kind", "text", "is_asked")
    assert sorted(members) == [
        ("edge", "orders-api is in rest [protocol]", True),
        ("edge_history", "orders-api is in GraphQL [protocol]", False),
        ("edge_history", "orders-api is in rest [protocol]", False),
    ]
    Conflict.objects.update(status="dismissed")
    again = read_project(None, "")
    assert again is not None
    assert "asked_reversal" not in again.counts
    state("orders-api ispart graphql protocol", "four")
    state("orders-api ispart rest protocol", "five")
    read_project(None, "")
    assert len(asked()) == 2  # it has gone there and back again


def test_one_run_asks_no_more_about_a_story_than_people_can_answer(monkeypatch) -> None:
    monkeypatch.setattr(run, "QUESTIONS_MAX", 1)
    there_and_back()
    there_and_back("billing-api")

    assert [read_project(None, "anna").counts["asked_reversal"] for _ in range(2)] == [1, 1]
    assert len({question for _, _, question in asked()}) == 2


def test_other_numbers_are_asked_about_in_the_project(project: Project) -> None:
    remember("The rate limit of auth is 1,000 requests per second.", project, days=40)
    remember("The rate limit of auth is 5,000 requests per second.", project, days=4)
    remember("The rate limit of auth is 7,000 requests per second.", days=3)  # of no project
    settle("4.8 kg", project)
    remember("The lateral support mass is 5.6 kg.", project, days=-0.5)

    nightly("detect")

    assert [each[:2] for each in asked()] == [("numbers", "p05")] * 2
    assert Conflict.objects.filter(members__kind="project_state").count() == 1


def test_of_a_slot_where_all_is_kept_no_other_number_is_asked_about() -> None:
    say("laser isa drawing-laser-1 artifact", "dobby", conversation=b"one".ljust(16))
    Dimension.objects.filter(soas__token="artifact").update(on_collision="keep_all")
    say("laser isa drawing-laser-2 artifact", "winky", conversation=b"two".ljust(16))

    read_project(None, "")

    assert Edge.objects.filter(concept__token="laser").count() == 2
    assert asked() == []


def test_what_is_forgotten_stands_in_no_question(project: Project) -> None:
    remember("The canary weighs 10 g.", project, days=9)
    remember("The canary weighs 12 g.", project, days=2)
    read_project(project, "")
    assert "canary" in asked()[0][2]

    Memory.objects.first().delete()

    assert Conflict.objects.values_list("status", "question").get() == (
        "resolved", "What this asked about was forgotten."
    )  # fmt: skip
    assert read_project(project, "") is not None


QUIET = {
    "progression": ["The limit is 10 MB.", "The limit is now 20 MB."],
    "refinement": ["The shop uses Python 3.", "The shop uses Python 3.12."],
    "different subjects": ["Server 1 has 64 GB.", "Server 2 has 128 GB."],
}


@pytest.mark.parametrize("texts", QUIET.values(), ids=QUIET)
def test_nothing_is_asked_where_the_story_is_clear(texts: list[str]) -> None:
    for at, text in enumerate(texts):
        remember(text, days=9 - at)

    read_project(None, "")

    assert asked() == []


def test_one_conversation_at_work_and_a_word_about_going_back_leave_nothing_open() -> None:
    for value in ("rest", "graphql", "rest"):
        state(f"shop ispart {value} protocol", "one")
    for value, words in (("rest", ""), ("graphql", ""), ("rest", "We moved back to REST.")):
        state(f"blog ispart {value} protocol", f"{value} {words}"[:16], evidence=words)
    remember("The queue holds 100 jobs.", days=2, conversation=b"c" * 16)
    remember("The queue holds 500 jobs.", days=1.99, conversation=b"c" * 16)

    read_project(None, "")

    assert asked() == []


# --- with a model ---


def test_a_model_asks_and_what_it_was_asked_is_not_asked_again(llm: LlmServer, project: Project) -> None:
    choose_model(llm)
    remember("Postgres 14 is our database version.", project, days=200)
    remember("The Postgres 17 cluster has two replicas.", project, days=2)
    confuse(llm, "Postgres 17", "Postgres 14", question="Is Postgres 14 still the database version?")

    read_project(project, "")
    done = read_project(project, "")

    assert asked() == [("model", "p05", "Is Postgres 14 still the database version?")]
    assert ConflictMember.objects.get(is_asked=True).text == "Postgres 14 is our database version."
    assert done is not None
    assert done.input_tokens == 100
    assert set(LlmCall.objects.values_list("purpose", "error")) == {("detect", "")}
    assert llm.asked[0].body["options"]["temperature"] == 0


def test_a_model_is_told_all_that_settles_a_story(llm: LlmServer) -> None:
    """It would be confused by each pair of lines, were it not told what has become of them."""
    choose_model(llm)
    state("shop ispart rest protocol", "one")
    state("shop ispart graphql protocol", "two", evidence="We switched to GraphQL.")
    remember("The queue is large.", days=3, conversation=b"c" * 16)
    remember("The queue is long.", days=2.99, conversation=b"c" * 16)
    remember("The user prefers tabs.", days=2, category="preference", agent="ann")
    remember("The user prefers spaces.", days=1, category="preference", agent="bob")
    claim = dispute("wiki ispart tyr runs-on", "wiki ispart freyr runs-on")
    dismiss(claim.pk, OPERATOR, "It stays on tyr.")
    pairs = (("is in rest", "is in GraphQL"), ("queue is large", "queue is long"), ("prefers tabs", "prefers spaces"))

    def answer(asked: Any) -> dict[str, Any]:
        lines = asked.prompt.splitlines()
        found = []
        for texts in pairs:
            one, other = (next(line for line in lines if text in line) for text in texts)
            scopes = [re.search(r"\[(.*?)\]", line)[1] for line in (one, other)]  # type: ignore[index]
            is_same_talk = scopes[0] == scopes[1] and "conversation" in scopes[0]
            if (
                not is_same_talk
                and "(replaced)" not in one
                and scopes[0].partition(",")[0] == scopes[1].partition(",")[0]
            ):
                found.append({"fact_ids": [one[:8], other[:8]], "question": "Is it so?", "asked_id": one[:8]})
        if not any("[decided]" in line and "It stays on tyr." in line for line in lines):
            found.append(
                {"fact_ids": [lines[-1][:8], lines[-2][:8]], "question": "Is it so?", "asked_id": lines[-1][:8]}
            )
        return {"confusions": found}

    llm.answers_by(answer)

    done = read_project(None, "")

    assert done is not None
    assert (asked(), done.counts.get("failed")) == ([], None)
    assert len(llm.asked) == 1
    assert "We switched to GraphQL." in llm.asked[0].prompt


@pytest.mark.django_db(transaction=True)
def test_a_model_that_answers_nonsense_asks_nothing_and_the_next_batch_goes_on(llm: LlmServer, monkeypatch) -> None:
    choose_model(llm)
    monkeypatch.setattr("resolution.detective.story.BATCH_CHARACTERS", 600)
    monkeypatch.setattr("resolution.detective.story.OVERLAP_CHARACTERS", 60)
    monkeypatch.setattr("resolution.detective.reading.BATCH_CHARACTERS", 10_000)
    for number in range(34):
        remember(f"The shelf {number} holds the books about {'abc' * 10} and {number}.", days=90 - number)
    good = {"confusions": []}
    prose = 'Here it is: {"confusions": []}'
    foreign = {"confusions": [{"fact_ids": ["00000000", "11111111"], "question": "Is it so?", "asked_id": "00000000"}]}
    llm.answers(prose, "no idea", "", foreign, Says(good, stop="length"), {"confusion": 1})

    def answer(asked: Any) -> dict[str, Any]:
        ids = re.findall(r"^[0-9a-f]{8}(?= \d{4}-)", asked.prompt, re.MULTILINE)
        return {"confusions": [{"fact_ids": ids[:2], "question": "Is it still so?", "asked_id": ids[0]}]}

    llm.answers_by(answer)

    done = read_project(None, "")

    assert done is not None
    assert done.status == "done"
    assert done.counts["failed"] == 6
    assert "is no line of the story" in done.note
    assert "more in it than a JSON object" in done.note
    assert len(asked()) == done.counts["asked_model"] == done.counts["batches"] - 6
    assert LlmCall.objects.exclude(error="").count() == 5


def test_stories_have_a_share_of_the_days_calls(llm: LlmServer) -> None:
    choose_model(llm)
    Config.objects.update_or_create(key="llm_daily_calls", defaults={"value": "5"})
    llm.answers_by(lambda asked: {"confusions": []})
    remember("One thing."), remember("Another thing.")

    first, second = read_project(None, ""), read_project(None, "")

    assert first is not None
    assert second is not None
    assert (first.counts.get("failed"), second.counts["failed"]) == (None, 1)
    assert "for stories (20% of llm_daily_calls)" in second.note


# --- when ---


def test_it_reads_some_minutes_after_the_last_change_and_each_change_once() -> None:
    there_and_back()

    assert run.run_after_changes(timezone.now() + run.DELAY / 2) is None
    detect_due()
    assert asked() == []
    assert run.run_after_changes(timezone.now() + run.DELAY) is not None
    assert len(asked()) == 1
    assert run.run_after_changes(timezone.now() + run.DELAY) is None  # it has been read
    there_and_back("billing-api")
    read_project(None, "anna")  # which may be one project of many
    assert run.run_after_changes(timezone.now() + run.DELAY) is not None


def test_it_reads_after_an_hour_even_while_somebody_is_still_writing(project: Project) -> None:
    settle("4.8 kg", project)
    there_and_back()
    assert run.run_after_changes() is None

    ProjectState.objects.update(set_at=NOW - run.DELAYS_MAX * run.DELAY)

    assert run.run_after_changes() is not None


def test_the_next_run_reads_again_what_a_failed_one_has_read(monkeypatch: pytest.MonkeyPatch) -> None:
    there_and_back()
    with monkeypatch.context() as broken:
        broken.setattr(run, "read_story", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.run_after_changes(timezone.now() + run.DELAY)

    assert run.run_after_changes(timezone.now() + run.DELAY) is not None
    assert len(asked()) == 1


def test_a_run_whose_model_failed_everywhere_has_failed_and_is_not_repeated_every_minute(llm: LlmServer) -> None:
    choose_model(llm)
    llm.answers_by(lambda asked: "no idea")
    remember("One thing."), remember("Another thing.")

    done = run.run_after_changes(timezone.now() + run.DELAY)

    assert done is not None
    assert (done.status, done.counts["failed"]) == ("failed", 1)
    assert run.run_after_changes(timezone.now() + run.DELAY) is None


def test_the_command_reads_and_with_dry_run_only_shows(project: Project) -> None:
    remember("The mirror of p05 weighs 10 kg.", project, days=9)
    remember("The mirror of p05 weighs 12 kg.", project, days=2)

    def call(*arguments: str) -> str:
        out = StringIO()
        call_command("detect", *arguments, stdout=out, no_color=True)
        return out.getvalue()

    assert "Is “The mirror of p05 weighs 10 kg” still the case?" in call("p05", "--dry-run")
    assert not Run.objects.exists()
    assert "2 lines read, 1 asked about numbers." in call("p05")
    assert "Nothing would be asked." in call("p05", "--dry-run")
    with pytest.raises(CommandError):
        call("p06")
