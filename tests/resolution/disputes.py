"""What the tests of the resolver share: facts in dispute, and a language model that is a local server."""

import json
from collections.abc import Callable
from typing import Any

from memory.models import Edge
from resolution.models import Claim
from tests.arrange import configure, dispute
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


def kinds(concept: str = "gnommoweb") -> Claim:
    """The conflict of the source's Test C."""
    return dispute(f"{concept} isa repo type", f"{concept} isa container type", evidence=f"{concept} is a container")


def places(concept: str = "gnommoweb") -> Claim:
    return dispute(f"{concept} ispart ramanujan runs-on", f"{concept} ispart turing runs-on")


def choose(llm: LlmServer, provider: str = "ollama", **fields: Any) -> None:
    """The resolver asks this server. Of the three it is Ollama's API: its client is quickest to import."""
    configure(resolve_model_id=llm.model(provider, **fields).pk)


def edges() -> set[str]:
    """The current facts in words, roots left out."""
    related = Edge.objects.select_related("concept", "parent", "dim")
    return {str(edge) for edge in related if not edge.is_root}


def by_concept(answers: dict[str, Any]) -> Callable[[Any], Any]:
    """An answer for each concept that the prompt's new fact is about."""

    def answer(asked: Any) -> Any:
        newcomer = json.loads(asked.prompt.partition("The document:\n")[2])["new_fact"]["fact"]
        return answers[newcomer.split()[0]]

    return answer
