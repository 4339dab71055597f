"""Finds what has changed in a project since a time: state, facts, memories, conflicts."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import Q

from memory.models import EdgeHistory, MemoryHistory, Project, ProjectState
from resolution.models import Conflict
from resolution.pages.mirror.questions import describe_conflicts
from resolution.pages.words import describe_history, names_in

CHANGES_MAX: Final = 200  # newest changes of each kind
QUIET: Final = ("confirm", "dispute")  # actions that do not change what a memory says
MEMORY_WORDS: Final = {
    "create": "new",
    "edit": "edited",
    "promote": "now holds",
    "supersede": "replaced",
    "merge": "merged",
    "deprecate": "became too uncertain",
    "invalidate": "taken back",
    "restore": "holds again",
    "undo": "put back",
}


class MirrorChange(NamedTuple):
    """A change. ``kind`` is one word for what changed; ``place`` identifies what it changed on the page."""

    at: datetime
    kind: str
    what: str
    who: str
    place: tuple[Any, ...]
    conflict: int | None = None


def find_changes(project: Project, concepts: Sequence[int], since: datetime) -> list[MirrorChange]:
    """Return the changes, newest first."""
    found = [
        *_of_state(project, since),
        *_of_facts(concepts, since),
        *_of_memories(project, since),
        *_of_conflicts(project, concepts, since),
    ]
    return sorted(found, key=lambda change: change.at, reverse=True)


def _of_state(project: Project, since: datetime) -> Iterator[MirrorChange]:
    rows = ProjectState.objects.filter(project=project)
    for row in rows.filter(set_at__gte=since).prefetch_related("superseded").order_by("-id")[:CHANGES_MAX]:
        before = next((old.value for old in row.superseded.all()), "")
        what = f"{row}{f' (was: {before})' if before else ''}{f': {row.reason}' if row.reason else ''}"
        yield MirrorChange(row.set_at, "state", what, row.actor, ("state", row.category, row.key))
    for row in rows.filter(archived_at__gte=since, superseded_by=None).order_by("-id")[:CHANGES_MAX]:
        assert row.archived_at is not None
        what = f"taken back: {row}{f': {row.archive_reason}' if row.archive_reason else ''}"
        yield MirrorChange(row.archived_at, "state", what, row.archived_by, ("state", row.category, row.key))


def _of_facts(concepts: Sequence[int], since: datetime) -> Iterator[MirrorChange]:
    rows = EdgeHistory.objects.filter(concept__in=concepts, at__gte=since).exclude(action="confirm")
    newest = list(rows.order_by("-id")[:CHANGES_MAX])
    tokens = names_in(shown for row in newest for shown in (row.before, row.after))
    for row in newest:
        place = ("fact", row.concept_id, row.dim_id)
        yield MirrorChange(row.at, "fact", describe_history(row, tokens), row.actor, place)


def _of_memories(project: Project, since: datetime) -> Iterator[MirrorChange]:
    rows = MemoryHistory.objects.filter(memory__project=project, at__gte=since).exclude(action__in=QUIET)
    for row in rows.select_related("memory").defer("memory__lexemes").order_by("-id")[:CHANGES_MAX]:
        what = f"{MEMORY_WORDS.get(row.action, row.action)}: {row.memory.text}"
        yield MirrorChange(row.at, "memory", what, row.actor, ("memory", row.memory_id))


def _of_conflicts(project: Project, concepts: Sequence[int], since: datetime) -> Iterator[MirrorChange]:
    about = Q(project=project.slug) | Q(concept__in=concepts)
    rows = Conflict.objects.filter(about).select_related("concept", "dim").order_by("-id")
    for one in describe_conflicts(rows.filter(detected_at__gte=since)[:CHANGES_MAX]):
        row = one.conflict
        yield MirrorChange(row.detected_at, "conflict", f"opened: {one}", "", ("conflict", row.pk), row.pk)
    for one in describe_conflicts(rows.filter(resolved_at__gte=since)[:CHANGES_MAX]):
        row = one.conflict
        assert row.resolved_at is not None
        what = f"{row.get_status_display().lower()}: {one}"
        yield MirrorChange(row.resolved_at, "conflict", what, "", ("conflict", row.pk), row.pk)
