"""Small conflicts between memories, project state and facts, and in stories, made by hand."""

from collections.abc import Iterable
from typing import Any

from django.utils import timezone

from memory.domain.channels import Channel
from memory.models import Edge, EdgeHistory, Memory, Project, ProjectState
from memory.semantic import store
from memory.semantic.domain.scope import Scope, Speaker
from memory.semantic.domain.slots import find_slots
from memory.semantic.store import Change, Draft
from resolution.models import Conflict, ConflictMember
from tests.resolution.worlds import fact, say

SAM = Scope(Speaker("dobby", "sam"))
TRUST = ConflictMember.TRUST


def remember(text: str) -> Memory:
    draft = Draft(text, "preference", SAM, 0.8, Memory.Source.STATED, find_slots(text, "preference"))
    return store.create(draft, Change("dobby", Channel.USER, timezone.now()))


def settle(key: str, value: str, **more: Any) -> ProjectState:
    project, _ = Project.objects.get_or_create(slug="p05", defaults={"name": "p05"})
    return ProjectState.objects.create(project=project, category="decision", key=key, value=value, actor="ann", **more)


def stand(text: str, **more: Any) -> Edge:
    said = fact(text)
    say(text, **more)
    return Edge.objects.get(concept__token=said.concept, dim__token=said.dimension, parent__token=said.parent)


def contest(kind: str, rows: Iterable[Any], *, question: str = "", asked: Any = None) -> Conflict:
    rows = list(rows)
    slot = [f"{row._meta.model_name} {row.pk}" for row in rows]
    conflict = Conflict.objects.create(
        slot_kind=kind, key=" ".join(slot), slot_key={"slot": slot}, question=question, tier="model"
    )
    kinds = {Edge: "edge", EdgeHistory: "edge_history", Memory: "memory", ProjectState: "project_state"}
    for row in rows:
        name = kinds[type(row)]
        ConflictMember.objects.create(
            conflict=conflict, kind=name, object_id=row.pk, trust=TRUST[ConflictMember.Kind(name)], text=str(row),
            is_asked=row == asked,
        )  # fmt: skip
    return conflict


def prefer(*texts: str) -> tuple[Conflict, list[Memory]]:
    rows = [remember(text) for text in texts]
    store.dispute(rows[0], rows[1], Change("dobby", Channel.USER, timezone.now()))
    return contest("memory_slot", rows), rows
