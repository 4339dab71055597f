"""The only writer of project state. All functions run inside the caller's transaction."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from memory.models import Project, ProjectState

Status = ProjectState.Status


@dataclass(frozen=True, slots=True)
class Written:
    """A written value. ``row`` is the current one; ``replaced``: the one until now, which is ``row`` if that says the
    same."""

    row: ProjectState
    replaced: ProjectState | None

    @property
    def is_same(self) -> bool:
        return self.row is self.replaced


def lock_standing(project: Project, category: str, key: str) -> ProjectState | None:
    """Return the current value in this place, which nobody else writes until the end of the transaction."""
    # References to the project take a weaker lock: nobody who remembers something in it waits.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    return ProjectState.objects.filter(project=project, category=category, key=key, status=Status.ACTIVE).first()


def write(
    project: Project,
    category: str,
    key: str,
    value: str,
    *,
    actor: str,
    reason: str = "",
    set_at: datetime | None = None,
) -> Written:
    """Make this the current value; the former one stays, and points to it."""
    standing = lock_standing(project, category, key)
    if standing is not None and standing.value == value:
        return Written(standing, standing)
    if standing is not None:
        archive(standing, None, actor=actor, reason=reason)  # one value a place: it goes before the new one comes
    row = ProjectState.objects.create(
        project=project,
        category=category,
        key=key,
        value=value,
        actor=actor,
        reason=reason,
        set_at=set_at or timezone.now(),
    )
    if standing is not None:
        standing.superseded_by = row
        standing.save(update_fields=["superseded_by"])
    return Written(row, standing)


def archive(row: ProjectState, heir: ProjectState | None, *, actor: str = "", reason: str = "") -> None:
    """Supersede a value; ``heir`` has taken its place, if any."""
    row.status, row.superseded_by = Status.SUPERSEDED, heir
    row.archived_at, row.is_disputed = timezone.now(), False
    row.archived_by, row.archive_reason = actor, reason
    row.save(update_fields=["status", "superseded_by", "archived_at", "is_disputed", "archived_by", "archive_reason"])


def put_back(row: ProjectState) -> None:
    """Make a value current again. The caller must ensure that its place is empty."""
    row.status, row.superseded_by, row.archived_at = Status.ACTIVE, None, None
    row.archived_by = row.archive_reason = ""
    row.save(update_fields=["status", "superseded_by", "archived_at", "archived_by", "archive_reason"])
