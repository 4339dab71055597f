"""The lines that a request's block was made of, each with its row, who said it and why it was injected or not."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import F, Model

from memory.english.phrases import tell_fact
from memory.models import Edge, Episode, Memory, ProjectState
from memory.recall.notes import GIVEN
from proxy.models import RecollectionEvent

RECALLED = "recalled"  # the reason of a concept whose facts were injected
FACTS_MAX = 50
# By kind of note: its model, the permission to read it, and its name on the page.
NOTES: dict[str, tuple[type[Model], str, str]] = {
    "memory": (Memory, "memory.view_memory", "memory"),
    "episode": (Episode, "memory.view_episode", "message"),
    "state": (ProjectState, "memory.view_projectstate", "project state"),
}


class Line(NamedTuple):
    """A line. ``row`` is None if it was deleted since or may not be read; ``why``: empty if it was injected."""

    kind: str
    text: str
    by: str
    said_at: datetime | None
    why: str
    row: Model | None


def list_lines(event: RecollectionEvent, may: Callable[[str], bool]) -> list[Line]:
    """List what was found for the request: facts, then project state, memories and messages; what was injected first.
    ``may`` says which permissions the account has."""
    lines = [*(_list_facts(event) if may("memory.view_edge") else ()), *_list_notes(event.notes, may)]
    return sorted(lines, key=lambda line: bool(line.why))


def _list_facts(event: RecollectionEvent) -> Iterator[Line]:
    recalled = [word for word, why in event.reasons.items() if why == RECALLED]
    edges = Edge.objects.filter(concept__token__in=recalled).exclude(parent_id=F("concept_id"))
    for edge in edges.select_related("concept", "parent", "dim").order_by("concept_id", "-dim_id")[:FACTS_MAX]:
        concept, parent = (word.label or word.token for word in (edge.concept, edge.parent))
        sentence = tell_fact(concept, parent, str(edge.dim), is_isa=edge.is_isa)
        # In the style compact all facts of a concept are one line. Facts that were placed later are left out.
        if sentence in event.block or f"{concept}: " in event.block:
            yield Line("fact", sentence, edge.agent or edge.get_source_display(), edge.said_at, "", edge)


def _list_notes(notes: Iterable[dict[str, Any]], may: Callable[[str], bool]) -> Iterator[Line]:
    rows: dict[tuple[str, int], Any] = {}
    for kind, (model, permission, _) in NOTES.items():
        if may(permission) and (ids := [note["id"] for note in notes if note["kind"] == kind]):
            rows |= {(kind, key): row for key, row in model._default_manager.in_bulk(ids).items()}
    for note in notes:
        row = rows.get((note["kind"], note["id"]))
        text = "deleted or set aside since" if row is None else str(getattr(row, "text", None) or row)
        by = " / ".join(filter(None, (getattr(row, name, "") for name in ("agent", "person", "actor", "role"))))
        said_at = getattr(row, "said_at", None) or getattr(row, "set_at", None)
        why = "" if note["why"] == GIVEN else note["why"]
        yield Line(NOTES[note["kind"]][2] if note["kind"] in NOTES else note["kind"], text, by, said_at, why, row)
