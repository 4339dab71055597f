"""A night in which a language model is asked, with a local server in its place."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from memory import llm as language_models
from memory.channels import Channel
from memory.memories.forgetting import ForgetScope, forget
from memory.memories.scope import Scope, Speaker
from memory.models import Agent, ExtractionMark, LlmCall, Memory, MemoryHistory, MemoryLineage
from memory.search.vectors import queue, schema
from resolution.conflicts.undo import undo_run
from resolution.memories import merging, service
from resolution.models import Conflict, Run
from resolution.nightly import consolidation, doubts, extraction
from tests.arrange import OPERATOR, configure
from tests.llm_server import Asked, Fails, LlmServer
from tests.memory.memories.said import ANN
from tests.resolution.test_consolidation import BOB, NOW, conclude, hear, picture, run, state

pytestmark = pytest.mark.django_db

STABLE = ("The release branch is called stable.", "The name of the release branch is stable.")
RUNS = ("The user goes running every morning.", "The user runs each morning.")
MOVED = "We moved the staging cluster to Hetzner in Nuremberg."
NODES = "Our staging cluster at Hetzner has three nodes."
HOSTED = "The team's staging cluster is at Hetzner in Nuremberg."


@pytest.fixture(autouse=True)
def vectors(db: None) -> None:
    assert schema.make_tables() == ""


@pytest.fixture
def model(llm: LlmServer) -> LlmServer:
    configure(consolidate_model_id=llm.model("openai", input_price=1, output_price=5).pk)
    llm.answers_by(lambda asked: {"verdicts": {}, "memories": []})
    return llm


def verdicts(*decisions: str) -> dict[str, Any]:
    numbered = enumerate(decisions, 1)
    return {"verdicts": {f"pair_{at}": {"reasoning": "so it is", "decision": each} for at, each in numbered}}


def remembers(text: str = HOSTED, *evidence: int, **other: Any) -> dict[str, Any]:
    memory = {"reasoning": "", "text": text, "category": "project", "evidence": evidence or [1, 2], "confidence": 0.9}
    return {"memories": [memory | other]}


def asked_for(model: LlmServer, purpose: str) -> list[Asked]:
    return [asked for asked in model.asked if ("verdicts" in str(asked.schema)) is (purpose == "compare")]


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Before the model answers."""
    ask = language_models.ask

    def asking(*arguments: Any, **more: Any) -> Any:
        happens()
        return ask(*arguments, **more)

    monkeypatch.setattr(language_models, "ask", asking)


def embedded(*memories: Memory) -> list[Memory]:
    queue.embed_due()
    return list(memories)


def states(*memories: Memory) -> list[tuple[str, bool]]:
    rows = {memory.pk: memory for memory in Memory.objects.all()}
    return [(rows[each.pk].status, rows[each.pk].is_disputed) for each in memories]


# --- pairs that no rule decides ---


def test_it_decides_the_pairs_of_an_owner_in_one_call_and_all_of_it_is_undone(model: LlmServer) -> None:
    pairs = embedded(
        state(STABLE[0]),
        conclude(STABLE[1], days=1),
        *(state(text, "other") for text in RUNS),  # shared by all
        *(state(text, "preference") for text in RUNS),
    )
    before = picture()
    model.answers(verdicts("MERGE", "CONTRADICTION"), verdicts("KEEP_BOTH"))

    done = run()

    assert ["release branch" in asked.prompt for asked in model.asked] == [True, False]
    merged = Memory.objects.get(status="merged_into")
    assert states(*pairs) == [
        ("active", False), ("merged_into", False), ("active", False), ("active", False), ("active", True),
        ("active", True),
    ]  # fmt: skip
    assert merged.merged_into == pairs[0]
    assert done.counts == {"merged_by_model": 1, "disputed_by_model": 1, "apart": 1}
    assert (done.model_name, done.input_tokens, done.output_tokens) == ("openai-test", 200, 40)
    assert float(done.cost or 0) == pytest.approx(400e-6)
    assert set(LlmCall.objects.values_list("purpose")) == {("compare",)}
    assert set(MemoryHistory.objects.filter(run=done.pk).values_list("reason", flat=True)) == {
        "openai openai-test decided MERGE", "openai openai-test decided CONTRADICTION",
        "openai openai-test decided KEEP_BOTH",
    }  # fmt: skip

    assert Conflict.objects.get().tier == "model"

    assert undo_run(done.pk, OPERATOR).refused == []
    assert picture() == before
    assert Conflict.objects.get().status != "open"


