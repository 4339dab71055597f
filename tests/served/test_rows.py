"""The rows of tests/resolution/data/rows.jsonl about conflicts and projects, played over HTTP in words of their own."""

import json
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import psycopg
import pytest

from resolution.models import Conflict
from resolution.pages.conflicts import read_conflicts
from tests import waiting
from tests.served.learning import register_agent
from tests.served.server import PROJECT, Served
from tests.standin import StandIn

eventually = partial(waiting.eventually, within_s=30.0)
FILE = PROJECT / "tests" / "resolution" / "data" / "rows.jsonl"
ROWS = [json.loads(line)["id"] for line in FILE.read_text().splitlines()]
NUMBERS = count()
WARNING = "X-Festinger-Warning"
PLAYS: dict[str, Callable[["World"], None]] = {}


def plays(*ids: str) -> Callable[[Callable[["World"], None]], Callable[["World"], None]]:
    def note(play: Callable[["World"], None]) -> Callable[["World"], None]:
        PLAYS.update(dict.fromkeys(ids, play))
        return play

    return note


class World:
    """A server, with names that nobody used before."""

    def __init__(self, server: Served, tokens: dict[str, str], database: str) -> None:
        self.server, self.tokens, self.database = server, tokens, database
        self.number = next(NUMBERS)

    def name(self, word: str) -> str:
        return f"{word}{self.number}"

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.server.client.post(path, json=body or {}, headers=headers)

    def teach(self, fact: str, agent: str = "dobby") -> Any:
        answer = self.post("/iknowthat", {"fact": fact}, **{"X-Festinger-Agent": agent})
        assert answer.status_code in (200, 201, 202), answer.text
        return answer.json()

    def dispute(self, concept: str, where: str, *values: str, kind: str = "-ispart") -> int:
        """Each value is another agent's; the id of their conflict."""
        for number, value in enumerate(values):
            told = self.teach(f"{concept} {kind} {value} in context of {where}", f"agent{number}")
        return int(told["conflict_id"])

    def read(self, conflict: int) -> Any:
        return self.server.client.get(f"/conflicts/{conflict}").json()

    def block(self, text: str, **more: Any) -> str:
        answer = self.server.client.post("/recollect", json={"text": text} | more).json()
        return str(answer.get("block", ""))

    def title(self, conflict: int) -> str:
        """As on the desk."""
        [found] = read_conflicts(Conflict.objects.filter(pk=conflict)).values()
        return str(found.title)

    def projects(self) -> set[str]:
        with psycopg.connect(self.database) as client:
            return {slug for (slug,) in client.execute("SELECT slug FROM project")}


@pytest.fixture
def world(
    server: Served, tokens: dict[str, str], database: str, ollama: StandIn, on_the_served_database: None
) -> World:
    return World(server, tokens, database)


@pytest.mark.parametrize("row", [row for row in ROWS if row.startswith(("conflicts", "projects"))])
def test_a_row_holds(row: str, world: World) -> None:
    PLAYS[row](world)


# --- conflicts ---


@plays("conflicts-r01", "conflicts-f05", "conflicts-f10")
def play_update(world: World) -> None:
    concept = world.name("brevik")
    conflict = world.dispute(concept, "runs-on", "odin-2", "odin-3")
    decided = world.post(f"/conflicts/{conflict}/resolve", {"decision": "update", "reason": "moved in May"}).json()

    lost, won = world.read(conflict)["members"]
    assert [member["parent"] for member in (lost, won)] == ["odin-2", "odin-3"]
    assert (lost["holds"], lost["superseded_by"]) == (False, {"kind": "claim", "id": won["id"]})
    assert won["existing"]["parent"] == "odin-2"
    [gone] = [
        row for row in world.server.client.get("/conflicts/supersessions", params={"limit": 500}).json()["items"]
        if row["id"] == decided["decision"]["id"]
    ]  # fmt: skip
    assert gone["superseded"][0]["text"] == f"{concept} runs on odin-2"
    assert gone["winner"]["text"] == f"{concept} runs on odin-3"
    assert world.title(conflict) == f"{concept} runs on odin-2 or odin-3"
    assert f"{concept}: [runs-on] odin-3\n" in world.block(f"Restart {concept}.")


@plays("conflicts-r02")
def play_decompose(world: World) -> None:
    concept = world.name("gnommo")
    conflict = world.dispute(concept, "type", "repo", "container", kind="-isa")
    names = {"existing_dimension": "artifact-type", "new_dimension": "deployment-type"}
    world.post(f"/conflicts/{conflict}/resolve", {"decision": "decompose", **names})

    existing, claim = world.read(conflict)["members"]
    assert (existing["parent"], existing["status"]) == ("repo", "moved")
    assert (claim["parent"], claim["existing"]["parent"]) == ("container", "repo")


