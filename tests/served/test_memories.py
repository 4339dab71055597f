"""What agents have remembered and find again, over HTTP and with gutask. Each test speaks of words of its own."""

import re
import subprocess
import sys
from typing import Any

import httpx
import psycopg
import pytest

from tests.served.learning import register_agent
from tests.served.server import PROJECT, Served
from tests.served.test_mcp import call
from tests.waiting import eventually

GUTASK = PROJECT / "clients" / "gutask" / "gutask"


def remember(server: Served, text: str, agent: str = "memo", **more: Any) -> httpx.Response:
    headers = {"X-Festinger-Agent": agent} | more.pop("headers", {})
    return server.client.post("/memory", json={"text": text} | more, headers=headers)


def search(server: Served, query: str, agent: str = "memo", **more: Any) -> list[dict[str, Any]]:
    answer = server.client.post("/search_memory", json={"query": query} | more, headers={"X-Festinger-Agent": agent})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["count"] == len(told["items"])
    return list(told["items"])


def gutask(server: Served, *words: str, **environment: str) -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, GUTASK, *words],
        env={"FESTINGER_URL": f"{server.url}/agent/memo"} | environment,
        capture_output=True,
        text=True,
    )
    return run.returncode, (run.stdout or run.stderr).strip()


def test_a_memory_is_stored_confirmed_replaced_and_found(server: Served) -> None:
    first = remember(server, "I prefer bluegum rebase to bluegum merges.")
    again = remember(server, "I prefer bluegum rebase to bluegum merges")
    changed = remember(server, "Remember that I now prefer bluegum merges.")

    assert (first.status_code, again.status_code, changed.status_code) == (201, 200, 201)
    told = first.json()
    assert (told["text"], told["status"]) == ("I prefer bluegum rebase to bluegum merges.", "active")
    assert (told["category"], told["slot"], told["conflict_id"], told["conflicts"]) == ("preference", "rebas", None, [])
    assert changed.json()["superseded"] == [told["id"]]
    whole = server.client.get(f"/memory/{told['id']}", headers={"X-Festinger-Agent": "memo"}).json()
    assert (whole["status"], whole["superseded_by"]) == ("superseded", changed.json()["id"])
    assert [change["action"] for change in whole["history"]] == ["create", "confirm", "supersede"]
    assert [item["text"] for item in search(server, "bluegum merges or rebase?", search_type="memories")] == [
        "I now prefer bluegum merges."
    ]


def test_what_concerns_a_person_is_for_that_person(server: Served) -> None:
    remember(server, "I like quokkas very much.", user="sam")
    shared = remember(server, "The quokka house opens at nine.", user="sam").json()

    headers = {"X-Festinger-Agent": "memo"}
    texts = {
        user: {item["text"] for item in search(server, "quokka", user=user, search_type="facts")}
        for user in ("sam", "kim")
    }
    assert texts == {
        "sam": {"I like quokkas very much.", "The quokka house opens at nine."},
        "kim": {"The quokka house opens at nine."},
    }
    assert server.client.get("/memory", params={"text": "quokka", "user": "kim"}, headers=headers).status_code == 200
    assert shared["category"] == "other"


def test_a_project_is_for_those_who_may_name_it(
    server: Served, strict: Served, database: str, tokens: dict[str, str]
) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO project (slug, name, is_open) VALUES ('heron', 'Heron', true), ('ibis', 'I', false)"
        )
    server.client.post("/reload")
    mine = {"Authorization": f"Bearer {tokens['agent']}"}

    told = remember(server, "The heron pond is closed.", project="heron").json()
    assert told["project"] == "heron"
    assert strict.client.get(f"/memory/{told['id']}", headers=mine).status_code == 404
    named = strict.client.get(f"/memory/{told['id']}", params={"project": "heron"}, headers=mine)
    assert named.json()["text"] == told["text"]
    assert search(server, "heron pond") == []
    assert len(search(server, "heron pond", project="heron")) == 1
    for project in ("ibis", "nowhere"):
        refused = strict.client.post("/memory", json={"text": "Ibis.", "project": project}, headers=mine)
        assert refused.status_code == 403
        assert "project" in refused.json()["error"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"text": "x" * 501}, "500 characters"),
        ({"text": " "}, "nothing"),
        ({"text": "The oven is hot.", "category": "gossip"}, "category"),
        ({}, "text"),
    ],
)
def test_what_cannot_be_remembered_is_told(server: Served, body: dict[str, str], says: str) -> None:
    answer = server.client.post("/memory", json=body)

    assert (answer.status_code, says in answer.json()["error"]) == (422, True)


