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


def candidate(whole: Festinger, word: str) -> int:
    """A fact that only a page has stated; its id."""
    [(key,)] = whole.run(
        "INSERT INTO edge_candidate (concept, parent, dimension, is_isa, channel, confidence, voices, evidence, why,"
        " conversations, said_count) VALUES (%s, 'repo', 'type', true, 'quoted', 0.4, '[[\"dobby\", \"quoted\"]]',"
        " 'So says the page.', 'quoted', 1, 1) RETURNING id",
        word,
    )
    return int(key)


def status(whole: Festinger, conflict: int) -> str:
    [(found,)] = whole.run(
        "SELECT CASE status WHEN 'open' THEN 'pending' ELSE status END FROM conflict WHERE id = %s", conflict
    )
    return str(found)


def decisions(whole: Festinger, conflict: int) -> list[tuple[str, str, str]]:
    """Kind, actor and reason of each, oldest first."""
    rows = whole.run(
        "SELECT kind, actor, reason FROM decision LEFT JOIN resolution_queue AS claim ON claim.id = claim_id"
        " WHERE coalesce(decision.conflict_id, claim.conflict_id) = %s ORDER BY decision.id",
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


def set_state(whole: Festinger, project: str, key: str, value: str) -> int:
    """What is decided for the project, which is made where it is not there; its id."""
    whole.run("INSERT INTO project (slug, name) VALUES (%s, %s) ON CONFLICT DO NOTHING", project, project)
    rows = whole.run(
        "INSERT INTO project_state (project_id, category, key, value, actor)"
        " SELECT id, 'decision', %s, %s, 'hermione' FROM project WHERE slug = %s RETURNING id",
        key, value, project,
    )  # fmt: skip
    # Not read yet, as after an upgrade: until it is, no conflict closes because its rows say the same.
    whole.run(
        "INSERT INTO slot_claim (kind, object_id, owner, key, value, words, is_denied, version)"
        " VALUES ('project_state', %s, '', '=', '', '{}', false, 0)",
        rows[0][0],
    )
    return int(rows[0][0])


def edge(whole: Festinger, concept: str) -> int:
    [(key,)] = whole.run("SELECT edge_id FROM urd JOIN soas USING (id) WHERE token = %s", concept)
    return int(key)


def contest(whole: Festinger, kind: str, members: dict[str, tuple[str, int]], project: str, question: str = "") -> int:
    """A conflict of these rows, by what they say; where something is asked, it is about the last."""
    [(key,)] = whole.run(
        "INSERT INTO conflict (slot_kind, key, slot_key, project, question, tier)"
        " VALUES (%s, %s, jsonb_build_object('of', %s::text), %s, %s, %s) RETURNING id",
        kind, str(members), str(members), project, question, "model" if question else "slot",
    )  # fmt: skip
    trust = {"memory": 1, "edge": 2, "project_state": 3}
    for text, (name, row) in members.items():
        is_asked = bool(question) and text == list(members)[-1]
        whole.run(
            "INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support, text, is_asked)"
            " VALUES (%s, %s, %s, %s, '[[\"winky\", \"user\"]]', %s, %s)",
            key, name, row, trust[name], text, is_asked,
        )  # fmt: skip
    whole.run(
        "UPDATE conflict_member SET conflicts_with_id ="
        " (SELECT id FROM conflict_member WHERE conflict_id = %s ORDER BY trust DESC LIMIT 1)"
        " WHERE conflict_id = %s AND trust < 3 AND %s = 'cross_layer'",
        key, key, kind,
    )  # fmt: skip
    return int(key)


def memory(whole: Festinger, key: int) -> tuple[str, str]:
    """Its status and its text."""
    [(status, text)] = whole.run("SELECT status, text FROM memory WHERE id = %s", key)
    return str(status), str(text)
