"""The mirror of a project: state, concepts with their facts, memories, open questions, and what has changed since a
date. Uses few queries, however much there is."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import F, Q
from django.template.loader import render_to_string
from django.urls import reverse

from memory.channels import Channel
from memory.db.connections import fetch_rows
from memory.dimensions import ENTITY_TYPES, find_entity_type
from memory.english.phrases import format_count
from memory.models import Alias, Edge, EdgeHistory, Memory, MemoryHistory, Project, ProjectState, Soas
from memory.types import TYPE
from resolution.conflicts.members import MemberRow, read_rows
from resolution.conflicts.opening import list_open_of
from resolution.models import Claim, Conflict, ConflictMember
from resolution.pages.belongings import find_belongings
from resolution.pages.words import MEMORY_CHANGES, SPEAKING, describe_history, names_in

CONCEPTS_MAX: Final = 500
CONCEPTS_SHOWN: Final = 250  # on a page
FACTS_MAX: Final = 5_000
STATES_MAX: Final = 1_000
MEMORIES_MAX: Final = 300
QUESTIONS_MAX: Final = 300
CHANGES_MAX: Final = 200  # newest changes of each kind
QUIET: Final = ("confirm", "dispute")  # changes of a memory that leave what it says
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
class MirrorQuestion:
    """A conflict. ``title`` is the question or the topic, ``sides`` are the statements about it."""

    conflict: Conflict
    title: str
    sides: Sequence[str]

    def __str__(self) -> str:
        return f"{self.title}: {' or '.join(self.sides)}" if self.sides else self.title


class MirrorChange(NamedTuple):
    """A change. ``kind`` is one word for what changed, ``address`` the page of it; ``place`` identifies what it changed
    on the mirror. ``is_speaker`` is True if ``who`` has a page."""

    at: datetime
    kind: str
    what: str
    who: str
    place: tuple[Any, ...]
    address: str
    is_speaker: bool = False


@dataclass(frozen=True, slots=True)
class MirrorValue:
    """A row that is shown. ``conflict`` is the id of an open conflict about it, ``dispute`` describes that, and
    ``is_changed`` is True if it has changed since the given date."""

    row: Any
    conflict: int | None
    dispute: str
    is_changed: bool


@dataclass(frozen=True, slots=True)
class MirrorConcept:
    """A concept with its aliases, and its facts by dimension."""

    concept: Soas
    names: list[str] = field(default_factory=list)
    facts: dict[Soas, list[MirrorValue]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mirror:
    """The mirror of a project. The keys of groups are titles: categories of states and memories, kinds of concepts.
    ``page`` has the ids of the concepts; ``left_out`` names what was cut off."""

    project: Project
    since: datetime | None
    questions: list[MirrorQuestion]
    changes: list[MirrorChange]
    states: dict[str, list[MirrorValue]]
    concepts: dict[str, list[MirrorConcept]]
    memories: dict[str, list[MirrorValue]]
    left_out: list[str]
    page: Page[int]

    @property
    def state_count(self) -> int:
        return _count(self.states)

    @property
    def summary(self) -> str:
        counted = (
            format_count(self.state_count, "value"),
            format_count(self.page.paginator.count, "concept"),
            format_count(_count(self.memories), "memory", "memories"),
            format_count(len(self.questions), "open question"),
        )
        return ", ".join(counted)

    def __bool__(self) -> bool:
        return any((self.states, self.concepts, self.memories, self.questions))


def _count(groups: dict[str, list[Any]]) -> int:
    return sum(map(len, groups.values()))


def make_mirror(project: Project, since: datetime | None = None, page: str = "") -> Mirror:
    """Make the mirror, with all concepts or those of a page. Show it to operators only: it contains everybody's
    memories."""
    concepts = find_concepts_of(project)
    shown = Paginator(concepts, CONCEPTS_SHOWN if page else CONCEPTS_MAX).get_page(page)
    states = list(
        ProjectState.objects.filter(project=project, status="active").order_by("category", "key")[:STATES_MAX]
    )
    edges = list(
        Edge.objects.filter(concept__in=list(shown))
        .exclude(concept=F("parent"))
        .select_related("concept", "parent", "dim")
        .order_by("concept__token", "dim__token", "-confidence", "parent__token")[:FACTS_MAX]
    )
    rows = Memory.objects.filter(project=project, status="active").defer("lexemes")
    memories = list(rows.order_by("category", "-id")[:MEMORIES_MAX])
    conflicts = {
        (kind, row_id): min(one["id"] for one in found)
        for kind, shown in ((Kind.PROJECT_STATE, states), (Kind.EDGE, edges), (Kind.MEMORY, memories))
        for row_id, found in list_open_of(kind, [row.pk for row in shown]).items()
    }
    questions = _find_questions(project, set(conflicts.values()))
    disputes = {question.conflict.pk: str(question) for question in questions}
    changes = find_changes(project, concepts, since) if since is not None else []
    changed = {change.place for change in changes}

    def as_value(kind: Kind, row: Any, *place: Any) -> MirrorValue:
        conflict = conflicts.get((kind, row.pk))
        return MirrorValue(row, conflict, disputes.get(conflict or 0, ""), place in changed)

    states_by, memories_by = defaultdict(list), defaultdict(list)
    for state in states:
        states_by[state.category].append(as_value(Kind.PROJECT_STATE, state, "state", state.category, state.key))
    for memory in memories:
        memories_by[memory.get_category_display()].append(as_value(Kind.MEMORY, memory, "memory", memory.pk))
    facts = [as_value(Kind.EDGE, edge, "fact", edge.concept_id, edge.dim_id) for edge in edges]
    limits: tuple[tuple[str, Sequence[Any], int], ...] = (
        ("concepts", concepts, CONCEPTS_MAX), ("open questions", questions, QUESTIONS_MAX),
        ("facts", edges, FACTS_MAX), ("values", states, STATES_MAX), ("memories", memories, MEMORIES_MAX),
    )  # fmt: skip
    left_out = [f"{name} beyond the first {most:,}" for name, found, most in limits if len(found) == most]
    grouped = _group_by_kind(_group_by_concept(facts))
    return Mirror(project, since, questions, changes, dict(states_by), grouped, dict(memories_by), left_out, shown)


def write_markdown(mirror: Mirror) -> str:
    return render_to_string("resolution/mirror.md", {"mirror": mirror}).strip() + "\n"


# --- concepts ---


def find_concepts_of(project: Project) -> list[int]:
    """Return the ids of the concepts that belong to the project, those that carry its name first."""
    own = find_belongings(project)
    whose = {"names": own.names, "agents": own.agents, "conversations": own.conversations}
    return [concept for (concept,) in fetch_rows(CONCEPTS, whose | {"most": CONCEPTS_MAX})]


def _group_by_concept(facts: Iterable[MirrorValue]) -> list[MirrorConcept]:
    found: dict[int, MirrorConcept] = {}
    for fact in facts:
        entry = found.setdefault(fact.row.concept_id, MirrorConcept(fact.row.concept))
        entry.facts.setdefault(fact.row.dim, []).append(fact)
    for alias in Alias.objects.filter(concept__in=found).select_related("soas").order_by("soas__token"):
        found[alias.concept_id].names.append(alias.soas.token)
    return list(found.values())


def _group_by_kind(entries: Sequence[MirrorConcept]) -> dict[str, list[MirrorConcept]]:
    """Group the concepts by kind: kinds of engineering in their order, then others alphabetically, then concepts alone
    in their kind."""
    kinds = [_find_kind(entry) for entry in entries]
    sizes = Counter(kinds)
    groups: defaultdict[str, list[MirrorConcept]] = defaultdict(list)
    for entry, kind in zip(entries, kinds, strict=True):
        groups[kind if kind and sizes[kind] > 1 else ALONE].append(entry)
    if list(groups) == [ALONE]:
        return {ALL: groups[ALONE]}
    order = {entity.name: number for number, entity in enumerate(ENTITY_TYPES)}
    return {kind: groups[kind] for kind in sorted(groups, key=lambda kind: (kind == ALONE, order.get(kind, 99), kind))}


def _find_kind(entry: MirrorConcept) -> str:
    """Return the concept's kind from its type, else from the dimensions of engineering. What it is part of tells more
    than its values."""
    types = (facts[0].row.parent.token for dimension, facts in entry.facts.items() if dimension.token == TYPE)
    dimensions = sorted(entry.facts, key=lambda dimension: entry.facts[dimension][0].row.is_isa)
    return next(chain(types, filter(None, (find_entity_type(dimension.token) for dimension in dimensions))), "")


# --- open questions ---


def _find_questions(project: Project, conflict_ids: set[int]) -> list[MirrorQuestion]:
    """Return the open questions, newest first."""
    rows = Conflict.objects.filter(Q(pk__in=conflict_ids) | Q(project=project.slug), status="open")
    return describe_conflicts(rows.select_related("concept", "dim").order_by("-id")[:QUESTIONS_MAX])


def describe_conflicts(conflicts: Iterable[Conflict]) -> list[MirrorQuestion]:
    """Describe the conflicts in order. The number of queries is the same for one and for hundreds. Concept and
    dimension must be selected with them."""
    found = list(conflicts)
    members: defaultdict[int, list[MemberRow]] = defaultdict(list)
    for row in read_rows(list(ConflictMember.objects.filter(conflict__in=found))) if found else ():
        if not isinstance(row.row, Claim) or row.is_open_claim:
            members[row.member.conflict_id].append(row)
    return [MirrorQuestion(one, _name_topic(one, members[one.pk]), _list_sides(one, members[one.pk])) for one in found]


def _list_sides(conflict: Conflict, rows: Sequence[MemberRow]) -> list[str]:
    """Return the values that facts give their slot; of what has no value or is about no slot of facts, the text."""
    is_of_facts = conflict.slot_kind == Conflict.Kind.EDGE_SLOT
    return list(dict.fromkeys((is_of_facts and _name_value(row)) or row.text for row in rows))


def _name_value(row: MemberRow) -> str:
    return "no longer so" if row.is_retraction else row.value


def _name_topic(conflict: Conflict, rows: Sequence[MemberRow]) -> str:
    """Name the topic in the words of the highest layer. A question is cut after its question mark: the sides say the
    rest."""
    if conflict.question:
        asked, mark, _ = conflict.question.partition("? ")
        return asked + mark.strip()
    for one in (row.row for row in rows):
        if isinstance(one, ProjectState):
            return f"{one.words} [{one.category}]"
        if isinstance(one, Edge):
            return f"{one.concept} [{one.dim}]"
    if conflict.concept is not None:
        return str(conflict)
    key = conflict.slot_key
    about = f"{key['slot']} [{key['category']}]" if key.get("category") else conflict.get_slot_kind_display()
    return f"{about} of {key['user']}" if key.get("user") else about


# --- changes since a date ---


def find_changes(project: Project, concepts: Sequence[int], since: datetime) -> list[MirrorChange]:
    """Return the changes, newest first."""
    found = (
        _of_state(project, since),
        _of_facts(concepts, since),
        _of_memories(project, since),
        _of_conflicts(Q(project=project.slug) | Q(concept__in=concepts), since),
    )
    return sorted(chain(*found), key=lambda change: change.at, reverse=True)


def _of_state(project: Project, since: datetime) -> Iterator[MirrorChange]:
    rows = ProjectState.objects.filter(project=project)
    for row in rows.filter(set_at__gte=since).prefetch_related("superseded").order_by("-id")[:CHANGES_MAX]:
        before = next((old.value for old in row.superseded.all()), "")
        what = f"{row}{f' (was: {before})' if before else ''}{f': {row.reason}' if row.reason else ''}"
        yield _of_value(row, row.set_at, what, row.actor)
    for row in rows.filter(archived_at__gte=since, superseded_by=None).order_by("-id")[:CHANGES_MAX]:
        assert row.archived_at is not None
        what = f"taken back: {row}{f': {row.archive_reason}' if row.archive_reason else ''}"
        yield _of_value(row, row.archived_at, what, row.archived_by)


def _of_value(row: ProjectState, at: datetime, what: str, who: str) -> MirrorChange:
    address = reverse("admin:memory_projectstate_change", args=[row.pk])
    return MirrorChange(at, "state", what, who, ("state", row.category, row.key), address)


def _of_facts(concepts: Sequence[int], since: datetime) -> Iterator[MirrorChange]:
    rows = EdgeHistory.objects.filter(concept__in=concepts, at__gte=since).exclude(action="confirm")
    newest = list(rows.order_by("-id")[:CHANGES_MAX])
    tokens = names_in(shown for row in newest for shown in (row.before, row.after))
    for row in newest:
        place = ("fact", row.concept_id, row.dim_id)
        address = reverse("admin:memory_soas_change", args=[row.concept_id])
        what, is_speaker = describe_history(row, tokens), row.source in SPEAKING
        yield MirrorChange(row.at, "fact", what, row.actor, place, address, is_speaker)


def _of_memories(project: Project, since: datetime) -> Iterator[MirrorChange]:
    rows = MemoryHistory.objects.filter(memory__project=project, at__gte=since).exclude(action__in=QUIET)
    for row in rows.select_related("memory").defer("memory__lexemes").order_by("-id")[:CHANGES_MAX]:
        what = f"{MEMORY_CHANGES[row.action]}: {row.memory.text}"
        address = reverse("admin:memory_memory_change", args=[row.memory_id])
        is_speaker = row.channel != Channel.OPERATOR
        yield MirrorChange(row.at, "memory", what, row.actor, ("memory", row.memory_id), address, is_speaker)


def _of_conflicts(about: Q, since: datetime) -> Iterator[MirrorChange]:
    rows = Conflict.objects.filter(about).select_related("concept", "dim").order_by("-id")
    for one in describe_conflicts(rows.filter(detected_at__gte=since)[:CHANGES_MAX]):
        row = one.conflict
        yield MirrorChange(
            row.detected_at, "conflict", f"opened: {one}", "", ("conflict", row.pk), row.get_absolute_url()
        )
    for one in describe_conflicts(rows.filter(resolved_at__gte=since)[:CHANGES_MAX]):
        row = one.conflict
        assert row.resolved_at is not None
        what = f"{row.get_status_display().lower()}: {one}"
        yield MirrorChange(row.resolved_at, "conflict", what, "", ("conflict", row.pk), row.get_absolute_url())