def test_lists_are_filtered_and_paged(server: Served) -> None:
    for number in range(3):
        remember(server, f"Wombat {number} is awake.")
    remember(server, "I like wombats.")

    def ask(**query: Any) -> dict[str, Any]:
        return dict(server.client.get("/memory", params={"text": "wombat"} | query).json())

    assert ask()["count"] == 4
    page = ask(category="other", limit=1, offset=1)
    assert ([item["text"] for item in page["items"]], page["count"]) == (["Wombat 1 is awake."], 3)
    assert ask(status="superseded")["count"] == 0
    assert server.client.get("/memory/999999999").status_code == 404


def test_operators_take_back_and_put_back(server: Served, strict: Served, tokens: dict[str, str]) -> None:
    key = remember(server, "The lyrebird sings at dawn.").json()["id"]
    operator = {"Authorization": f"Bearer {tokens['operator']}"}
    agent = {"Authorization": f"Bearer {tokens['agent']}"}

    assert strict.client.post(f"/memory/{key}/invalidate", headers=agent).status_code == 403
    assert strict.client.post("/memory", json={"text": "Hi there."}).status_code in (201, 401)
    told = strict.client.post(f"/memory/{key}/invalidate", json={"reason": "it left"}, headers=operator).json()
    assert (told["status"], told["result"]) == ("invalid", "retracted")
    assert strict.client.post(f"/memory/{key}/invalidate", headers=operator).status_code == 409
    assert search(server, "lyrebird sings") == []
    assert strict.client.post(f"/memory/{key}/restore", headers=operator).json()["status"] == "active"
    assert strict.client.post(f"/memory/{key}/promote", headers=operator).status_code == 409


def test_over_the_quota_is_429_with_a_time(strict: Served, database: str) -> None:
    headers = register_agent(database, "glutton")  # of its own: others go on
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO agent_hour (agent, hour, memories) VALUES ('glutton', date_trunc('hour', now()), 1000000)"
        )
    said = {"text": "Numbats are striped."}

    def is_refused() -> httpx.Response | None:
        """Once the server has heard of the agent."""
        answer = strict.client.post("/memory", json=said, headers=headers)
        return answer if answer.status_code == 429 else None

    answer = eventually(is_refused, within_s=10)
    assert answer
    assert answer.json().get("setting") == "quota_memories_per_hour"
    assert 0 < int(answer.headers["Retry-After"]) <= 3600


def test_gutask_remembers_and_searches(server: Served) -> None:
    assert gutask(server, "remember", "I prefer bandicoot fonts") == (
        0,
        "Remembered: I prefer bandicoot fonts",
    )
    assert gutask(server, "remember", "I prefer bandicoot fonts")[1].startswith("Remembered already")
    assert gutask(server, "search", "bandicoot", "fonts")[1].endswith(": I prefer bandicoot fonts")
    assert gutask(server, "remember", "forget that I prefer bandicoot fonts")[1].startswith("Forgotten")
    assert gutask(server, "remember", "forget that I prefer bandicoot fonts")[0] == 3
    assert gutask(server, "search", "bandicoot") == (0, "Nothing was found.")
    assert gutask(server, "remember", "x" * 501)[0] == 2
    assert gutask(server, "remember", "Bandicoots dig.", FESTINGER_PROJECT="no where")[0] == 5


def ask_with(server: Served, door: str, sentence: str) -> bool:
    """True if it was forgotten."""
    if door.startswith("gutask"):
        status, told = gutask(server, *door.split()[1:], sentence)
        assert status in (0, 3), told
        return status == 0
    if door.startswith("mcp"):
        return not call(
            server, door.split()[1], {"fact" if door == "mcp forget" else "text": sentence}, path="/agent/memo/mcp"
        )["is_error"]
    body = {"fact" if door == "/forget" else "text": sentence}
    answer = server.client.post(door, json=body, headers={"X-Festinger-Agent": "memo"})
    assert answer.status_code in (200, 404), answer.text
    return answer.status_code == 200


@pytest.mark.parametrize(
    "door", ["/forget", "/memory", "mcp forget", "mcp remember", "gutask forget", "gutask remember"]
)
def test_what_is_to_be_forgotten_is_gone_through_every_door(server: Served, door: str) -> None:
    word = f"kodkod{re.sub('[^a-z]', '', door)}"
    memory, fact = f"The {word} gate code room is upstairs.", f"{word} is a cat"
    remember(server, memory)
    remember(server, memory, agent="other")
    server.teach(f"{word} -isa cat")

    def find(agent: str = "memo") -> set[str]:
        return {item["kind"] for item in search(server, f"Where is the {word} gate code room?", agent)}

    assert find() == {"memory", "fact"}
    for said in (memory, fact):
        assert ask_with(server, door, f"Forget that {said}")
        assert not ask_with(server, door, f"Forget that {said}")
    assert (find(), find("other")) == (set(), {"memory"})
    kept = server.client.get("/memory", params={"text": word, "status": "all"}).json()["items"]
    assert {item["text"] for item in kept} == {memory}


