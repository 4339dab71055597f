import logging
from datetime import timedelta

import pytest
from django.utils import timezone

from memory.graph import store
from memory.models import Dimension, Edge, Evidence, LlmCall, Soas, Source
from memory.questions.explain_concept import explain, list_dimensions
from memory.running import bootstrap
from memory.types import Triple
from tests.llm_server import LlmServer

pytestmark = pytest.mark.django_db

TRIPLE = {"concept": "gnommoweb", "parent": "repo", "dimension": "type", "is_isa": True, "confidence": 0.8}


@pytest.fixture
def gnommoweb() -> Soas:
    bootstrap.load_dimensions()
    return Soas.objects.create(token="gnommoweb")


def hear(concept: Soas, *sentences: str) -> None:
    now = timezone.now()
    for i, sentence in enumerate(sentences):
        said_at = now + timedelta(minutes=i)
        Evidence.objects.create(concept=concept, sentence=sentence, role="user", agent="dobby", said_at=said_at)


def place(concept: str, dimension: str) -> None:
    ids = store.ensure_tokens([concept, "repo", dimension])
    store.ensure_dimension(ids[dimension], is_isa=True)
    Edge.objects.create(
        concept_id=ids[concept], parent_id=ids["repo"], dim_id=ids[dimension], is_isa=True, source=Source.GUTASK
    )


def test_a_concept_is_explained_and_the_call_written_down(llm: LlmServer, gnommoweb: Soas):
    llm.answers({"reasoning": "it has commits", "known": True, "triples": [TRIPLE]})

    [explained], answer = explain(gnommoweb, llm.model("claude"))

    assert (explained.fact, explained.confidence) == (Triple("gnommoweb", "repo", "type", True), 0.8)
    assert answer.data["reasoning"] == "it has commits"
    assert (LlmCall.objects.get().purpose, LlmCall.objects.get().subject) == ("explain", "gnommoweb")


def test_the_newest_five_sentences_and_the_dimensions_are_shown(llm: LlmServer, gnommoweb: Soas):
    hear(gnommoweb, *(f"gnommoweb has sentence {i}." for i in range(7)))
    llm.answers({"reasoning": "", "known": False, "triples": []})

    explain(gnommoweb, llm.model("claude"))

    prompt = llm.asked[0].prompt
    assert [f"sentence {i}" in prompt for i in range(7)] == [False] * 2 + [True] * 5
    assert prompt.index("sentence 6") < prompt.index("sentence 2")
    assert '{"dimension": "type", "question": "What kind of thing is this?"}' in prompt


def test_what_is_refused_is_logged(llm: LlmServer, gnommoweb: Soas, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "memory")
    refused = TRIPLE | {"concept": "festinger"}
    llm.answers({"reasoning": "", "known": True, "triples": [TRIPLE, refused]})

    explained, _ = explain(gnommoweb, llm.model("openai"))

    assert len(explained) == 1
    logged = {record.msg: vars(record) for record in caplog.records}
    assert logged["explaining.rejected"]["count"] == 1
    assert logged["explaining.why"]["refused"] == str([refused])


def test_the_seeds_come_first_and_then_the_most_used_of_the_others(gnommoweb: Soas):
    for i in range(45):
        for j in range(1 + i % 3):
            place(f"thing{j}", f"dimension-{i:02}")

    listed = list(list_dimensions())

    seeds = [name for name, _, _ in bootstrap.SEED_DIMENSIONS]
    assert listed[: len(seeds)] == seeds
    assert len(listed) == len(seeds) + 40
    assert set(listed[len(seeds) : len(seeds) + 15]) == {f"dimension-{i:02}" for i in range(2, 45, 3)}


def test_an_operators_question_is_the_one_that_is_shown(gnommoweb: Soas):
    Dimension.objects.filter(soas__token="type").update(question="Which sort?")

    assert list_dimensions()["type"] == "Which sort?"
