"""The permissions that an account needs to import a file: a file cannot do what the account could not do by hand."""

from collections.abc import Collection, Iterable
from typing import Final

from memory.channels import Channel
from memory.models import Dimension, Source
from memory.types import ADDITIVE_SEEDS
from resolution.transfer.lines import (
    AliasLine,
    ConceptLine,
    DecidedLine,
    DimensionLine,
    EpisodeLine,
    FactLine,
    Line,
    MemoryLine,
    ProjectLine,
    StateLine,
)

# What a file does that needs the permission.
RIGHTS: Final = {
    "memory.change_soas": "mutes concepts, or gives them other names",
    "memory.change_dimension": "says what a dimension does on a collision, or from which it was split",
    "resolution.change_conflict": "has decisions, or statements of operators",
    "memory.view_project": "is compared with the projects here",
    "memory.add_project": "adds projects",
    "memory.view_projectstate": "is compared with what is settled for projects here",
    "memory.add_projectstate": "settles what holds for projects",
    "memory.change_projectstate": "replaces what was settled for projects",
    "memory.view_memory": "is compared with the memories here",
    "memory.add_memory": "adds memories",
    "memory.change_memory": "changes memories, or has some that were taken back, replaced or merged",
    "memory.view_episode": "is compared with the episodes here",
    "memory.add_episode": "adds what was said in conversations",
}
OF_OPERATORS: Final = frozenset({Source.OPERATOR, Source.FESTINGER})


class NotPermitted(Exception):
    """The account lacks permissions for what the file does. The message is for the importer."""

    def __init__(self, missing: Iterable[str]) -> None:
        what = "; it also ".join(f"{RIGHTS[right]}, which your account may not ({right})" for right in missing)
        super().__init__(f"The file {what}. Nothing was imported.")


def rights_for(line: Line, importer: str) -> Collection[str]:
    """Return the permissions that the line needs, besides the one to import at all."""
    match line:
        case ProjectLine():
            return ("memory.view_project", "memory.add_project")
        case StateLine():
            return ("memory.view_projectstate", "memory.add_projectstate")
        case MemoryLine():
            needed = ("memory.view_memory", "memory.add_memory")
            return needed if line.holds else (*needed, "memory.change_memory")
        case EpisodeLine():
            return ("memory.view_episode", "memory.add_episode")
    right = _right_for(line, importer)
    return () if right is None else (right,)


def _right_for(line: Line, importer: str) -> str | None:
    """Return the permission that a line of the graph needs."""
    if isinstance(line, AliasLine):
        return "memory.change_soas"
    if isinstance(line, ConceptLine):
        return "memory.change_soas" if line.is_muted else None
    if isinstance(line, DimensionLine):
        policy = Dimension.OnCollision.KEEP_ALL if line.dimension in ADDITIVE_SEEDS else Dimension.OnCollision.QUEUE
        return None if line.on_collision == policy and line.split_from is None else "memory.change_dimension"
    if isinstance(line, DecidedLine):
        return "resolution.change_conflict"
    assert isinstance(line, FactLine)
    # Operators may import their own statements.
    is_operators = line.source in OF_OPERATORS or line.channel == Channel.OPERATOR
    return "resolution.change_conflict" if is_operators and line.agent not in ("", importer) else None
