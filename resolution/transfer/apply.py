"""What a file brings into the world, once it is staged and compared (resolution/transfer/staging.py): facts into their
places, contradictions into the queue, what was decided elsewhere among what was decided here.

All functions run inside the caller's transaction, which holds the locks of the dimensions.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.db import connection

from memory.domain.types import TripleIds
from memory.graph import store
from memory.graph.placement import Placement
from memory.graph.store import Attribution
from memory.models import Edge, EdgeHistory, Source
from resolution.decisions import locking, rulings
from resolution.intake.conflict_queue import Queue
from resolution.models import CollisionType, DecidedTriple
from resolution.transfer import interchange, staging
from resolution.transfer.interchange import ConflictLine, DecidedLine
from resolution.transfer.staging import Progress

CONFLICTS_AT_ONCE: Final = 500

TO_PLACE = """
    SELECT concept_id, parent_id, dim_id, is_isa, confidence, source, agent, said_at, last_confirmed, outcome
    FROM arriving WHERE kind = 'fact' AND outcome IN ('new', 'taken')
"""
TAKEN = """
    SELECT standing_id, concept_id, parent_id, dim_id, is_isa, confidence, source, agent, said_at, last_confirmed
    FROM arriving WHERE outcome = 'taken'
"""
PLACED = """
    SELECT DISTINCT concept_id FROM arriving WHERE kind = 'fact' AND outcome IN ('new', 'taken') ORDER BY concept_id
"""
# What is placed on purpose is no longer decided about.
FORGET = """
    DELETE FROM decided_triple AS decided USING arriving WHERE arriving.kind = 'fact' AND outcome IN ('new', 'taken')
    AND (decided.concept_id, decided.dim_id, decided.parent_id)
      = (arriving.concept_id, arriving.dim_id, arriving.parent_id)
"""
DISPUTED = """
    SELECT DISTINCT arriving.concept_id, arriving.dim_id FROM arriving JOIN resolution_queue AS queued
    ON (queued.concept_id, queued.dim_id) = (arriving.concept_id, arriving.dim_id) AND status IN ('pending', 'proposed')
    WHERE kind = 'fact' AND outcome IN ('new', 'taken')
"""


def place(deed: Attribution, progress: Progress) -> None:
    """What gives its place goes first, all of it: in between, a ring could show that is there neither before nor
    after."""
    for rows in staging.rows(TAKEN):
        _give_way(rows, deed)
    done, (total,) = 0, _one("SELECT count(*) FROM arriving WHERE kind = 'fact' AND outcome IN ('new', 'taken')")
    for rows in staging.rows(TO_PLACE):
        placed = [(_edge(row[:-1]), row[-1]) for row in rows]
        store.insert_edges(edge for edge, _ in placed)
        store.write_history(
            store.note(EdgeHistory.Action.INSERT, edge, deed, before=None, after=store.picture(edge))
            for edge, outcome in placed
            if outcome == "new"
        )
        done += len(rows)
        progress("Placing", done, total)
    with connection.cursor() as cursor:
        cursor.execute(FORGET)
    for rows in staging.rows(PLACED):  # in the order in which all writers lock words, over all portions
        store.make_novel(concept_id for (concept_id,) in rows)
    for rows in staging.rows(DISPUTED):
        for concept_id, dim_id in rows:
            locking.rebase(concept_id, dim_id, fill=False)


def _one(query: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return tuple(cursor.fetchone())


def _edge(row: Sequence[Any]) -> Edge:
    names = (
        "concept_id",
        "parent_id",
        "dim_id",
        "is_isa",
        "confidence",
        "source",
        "agent",
        "said_at",
        "last_confirmed",
    )
    return Edge(**dict(zip(names, row, strict=True)))


def _give_way(rows: Iterable[tuple[Any, ...]], deed: Attribution) -> None:
    """Takes the old facts out, into the history. Who has stated them does not bring them back by stating them again."""
    new = {row[0]: _edge(row[1:]) for row in rows}
    old = list(Edge.objects.filter(pk__in=new))
    store.write_history(
        store.note(
            EdgeHistory.Action.SUPERSEDE, edge, deed, before=store.picture(edge), after=store.picture(new[edge.pk])
        )
        for edge in old
    )
    rulings.remember_all(rulings.speakers_of(old), DecidedTriple.Kind.RETIRED)
    store.delete_edges(new)


# --- queueing ---

DIFFERING = """
    SELECT concept_id, arriving.parent_id, arriving.dim_id, arriving.is_isa, arriving.confidence, arriving.source,
           arriving.agent, arriving.said_at, urd.parent_id, urd.is_isa
    FROM arriving LEFT JOIN urd ON (urd.id, urd.dim_id) = (concept_id, arriving.dim_id)
    WHERE kind = 'fact' AND outcome IN ('different', 'ring') ORDER BY line
