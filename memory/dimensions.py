"""The dimensions by which an engineering project is described: one for each type of thing, so that its slot, a concept
in this dimension, holds one value."""

from typing import Final, NamedTuple


class EntityType(NamedTuple):
    """A type of thing. ``dimension`` also covers those of its family: ``decision`` covers ``decision.material``."""

    name: str
    dimension: str
    question: str
    is_isa: bool = True
    keeps_all: bool = False


ENTITY_TYPES: Final = (
    EntityType("project", "project", "What kind of project is it?"),
    EntityType("subsystem", "subsystem-of", "Which project is it a subsystem of?", is_isa=False),
    EntityType("component", "component-of", "Which subsystem is it a component of?", is_isa=False),
    EntityType("requirement", "requirement", "What does the requirement ask for?"),
    EntityType("constraint", "constraint", "What bounds it?"),
    EntityType("decision", "decision", "What was decided for it?"),
    EntityType("material", "material", "What is it made of?"),
    EntityType("parameter", "parameter", "What is the parameter's value?"),
    EntityType("analysis model", "analysis-model", "What kind of analysis model is it?"),
    EntityType("result", "result", "What came out?"),
    EntityType("validation claim", "validation-claim", "What does the claim say?"),
    EntityType("artifact", "artifact", "Which documents and files belong to it?", keeps_all=True),
)
KINDS: Final = frozenset({"project", "analysis-model"})  # dimensions that say what sort of thing something is
_BY_DIMENSION: Final = {one.dimension: one.name for one in ENTITY_TYPES}


def find_entity_type(dimension: str) -> str:
    """Return the type of a dimension or its family; "" for any other dimension."""
    return _BY_DIMENSION.get(dimension.partition(".")[0], "")