@plays("conflicts-r03")
def play_title(world: World) -> None:
    slug = world.name("p05x")
    state = {"project": slug, "category": "decision", "key": "lateral_support_material"}
    assert world.post("/project/state", state | {"value": "GF-PTFE"}).status_code == 201
    fact = f"{slug}.lateral-support -isa PEEK in context of decision.material"
    assert world.teach(fact)["status"] == "inserted"
    conflict = world.post("/project/state", state | {"value": "GF-PTFE v2"}).json()["conflict_id"]

    title = world.title(conflict)
    assert "GF-PTFE v2" in title
    assert "PEEK" in title
    assert "GF-PTFE or" not in title


@plays("conflicts-r04", "conflicts-r05", "conflicts-f01")
def play_spelling(world: World) -> None:
    for concept, where, one, other in (
        (world.name("p05.mount.mass_max"), "requirement", "4.8 kg", "4.82 kg"),
        (world.name("p05.mount"), "material", "PEEK", "PVDF"),
        (world.name("trestfond"), "geography-room", "Blue Hall", "Red Barn"),
    ):
        world.dispute(concept, where, f"'{one}'", f"'{other}'", kind="-isa")
        [line] = [line for line in world.block(f"Look at {concept}.").splitlines() if concept in line]
        assert f"?] {one} | {other} — conflict pending" in line


@plays("conflicts-f02", "conflicts-f09")
def play_layers(world: World) -> None:
    slug = world.name("p06x")
    world.post("/project/state", {"project": slug, "category": "note", "key": "begun", "value": "yes"})
    said = {"text": "The deployment target is Nomad.", "project": slug}
    memory = world.post("/memory", said).json()
    state = {"project": slug, "category": "deployment", "key": "target", "value": "Kubernetes"}
    written = world.post("/project/state", state)
    assert (written.status_code, written.json()["conflict_id"] is not None) == (201, True)
    conflict = world.read(written.json()["conflict_id"])
    assert (conflict["kind"], conflict["status"]) == ("cross_layer", "open")
    assert [(member["kind"], member["trust"]) for member in conflict["members"]] == [
        ("project_state", 3),
        ("memory", 1),
    ]
    assert conflict["members"][1]["conflicts_with"] == {"kind": "project_state", "id": written.json()["id"]}
    assert conflict["members"][1]["id"] == memory["id"]
    again = world.post("/project/state", state | {"value": "Fly"})
    assert again.json()["warning"]


@plays("conflicts-f03")
def play_dismissal(world: World) -> None:
    concept = world.name("brevik")
    conflict = world.dispute(concept, "runs-on", "odin-2", "odin-3")
    world.post(f"/conflicts/{conflict}/dismiss", {"reason": "a typo"})
    world.teach(f"{concept} -ispart odin-3 in context of runs-on", "agent1")
    listed = world.server.client.get("/conflicts", params={"touches": concept}).json()
    assert (listed["count"], world.block(f"Restart {concept}.").count("odin-2")) == (0, 1)


@plays("conflicts-f04", "conflicts-f08")
def play_third_value(world: World) -> None:
    concept = world.name("brevik")
    conflict = world.dispute(concept, "runs-on", "odin-2", "odin-3")
    seen = world.read(conflict)["seen"]
    world.teach(f"{concept} -ispart odin-4 in context of runs-on", "agent2")
    assert len(world.read(conflict)["members"]) == 3
    assert world.title(conflict) == f"{concept} runs on odin-2 or odin-3 or odin-4"
    [line] = [line for line in world.block(f"Restart {concept}.").splitlines() if concept in line]
    assert line == f"{concept}: [runs-on?] odin-2 | odin-4 | odin-3 — conflict pending"
    claim = next(member for member in world.read(conflict)["members"] if member.get("parent") == "odin-3")
    world.post(f"/conflicts/{conflict}/resolve", {"decision": "update", "member_id": claim["id"], "seen": seen})
    listed = world.server.client.get("/conflicts", params={"touches": concept}).json()
    assert listed["count"] == 1
    assert {member.get("parent") for member in listed["items"][0]["members"]} >= {"odin-3", "odin-4"}


@plays("conflicts-f06")
def play_undo(world: World) -> None:
    concept = world.name("brevik")
    conflict = world.dispute(concept, "runs-on", "odin-2", "odin-3")
    decided = world.post(f"/conflicts/{conflict}/resolve", {"decision": "update"}).json()["decision"]["id"]
    assert world.post(f"/decisions/{decided}/undo").status_code == 200
    edge, claim = world.read(conflict)["members"]
    assert (edge["kind"], edge["parent"], edge["holds"]) == ("edge", "odin-2", True)
    assert (claim["parent"], claim["status"], world.read(conflict)["status"]) == ("odin-3", "pending", "open")


@plays("conflicts-f07")
def play_same_value(world: World) -> None:
    concept = world.name("p05.mount")
    world.teach(f"{concept} -isa PEEK in context of material", "agent0")
    assert world.teach(f"{concept} -isa peek in context of material", "agent1")["status"] == "confirmed"
    assert world.server.client.get("/conflicts", params={"touches": concept, "status": "all"}).json()["count"] == 0


# --- projects ---


