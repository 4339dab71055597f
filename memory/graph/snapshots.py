"""Rows as JSON: the history of edges keeps enough of a row to put it back."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import models

Snapshot = dict[str, Any]

PLAIN = (str, int, float)
EDGE_FIELDS = (
    "concept_id", "parent_id", "dim_id", "is_isa", "confidence", "source", "channel", "agent",
    "is_corroborated", "said_at", "last_confirmed",
)  # fmt: skip
# Of an edge that leaves the graph: if it returns under its key, it has its supporters again.
KEYED_FIELDS = ("edge_id", *EDGE_FIELDS)


def take_snapshot(row: models.Model, fields: Iterable[str] = EDGE_FIELDS) -> Snapshot:
    """Return the values of the row's fields as JSON; by default, of an edge's fields."""
    # Most values are JSON already. Up to two snapshots are taken for each statement: a call for each value would show.
    return {name: value if isinstance(value := getattr(row, name), PLAIN) else _encode(value) for name in fields}


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else value


def read_snapshot(model: type[models.Model], snapshot: Snapshot) -> dict[str, Any]:
    """Return the values, from a snapshot or from Postgres's JSON, as the model's fields take them."""
    values = dict(snapshot)
    for name, value in snapshot.items():
        field = model._meta.get_field(name)
        if value is not None and isinstance(field, models.DateTimeField):
            values[name] = datetime.fromisoformat(value)
        elif value is not None and isinstance(field, models.BinaryField):
            values[name] = bytes.fromhex(value.removeprefix("\\x"))
    return values
