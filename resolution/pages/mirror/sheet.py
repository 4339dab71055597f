"""Collects what is known of a project: state, concepts with their facts, memories, open questions. Uses few queries,
however much there is. The page and the command show the same."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, Final

from django.db.models import F, Q

from memory.db.connections import fetch_rows
from memory.dimensions import ENTITY_TYPES, find_entity_type
from memory.english.phrases import format_count
from memory.models import Alias, Edge, Memory, Project, ProjectState, Soas
from memory.types import TYPE
from resolution.conflicts.opening import list_open_of
from resolution.models import Conflict, ConflictMember
from resolution.pages.belongings import find_belongings
from resolution.pages.mirror.changes import MirrorChange, find_changes
from resolution.pages.mirror.questions import ProjectQuestion, describe_conflicts

CONCEPTS_MAX: Final = 500
FACTS_MAX: Final = 5_000
STATES_MAX: Final = 1_000
MEMORIES_MAX: Final = 300
QUESTIONS_MAX: Final = 300
ALONE: Final = "Others"  # concepts without a kind, or the only ones of their kind
ALL: Final = "Concepts"  # the title if all concepts are such
Kind = ConflictMember.Kind

# Concepts whose facts carry the project's name, concepts that are part of these, and concepts that the project's agents
# or conversations made statements about.
CONCEPTS: Final = """
    WITH RECURSIVE named (id) AS (
        SELECT id FROM urd WHERE id <> parent_id
           AND (id = ANY(%(names)s) OR dim_id = ANY(%(names)s) OR parent_id = ANY(%(names)s))
        UNION
        SELECT urd.id FROM named JOIN urd ON urd.parent_id = named.id WHERE NOT is_isa AND urd.id <> urd.parent_id
    ), said (id) AS (
        SELECT id FROM urd WHERE agent = ANY(%(agents)s) AND id <> parent_id
        UNION SELECT concept_id FROM edge_history WHERE conversation = ANY(%(conversations)s)
    )
    SELECT soas.id FROM (
        SELECT id, 0 AS rank FROM named UNION ALL SELECT id, 1 FROM said
    ) AS each JOIN soas USING (id)
    WHERE EXISTS (SELECT FROM urd WHERE urd.id = soas.id AND urd.id <> urd.parent_id)
    GROUP BY soas.id ORDER BY min(rank), token LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class Field:
    """Something shown on the page. ``conflict`` is the id of an open conflict about it, ``dispute`` describes that, and
    ``is_changed`` is True if it has changed since the given date."""

    row: Any
    conflict: int | None
    dispute: str
    is_changed: bool


@dataclass(frozen=True, slots=True)
class DimensionFacts:
    dimension: Soas
    facts: list[Field]


@dataclass(frozen=True, slots=True)
class Entry:
    """A concept with its aliases and facts."""

    concept: Soas
    names: list[str]
    answers: list[DimensionFacts]


@dataclass(slots=True)
class Mirror:
    """The mirror of a project. The keys of groups are titles: categories of states and memories, kinds of concepts."""

    project: Project
    since: datetime | None = None
    questions: list[ProjectQuestion] = field(default_factory=list)
    states: dict[str, list[Field]] = field(default_factory=dict)
    concepts: dict[str, list[Entry]] = field(default_factory=dict)
    memories: dict[str, list[Field]] = field(default_factory=dict)
    changes: Sequence[MirrorChange] = ()
    left_out: list[str] = field(default_factory=list)  # names of what was cut off

    @property
    def counts(self) -> dict[str, int]:
        groups: dict[str, dict[str, list[Any]]] = {
            "values": self.states,
            "concepts": self.concepts,
            "memories": self.memories,
        }
        return {name: sum(len(rows) for rows in group.values()) for name, group in groups.items()}

    @property
    def summary(self) -> str:
        counts = self.counts
        counted = (
            format_count(counts["values"], "value"),
            format_count(counts["concepts"], "concept"),
            format_count(counts["memories"], "memory", "memories"),
            format_count(len(self.questions), "open question"),
        )
        return ", ".join(counted)

    def __bool__(self) -> bool:
        return any(self.counts.values()) or bool(self.questions)


