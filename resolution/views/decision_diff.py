"""Describes in words what a decision changed, from the snapshots in its row."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from memory.graph.snapshots import Snapshot
from memory.models import Memory, ProjectState, Soas
from resolution.decisions.snapshots import read_key
from resolution.models import Claim, Decision
from resolution.views.phrases import in_words, percent

# The parts of the snapshots whose keys are ids of words.
PARTS: Final = ("edges", "dimensions", "conflicts", "triples", "aliases")
# The fields of the snapshots that are ids of words.
WORDS: Final = ("concept_id", "parent_id", "dim_id", "split_from_id", "moved_to_id", "existing_parent_id",
                "blocking_concept_id")  # fmt: skip


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A change: what, before, after. ``conflict`` is the key of the conflict that the line is about."""

    what: str
    before: str
    after: str
    conflict: int | None = None


def changes(decision: Decision) -> list[DiffLine]:
    """Return the changes: memories and project state, facts, dimensions, other conflicts, rulings, aliases. Runs a few
    queries, however many changes there are."""
    found = [
        (part, key, decision.before.get(part, {}).get(key), decision.after.get(part, {}).get(key))
        for part in ("states", "memories", *PARTS)
        for key in sorted(decision.before.get(part, {}).keys() | decision.after.get(part, {}).keys())
    ]
    ids = {number for part, key, *_ in found if part in PARTS and part != "conflicts" for number in read_key(key)}
    snapshots = [snapshot for *_, was, now in found for snapshot in (was, now) if snapshot]
    ids |= {snapshot[name] for snapshot in snapshots for name in WORDS if snapshot.get(name) is not None}
    words = defaultdict(lambda: "?", Soas.objects.filter(pk__in=ids).values_list("pk", "token"))  # some may be pruned
    # Claims are named by the conflicts that they are members of.
    keys = [int(key) for part, key, *_ in found if part == "conflicts"]
    remembered = _read_remembered([(part, int(key)) for part, key, *_ in found if part not in PARTS])
    conflict_of = dict(Claim.objects.filter(pk__in=keys).values_list("pk", "conflict_id")) if keys else {}
    return [
        DiffLine(
            remembered.get((part, key))
            or (_name(part, key, words) if part != "conflicts" else f"conflict {conflict_of.get(int(key), '?')}"),
            _describe(part, was, words),
            _describe(part, now, words),
            conflict_of.get(int(key)) if part == "conflicts" else None,
        )
        for part, key, was, now in found
    ]


def _read_remembered(keys: Collection[tuple[str, int]]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    models: dict[str, type[Memory] | type[ProjectState]] = {"memories": Memory, "states": ProjectState}
    for part, model in models.items():
        wanted = [key for of, key in keys if of == part]
        rows = model._default_manager.in_bulk(wanted) if wanted else {}
        what = "memory" if model is Memory else "value"
        found |= {(part, str(key)): f"{what} “{rows[key]}”" if key in rows else f"{what} {key}" for key in wanted}
    return found


def _name(part: str, key: str, words: Mapping[int, str]) -> str:
    names = [words[number] for number in read_key(key)]
    match part:
        case "edges":
            return f"{names[0]} [{names[1]}]"
        case "dimensions" | "aliases":
            return f"{'dimension' if part == 'dimensions' else 'name'} {names[0]}"
        case _:
            concept, dim, parent = names
            return f"the statement “{concept} IN {parent} [{dim}]”"


def _describe(part: str, snapshot: Snapshot | None, words: Mapping[int, str]) -> str:
    if snapshot is None:
        return {"edges": "nothing", "triples": "not decided about", "aliases": "a word of its own"}.get(
            part, "not there"
        )
    match part:
        case "states":
            return ProjectState.Status(snapshot["status"]).label
        case "memories":
            is_disputed = ", disputed" if snapshot["is_disputed"] else ""
            return f"{Memory.Status(snapshot['status']).label}, {percent(snapshot['confidence'])}{is_disputed}"
        case "edges" if snapshot["concept_id"] == snapshot["parent_id"]:
            return "the dimension's root"
        case "edges":
            return f"{in_words(snapshot, words)}, {percent(snapshot['confidence'])}"
        case "dimensions":
            text, other = "for kinds" if snapshot["is_isa"] else "for places", snapshot["split_from_id"]
            return f"{text}, split from {words[other]}" if other else text
        case "aliases":
            return f"an alias of {words[snapshot['concept_id']]}"
        case "conflicts":
            text, other = snapshot["status"], snapshot["existing_parent_id"] or snapshot["blocking_concept_id"]
            return f"{text}, against {words[other]}" if other else text
        case _:
            text, other = snapshot["kind"], snapshot["moved_to_id"]
            return f"{text} to {words[other]}" if other else text
