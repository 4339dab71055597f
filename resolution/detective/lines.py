"""Turns rows of the tables into lines of a story."""

import re
from collections import namedtuple
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Final

from django.db.models import Q

from memory.channels import Channel
from memory.db.connections import fetch_rows
from memory.english.phrases import as_compact
from memory.memories.consolidation import read_words
from memory.models import EdgeHistory, Memory, Project, ProjectState, Source
from memory.timing import is_dated
from resolution.detective.story import DECISION, StoryLine, StoryRow
from resolution.models import Decision
from resolution.pages.belongings import Belongings
from resolution.pages.words import describe_decision

MEMORY_TOLD: Final = [Memory.Status.ACTIVE.value, Memory.Status.SUPERSEDED.value, Memory.Status.INVALID.value]
STATE_TOLD: Final = [ProjectState.Status.ACTIVE.value, ProjectState.Status.SUPERSEDED.value]
ENDINGS: Final = {"superseded": "replaced", "invalid": "taken back"}  # by the status of memories and state
DECISIONS_MAX: Final = 200
TOLD_DECISIONS: Final = ("update", "dismiss", "relocate", "decompose", "supersede", "accept", "answer")
NAMES_MAX: Final = 200  # words of a text that may name concepts

# The fact that a row placed is the current one if no later row of its slot placed it.
EDGE_LINES: Final = """
    SELECT h.id, h.at, h.action, concept.token, dim.token, parent.token,
        coalesce(nullif(concept.label, ''), concept.token), coalesce(nullif(parent.label, ''), parent.token),
        ((coalesce(h.after, h.before))->>'is_isa')::bool, h.after IS NULL, h.actor, h.source, h.channel,
        h.conversation, h.reason, stands.edge_id, coalesce(dimension.is_additive, false)
    FROM edge_history AS h
    JOIN soas AS concept ON concept.id = h.concept_id
    JOIN soas AS dim ON dim.id = h.dim_id
    JOIN soas AS parent ON parent.id = ((coalesce(h.after, h.before))->>'parent_id')::int
    LEFT JOIN dimension ON dimension.id = h.dim_id
    LEFT JOIN LATERAL (
        SELECT edge_id FROM urd
        WHERE (urd.id, urd.dim_id, urd.parent_id) = (h.concept_id, h.dim_id, (h.after->>'parent_id')::int)
          AND NOT EXISTS (
            SELECT FROM edge_history AS later
            WHERE (later.concept_id, later.dim_id) = (h.concept_id, h.dim_id) AND later.id > h.id
              AND later.action <> 'confirm' AND later.after->>'parent_id' = h.after->>'parent_id'
          )
    ) AS stands ON true
    WHERE h.id = ANY(%s)
"""
HistoryRow = namedtuple(
    "HistoryRow",
    "id at action concept dim parent subject value is_isa is_gone actor source channel conversation reason edge_id"
    " is_additive",
)
_NAMES: Final = re.compile(r"[^\W_]+(?:[_.'@+-][^\W_]+)*")


def load_lines(rows: Collection[StoryRow], project: Project | None) -> list[StoryLine]:
    """Return the lines of the rows, in no particular order. Rows that are gone are left out."""
    ids: dict[str, list[int]] = {kind: [] for kind in ("edge_history", "memory", "project_state")}
    for row in rows:
        ids[row.kind].append(row.id)
    state = ProjectState.objects.filter(pk__in=ids["project_state"], project=project)
    memories = Memory.objects.filter(pk__in=ids["memory"], status__in=MEMORY_TOLD).defer("lexemes")
    return [*load_edge_lines(ids["edge_history"]), *map(memory_line, memories), *map(state_line, state)]


def load_edge_lines(ids: Sequence[int]) -> list[StoryLine]:
    return [edge_line(HistoryRow(*row)) for row in fetch_rows(EDGE_LINES, [list(ids)])]


