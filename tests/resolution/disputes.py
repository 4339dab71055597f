"""What the tests of the resolver share: a world in dispute, and a language model that is a local server."""

import json
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from memory.domain.types import Triple
from memory.graph.store import Attribution
from memory.models import Config, Edge, Source
from resolution.intake.assertions import assert_fact
from resolution.models import Claim
from tests.llm_server import LlmServer

DECOMPOSE = {
    "reasoning": "repo describes what gnommoweb is as a software artifact; container describes how it is deployed",
    "decision": "decompose",
    "existing_dimension": "artifact-type",
    "new_dimension": "deployment-type",
}
UPDATE = {"reasoning": "it has moved", "decision": "update"}
DISMISS = {"reasoning": "noise", "decision": "dismiss"}
NONSENSE = {"reasoning": "la la la", "decision": "sing", "existing_dimension": "", "new_dimension": ""}


def said(**changes: Any) -> Attribution:
    standard = {"agent": "dobby", "source": Source.INFERRED, "confidence": 0.9, "at": timezone.now(), "role": "user"}
    return Attribution(**(standard | changes))


def fact(text: str) -> Triple:
    concept, relation, parent, dimension = text.split()
    return Triple(concept, parent, dimension, relation == "isa")


def state(text: str, **changes: Any) -> None:
    assert assert_fact(fact(text), said(**changes)).status == "inserted"


def dispute(standing: str, newcomer: str, **changes: Any) -> Claim:
    """The first fact stands, the second is in the queue."""
    state(standing)
    outcome = assert_fact(fact(newcomer), said(agent="winky") if not changes else said(**changes))
    assert outcome.claim is not None
    return outcome.claim


def kinds(concept: str = "gnommoweb") -> Claim:
    """The conflict of the source's Test C."""
    return dispute(f"{concept} isa repo type", f"{concept} isa container type", evidence=f"{concept} is a container")


def places(concept: str = "gnommoweb") -> Claim:
    return dispute(f"{concept} ispart ramanujan runs-on", f"{concept} ispart turing runs-on")


def choose(llm: LlmServer, provider: str = "ollama", **fields: Any) -> None:
    """The resolver asks this server. Of the three it is Ollama's API: its client is quickest to import."""
    configure(resolve_model_id=llm.model(provider, **fields).pk)


def configure(**settings: Any) -> None:
    for key, value in settings.items():
        Config.objects.update_or_create(key=key, defaults={"value": str(value)})


def edges() -> set[str]:
    """The world without roots."""
    related = Edge.objects.select_related("concept", "parent", "dim")
    return {str(edge) for edge in related if not edge.is_root}


def by_concept(answers: dict[str, Any]) -> Callable[[Any], Any]:
    """An answer for each concept that the prompt's new fact is about."""

    def answer(asked: Any) -> Any:
        newcomer = json.loads(asked.prompt.partition("The document:\n")[2])["new_fact"]["fact"]
        return answers[newcomer.split()[0]]

    return answer