def test_a_model_that_is_away_is_not_asked_about_the_next_owner(model: LlmServer) -> None:
    embedded(*(state(text) for text in STABLE), *(state(text, "other") for text in RUNS))
    model.answers_by(lambda asked: Fails(401, "no such key"))

    with pytest.raises(SystemExit, match="1"):
        call_command("consolidate", stdout=StringIO())

    done = Run.objects.get()
    assert (done.status, done.counts, len(model.asked)) == ("failed", {"undecided": 2}, 1)
    assert done.note.count("undecided") == 1


def test_what_it_keeps_apart_is_asked_again_only_when_edited(model: LlmServer) -> None:
    one, _ = embedded(*(state(text) for text in STABLE))
    model.answers(verdicts("KEEP_BOTH"))
    run()
    assert run().counts == {}

    service.edit(one.pk, OPERATOR, text="The release branch is now called stable.", category="project")
    queue.embed_due()
    model.answers(verdicts("MERGE"))

    assert run().counts == {"proposed": 1}
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        Fails(401, "no such key"),
        "no JSON",
        verdicts("MERGE", "MERGE"),
        {"verdicts": {"pair_1": {"reasoning": "", "decision": "DELETE"}}},
    ],
    ids=str,
)
def test_where_it_fails_all_stays_and_the_run_says_so(model: LlmServer, answer: Any) -> None:
    embedded(*(state(text) for text in STABLE))
    before = picture()
    model.answers(answer)

    done = run("failed")

    assert (picture(), done.counts) == (before, {"undecided": 1})
    assert "1 pair stays undecided" in done.note


def test_without_a_model_or_calls_left_it_says_what_is_undecided(llm: LlmServer) -> None:
    embedded(*(state(text) for text in STABLE))
    done = run()
    assert done.counts == {"undecided": 1}
    assert "set one up under Language models" in done.note

    configure(consolidate_model_id=llm.model("ollama").pk, llm_daily_calls=0)
    assert "llm_daily_calls" in run().note
    assert consolidation.preview()[0] == {"undecided": 1}
    assert llm.asked == []


@pytest.mark.parametrize("channel", ["operator", "gutask", "user"])
def test_what_people_wrote_it_only_proposes_to_merge_and_a_person_decides(model: LlmServer, channel: Channel) -> None:
    one, other = embedded(*(state(text, channel=channel) for text in STABLE))
    before = picture()
    model.answers(verdicts("MERGE"))

    assert run().counts == {"proposed": 1}
    assert (picture(), doubts.find_proposed()) == (before, {one.pk: [other.pk], other.pk: [one.pk]})
    assert run().counts == {}

    merging.keep_apart([one.pk, other.pk], OPERATOR)

    assert (picture(), doubts.find_proposed(), run().counts) == (before, {}, {})


