"""Opens conflicts about what a story leaves open, once for each pair of rows."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from django.db import transaction

from memory.db.connections import fetch_rows
from memory.models import Project
from resolution.conflicts.opening import Member, open_conflict
from resolution.detective.lines import load_edge_lines, load_lines
from resolution.detective.prompt import Finding, find_lack
from resolution.detective.story import StoryLine, StoryRow, find_pairs, sort_lines
from resolution.detective.tiers import find_reversals
from resolution.models import Conflict, ConflictMember

SLOT_ROWS_MAX: Final = 50
# All rows of the conflicts, open or decided, that one of these rows was a member of.
KNOWN: Final = """
    SELECT conflict_id, kind, object_id FROM conflict_member WHERE conflict_id IN (
        SELECT m.conflict_id FROM unnest(%(kinds)s::text[], %(ids)s::bigint[]) AS asked (kind, id)
        JOIN conflict_member AS m ON (m.kind, m.object_id) = (asked.kind, asked.id)
    )
    UNION
    SELECT conflict.id, split_part(name, ':', 1), split_part(name, ':', 2)::bigint
    FROM conflict, jsonb_array_elements_text(slot_key->'rows') AS name
    WHERE slot_kind = 'narrative' AND slot_key->'rows' ?| %(names)s
"""
CHANGES_OF_SLOT: Final = """
    SELECT h.id FROM edge_history AS own JOIN edge_history AS h USING (concept_id, dim_id)
    WHERE own.id = %s AND h.action <> 'confirm' ORDER BY h.at DESC LIMIT %s
"""
# Changes of facts whose slot has an open claim.
IN_DISPUTE: Final = """
    SELECT h.id FROM edge_history AS h
    JOIN resolution_queue AS claim ON (claim.concept_id, claim.dim_id) = (h.concept_id, h.dim_id)
    WHERE h.id = ANY(%s) AND status IN ('pending', 'proposed')
"""


def drop_known(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with at least one pair of rows that no conflict, open or decided, and no earlier finding is
    about."""
    found = list(findings)
    pairs = find_known_pairs({row for each in found for line in each.lines for row in line.rows})
    changes = [line.row.id for each in found for line in each.lines if line.row.kind == "edge_history"]
    disputed = {key for (key,) in fetch_rows(IN_DISPUTE, [changes])}
    new = []
    for each in found:
        is_known = all(
            not find_pairs((one, other)).isdisjoint(pairs)
            for at, one in enumerate(each.lines)
            for other in each.lines[at + 1 :]
        )
        waits_already = all(line.row.kind == "edge_history" and line.row.id in disputed for line in each.lines)
        if not is_known and not waits_already:
            new.append(each)
            pairs |= find_pairs(each.lines)
    return new


def find_known_pairs(rows: Collection[StoryRow]) -> set[frozenset[StoryRow]]:
    values: dict[str, Any] = {
        "kinds": [row.kind for row in rows],
        "ids": [row.id for row in rows],
        "names": [name_row(row) for row in rows],
    }
    members: dict[int, list[StoryRow]] = defaultdict(list)
    for conflict_id, kind, key in fetch_rows(KNOWN, values):
        members[conflict_id].append(StoryRow(kind, key))
    return {
        frozenset((one, other))
        for known in members.values()
        for at, one in enumerate(known)
        for other in known[at + 1 :]
    }


def open_for(finding: Finding, project: Project | None) -> int | None:
    """Open a conflict and return its id. Returns None if something has changed since the story was read."""
    with transaction.atomic():
        rows = load_lines([line.row for line in finding.lines], project)
        now = {line.row: line for line in rows}
        lines = [now[line.row] for line in finding.lines if line.row in now]
        asked = now.get(finding.asked.row)
        if len(lines) < len(finding.lines) or asked is None or not asked.is_active or find_lack(lines):
            return None
        if any(one.is_active and not line.is_active for one, line in zip(finding.lines, lines, strict=True)):
            return None
        if finding.tier == Conflict.Tier.REVERSAL and asked.row.kind == "edge_history" and not is_reversal(asked):
            return None
        names = sorted(name_row(line.row) for line in lines)
        return open_conflict(
            f"story {' '.join(names)}",
            {"rows": names},
            [as_member(line, is_asked=line.row == asked.row) for line in lines],
            project=project.slug if project is not None else "",
            tier=finding.tier,
            question=finding.question,
        )


def is_reversal(line: StoryLine) -> bool:
    """True if the line is still a reversal, given all changes of its slot; some may have been forgotten."""
    rows = load_edge_lines([key for (key,) in fetch_rows(CHANGES_OF_SLOT, [line.row.id, SLOT_ROWS_MAX])])
    return any(each.asked.row == line.row for each in find_reversals(sort_lines(rows)))


def as_member(line: StoryLine, *, is_asked: bool) -> Member:
    """Return the line as a member of a conflict. If its fact is current, the member is that fact, because decisions
    change facts."""
    kind, key = next((row for row in line.also if row.kind == ConflictMember.Kind.EDGE), line.row)
    support: Sequence[tuple[str, str]] = [(line.speaker, line.channel)]
    return Member(kind, key, line.text, support, is_asked=is_asked)


def name_row(row: StoryRow) -> str:
    return f"{row.kind}:{row.id}"
