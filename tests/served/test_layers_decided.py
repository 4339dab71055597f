"""Conflicts of memories, project state and facts over HTTP: what is told of them, to whom, and deciding them."""

import json
from collections.abc import Iterable
from typing import Any

import psycopg
import pytest

from tests.served.server import Served
from tests.served.test_conflicts import teach
from tests.standin import StandIn
from tests.waiting import eventually

ELSEWHERE = {"X-Forwarded-For": "192.0.2.1"}  # so that being on this machine does not count
TRUST = {"memory": 1, "edge": 2, "project_state": 3}


def remember(server: Served, text: str, user: str) -> int:
    answer = server.client.post("/memory", json={"text": text, "user": user, "category": "preference"})
    assert answer.status_code in (200, 201), answer.text
    return int(answer.json()["id"])


def contest(
    database: str, kind: str, members: Iterable[tuple[str, int]], *, question: str = "", project: str = ""
) -> int:
    """About a story the last one is asked about."""
    members = list(members)
    with psycopg.connect(database, autocommit=True) as client:
        key = json.dumps({"rows": sorted(f"{name} {number}" for name, number in members)})
        row = client.execute(
            "INSERT INTO conflict (slot_kind, key, slot_key, question, project) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (owner, key) WHERE status = 'open' DO UPDATE SET question = excluded.question"
            " RETURNING id",
            [kind, key, key, question, project],
        ).fetchone()
        assert row is not None
        for name, number in members:
            is_asked = bool(question) and (name, number) == members[-1]
            client.execute(
                "INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support, text, is_asked)"
                " VALUES (%s, %s, %s, %s, '[]', %s, %s) ON CONFLICT DO NOTHING",
                [row[0], name, number, TRUST[name], f"{name} {number}", is_asked],
            )
    return int(row[0])


def set_state(database: str, key: str, value: str) -> int:
    with psycopg.connect(database, autocommit=True) as client:
        client.execute("INSERT INTO project (slug, name) VALUES ('p05', 'p05') ON CONFLICT DO NOTHING")
        row = client.execute(
            "INSERT INTO project_state (project_id, category, key, value, actor)"
            " SELECT id, 'decision', %s, %s, 'ann' FROM project WHERE slug = 'p05' RETURNING id",
            [key, value],
        ).fetchone()
    assert row is not None
    return int(row[0])


def post(server: Served, path: str, **content: Any) -> Any:
    answer = server.client.post(path, json=content)
    assert answer.status_code == 200, answer.text
    return answer.json()


def fact_key(server: Served, database: str, fact: str) -> int:
    concept = teach(server, fact, "dobby")["fact"]["concept"]
    with psycopg.connect(database) as client:
        row = client.execute("SELECT edge_id FROM urd JOIN soas USING (id) WHERE token = %s", [concept]).fetchone()
    assert row is not None
    return int(row[0])


def test_the_winner_is_named_and_what_lost_points_to_it_until_that_is_undone(server: Served) -> None:
    rebase, merge = (remember(server, f"I prefer the {way} workflow.", "quokka") for way in ("rebase", "merge-commit"))
    [conflict_id] = [one["id"] for one in server.client.get(f"/memory/{merge}").json()["conflicts"]]

    listed = server.client.get("/conflicts", params={"kind": "memory_slot", "touches": f"memory:{rebase}"}).json()
    assert [item["id"] for item in listed["items"]] == [conflict_id]
    assert {(one["kind"], one["id"], one["trust"], one["holds"]) for one in listed["items"][0]["members"]} == {
        ("memory", rebase, 1, True),
        ("memory", merge, 1, True),
    }

    done = post(
        server, f"/conflicts/{conflict_id}/resolve",
        action="supersede_others", winner_member_id=str(merge), resolution_notes="asked them",
    )  # fmt: skip

    told = server.client.get(f"/conflicts/{conflict_id}").json()
    assert (told["status"], told["resolution"]["reason"]) == ("resolved", "asked them")
    assert [decision["kind"] for decision in told["decisions"]] == ["supersede"]
    lost = server.client.get(f"/memory/{rebase}").json()
    assert (lost["status"], lost["superseded_by"]) == ("superseded", merge)
    audit = server.client.get("/conflicts/supersessions", params={"touches": f"memory:{merge}"}).json()["items"]
    assert [(one["conflict"], one["winner"]["id"], [gone["id"] for gone in one["superseded"]]) for one in audit] == [
        (conflict_id, merge, [rebase])
    ]
    again = server.client.post(f"/conflicts/{conflict_id}/dismiss")
    assert (again.status_code, "already decided" in again.json()["error"]) == (409, True)

    post(server, f"/decisions/{done['decision']['id']}/undo")

    assert server.client.get(f"/memory/{rebase}").json()["status"] == "active"
    assert server.client.get(f"/conflicts/{conflict_id}").json()["status"] == "open"


