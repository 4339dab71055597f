"""Rows as JSON: what the history of edges and the records of decisions keep, enough to put a row back."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import models

from memory.models import Edge

Snapshot = dict[str, Any]

EDGE_FIELDS = (
    "concept_id",
    "parent_id",
    "dim_id",
    "is_isa",
    "confidence",
    "source",
    "agent",
    "said_at",
    "last_confirmed",
)


def take_snapshot(row: models.Model, fields: Iterable[str] = EDGE_FIELDS) -> Snapshot:
    """The values of the row's fields, as JSON has them; an edge's by default."""
    return {name: _encode(getattr(row, name)) for name in fields}


def read_snapshot(model: type[models.Model], snapshot: Snapshot) -> dict[str, Any]:
    """The values as the fields of the model take them."""
    return {name: _decode(model._meta.get_field(name), value) for name, value in snapshot.items()}


def restore_edge(snapshot: Snapshot) -> Edge:
    """The edge, which is not stored yet."""
    return Edge(**read_snapshot(Edge, snapshot))


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else value


def _decode(field: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(field, models.DateTimeField):
        return datetime.fromisoformat(value)
    return bytes.fromhex(value) if isinstance(field, models.BinaryField) else value
