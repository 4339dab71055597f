"""Arguments of commands."""

from argparse import ArgumentTypeError
from datetime import datetime

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from memory.models import Project
from memory.search.vectors import schema


def moment(text: str) -> datetime:
    """Parse a time. Raises ArgumentTypeError."""
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no time such as 2026-11-30 or 2026-11-30T18:00") from None
    return given if timezone.is_aware(given) else timezone.make_aware(given)


def find_project(slug: str) -> Project:
    """Find a project by its slug. Raises CommandError."""
    project = Project.objects.filter(slug=slug.lower()).first()
    if project is None:
        raise CommandError(f"There is no project {slug}. {settings.MANAGE} create_project {slug} makes it.")
    return project


def require_vectors() -> None:
    """Raises CommandError if the database has no vectors."""
    if lack := schema.find_lack():
        raise CommandError(f"{lack}: {settings.MANAGE} prepare sets it up.")
