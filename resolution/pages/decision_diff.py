"""Describes in words what a decision changed, from its log."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Model

from memory.graph.snapshots import Snapshot
from memory.models import Alias, Dimension, Edge, Memory, ProjectState, Soas
from memory.types import Place
from resolution.conflicts.change_log import RowChange, read_changes
from resolution.models import Claim, DecidedTriple, Decision
from resolution.pages.words import in_words, percent

SHOWN: Final[tuple[type[Model], ...]] = (ProjectState, Memory, Edge, Dimension, Claim, DecidedTriple, Alias)
# The fields of rows that are ids of words.
WORDS: Final = ("concept_id", "parent_id", "dim_id", "soas_id", "split_from_id", "moved_to_id", "existing_parent_id",
                "blocking_concept_id")  # fmt: skip
FORGOTTEN: Final = "(forgotten)"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A change: what, before, after. ``conflict`` is the key of the conflict that the line is about."""

    what: str
    before: str
    after: str
    conflict: int | None = None


def changes(decision: Decision) -> list[DiffLine]:
    """Return the changes: project state and memories, facts, dimensions, other conflicts, rulings, aliases. Runs a few
    queries, however many changes there are."""
    found = sorted(read_changes(decision.pk, SHOWN), key=lambda one: one.key)
    rows = [row for one in found for row in (one.before, one.after) if row]
    ids = {row[name] for row in rows for name in WORDS if row.get(name) is not None}
    words = defaultdict(lambda: "?", Soas.objects.filter(pk__in=ids).values_list("pk", "token"))  # some may be pruned
    found = [*(one for one in found if one.model is not Edge), *_by_place(one for one in found if one.model is Edge)]
    # Claims are named by the conflicts that they are members of.
    keys = [one.key for one in found if one.model is Claim]
    conflict_of = dict(Claim.objects.filter(pk__in=keys).values_list("pk", "conflict_id")) if keys else {}
    texts = _read_texts(found)
    lines = []
    for one in sorted(found, key=lambda one: SHOWN.index(one.model)):
        conflict = conflict_of.get(one.key) if one.model is Claim else None
        what = f"conflict {conflict or '?'}" if one.model is Claim else _name(one, words, texts)
        was, now = (
            FORGOTTEN if one.is_forgotten else _describe(one.model, row, words, one.differing)
            for row in (one.before, one.after)
        )
        lines.append(DiffLine(what, was, now, conflict))
    return lines


def _by_place(facts: Iterable[RowChange]) -> Iterator[RowChange]:
    """Yield for each place the facts in it before and after."""
    before, after = dict[Place, Snapshot](), dict[Place, Snapshot]()
    for one in facts:
        for side, place, fact in zip((before, after), one.places, (one.before, one.after), strict=True):
            if place is not None and fact is not None:
                side[place] = fact
    for place in sorted(before.keys() | after.keys()):
        yield RowChange(Edge, 0, before.get(place), after.get(place))


def _read_texts(changes: Sequence[RowChange]) -> dict[tuple[type[Model], int], str]:
    found: dict[tuple[type[Model], int], str] = {}
    for model in (Memory, ProjectState):
        wanted = [one.key for one in changes if one.model is model]
        rows = model._default_manager.in_bulk(wanted) if wanted else {}
        found |= {(model, key): str(row) for key, row in rows.items()}
    return found


def _name(change: RowChange, words: Mapping[int, str], texts: Mapping[tuple[type[Model], int], str]) -> str:
    row = change.was or change.left
    if change.model in (Memory, ProjectState):
        what = "memory" if change.model is Memory else "value"
        text = texts.get((change.model, change.key))
        return f"{what} “{text}”" if text is not None else f"{what} {change.key}"
    if change.model in (Dimension, Alias):
        return f"{'dimension' if change.model is Dimension else 'name'} {words[row['soas_id']]}"
    concept, dim = words[row["concept_id"]], words[row["dim_id"]]
    if change.model is Edge:
        return f"{concept} [{dim}]"
    return f"future claims “{concept}: {words[row['parent_id']]} [{dim}]”"


def _describe(
    model: type[Model], snapshot: Snapshot | None, words: Mapping[int, str], differing: Collection[str]
) -> str:
    if snapshot is None:
        nothing = {Edge: "nothing", DecidedTriple: "open", Alias: "a word of its own"}
        return nothing.get(model, "not there")
    match model._meta.db_table:
        case "project_state":
            return ProjectState.Status(snapshot["status"]).label
        case "memory":
            edited = f"“{snapshot['text']}”, " if "text" in differing else ""
            edited += f"{snapshot['category']}, " if "category" in differing else ""
            is_disputed = ", disputed" if snapshot["is_disputed"] else ""
            return f"{edited}{Memory.Status(snapshot['status']).label}, {percent(snapshot['confidence'])}{is_disputed}"
        case "urd":
            return f"{in_words(snapshot, words)}, {percent(snapshot['confidence'])}"
        case "dimension":
            text, other = "for kinds" if snapshot["is_isa"] else "for places", snapshot["split_from_id"]
            return f"{text}, split from {words[other]}" if other else text
        case "alias":
            return f"an alias of {words[snapshot['concept_id']]}"
        case "resolution_queue":
            text, other = snapshot["status"], snapshot["existing_parent_id"] or snapshot["blocking_concept_id"]
            return f"{text}, against {words[other]}" if other else text
        case _:
            other = snapshot["moved_to_id"]
            return f"moved to {words[other]}" if other else f"blocked: {snapshot['kind']}"
