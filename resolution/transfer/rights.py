"""What an account must be allowed to do for a file to be imported: no file does for it what it could not do by hand."""

from collections.abc import Iterable
from typing import Final

from memory.domain.channels import Channel
from memory.domain.types import ADDITIVE_SEEDS
from memory.models import Dimension, Source
from resolution.transfer.interchange import (
    AliasLine,
    ConceptLine,
    ConflictLine,
    DecidedLine,
    DimensionLine,
    FactLine,
    Line,
)

# By permission: what such a file does.
RIGHTS: Final = {
    "memory.change_soas": "mutes concepts, or gives them other names",
    "memory.change_dimension": "says what a dimension does on a collision, or from which it was split",
    "resolution.change_conflict": "has decisions, or statements of operators",
}
OF_OPERATORS: Final = frozenset({Source.OPERATOR, Source.FESTINGER})


class NotPermitted(Exception):
    """The account may not do what the file does. The message is for whoever imports it."""

    def __init__(self, missing: Iterable[str]) -> None:
        what = "; it also ".join(f"{RIGHTS[right]}, which your account may not ({right})" for right in missing)
        super().__init__(f"The file {what}. Nothing was imported.")


def right_for(line: Line, importer: str) -> str | None:
    """The permission that a line needs beside that to import at all."""
    if isinstance(line, AliasLine):
        return "memory.change_soas"
    if isinstance(line, ConceptLine):
        return "memory.change_soas" if line.is_muted else None
    if isinstance(line, DimensionLine):
        policy = Dimension.OnCollision.KEEP_ALL if line.dimension in ADDITIVE_SEEDS else Dimension.OnCollision.QUEUE
        return None if line.on_collision == policy and line.split_from is None else "memory.change_dimension"
    if isinstance(line, DecidedLine):
        return "resolution.change_conflict"
    assert isinstance(line, FactLine | ConflictLine)
    # What operators state themselves they may state with a file, too.
    is_operators = line.source in OF_OPERATORS or line.channel == Channel.OPERATOR
    return "resolution.change_conflict" if is_operators and line.agent not in ("", importer) else None
