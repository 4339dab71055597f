"""Decides whose words a caller may read: operators read everybody's, others what their own voice has said. Facts are
for all, memories for those whose searches find them."""

from collections.abc import Iterable
from typing import Final

from django.db.models import Exists, OuterRef, Q

from memory.attribution.client_names import voice_of
from memory.memories.scope import Scope
from memory.memories.store import visible_to
from memory.models import ProjectState
from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.scopes import NO_PROJECT_YET, may, scope_of
from proxy.api.serializers import ConflictOut
from proxy.errors import BadValue, NotFound
from resolution.models import ConflictMember

Kind = ConflictMember.Kind
UNNAMED: Final = "Name the project."


def sees_words_of(caller: Caller, agents: Iterable[str]) -> bool:
    """True if the caller may read the words of all these agents."""
    return may(caller, "operator") or {voice_of(agent) for agent in agents} <= {voice_of(caller.name)}


def is_hidden(scope: Scope) -> Q:
    """Return the filter for conflicts that are hidden in this scope: those with a memory that the scope does not find,
    or with a value of another project."""
    members = ConflictMember.objects.filter(
        Q(kind=Kind.MEMORY) & ~Q(object_id__in=visible_to(scope).values("pk"))
        | Q(kind=Kind.PROJECT_STATE)
        & ~Q(object_id__in=ProjectState.objects.filter(project=scope.project).values("pk")),
        conflict=OuterRef("pk"),
    )
    return Q(Exists(members))


def hide_sentences(caller: Caller, conflicts: Iterable[ConflictOut]) -> None:
    """Clear the ``evidence`` that the caller may not see; changes the conflicts in place."""
    for member in (member for conflict in conflicts for member in conflict.members):
        if "evidence" in member.model_fields_set and not sees_words_of(caller, [member.agent]):
            member.evidence = None


def find_project(caller: Caller, slug: str) -> int:
    """Return the id of the project that a call names, else of the one in its header or token. Operators may name any.
    Raises NotAllowed, NotFound, BadValue."""
    current = runtime.current()
    if (named := slug.strip().lower()) and may(caller, "operator"):
        row = current.cache.projects.get(named)
        if row is None:
            raise NotFound(NO_PROJECT_YET.format(slug=named))
        return row.id
    project = scope_of(current.cache, caller, {}, slug).project
    if project is None:
        raise BadValue(UNNAMED)
    return project
