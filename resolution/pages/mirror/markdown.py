"""Renders the mirror of a project as Markdown."""

import re
from collections.abc import Iterator

from django.utils.timezone import localtime

from memory.models import ProjectState
from resolution.pages.mirror.sheet import Entry, Field, Mirror

DISPUTED = "⚠ disputed"
_SYNTAX = re.compile(r"([\\`*_\[\]<>#|~])")


def write_markdown(mirror: Mirror) -> str:
    return "\n".join(_write(mirror)).strip() + "\n"


def _write(mirror: Mirror) -> Iterator[str]:
    project = mirror.project
    yield f"# {_plain(project.name or project.slug)}\n"
    if project.description:
        yield f"{_plain(project.description)}\n"
    yield f"{mirror.summary}. Slug: {_plain(project.slug)}.\n"
    if mirror.since is not None:
        yield f"## Changed since {mirror.since:%Y-%m-%d}\n"
        for change in mirror.changes:
            by = f" ({_plain(change.who)})" if change.who else ""
            yield f"- {localtime(change.at):%Y-%m-%d %H:%M} {change.kind}: {_plain(change.what)}{by}"
        yield "" if mirror.changes else "Nothing.\n"
    if mirror.questions:
        yield "## Open questions\n"
        for question in mirror.questions:
            sides = " | ".join(map(_plain, question.sides))
            yield f"- {_plain(question.title)}: {sides} (conflict {question.conflict.pk})"
        yield ""
    for category, states in mirror.states.items():
        yield f"## {_plain(category)}\n"
        yield from map(_write_state, states)
        yield ""
    for kind, entries in mirror.concepts.items():
        yield f"## {_plain(kind)}\n"
        yield from map(_write_entry, entries)
        yield ""
    for category, memories in mirror.memories.items():
        yield f"## Memories: {_plain(category)}\n"
        yield from (
            f"- {_plain(one.row.text)} ({_plain(one.row.person or one.row.agent)}){_mark(one)}" for one in memories
        )
        yield ""
    yield from (f"There are more {what}." for what in mirror.left_out)


def _write_state(state: Field) -> str:
    row: ProjectState = state.row
    reason = f": {_plain(row.reason)}" if row.reason else ""
    value = f"**{_plain(row.words)}**: {_plain(row.value)}{_mark(state)}"
    return f"- {value} ({_plain(row.actor)}, {localtime(row.set_at):%Y-%m-%d}{reason})"


def _write_entry(entry: Entry) -> str:
    also = f" (also {', '.join(map(_plain, entry.names))})" if entry.names else ""
    lines = [f"- **{_plain(entry.concept.shown)}**{also}"]
    for answer in entry.answers:
        said = ", ".join(f"{_plain(one.row.parent.shown)}{_mark(one)}" for one in answer.facts)
        lines.append(f"  - {_plain(answer.dimension.token)}: {said}")
    return "\n".join(lines)


def _mark(field: Field) -> str:
    disputed = f" **{DISPUTED}** (conflict {field.conflict})" if field.conflict is not None else ""
    return f"{disputed} *changed*" if field.is_changed else disputed


def _plain(text: str) -> str:
    """Escape the text for Markdown, in one line."""
    return _SYNTAX.sub(r"\\\1", " ".join(text.split()))
