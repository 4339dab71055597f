"""What a decision changed, from the snapshots that its row keeps, in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memory.graph.snapshots import Snapshot
from memory.models import Soas
from resolution.decisions.snapshots import read_key
from resolution.domain.phrases import percent
from resolution.models import Decision
from resolution.views.phrases import in_words

NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Change:
    """A line: what, how it was, how it is. ``conflict`` is the key of the conflict that it is about."""

    what: str
    before: str
    after: str
    conflict: int | None = None


def changes(decision: Decision) -> list[Change]:
    """In one query: the facts first, then dimensions, other conflicts, and what is remembered as decided."""
    tokens = _tokens(decision)
    return [
        *(_fact(key, was, now, tokens) for key, was, now in _pairs(decision, "edges")),
        *(_dimension(key, was, now, tokens) for key, was, now in _pairs(decision, "dimensions")),
        *(_conflict(key, was, now, tokens) for key, was, now in _pairs(decision, "conflicts")),
        *(_triple(key, was, now, tokens) for key, was, now in _pairs(decision, "triples")),
    ]


def _pairs(decision: Decision, part: str) -> Iterable[tuple[str, Snapshot | None, Snapshot | None]]:
    before, after = decision.before.get(part, {}), decision.after.get(part, {})
    return [(key, before.get(key), after.get(key)) for key in sorted(before.keys() | after.keys())]


def _tokens(decision: Decision) -> dict[int, str]:
    wanted: set[int] = set()
    for part in ("edges", "dimensions", "triples"):
        for key, was, now in _pairs(decision, part):
            wanted.update(read_key(key))
            wanted.update(_words_of(was), _words_of(now))
    for _, was, now in _pairs(decision, "conflicts"):
        wanted.update(_words_of(was), _words_of(now))
    return dict(Soas.objects.filter(pk__in=wanted).values_list("pk", "token"))


WORDS = (
    "concept_id",
    "parent_id",
    "dim_id",
    "split_from_id",
    "moved_to_id",
    "existing_parent_id",
    "blocking_concept_id",
)


def _words_of(snapshot: Snapshot | None) -> list[int]:
    return [snapshot[name] for name in WORDS if snapshot and snapshot.get(name) is not None]


def _slot(key: str, tokens: Mapping[int, str]) -> str:
    concept_id, dim_id = read_key(key)[:2]
    return f"{tokens.get(concept_id, '?')} [{tokens.get(dim_id, '?')}]"


def _fact(key: str, was: Snapshot | None, now: Snapshot | None, tokens: Mapping[int, str]) -> Change:
    before, after = (_standing(snapshot, tokens) for snapshot in (was, now))
    return Change(_slot(key, tokens), before, after)


def _standing(snapshot: Snapshot | None, tokens: Mapping[int, str]) -> str:
    if snapshot is None:
        return NOTHING
    if snapshot["concept_id"] == snapshot["parent_id"]:
        return "the dimension's root"
    return f"{in_words(snapshot, tokens)}, {percent(snapshot['confidence'])}"


def _dimension(key: str, was: Snapshot | None, now: Snapshot | None, tokens: Mapping[int, str]) -> Change:
    before, after = (_lineage(snapshot, tokens) for snapshot in (was, now))
    return Change(f"dimension {tokens.get(int(key), '?')}", before, after)


def _lineage(snapshot: Snapshot | None, tokens: Mapping[int, str]) -> str:
    if snapshot is None:
        return "not there"
    kind = "for kinds" if snapshot["is_isa"] else "for places"
    split_from = snapshot["split_from_id"]
    return f"{kind}, split from {tokens.get(split_from, '?')}" if split_from else kind


def _conflict(key: str, was: Snapshot | None, now: Snapshot | None, tokens: Mapping[int, str]) -> Change:
    before, after = (_question(snapshot, tokens) for snapshot in (was, now))
    return Change(f"conflict {key}", before, after, int(key))


def _question(snapshot: Snapshot | None, tokens: Mapping[int, str]) -> str:
    if snapshot is None:
        return "not there"
    against = snapshot["existing_parent_id"] or snapshot["blocking_concept_id"]
    return f"{snapshot['status']}, against {tokens.get(against, '?')}" if against else snapshot["status"]


def _triple(key: str, was: Snapshot | None, now: Snapshot | None, tokens: Mapping[int, str]) -> Change:
    concept_id, dim_id, parent_id = (tokens.get(number, "?") for number in read_key(key))
    before, after = (_remembered(snapshot, tokens) for snapshot in (was, now))
    return Change(f"the statement “{concept_id} IN {parent_id} [{dim_id}]”", before, after)


def _remembered(snapshot: Snapshot | None, tokens: Mapping[int, str]) -> str:
    if snapshot is None:
        return "not decided about"
    moved_to = snapshot["moved_to_id"]
    return f"{snapshot['kind']} to {tokens.get(moved_to, '?')}" if moved_to else str(snapshot["kind"])