def make_mirror(project: Project, since: datetime | None = None) -> Mirror:
    """Make the mirror. Show it to operators only: it contains everybody's memories."""
    mirror = Mirror(project, since)
    concepts = _find_concepts(project)
    if len(concepts) > CONCEPTS_MAX:
        mirror.left_out.append(f"concepts beyond the first {CONCEPTS_MAX:,}")
        del concepts[CONCEPTS_MAX:]
    mirror.changes = find_changes(project, concepts, since) if since is not None else ()
    changed = {change.place for change in mirror.changes}
    states = list(
        ProjectState.objects.filter(project=project, status="active").order_by("category", "key")[:STATES_MAX]
    )
    edges = list(
        Edge.objects.filter(concept__in=concepts)
        .exclude(concept=F("parent"))
        .select_related("concept", "parent", "dim")
        .order_by("concept__token", "dim__token", "-confidence", "parent__token")[:FACTS_MAX]
    )
    memories = list(
        Memory.objects.filter(project=project, status="active")
        .defer("lexemes")
        .order_by("category", "-id")[:MEMORIES_MAX]
    )
    open_of = {
        kind: {row_id: min(one["id"] for one in open_) for row_id, open_ in list_open_of(kind, ids).items()}
        for kind, ids in (
            (Kind.PROJECT_STATE, [row.pk for row in states]),
            (Kind.EDGE, [row.pk for row in edges]),
            (Kind.MEMORY, [row.pk for row in memories]),
        )
    }
    mirror.questions = _list_questions(project, {one for found in open_of.values() for one in found.values()})
    disputes = {question.conflict.pk: str(question) for question in mirror.questions}

    def show(kind: Kind, row: Any, *place: Any) -> Field:
        conflict = open_of[kind].get(row.pk)
        return Field(row, conflict, disputes.get(conflict or 0, ""), place in changed)

    for state in states:
        shown = show(Kind.PROJECT_STATE, state, "state", state.category, state.key)
        mirror.states.setdefault(state.category, []).append(shown)
    for memory in memories:
        shown = show(Kind.MEMORY, memory, "memory", memory.pk)
        mirror.memories.setdefault(memory.get_category_display(), []).append(shown)
    facts = [show(Kind.EDGE, edge, "fact", edge.concept_id, edge.dim_id) for edge in edges]
    mirror.concepts = _group(_list_entries(facts))
    limits: tuple[tuple[str, Sequence[Any], int], ...] = (
        ("open questions", mirror.questions, QUESTIONS_MAX), ("facts", edges, FACTS_MAX),
        ("values", states, STATES_MAX), ("memories", memories, MEMORIES_MAX),
    )  # fmt: skip
    mirror.left_out += [f"{name} beyond the first {most:,}" for name, rows, most in limits if len(rows) == most]
    return mirror


def _find_concepts(project: Project) -> list[int]:
    """Return one concept more than is shown, which tells if there are more."""
    own = find_belongings(project)
    whose = {"names": own.names, "agents": own.agents, "conversations": own.conversations}
    return [concept for (concept,) in fetch_rows(CONCEPTS, whose | {"most": CONCEPTS_MAX + 1})]


def _list_entries(facts: Iterable[Field]) -> list[Entry]:
    entries: dict[int, Entry] = {}
    answers: dict[tuple[int, int], DimensionFacts] = {}
    for fact in facts:
        edge: Edge = fact.row
        entry = entries.setdefault(edge.concept_id, Entry(edge.concept, [], []))
        slot = (edge.concept_id, edge.dim_id)
        if slot not in answers:
            answers[slot] = DimensionFacts(edge.dim, [])
            entry.answers.append(answers[slot])
        answers[slot].facts.append(fact)
    for alias in Alias.objects.filter(concept__in=entries).select_related("soas").order_by("soas__token"):
        entries[alias.concept_id].names.append(alias.soas.token)
    return list(entries.values())


def _group(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Group the concepts by kind: kinds of engineering in their order, then others alphabetically, then concepts alone
    in their kind."""
    kinds = {entry.concept.pk: _find_kind(entry) for entry in entries}
    sizes = Counter(kinds.values())
    groups: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        kind = kinds[entry.concept.pk]
        groups[kind if kind and sizes[kind] > 1 else ALONE].append(entry)
    if list(groups) == [ALONE]:
        return {ALL: groups[ALONE]}
    order = {entity.name: number for number, entity in enumerate(ENTITY_TYPES)}
    return {kind: groups[kind] for kind in sorted(groups, key=lambda kind: (kind == ALONE, order.get(kind, 99), kind))}


def _find_kind(entry: Entry) -> str:
    """Return the concept's kind from its type, else from the dimensions of engineering. What it is part of tells more
    than its values."""
    kinds = (answer.facts[0].row.parent.token for answer in entry.answers if answer.dimension.token == TYPE)
    answers = sorted(entry.answers, key=lambda answer: answer.facts[0].row.is_isa)
    return next(chain(kinds, filter(None, map(find_entity_type, (answer.dimension.token for answer in answers)))), "")


def _list_questions(project: Project, conflict_ids: set[int]) -> list[ProjectQuestion]:
    """Return the open questions, newest first."""
    rows = Conflict.objects.filter(Q(pk__in=conflict_ids) | Q(project=project.slug), status="open")
    return describe_conflicts(rows.select_related("concept", "dim").order_by("-id")[:QUESTIONS_MAX])
