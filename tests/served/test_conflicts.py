"""The resolution queue over HTTP: what is told of a conflict, which are listed, and in which order."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.served.server import PROJECT, Served

AHEAD = timedelta(hours=1)
DOBBY, WINKY = "dobby@127.0.0.1", "winky@127.0.0.1"  # as agents without a token are known
GUTASK = PROJECT / "clients" / "gutask" / "gutask"


def teach(server: Served, fact: str, agent: str) -> Any:
    answer = server.client.post("/iknowthat", json={"fact": fact}, headers={"X-Festinger-Agent": agent})
    assert answer.status_code in (200, 201, 202), answer.text
    return answer.json()


def dispute(server: Served, concept: str, standing: str = "-isa repo", newcomer: str = "-isa container") -> int:
    """Two facts that cannot both be, of dobby and winky; the id of their conflict."""
    teach(server, f"{concept} {standing}", "dobby")
    conflict_id = teach(server, f"{concept} {newcomer}", "winky")["conflict_id"]
    assert isinstance(conflict_id, int)
    return conflict_id


def listed(server: Served, **filters: Any) -> Any:
    answer = server.client.get("/conflicts", params=filters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(server: Served, **filters: Any) -> list[int]:
    return [item["id"] for item in listed(server, **filters)["items"]]


def test_a_conflict_is_told_with_both_sides(server: Served) -> None:
    conflict_id = dispute(server, "quangle")

    [item] = listed(server, touches="quangle")["items"]

    slot = {"concept": "quangle", "dimension": "type"}
    assert (item["id"], item["kind"], item["slot_key"], item["status"]) == (conflict_id, "edge_slot", slot, "open")
    edge, claim = item["members"]
    assert (claim["collision_type"], item["priority"], claim["evidence"]) == ("isa_isa", 1, "quangle -isa container")
    assert (edge["kind"], edge["text"], claim["kind"], claim["status"]) == (
        "edge",
        "quangle is a repo [type]",
        "claim",
        "pending",
    )
    assert {key: claim["existing"][key] for key in ("parent", "is_isa", "confidence", "source", "agent")} == {
        "parent": "repo",
        "is_isa": True,
        "confidence": 1.0,
        "source": "gutask",
        "agent": DOBBY,
    }
    assert {key: claim[key] for key in ("parent", "is_isa", "confidence", "source", "agent", "role")} == {
        "parent": "container",
        "is_isa": True,
        "confidence": 1.0,
        "source": "gutask",
        "agent": WINKY,
        "role": "",
    }
    assert claim["support"] == [{"agent": WINKY, "channel": "gutask"}]
    assert (claim["attempts"], claim["last_error"], claim["proposal"], item["resolution"]) == (0, "", None, None)
    assert (claim["decisions"], item["resolved_at"]) == ([], None)
    assert datetime.fromisoformat(item["detected_at"]) - datetime.now(UTC) < AHEAD


def test_the_existing_fact_is_told_as_it_stands_now(server: Served, database: str, tokens: dict[str, str]) -> None:
    dispute(server, "runcible")
    with psycopg.connect(database, autocommit=True) as client:
        client.execute("UPDATE urd SET confidence = 0.5 WHERE id = (SELECT id FROM soas WHERE token = 'runcible')")

    [item] = listed(server, touches="runcible")["items"]
    before = item["members"][0]
    token = {"Authorization": f"Bearer {tokens['agent']}"}  # another voice than the one that placed it
    assert server.client.post("/iknowthat", json={"fact": "runcible -isa repo"}, headers=token).status_code == 200
    [item] = listed(server, touches="runcible")["items"]

    assert (before["confidence"], item["members"][0]["confidence"]) == (0.5, 1.0)
    assert item["members"][0]["last_confirmed"] > before["last_confirmed"]


def test_one_conflict_comes_with_what_else_is_known_of_the_concept(server: Served) -> None:
    conflict_id = dispute(server, "pobble")
    teach(server, "pobble -ispart gromboolia", "dobby")

    told = server.client.get(f"/conflicts/{conflict_id}").json()

    assert told["id"] == conflict_id
    assert [(fact["parent"], fact["dimension"]) for fact in told["other_facts"]] == [("gromboolia", "membership")]
    assert told["ring"] == []


def test_a_ring_is_told_with_the_facts_that_make_it_up(server: Served) -> None:
    teach(server, "ring-a -ispart ring-b", "dobby")
    teach(server, "ring-b -ispart ring-c", "dobby")
    conflict_id = teach(server, "ring-c -ispart ring-a", "winky")["conflict_id"]

    told = server.client.get(f"/conflicts/{conflict_id}").json()

    edge, claim = told["members"]
    assert (edge["kind"], edge["concept"]) == ("edge", "ring-b")
    assert (claim["collision_type"], claim["existing_parent"], claim["blocking_concept"]) == ("cycle", None, "ring-b")
    assert (claim["existing"]["concept"], claim["existing"]["parent"]) == ("ring-b", "ring-c")
    assert [(fact["concept"], fact["parent"]) for fact in told["ring"]] == [("ring-a", "ring-b"), ("ring-b", "ring-c")]


def test_conflicts_are_listed_by_status_and_without_one_the_open_ones(server: Served) -> None:
    undecided, decided = (dispute(server, f"jumbly{number}") for number in range(2))
    assert server.client.post(f"/conflicts/{decided}/dismiss").status_code == 200

    def found(**filters: Any) -> set[int]:
        return {undecided, decided} & set(ids(server, limit=500, **filters))

    assert found() == found(status="open") == found(status="pending") == {undecided}
    assert found(status="dismissed") == {decided}
    assert found(status="all") == {undecided, decided}
    assert found(status="resolved") == found(status="proposed") == set()


@pytest.mark.parametrize(
    ("filters", "others"),
    [
        ({"touches": "scroobious"}, {"touches": "scroobious-not"}),
        ({"touches": "Scroobious"}, {"touches": "Scroobious Not"}),
        ({"kind": "edge_slot"}, {"kind": "memory_slot"}),
        ({"kind": "entity_slot"}, {"kind": "narrative"}),
        ({"kind": "edge_slot", "touches": "scroobious"}, {"kind": "cross_layer", "touches": "scroobious"}),
    ],
)
def test_conflicts_are_filtered(server: Served, filters: dict[str, str], others: dict[str, str]) -> None:
    conflict_id = dispute(server, "scroobious")

    assert conflict_id in ids(server, limit=500, **filters)
    assert conflict_id not in ids(server, limit=500, **others)


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        ("status=undecided", "status"),
        ("kind=hearsay", "kind"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=many", "limit"),
        ("offset=-1", "offset"),
        ("offset=99999999999999999999", "offset"),
        ("touches=a%00b", "touches"),
        ("touches=two+words", "touches"),
        ("touches=" + "x" * 300, "touches"),
        ("project=" + "x" * 300, "project"),
        ("concept=scroobious", "concept"),
    ],
)
def test_a_bad_filter_is_refused_by_its_name(server: Served, filters: str, named: str) -> None:
    answer = server.client.get(f"/conflicts?{filters}")

    assert answer.status_code == 422
    assert named in answer.json()["error"]


def test_open_ones_come_first_then_those_with_priority_then_the_oldest(server: Served, database: str) -> None:
    said_in_passing, decided, first, second = (dispute(server, f"chankly{number}") for number in range(4))
    assert server.client.post(f"/conflicts/{decided}/dismiss", json={"reason": "no"}).status_code == 200
    with psycopg.connect(database, autocommit=True) as client:
        client.execute("UPDATE resolution_queue SET priority = 0 WHERE conflict_id = %s", [said_in_passing])

    ours = [
        found for found in ids(server, status="all", limit=500) if found in (said_in_passing, decided, first, second)
    ]

    assert ours == [first, second, said_in_passing, decided]


def test_gutask_lists_the_open_ones(server: Served) -> None:
    conflict_id = dispute(server, "bisky")

    run = subprocess.run([sys.executable, GUTASK, "conflicts"], env={"FESTINGER_URL": server.url}, capture_output=True)

    assert run.returncode == 0
    [line] = [line for line in run.stdout.decode().splitlines() if line.startswith(f"{conflict_id}: ")]
    assert line.startswith(f"{conflict_id}: bisky -isa repo in context of type | {WINKY}: -isa container | since 2")
    assert line.endswith(" UTC")


def test_pages_add_up_to_the_whole_list(server: Served) -> None:
    for number in range(5):
        dispute(
            server, f"akond{number}", "-ispart swat in context of coromandel", "-ispart grove in context of coromandel"
        )

    whole = listed(server, touches="swat")
    pages = [listed(server, touches="swat", limit=2, offset=offset) for offset in (0, 2, 4, 6)]

    assert [page["count"] for page in (whole, *pages)] == [5] * 5
    assert [len(page["items"]) for page in pages] == [2, 2, 1, 0]
    assert [item for page in pages for item in page["items"]] == whole["items"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/conflicts/0", 404),
        ("/conflicts/-1", 404),
        ("/conflicts/99999999", 404),
        ("/conflicts/99999999999999999999999", 404),
        ("/conflicts/" + "9" * 5000, 422),
        ("/conflicts/seven", 422),
        ("/conflicts/%00", 422),
        ("/conflicts/", 404),
        ("/conflicts/1/2/3", 404),
        ("/resolve/runs/99999999999999999999999", 404),
        ("/resolve/runs/latest", 422),
        ("/resolve/other", 404),
    ],
)
def test_what_is_not_there_is_told_as_json(server: Served, path: str, status: int) -> None:
    answer = server.client.get(path)

    assert (answer.status_code, list(answer.json())) == (status, ["error"])


def test_head_and_wrong_methods_are_answered_like_elsewhere(server: Served) -> None:
    head = server.client.head("/conflicts")
    wrong = [
        server.client.post("/conflicts"),
        server.client.get("/resolve/run"),
        server.client.get("/decisions/1/undo"),
        server.client.delete("/resolve/runs/1"),
    ]

    assert (head.status_code, head.content) == (200, b"")
    assert [(answer.status_code, answer.headers["allow"]) for answer in wrong] == [
        (405, "GET"),
        (405, "POST"),
        (405, "POST"),
        (405, "GET"),
    ]
    assert all("is not allowed here" in answer.json()["error"] for answer in wrong)
