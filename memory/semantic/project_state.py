"""The only writer of project state. All functions run inside the caller's transaction."""

from django.utils import timezone

from memory.models import ProjectState


def archive(row: ProjectState, heir: ProjectState | None) -> None:
    """It holds no more; ``heir`` has taken its place, where one has."""
    row.status, row.superseded_by = ProjectState.Status.SUPERSEDED, heir
    row.archived_at, row.is_disputed = timezone.now(), False
    row.save(update_fields=["status", "superseded_by", "archived_at", "is_disputed"])


def put_back(row: ProjectState) -> None:
    """It holds again. The caller has seen to it that nothing else does in its place."""
    row.status, row.superseded_by, row.archived_at = ProjectState.Status.ACTIVE, None, None
    row.save(update_fields=["status", "superseded_by", "archived_at"])
