"""An engineering project from end to end, over HTTP: its twelve types of things, what contradicts, what prompts get."""

import re

import psycopg
import pytest

from memory.dimensions import ENTITY_TYPES
from tests import waiting
from tests.served.conftest import Command
from tests.served.server import PROJECT, Served, manage
from tests.standin import StandIn

ROW = re.compile(r"^\| ([a-z ]+) \| .* \| `([a-z-]+)(?:\.[A-Z]+)?` \| `(.+)` \|$", re.MULTILINE)
# From the page that tells people how; in a project of this test's own.
TYPES = {
    name: (dimension, fact.replace("p05", "p77"))
    for name, dimension, fact in ROW.findall((PROJECT / "docs" / "engineering.md").read_text())
}
OTHER_VALUES = {
    "project": "p77 -isa telescope in context of project",
    "subsystem": "p77.laser -ispart p78 in context of subsystem-of",
    "component": "p77.laser.etalon -ispart p77.support in context of component-of",
    "requirement": "p77.mass-max -isa 4.82-kg in context of requirement",
    "constraint": "p77.laser -isa 15-w in context of constraint.heat-load",
    "decision": "p77.lateral-support -isa peek in context of decision.material",
    "material": "p77.laser.etalon -isa ule in context of material",
    "parameter": "p77.laser.wavelength -isa 1064-nm in context of parameter",
    "analysis model": "p77.laser.modal -isa lumped-model in context of analysis-model",
    "result": "p77.laser.modal.first-mode -isa 180-hz in context of result",
    "validation claim": "p77.claim-7 -isa withdrawn in context of validation-claim",
    "artifact": "p77.laser -isa drawing-4712 in context of artifact",
}


@pytest.fixture(scope="module")
def described(server: Served, database: str) -> dict[str, int]:
    """What the server answered to each fact of the page."""
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO project (slug, name, is_open) VALUES ('p77', 'P77', true) ON CONFLICT DO NOTHING"
        )
    told = manage("load_dimensions", "engineering", DATABASE_URL=database).stdout
    assert told.startswith("Added ")
    return {name: server.teach(fact).status_code for name, (_, fact) in TYPES.items()}


def test_the_page_tells_of_all_types_that_are_shipped_and_its_facts_are_taken(described: dict[str, int]) -> None:
    assert {name: dimension for name, (dimension, _) in TYPES.items()} == {
        one.name: one.dimension for one in ENTITY_TYPES
    }
    assert set(described.values()) <= {200, 201}


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_another_value_for_a_slot_is_a_conflict_except_for_artifacts(
    server: Served, described: dict[str, int], name: str
) -> None:
    answer = server.teach(OTHER_VALUES[name])

    assert answer.status_code in ((200, 201) if name == "artifact" else (202,)), answer.text
    assert ("conflict_id" in answer.json()) == (name != "artifact")


def test_another_field_of_the_same_target_contradicts_nothing(server: Served, described: dict[str, int]) -> None:
    for fact in (
        "p77.lateral-support -isa glued in context of decision.joint",
        "p77.laser -isa 2-kg in context of constraint.mass",
    ):
        assert server.teach(fact).status_code in (200, 201)


def test_state_against_a_fact_is_a_conflict_that_prompts_of_the_project_show(
    server: Served, described: dict[str, int], ollama: StandIn
) -> None:
    settled = {"project": "p77", "category": "parameter", "key": "laser_wavelength", "value": "632.8 nm"}
    answers = []

    def settle() -> bool:
        answers.append(server.client.post("/project/state", json=settled))
        return answers[-1].status_code < 300

    assert waiting.eventually(settle, within_s=10)  # once the process has heard of the project
    told = answers[-1].json()
    conflict = server.client.get(f"/conflicts/{told['conflict_id']}").json()
    assert conflict["kind"] == "cross_layer"
    assert [(member["kind"], member["trust"]) for member in conflict["members"]] == [
        ("project_state", 3), ("edge", 2), ("claim", 2),
    ]  # fmt: skip

    def is_shown() -> bool:
        asked = ("user", "Which wavelength has p77.laser.wavelength?")
        server.chat(asked, headers={"X-Festinger-Project": "p77", "X-Festinger-Agent": "eve"})
        prompt = ollama.last().json()["messages"][0]["content"]
        return "state: parameter.laser_wavelength = 632.8 nm (disputed)" in prompt and "633-nm" in prompt

    assert waiting.eventually(is_shown, within_s=10)


def test_the_mirror_of_the_project_has_all_types(described: dict[str, int], command: Command) -> None:
    written = command("mirror", "p77")

    assert "- artifact: drawing-4711" in written
    assert "- **p77.laser.wavelength**" in written
    assert "⚠ disputed" in written
    missing = [fact.split()[0] for _, fact in TYPES.values() if f"- **{fact.split()[0]}**" not in written]
    assert missing == []