def edge_line(row: HistoryRow) -> StoryLine:
    is_decided = row.source in (Source.OPERATOR, Source.FESTINGER) or row.action == EdgeHistory.Action.UNDO
    return StoryLine(
        StoryRow("edge_history", row.id),
        row.at,
        "fact",
        as_compact(row.subject, row.value, row.dim, is_isa=row.is_isa),
        ending="" if row.edge_id is not None else "taken back" if row.is_gone else "replaced",
        slot=f"{row.concept} [{row.dim}]",
        value="" if row.is_gone or row.is_additive else row.parent,
        speaker=row.actor,
        channel=row.channel,
        conversation=bytes(row.conversation or b""),
        words=row.reason,
        settles=is_decided or row.channel == Channel.OPERATOR,
        also=(StoryRow("edge", row.edge_id),) if row.edge_id is not None else (),
    )


def memory_line(memory: Memory) -> StoryLine:
    owner = name_owner(memory)
    slot = f"{memory.category}: {memory.slot}" if memory.slot else ""
    return StoryLine(
        StoryRow("memory", memory.pk),
        memory.said_at if is_dated(memory.said_at.timestamp()) else memory.created_at,
        f"{memory.category} of {owner}" if owner else str(memory.category),
        memory.text,
        ending=ENDINGS.get(memory.status, ""),
        slot=slot,
        value=" ".join(read_words(memory.text)) if slot else "",
        owner=owner,
        speaker=memory.agent,
        channel=memory.channel,
        conversation=bytes(memory.conversation or b""),
        settles=memory.channel == Channel.OPERATOR,
    )


def name_owner(memory: Memory) -> str:
    """Return the speaker whom alone the memory concerns, "" if it concerns all."""
    return "/".join(filter(None, (memory.agent, memory.person))) if memory.is_personal else ""


def state_line(state: ProjectState) -> StoryLine:
    return StoryLine(
        StoryRow("project_state", state.pk),
        state.set_at,
        f"state, {state.category}",
        f"{state.key} = {state.value}",
        ending=ENDINGS.get(state.status, ""),
        slot=f"{state.category}.{state.key}",
        value=state.value,
        speaker=state.actor,
        channel=Channel.OPERATOR,
        settles=True,
    )


def load_decisions(own: Belongings) -> list[StoryLine]:
    """Return the newest decisions about the project's facts, memories and state, or about those that belong to no
    project."""
    named = Q(claim__concept__in=own.names) | Q(claim__dim__in=own.names)
    rows = Decision.objects.filter(kind__in=TOLD_DECISIONS, undone_by=None).select_related(*Decision.NAMES, "conflict")
    if own.project is not None:
        rows = rows.filter(named | Q(conflict__project=own.project.slug))
    else:
        rows = rows.filter(Q(conflict=None) | Q(conflict__project="")).exclude(named)
    found = rows.order_by("-id")[:DECISIONS_MAX]
    about = {decision.pk: [key for kind, key in decision.list_members() if kind == "memory"] for decision in found}
    personal = Memory.objects.filter(pk__in=[key for keys in about.values() for key in keys], is_personal=True)
    owners = {memory.pk: name_owner(memory) for memory in personal.only("agent", "person", "is_personal")}
    return [decision_line(each, next(filter(None, map(owners.get, about[each.pk])), "")) for each in found]


def decision_line(decision: Decision, owner: str = "") -> StoryLine:
    """Tell what was decided: the question, with the answer before it, then what became of what. ``owner``: whom it
    concerns, "" if it concerns all."""
    question = decision.conflict.question if decision.conflict is not None else ""
    if answer := decision.arguments.get("answer", ""):
        question = f"{answer}: {question}"
    told = describe_decision(decision).removeprefix(f"Answered {answer}: ")
    reason = f" Reason: {decision.reason}" if decision.reason else ""
    return StoryLine(
        StoryRow(DECISION, decision.pk),
        decision.at,
        f"decided, of {owner}" if owner else "decided",
        f"{question} {told}.{reason}".strip(),
        owner=owner,
        speaker=decision.actor,
        settles=True,
    )


def split_names(text: str) -> Iterable[str]:
    """Return words and pairs of words that may be names of concepts. Pairs are joined by an underscore."""
    words = [word.lower() for word in _NAMES.findall(text)][:NAMES_MAX]
    return {*words, *(f"{one}_{other}" for one, other in pairwise(words))}