def say(world: World, **headers: str) -> Any:
    answer = world.server.chat(("user", gauge(world)), headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


def gauge(world: World) -> str:
    return f"Remember that the tide gauge is Maler-{world.number}."


def project_of(world: World) -> str | None:
    """The project in which the sentence was kept; None if it was not kept."""
    with psycopg.connect(world.database) as client:
        found = client.execute(
            "SELECT slug FROM episode LEFT JOIN project ON project.id = project_id WHERE text = %s ORDER BY episode.id",
            [gauge(world)],
        ).fetchall()
    return str(found[0][0]) if found else None


def is_kept_in(world: World, slug: str) -> bool:
    return bool(eventually(lambda: project_of(world) == slug))


def token(world: World, *, allowed: str = "", own: str = "") -> dict[str, str]:
    """Make a token of a new agent that may name this project, or all ("*")."""
    name = world.name("gauger")
    headers = register_agent(world.database, name)
    with psycopg.connect(world.database, autocommit=True) as client:
        for slug in {allowed, own} - {"", "*"}:
            client.execute("INSERT INTO project (slug, name) VALUES (%s, %s)", [slug, slug])
        client.execute(
            "UPDATE agent SET allows_all_projects = %s, project_id = (SELECT id FROM project WHERE slug = %s)"
            " WHERE name = %s",
            [allowed == "*", own, name],
        )
        client.execute(
            "INSERT INTO agent_allowed_projects (agent_id, project_id)"
            " SELECT agent.id, project.id FROM agent, project WHERE agent.name = %s AND slug = %s",
            [name, allowed],
        )
    world.post("/reload")
    return headers


def state_of(slug: str) -> dict[str, str]:
    return {"project": slug, "category": "decision", "key": "paint", "value": "tar"}


@plays("projects-r01")
def play_made_by_an_operator(world: World) -> None:
    slug = world.name("p07x")
    made = world.post("/project/state", state_of(slug), Authorization=f"Bearer {world.tokens['operator']}")
    answer = say(world, **{"X-Festinger-Project": slug})
    assert "Requests without a token may not name it" in made.json()["note"]
    assert answer.headers[WARNING] == "unknown project"


@plays("projects-f01", "projects-f02", "projects-f10")
def play_made_by_a_prompt(world: World) -> None:
    slug = world.name("brygge")
    assert WARNING not in say(world, **{"X-Festinger-Project": slug}).headers
    assert is_kept_in(world, slug)
    made = world.post("/project/state", state_of(slug))
    assert (made.status_code, "note" in made.json()) == (201, False)
    assert "decision.paint = tar" in world.block("Which paint was the decision?", project=slug)
    say(world, **{"X-Festinger-Project": world.name("naust")})
    assert "tar" not in world.block("Which paint was the decision?", project=world.name("naust"))


@plays("projects-f03", "projects-f04")
def play_no_right(world: World) -> None:
    slug = world.name("torvet")
    headers = token(world, allowed=world.name("brygge")) | {"X-Festinger-Project": slug}
    assert say(world, **headers).headers[WARNING] == "unknown project"
    assert world.post("/memory", {"text": "The tide gauge is Maler-9."}, **headers).status_code == 403
    assert slug not in world.projects()


@plays("projects-f05", "projects-f08")
def play_right_to_all(world: World) -> None:
    slug = world.name("torvet")
    say(world, **token(world, allowed="*"), **{"X-Festinger-Project": slug})
    assert is_kept_in(world, slug)
    operator = {"Authorization": f"Bearer {world.tokens['operator']}", "X-Festinger-Project": f"{slug}-2"}
    assert world.post("/memory", {"text": "The crane is Loft-2."}, **operator).status_code == 201
    assert f"{slug}-2" in world.projects()


@plays("projects-f06")
def play_not_allowed(world: World) -> None:
    closed = world.name("lukket")
    world.post("/projects", {"slug": closed})
    world.post("/project/state", state_of(closed))
    headers = token(world, own=world.name("brygge")) | {"X-Festinger-Project": closed}
    assert say(world, **headers).headers[WARNING] == "unknown project"
    assert project_of(world) is None
    assert world.post("/recollect", {"text": "Which paint was the decision?"}, **headers).json().get("block", "") == ""


@plays("projects-f07")
def play_no_header(world: World) -> None:
    own = world.name("brygge")
    say(world, **token(world, own=own))
    assert is_kept_in(world, own)


@plays("projects-f09")
def play_too_many(world: World) -> None:
    with psycopg.connect(world.database, autocommit=True) as client:
        fill = "INSERT INTO project (slug, name) SELECT 'filled-' || n, 'F' FROM generate_series(1, 50) AS n"
        client.execute(fill)
        try:
            answer = say(world, **{"X-Festinger-Project": world.name("p-51")})
        finally:
            client.execute("DELETE FROM project WHERE slug LIKE 'filled-%'")
    assert answer.headers[WARNING] == "unknown project"
    assert world.name("p-51") not in world.projects()
