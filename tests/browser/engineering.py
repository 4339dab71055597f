"""An engineering project as its agents and operators describe it: 200 concepts of twelve types, and what is settled."""

from collections.abc import Iterator

from tests.browser import world
from tests.served.learning import Festinger
from tests.served.server import manage

SLUG = "p05"
SUBSYSTEMS = ("laser", "cavity", "support", "vacuum", "thermal", "electronics", "software", "metrology")
COMPONENTS = ("frame", "mount", "sensor", "cable", "board", "housing", "window", "bracket")
MATERIALS = ("zerodur", "invar-36", "titanium", "peek-natural", "fused-silica")


def describe() -> Iterator[str]:
    """Facts as `gutask iknowthat` takes them, of 200 concepts."""
    yield "p05 -isa interferometer in context of project"
    for number, subsystem in enumerate(SUBSYSTEMS):
        own = f"p05.{subsystem}"
        yield f"{own} -ispart p05 in context of subsystem-of"
        for other, component in enumerate(COMPONENTS):
            yield f"{own}.{component} -ispart {own} in context of component-of"
            yield f"{own}.{component} -isa {MATERIALS[(number + other) % 5]} in context of material"
            yield f"{own}.{component}-temperature -isa {18 + other}-c in context of parameter"
        yield f"{own}.mass-max -isa {number + 2}.5-kg in context of requirement"
        yield f"{own} -isa {10 + number}-w in context of constraint.heat-load"
        yield f"{own}-model -isa finite-element-model in context of analysis-model"
        yield f"{own}-model.first-mode -isa {200 + number}-hz in context of result"
        for number_of_drawing in (1, 2):
            yield f"{own} -isa drawing-{subsystem}-{number_of_drawing} in context of artifact"
    yield from (f"p05.requirement-{number} -isa met-by-test in context of requirement" for number in range(30))
    yield from (f"p05.claim-{number} -isa shown-by-analysis in context of validation-claim" for number in range(8))
    yield "p05.lateral-support -isa peek in context of decision.material"


STATES = (
    ("decision", "lateral_support_material", "GF-PTFE", "Creep tests of May."),
    ("decision", "wavelength", "633 nm", ""),
    ("milestone", "critical design review", "12 March 2027", ""),
    ("requirement", "mass_max", "4.8 kg", "From the launcher's manual, table 7."),
)


def build(whole: Festinger) -> None:
    """Over HTTP and by commands, as people do."""
    whole.run(
        "INSERT INTO project (slug, name, description) VALUES (%s, 'Interferometer P05',"
        " 'The reference cavity of the space interferometer, and what carries it.') ON CONFLICT DO NOTHING",
        SLUG,
    )
    manage("load_dimensions", "engineering", DATABASE_URL=whole.database)
    for fact in describe():
        world.teach(whole, fact)
    whole.wait(lambda: settle(whole, *STATES[0]) < 300)
    for state in STATES[1:]:
        assert settle(whole, *state) < 300
    for text in ("The team decided to weigh the cavity on Fridays.", "The clean room opens at seven."):
        said = {"text": text, "category": "project", "project": SLUG}
        whole.run("UPDATE project SET is_open = true WHERE slug = %s", SLUG)
        whole.wait(lambda said=said: whole.proxies[0].client.post("/memory", json=said).status_code < 300)  # type: ignore[misc]


def settle(whole: Festinger, category: str, key: str, value: str, reason: str) -> int:
    said = {"project": SLUG, "category": category, "key": key, "value": value, "reason": reason}
    return whole.proxies[0].client.post("/project/state", json=said).status_code
