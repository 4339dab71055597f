"""Sets and withdraws values of project state, for HTTP, commands and operators."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from django.db.models.functions import Now

from memory.db.transactions import in_transaction
from memory.memories import project_state as store
from memory.models import Project, ProjectState
from memory.models.state import NAME, VALUE_CHARACTERS
from memory.secrets.redaction import mask_secrets
from resolution.actors import Actor
from resolution.conflicts.detection import detect_state
from resolution.conflicts.opening import find_open
from resolution.errors import InvalidDecision, UnknownId
from resolution.models import Conflict, ConflictMember

STATE: Final = ConflictMember.Kind.PROJECT_STATE
NAME_RULE: Final = (
    "{what} has at most 64 small letters, digits and . _ - and begins with a letter or a digit: {given!r} does not"
)


@dataclass(frozen=True, slots=True)
class SettledState:
    """The outcome for a value. ``conflict_id`` is the conflict it is in; ``contested`` are conflicts about its place
    that were already open."""

    status: Literal["created", "replaced", "unchanged", "withdrawn"]
    row: ProjectState
    replaced: ProjectState | None = None
    conflict_id: int | None = None
    contested: Sequence[int] = ()

    @property
    def warning(self) -> str:
        if not self.contested:
            return ""
        ids = ", ".join(map(str, self.contested))
        return f"A conflict about this is open ({ids}): whoever decides it should know of this value."


def read_name(given: str, what: str) -> str:
    """Return a category or key in its stored form: ``Lateral support material`` becomes ``lateral_support_material``.
    Raises InvalidDecision."""
    name = "_".join(given.lower().split())
    if not re.fullmatch(NAME, name):
        raise InvalidDecision(NAME_RULE.format(what=what, given=given[:80]))
    return name


def read_value(given: str) -> str:
    """Return the value in one line, with secrets masked. Raises InvalidDecision."""
    value = " ".join(mask_secrets(given).replace("\0", " ").split())
    if not value:
        raise InvalidDecision("a value says something; to take one back, send none")
    if len(value) > VALUE_CHARACTERS:
        raise InvalidDecision(f"a value has at most {VALUE_CHARACTERS} characters, not {len(value):,}")
    return value


@in_transaction
def settle(project: Project, category: str, key: str, value: str, actor: Actor, reason: str = "") -> SettledState:
    """Set the value. Raises InvalidDecision."""
    category, key, value = read_name(category, "a category"), read_name(key, "a key"), read_value(value)
    standing = store.lock_standing(project, category, key)
    contested = find_open(STATE, [standing.pk]) if standing is not None else set()
    written = store.write(project, category, key, value, actor=actor.signature, reason=reason)
    if written.is_same:
        return SettledState(
            "unchanged", written.row, conflict_id=min(contested, default=None), contested=sorted(contested)
        )
    detect_state(written.row)
    disputed = find_open(STATE, [written.row.pk])
    # Other rows may have been in conflict about it before there was a value.
    older = Conflict.objects.filter(pk__in=disputed, detected_at__lt=Now())
    contested |= set(older.values_list("pk", flat=True))
    written.row.refresh_from_db()
    status: Literal["created", "replaced"] = "created" if standing is None else "replaced"
    return SettledState(status, written.row, written.replaced, min(disputed, default=None), sorted(contested))


@in_transaction
def withdraw(project: Project, category: str, key: str, actor: Actor, reason: str = "") -> SettledState:
    """Withdraw the value; it stays in the history. Raises UnknownId, InvalidDecision."""
    category, key = read_name(category, "a category"), read_name(key, "a key")
    standing = store.lock_standing(project, category, key)
    if standing is None:
        raise UnknownId(f"{project} has no {category}.{key}")
    contested = sorted(find_open(STATE, [standing.pk]))
    store.archive(standing, None, actor=actor.signature, reason=reason)
    return SettledState("withdrawn", standing, contested=contested)