def test_operators_list_the_memories_of_one_person(server: Served) -> None:
    for user in ("una", "vic"):
        assert remember(server, f"I prefer the bilby tea of {user}.", user=user).status_code == 201

    def find(**query: str) -> list[str]:
        items = server.client.get("/memory", params={"text": "bilby tea"} | query).json()["items"]
        return [item["user"] for item in items]

    assert find() == ["vic", "una"]
    assert (find(user="una"), find(user="wim")) == (["una"], [])


def conflicts_of(server: Served, key: int, **query: Any) -> list[dict[str, Any]]:
    whole = server.client.get(f"/memory/{key}", params=query, headers={"X-Festinger-Agent": "memo"})
    return list(whole.json()["conflicts"])


def test_two_preferences_of_one_thing_are_a_conflict_and_one_said_twice_is_none(server: Served) -> None:
    first = remember(server, "The user prefers rebase workflow.", category="preference", user="rita").json()
    again = remember(server, "the user prefers rebase workflow", category="preference", user="rita").json()
    second = remember(server, "The user prefers merge-commit workflow.", category="preference", user="rita").json()
    other = remember(server, "The user prefers small diffs.", category="preference", user="rita").json()
    elses = remember(server, "The user prefers squash workflow.", category="preference", user="ron").json()

    assert [told["conflict_id"] for told in (first, again, other, elses)] == [None] * 4
    assert second["status"] == "active"
    assert (again["result"], again["id"]) == ("confirmed", first["id"])
    assert second["disputed_by"] == [first["id"]]
    open_ones = [{"id": second["conflict_id"], "kind": "memory_slot", "conflicts_with": None}]
    assert second["conflicts"] == open_ones
    assert conflicts_of(server, first["id"], user="rita") == open_ones
    third = remember(server, "The user prefers squash workflow.", category="preference", user="rita").json()
    assert third["conflict_id"] == second["conflict_id"]


def test_a_candidate_contradicts_nobody_until_it_is_promoted(
    server: Served, strict: Served, database: str, tokens: dict[str, str]
) -> None:
    first = remember(server, "I prefer the bandicoot editor.", user="bea").json()
    with psycopg.connect(database) as connection:
        (key,) = connection.execute(  # as a model's words are kept
            "INSERT INTO memory (text, category, agent, person, slot, source, status, channel)"
            " SELECT 'The user prefers the possum editor.', category, agent, person, slot, 'stated', 'candidate',"
            " 'assistant' FROM memory WHERE id = %s RETURNING id",
            [first["id"]],
        ).fetchone()  # type: ignore[misc]
    assert conflicts_of(server, first["id"], user="bea") == []

    told = strict.client.post(
        f"/memory/{key}/promote", headers={"Authorization": f"Bearer {tokens['operator']}"}
    ).json()

    assert told["result"] == "promoted"
    assert [one["id"] for one in conflicts_of(server, first["id"], user="bea")] == [told["conflict_id"]]


def test_a_memory_becomes_a_fact(server: Served, strict: Served, tokens: dict[str, str], database: str) -> None:
    operator = {"Authorization": f"Bearer {tokens['operator']}"}
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO project (slug, name, is_open) VALUES ('burrow', 'Burrow', true)")
    server.client.post("/reload")

    def graduate(key: int, **body: str) -> httpx.Response:
        return strict.client.post(f"/memory/{key}/graduate", json=body, headers=operator)

    first = remember(server, "My echidna database is Postgres.", user="pia").json()
    done = graduate(first["id"], concept="echidna", dimension="database")
    assert (done.status_code, done.json()["result"], done.json()["status"]) == (201, "graduated", "superseded")
    assert done.json()["fact"] == {
        "concept": "echidna", "parent": "postgres", "dimension": "database", "is_isa": True
    }  # fmt: skip
    assert graduate(first["id"], concept="echidna", dimension="database").status_code == 409

    second = remember(server, "My echidna database is MySQL.", user="pia").json()
    (fact,) = strict.client.get("/facts/echidna", headers=operator).json()["items"]
    assert (fact["parent"], fact["conflicts"]) == (
        "postgres", [{"id": second["conflict_id"], "kind": "cross_layer", "conflicts_with": None}]
    )  # fmt: skip
    against = {"kind": "edge", "id": fact["id"]}
    assert [one["conflicts_with"] for one in second["conflicts"]] == [against]
    refused = graduate(second["id"], concept="echidna", dimension="database").json()
    assert (refused["result"], refused["status"]) == ("conflict", "active")
    assert refused["conflict_id"] == second["conflict_id"]
    vague = remember(server, "The echidna pond.", project="burrow").json()
    assert graduate(vague["id"], concept="echidna", dimension="size").status_code == 422
    assert graduate(vague["id"], concept="echidna", dimension="size", parent="small").status_code == 201
    assert strict.client.post(
        f"/memory/{first['id']}/graduate", json={"concept": "x", "dimension": "y"}
    ).status_code in (401, 403)