def test_a_memory_that_changes_while_it_is_asked_about_stays(model: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = embedded(*(state(text) for text in STABLE))
    new = "The name of the release branch is unknown."
    meanwhile(monkeypatch, lambda: service.edit(other.pk, OPERATOR, text=new, category="project"))
    model.answers(verdicts("MERGE"))

    run()

    assert states(one, other) == [("active", False), ("active", False)]


# --- a model of the upstream ---


@pytest.fixture
def upstream(llm: LlmServer, settings: Any) -> LlmServer:
    settings.FESTINGER_UPSTREAM = llm.url
    configure(consolidate_model_id=llm.model("ollama", base_url="", key="").pk, resolution_mode="propose")
    llm.answers_by(lambda asked: {"verdicts": {}, "memories": []})
    return llm


def test_a_model_of_the_upstream_proposes_merges_even_of_what_a_model_concluded(upstream: LlmServer) -> None:
    one, other = embedded(*(state(text, channel="explained") for text in STABLE))
    upstream.answers(verdicts("MERGE"))

    assert run().counts == {"proposed": 1}
    assert states(one, other) == [("active", False), ("active", False)]


def test_what_a_model_of_the_upstream_concludes_is_a_candidate(upstream: LlmServer) -> None:
    for text in (MOVED, NODES):
        hear(text, NOW - timedelta(days=1))
    embedded()
    upstream.answers(remembers())

    assert run().counts["candidates"] == 1
    assert Memory.objects.get(source="extracted").status == "candidate"


# --- new memories from what was said ---


def test_it_concludes_memories_from_related_messages_and_they_are_undone(model: LlmServer) -> None:
    moved, nodes = (hear(text, NOW - timedelta(days=1)) for text in (MOVED, NODES))
    hear("I bake sourdough bread every weekend.")
    hear("Our staging cluster at Hetzner in Nuremberg has three nodes.", role="assistant")
    state("The team uses Grafana.")
    embedded()
    model.answers(remembers())

    done = run()

    made = Memory.objects.get(source="extracted")
    assert (made.text, made.status, made.channel, made.evidence_count) == (HOSTED, "active", "explained", 2)
    assert made.confidence == pytest.approx(0.72)
    assert (made.agent, made.person, made.project_id, made.is_personal) == (*ANN.speaker, ANN.project, True)
    assert set(MemoryLineage.objects.filter(memory=made).values_list("kind", "row")) == {
        ("episode", moved.pk), ("episode", nodes.pk),
    }  # fmt: skip
    assert (made.embedded_at is not None, done.counts["extracted"]) == (True, 1)
    [asked] = asked_for(model, "extract")
    assert "sourdough" not in asked.prompt
    assert "The team uses Grafana." in asked.prompt

    assert run().counts == {}
    assert len(model.asked) == 1

    undo_run(done.pk, OPERATOR)
    made.refresh_from_db()
    assert made.status == "invalid"
    hear("The staging cluster at Hetzner got a fourth node.")
    embedded()
    model.answers(remembers())
    assert run().counts == {}  # what was taken back does not come again


@pytest.mark.parametrize(
    ("standing", "status"),
    [
        ("The staging cluster of the team is at Hetzner, in Nuremberg.", None),
        ("The team's staging cluster is at Hetzner, not in Nuremberg.", "candidate"),
    ],
)
def test_what_is_known_is_not_doubled_and_what_is_disputed_waits(
    model: LlmServer, standing: str, status: str | None
) -> None:
    state(standing)
    hear(MOVED), hear(NODES)
    embedded()
    model.answers(remembers())

    run()

    assert Memory.objects.filter(source="extracted").values_list("status", flat=True).first() == status
    assert states(Memory.objects.get(source="stated")) == [("active", False)]


def test_each_speaker_is_asked_about_alone_and_those_whose_words_are_not_kept_never(model: LlmServer) -> None:
    for scope in (ANN, BOB):
        for text in (MOVED, NODES):
            hear(f"By {scope.speaker.person}: {text}", scope=scope)
    for text in (MOVED, NODES):
        hear(f"By carol: {text}", scope=Scope(Speaker("silent")))
    Agent.objects.create(name="silent", token_hash="0" * 64, episodes="off")
    embedded()

    run()

    prompts = [asked.prompt for asked in asked_for(model, "extract")]
    assert sorted(sum(name in prompt for name in ("By ann", "By bob")) for prompt in prompts) == [1, 1]
    assert not any("carol" in prompt for prompt in prompts)
    configure(episodes="off")
    hear("The staging cluster at Hetzner got a fourth node.")
    embedded()
    run()
    assert len(asked_for(model, "extract")) == 2


def test_what_is_forgotten_while_the_model_reads_it_leaves_nothing(
    model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hear(MOVED)
    nodes = hear(NODES)
    embedded()
    meanwhile(monkeypatch, lambda: forget(ForgetScope(kind="episode", ids=(nodes.pk,))))
    model.answers(remembers(HOSTED, 1))

    assert run().counts == {}
    assert not Memory.objects.exists()


def test_messages_without_a_vector_are_looked_at_when_they_have_one(
    model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hear(MOVED)
    embedded()
    hear(NODES)
    with monkeypatch.context() as patch:
        patch.setattr(queue, "embed_due", lambda: 0)
        run()
    assert model.asked == []

    run()

    assert len(asked_for(model, "extract")) == 1


def test_a_night_asks_so_often_and_who_waits_comes_first_in_the_next(
    model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "CALLS_MAX", 1)
    for scope in (ANN, BOB):
        for text in (MOVED, NODES):
            hear(f"By {scope.speaker.person}: {text}", scope=scope)
    embedded()

    run()
    run()

    assert len({asked.prompt for asked in model.asked}) == len(model.asked) == 2
    assert ExtractionMark.objects.count() == 2
