"""Whose words a caller gets to read: operators everybody's, others what their own voice has said. Facts are for all,
memories for whom they are searched."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, OuterRef, Q

from memory.domain.voices import voice_of
from memory.models import ProjectState
from memory.semantic.domain.scope import Scope
from memory.semantic.store import visible_to
from proxy.auth import Caller, may
from resolution.models import ConflictMember

Kind = ConflictMember.Kind


def sees_words_of(caller: Caller, agents: Iterable[str]) -> bool:
    """Of all of them."""
    return may(caller, "operator") or {voice_of(agent) for agent in agents} <= {voice_of(caller.name)}


def is_hidden(scope: Scope) -> Q:
    """The conflicts about which nothing is told in this scope: those with a memory that is not found in it, or with
    another project's value."""
    members = ConflictMember.objects.filter(
        Q(kind=Kind.MEMORY) & ~Q(object_id__in=visible_to(scope).values("pk"))
        | Q(kind=Kind.PROJECT_STATE)
        & ~Q(object_id__in=ProjectState.objects.filter(project=scope.project).values("pk")),
        conflict=OuterRef("pk"),
    )
    return Q(Exists(members))


def hide_sentences(caller: Caller, conflicts: Iterable[dict[str, Any]]) -> None:
    """Takes the ``evidence`` that the caller may not see out of conflicts as the API tells them."""
    for conflict in conflicts:
        for member in conflict["members"]:
            if "evidence" in member and not sees_words_of(caller, [member["agent"]]):
                member["evidence"] = None