def test_a_story_answered_with_no_changes_the_next_prompt(server: Served, database: str, ollama: StandIn) -> None:
    edge = fact_key(server, database, "wombatapi -isa rest in context of interface")
    other = set_state(database, "wombatapi", "graphql")
    question = "Is the wombatapi still REST?"
    conflict_id = contest(database, "narrative", [("project_state", other), ("edge", edge)], question=question)

    def recalled() -> str:
        return str(server.client.post("/recollect", json={"text": "what is wombatapi?"}).json()["block"])

    assert "rest" in recalled()

    done = post(server, f"/conflicts/{conflict_id}/answer", answer="no", reason="it moved")

    assert "rest" not in recalled()
    assert done["decision"]["arguments"]["superseded"][0]["text"] == "wombatapi is a rest [interface]"
    post(server, f"/decisions/{done['decision']['id']}/undo")
    assert "rest" in recalled()
    assert server.client.get("/conflicts", params={"touches": "wombatapi", "status": "open"}).json()["count"] == 1


@pytest.mark.parametrize(
    ("path", "content", "status", "says"),
    [
        ("resolve", {"action": "supersede_others"}, 422, "Name the member"),
        ("resolve", {"action": "supersede_others", "winner_member_id": "the first"}, 422, "is no member"),
        ("resolve", {"action": "supersede_others", "winner_member_id": 999_999}, 404, "no member 999999"),
        ("resolve", {"decision": "update"}, 422, "decide it by an action"),
        ("resolve", {"action": "no_action", "decision": "update"}, 422, "either a decision or an action"),
        ("resolve", {}, 422, "either a decision or an action"),
        ("answer", {"answer": "yes"}, 422, "asks nothing"),
        ("answer", {"answer": "perhaps"}, 422, "answer"),
    ],
)
def test_what_cannot_be_decided_so_is_refused_and_says_why(
    server: Served, database: str, path: str, content: dict[str, Any], status: int, says: str
) -> None:
    rows = [remember(server, f"I prefer {what} in the bilby garden.", "bilby") for what in ("roses", "thistles")]
    conflict_id = contest(database, "memory_slot", [("memory", row) for row in rows])

    answer = server.client.post(f"/conflicts/{conflict_id}/{path}", json=content)

    assert (answer.status_code, says in answer.text) == (status, True)
    assert server.client.get(f"/conflicts/{conflict_id}").json()["status"] == "open"


def test_agents_are_told_of_no_conflict_with_what_others_have_said_and_decide_none(
    server: Served, database: str, tokens: dict[str, str]
) -> None:
    rows = [remember(server, f"I prefer {what} for the dugong.", "dugong") for what in ("kelp", "seagrass")]
    conflict_id = contest(database, "memory_slot", [("memory", row) for row in rows])
    agent = ELSEWHERE | {"Authorization": f"Bearer {tokens['agent']}"}

    told = server.client.get("/conflicts", params={"kind": "memory_slot", "limit": 500}, headers=agent).json()

    assert conflict_id not in {item["id"] for item in told["items"]}
    assert server.client.get(f"/conflicts/{conflict_id}", headers=agent).status_code == 404
    assert server.client.post(f"/conflicts/{conflict_id}/dismiss", headers=agent).status_code == 403


def test_conflicts_are_counted_and_found_by_project_and_by_what_their_slots_and_members_name(
    server: Served, database: str
) -> None:
    edge = fact_key(server, database, "numbat-mount -isa peek in context of material")
    state = set_state(database, "numbat_mount_material", "GF-PTFE")
    conflict_id = contest(database, "cross_layer", [("project_state", state), ("edge", edge)], project="p05")

    for wanted in ({"touches": f"edge:{edge}"}, {"project": "p05", "kind": "cross_layer"}):
        found = server.client.get("/conflicts", params=wanted).json()["items"]
        assert conflict_id in {item["id"] for item in found}
    [first, second] = server.client.get(f"/conflicts/{conflict_id}").json()["members"]
    assert (first["kind"], first["text"]) == ("project_state", "decision.numbat_mount_material = GF-PTFE")
    assert (second["kind"], second["parent"]) == ("edge", "peek")
    eventually(lambda: server.client.get("/health").json()["open_conflicts_count"] > 0, within_s=60.0)


