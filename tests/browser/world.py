"""What agents say, so that operators have something to decide."""

from dataclasses import dataclass
from typing import Literal

from tests.served.learning import Festinger, headers_of

Kind = Literal["isa_isa", "ispart_ispart", "misclassification", "cycle"]
KINDS: tuple[Kind, ...] = ("isa_isa", "ispart_ispart", "misclassification", "cycle")

SAID: dict[Kind, tuple[str, str]] = {
    "isa_isa": ("{} -isa repo", "{} -isa container"),
    "ispart_ispart": ("{} -ispart glitch_university", "{} -ispart agent_pool"),
    "misclassification": ("{} -ispart docker in context of runs-on", "{} -isa docker_host in context of runs-on"),
    "cycle": ("{} -ispart {}_wing", "{}_wing -ispart {}"),
}


@dataclass(frozen=True, slots=True)
class Dispute:
    """Two facts about ``word`` that cannot both be: dobby's stands, winky's waits as conflict ``id``."""

    id: int
    word: str
    kind: Kind


def dispute(whole: Festinger, kind: Kind, word: str) -> Dispute:
    standing, newcomer = (fact.replace("{}", word) for fact in SAID[kind])
    teach(whole, standing, "dobby")
    return Dispute(teach(whole, newcomer, "winky"), word, kind)


def teach(whole: Festinger, fact: str, agent: str = "dobby") -> int:
    """The id of the conflict that it brought; 0 for none."""
    answer = whole.teach(fact, agent=agent)
    assert answer.status_code in (200, 201, 202), answer.text
    return int(answer.json().get("conflict_id") or 0)


def status(whole: Festinger, conflict: int) -> str:
    [(found,)] = whole.run(
        "SELECT CASE status WHEN 'open' THEN 'pending' ELSE status END FROM conflict WHERE id = %s", conflict
    )
    return str(found)


def decisions(whole: Festinger, conflict: int) -> list[tuple[str, str, str]]:
    """Kind, actor and reason of each, oldest first."""
    rows = whole.run(
        "SELECT kind, actor, reason FROM decision JOIN resolution_queue AS claim ON claim.id = claim_id"
        " WHERE conflict_id = %s ORDER BY decision.id",
        conflict,
    )
    return [(kind, actor, reason) for kind, actor, reason in rows]


def standing(whole: Festinger, word: str) -> list[tuple[str, str]]:
    """Dimension and parent of each of its facts."""
    return sorted((dimension, parent) for concept, parent, dimension, *_ in whole.edges(word) if concept == word)


def concept(whole: Festinger, word: str) -> int:
    [(found,)] = whole.run("SELECT id FROM soas WHERE token = %s", word)
    return int(found)


def facts(whole: Festinger, word: str) -> set[str]:
    """Concept, dimension and parent of each fact about what begins with the word."""
    return {f"{concept} {dimension} {parent}" for concept, parent, dimension, *_ in whole.edges(word)}


def remember(whole: Festinger, text: str, agent: str = "dobby", **of: str) -> int:
    """The id of the memory that the agent wrote. ``of``: the user for whom, the project."""
    answer = whole.proxies[0].client.post("/memory", json={"text": text, **of}, headers=headers_of(agent))
    assert answer.status_code in (200, 201), answer.text
    [(found,)] = whole.run("SELECT max(id) FROM memory WHERE agent = %s", agent)
    return int(found)


def memory(whole: Festinger, key: int) -> tuple[str, str]:
    """Its status and its text."""
    [(status, text)] = whole.run("SELECT status, text FROM memory WHERE id = %s", key)
    return str(status), str(text)