"""
CLAIMS = """
    SELECT concept_id, arriving.parent_id, arriving.dim_id, whole, urd.parent_id, urd.is_isa, other.id
    FROM arriving LEFT JOIN urd ON (urd.id, urd.dim_id) = (concept_id, arriving.dim_id)
    LEFT JOIN arriving_word AS other ON other.token = arriving.other
    WHERE kind = 'conflict' AND outcome = 'new' ORDER BY line
"""


def queue_differences() -> None:
    for rows in staging.rows(DIFFERING):
        for start in range(0, len(rows), CONFLICTS_AT_ONCE):
            some = rows[start : start + CONFLICTS_AT_ONCE]
            queue = Queue({TripleIds(row[0], row[2], row[1]) for row in some})
            for concept_id, parent_id, dim_id, is_isa, confidence, source, agent, said_at, standing, flavour in some:
                triple = TripleIds(concept_id, dim_id, parent_id)
                said = Attribution(agent, Source(source), confidence, said_at)
                queue.add(_collision(triple, standing, flavour), said, is_isa=is_isa)
            queue.write()


def _collision(triple: TripleIds, standing_id: int | None, is_isa: bool) -> Placement:
    if standing_id is not None:
        return Placement("occupied", triple, _standing(triple, standing_id, is_isa))
    return Placement("ring", triple, blocking=locking.closing_edge(triple.concept_id, triple.parent_id, triple.dim_id))


def _standing(triple: TripleIds, parent_id: int, is_isa: bool) -> Edge:
    return Edge(concept_id=triple.concept_id, parent_id=parent_id, dim_id=triple.dim_id, is_isa=is_isa)


def queue_conflicts() -> int:
    """The file's own conflicts, against what stands now; how many were not here."""
    staging.find_known()  # the file's facts may have settled some by now
    count = 0
    for rows in staging.rows(CLAIMS):
        for start in range(0, len(rows), CONFLICTS_AT_ONCE):
            some = rows[start : start + CONFLICTS_AT_ONCE]
            queue = Queue({TripleIds(row[0], row[2], row[1]) for row in some})
            for row in some:
                _queue_claim(queue, TripleIds(row[0], row[2], row[1]), *row[3:])
            queue.write()
            count += len(some)
    return count


def _queue_claim(
    queue: Queue, triple: TripleIds, whole: str, standing_id: int | None, flavour: bool, other_id: int | None
) -> None:
    line = interchange.parse(whole.encode())
    assert isinstance(line, ConflictLine)
    said = Attribution(
        line.agent, Source(line.source), line.confidence, line.said_at, line.evidence, line.role,
        bytes.fromhex(line.conversation),
    )  # fmt: skip
    if standing_id is not None:
        placement = Placement("occupied", triple, _standing(triple, standing_id, flavour))
    elif line.against is not None and other_id is not None:  # what stood against it where the file comes from
        was_isa = line.is_isa != (line.collision == CollisionType.MISCLASSIFICATION)
        placement = Placement("occupied", triple, _standing(triple, other_id, was_isa))
    else:
        blocking = Edge(concept_id=other_id) if other_id is not None else None
        placement = Placement("ring", triple, blocking=blocking)
    row = queue.add(placement, said, is_isa=line.is_isa)
    if row.pk is None:
        row.priority, row.created_at = line.priority, line.queued_at


TO_REMEMBER = """
    SELECT concept_id, parent_id, dim_id, whole, other.id FROM arriving
    LEFT JOIN arriving_word AS other ON other.token = arriving.other
    WHERE kind = 'decided' AND outcome = 'new' ORDER BY line
"""


def remember_decided() -> int:
    """What was decided elsewhere about triples that do not stand here; how many were not decided about yet."""
    staging.find_known()
    count = 0
    for rows in staging.rows(TO_REMEMBER):
        DecidedTriple.objects.bulk_create([_decided(*row) for row in rows])
        count += len(rows)
    return count


def _decided(concept_id: int, parent_id: int, dim_id: int, whole: str, other_id: int | None) -> DecidedTriple:
    line = interchange.parse(whole.encode())
    assert isinstance(line, DecidedLine)
    return DecidedTriple(
        concept_id=concept_id,
        parent_id=parent_id,
        dim_id=dim_id,
        kind=line.decision,
        moved_to_id=other_id,
        agents=list(line.agents),
        conversation=bytes.fromhex(line.conversation),
        decided_at=line.decided_at,
    )