def test_what_is_settled_for_a_project_takes_the_place_of_a_fact_and_gives_it_back(
    server: Served, database: str
) -> None:
    with psycopg.connect(database, autocommit=True) as client:
        client.execute("INSERT INTO project (slug, name, is_open) VALUES ('p91', 'p91', true)")
    fact_key(server, database, "p91.echidna-mount -isa peek in context of decision.material")
    state = {"project": "p91", "category": "decision", "key": "echidna_mount_material", "value": "gf-ptfe"}
    answer = server.client.post("/project/state", json=state)
    assert answer.status_code == 201, answer.text
    conflict_id = answer.json()["conflict_id"]
    members = server.client.get(f"/conflicts/{conflict_id}").json()["members"]
    assert [(one["kind"], one["holds"]) for one in members] == [("project_state", True), ("edge", True)]
    assert members[1]["conflicts_with"] == {"kind": "project_state", "id": members[0]["id"]}
    winner = f"project_state:{members[0]['id']}"

    done = post(server, f"/conflicts/{conflict_id}/resolve", action="supersede_others", winner_member_id=winner)

    def recalled() -> str:
        return str(server.client.post("/recollect", json={"text": "p91.echidna-mount"}).json()["block"])

    assert "peek" not in recalled()
    post(server, f"/decisions/{done['decision']['id']}/undo")
    assert "peek" in recalled()
    found = server.client.get("/conflicts", params={"project": "p91", "status": "open"}).json()["items"]
    assert [(item["id"], len(item["members"])) for item in found] == [(conflict_id, 2)]
    post(server, f"/conflicts/{conflict_id}/resolve", action="no_action")
    again = server.client.post(
        "/iknowthat", json={"fact": "p91.echidna-mount -isa peek in context of decision.material"}
    )
    assert again.status_code == 200
    assert server.client.get("/conflicts", params={"project": "p91", "status": "open"}).json()["count"] == 0


def test_a_material_disputed_in_four_layers_is_one_conflict_and_one_decision(
    server: Served, strict: Served, database: str, tokens: dict[str, str]
) -> None:
    with psycopg.connect(database, autocommit=True) as client:
        client.execute("INSERT INTO project (slug, name, is_open) VALUES ('p92', 'p92', true)")
    assert eventually(lambda: "p92" in server.client.get("/projects").text, within_s=10.0)
    fact_key(server, database, "p92.mount -isa peek in context of decision.material")
    claimed = server.client.post(
        "/iknowthat",
        json={"fact": "p92.mount -isa gf-ptfe in context of decision.material"},
        headers={"X-Festinger-Agent": "winky"},
    ).json()
    state = {"project": "p92", "category": "decision", "key": "mount_material", "value": "PVDF"}
    stated = server.client.post("/project/state", json=state).json()
    told = server.client.post("/memory", json={"text": "The mount material is titanium.", "project": "p92"}).json()
    conflict_id = claimed["conflict_id"]

    def members() -> list[tuple[str, str]]:
        shown = server.client.get(f"/conflicts/{conflict_id}").json()
        assert shown["slot_kind"] == "cross_layer"
        return [(one["kind"], one["text"]) for one in shown["members"]]

    def recalled(by: Served) -> str:
        asked = {"text": "What is the decision on the material of p92.mount?", "project": "p92"}
        headers = {"Authorization": f"Bearer {tokens['operator']}", "X-Festinger-Project": "p92"}
        return str(by.client.post("/recollect", json=asked, headers=headers).json()["block"])

    assert stated["conflict_id"] == told["conflict_id"] == conflict_id
    before = members()
    assert before == [
        ("project_state", "decision.mount_material = PVDF"),
        ("edge", "p92.mount has peek as its decision.material"),
        ("claim", "p92.mount has gf-ptfe as its decision.material"),
        ("memory", "The mount material is titanium."),
    ]
    listed = server.client.get("/conflicts", params={"project": "p92", "status": "open"}).json()
    assert [item["id"] for item in listed["items"]] == [conflict_id]
    blocks = {process: recalled(process) for process in (server, strict)}
    assert all("peek" in block for block in blocks.values())

    winner = f"project_state:{stated['id']}"
    done = post(server, f"/conflicts/{conflict_id}/resolve", action="supersede_others", winner_member_id=winner)

    gone = ("peek", "gf-ptfe", "titanium")
    for process in (server, strict):
        assert eventually(lambda by=process: not any(word in recalled(by) for word in gone), within_s=1.0)
    assert server.client.get("/conflicts", params={"project": "p92", "status": "open"}).json()["count"] == 0
    post(server, f"/decisions/{done['decision']['id']}/undo")
    assert members() == before
    for process, block in blocks.items():
        assert eventually(lambda by=process, was=block: recalled(by) == was, within_s=1.0)
