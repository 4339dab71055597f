"""A file on its way into the world: in temporary tables, where Postgres compares it with what stands. Nobody else waits
for it.

Facts, decided triples and conflicts pass through in portions, however many there are. What stays in memory is the rest:
dimensions, the names of muted concepts, and, while words are added to the vocabulary, those that are new.

All functions run inside the caller's transaction, on its connection.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, Literal

from django.db import connection

from memory.db.connections import chunks
from memory.graph import store
from memory.models import Dimension
from resolution.transfer import interchange
from resolution.transfer.interchange import (
    ConceptLine,
    ConflictLine,
    DecidedLine,
    DimensionLine,
    FactLine,
    Line,
    Mistake,
)

Differences = Literal["queue", "keep", "take"]
# new, taken: will be placed, the latter in another fact's slot. different, ring: will be queued. outdated: the later
# statement wins here, and stands. decided: was decided about here. kept: what stands stays.
Outcome = Literal["same", "new", "taken", "different", "ring", "outdated", "decided", "kept"]

MISTAKES_MAX: Final = 100  # that are shown
WORDS_AT_ONCE: Final = 10_000
ROWS_AT_ONCE: Final = 5_000
PROGRESS_EVERY: Final = 2_000  # lines, between two signs of progress

Progress = Callable[[str, int, int], None]  # what is being done, how much of it, of how much


def unheard(what: str, done: int, total: int) -> None:
    """The progress that nobody follows."""


TABLES = """
    DROP TABLE IF EXISTS arriving, arriving_word, arriving_twin;
    CREATE TEMP TABLE arriving (
        line integer, kind text, concept text, parent text, dimension text, is_isa boolean, confidence float8,
        source text, agent text, said_at timestamptz, last_confirmed timestamptz, other text, whole text,
        concept_id integer, parent_id integer, dim_id integer, standing_id bigint, outcome text
    ) ON COMMIT DROP;
    CREATE TEMP TABLE arriving_word (token text PRIMARY KEY, id integer) ON COMMIT DROP;
"""
COPY = """
    COPY arriving (line, kind, concept, parent, dimension, is_isa, confidence, source, agent, said_at, last_confirmed,
                   other, whole) FROM STDIN
"""
# One fact for each slot, one decision and one conflict for each triple.
TWINS = """
    CREATE TEMP TABLE arriving_twin ON COMMIT DROP AS SELECT line, first FROM (
        SELECT line, min(line) OVER (
            PARTITION BY kind, concept, dimension, CASE kind WHEN 'fact' THEN '' ELSE parent END
        ) AS first FROM arriving
    ) AS twin WHERE line <> first
"""
WORDS = """
    INSERT INTO arriving_word (token)
    SELECT concept FROM arriving UNION SELECT parent FROM arriving UNION SELECT dimension FROM arriving
    UNION SELECT other FROM arriving WHERE other IS NOT NULL;
    UPDATE arriving_word SET id = soas.id FROM soas WHERE soas.token = arriving_word.token;
"""
MISSING_WORDS = 'SELECT token FROM arriving_word WHERE id IS NULL ORDER BY token COLLATE "C"'
# In a rehearsal nothing is added: words that are not there have numbers that no word has.
STAND_INS = """
    UPDATE arriving_word SET id = -n FROM (
        SELECT token AS missing, row_number() OVER () AS n FROM arriving_word WHERE id IS NULL
    ) AS numbered WHERE token = missing
"""
NUMBERS = """
    UPDATE arriving SET concept_id = concept.id, parent_id = parent.id, dim_id = dim.id
    FROM arriving_word AS concept, arriving_word AS parent, arriving_word AS dim
    WHERE concept.token = concept AND parent.token = parent AND dim.token = dimension;
    CREATE INDEX ON arriving (concept_id, dim_id);
    CREATE INDEX ON arriving (parent_id, dim_id) WHERE kind = 'fact';
    ANALYZE arriving;
"""
# A fact is the same in its slot, in a dimension that was split from its own, and where it was decided to belong.
SAME = """
    WITH RECURSIVE place AS (
        SELECT id AS origin, id FROM dimension
        UNION SELECT place.origin, dimension.id FROM place JOIN dimension ON dimension.split_from_id = place.id
    )
    UPDATE arriving SET outcome = 'same' FROM urd WHERE kind = 'fact'
        AND (urd.id, urd.parent_id) = (concept_id, arriving.parent_id)
        AND ((arriving.dim_id, urd.dim_id) IN (SELECT origin, id FROM place) OR EXISTS (
            SELECT FROM decided_triple AS decided WHERE decided.moved_to_id = urd.dim_id
                AND (decided.concept_id, decided.parent_id, decided.dim_id)
                  = (arriving.concept_id, arriving.parent_id, arriving.dim_id)))
"""
IS_DECIDED = """EXISTS (
    SELECT FROM decided_triple AS decided WHERE (decided.concept_id, decided.dim_id, decided.parent_id)
        = (arriving.concept_id, arriving.dim_id, arriving.parent_id))"""
# What a difference comes to. Where the newer wins, it wins here, too.
DIFFERENT: Final[dict[Differences, str]] = {
    "queue": f"""CASE
        WHEN on_collision = 'supersede' THEN CASE WHEN arriving.said_at < urd.said_at THEN 'outdated' ELSE 'taken' END
        WHEN {IS_DECIDED} THEN 'decided' ELSE 'different' END""",
    "keep": "'kept'",
    "take": "'taken'",
}
RING: Final[dict[Differences, str]] = {
    "queue": f"CASE WHEN {IS_DECIDED} THEN 'decided' ELSE 'ring' END",
    "keep": "'kept'",
    "take": f"CASE WHEN {IS_DECIDED} THEN 'decided' ELSE 'ring' END",
}
COMPARE = """
    UPDATE arriving SET outcome = {outcome}, standing_id = urd.edge_id
    FROM urd JOIN dimension ON dimension.id = urd.dim_id
    WHERE kind = 'fact' AND outcome IS NULL AND (urd.id, urd.dim_id) = (concept_id, arriving.dim_id);
    UPDATE arriving SET outcome = 'new' WHERE kind = 'fact' AND outcome IS NULL;
    ANALYZE arriving;
"""
# From each fact that is to be placed up to the top, through those and what stands. Who meets the concept again closes
# a ring; of the facts in it, the last in the file is the one that does. A ring elsewhere ends a walk, too, for no row
# comes twice. Whoever is nobody's parent is in no ring.
RINGS = """
    WITH RECURSIVE up (line, concept_id, dim_id, at, last) AS (
        SELECT line, concept_id, dim_id, parent_id, line FROM arriving AS below
        WHERE kind = 'fact' AND outcome IN ('new', 'taken') AND (
            EXISTS (SELECT FROM urd WHERE (urd.parent_id, urd.dim_id) = (below.concept_id, below.dim_id))
            OR EXISTS (SELECT FROM arriving AS a WHERE kind = 'fact' AND outcome IN ('new', 'taken')
                       AND (a.parent_id, a.dim_id) = (below.concept_id, below.dim_id)))
        UNION
        SELECT up.line, up.concept_id, up.dim_id, coalesce(above.parent_id, urd.parent_id),
               greatest(up.last, above.line)
        FROM up
        LEFT JOIN arriving AS above ON kind = 'fact' AND outcome IN ('new', 'taken')
            AND (above.concept_id, above.dim_id) = (up.at, up.dim_id)
        LEFT JOIN urd ON above.line IS NULL AND (urd.id, urd.dim_id) = (up.at, up.dim_id) AND urd.id <> urd.parent_id
        WHERE up.at <> up.concept_id AND coalesce(above.parent_id, urd.parent_id) IS NOT NULL
    )
    UPDATE arriving SET outcome = {outcome} WHERE line IN (SELECT last FROM up WHERE at = concept_id)
"""


# Conflicts and decided triples that are here already, or about what stands.
KNOWN = """
    UPDATE arriving SET outcome = 'new' WHERE kind IN ('conflict', 'decided');
    UPDATE arriving SET outcome = 'same' WHERE kind IN ('conflict', 'decided') AND (
        EXISTS (SELECT FROM decided_triple AS decided WHERE (decided.concept_id, decided.dim_id, decided.parent_id)
            = (arriving.concept_id, arriving.dim_id, arriving.parent_id))
        OR EXISTS (SELECT FROM urd WHERE (urd.id, urd.dim_id, urd.parent_id)
            = (arriving.concept_id, arriving.dim_id, arriving.parent_id))
        OR kind = 'conflict' AND EXISTS (
            SELECT FROM resolution_queue AS queued WHERE status IN ('pending', 'proposed')
            AND (queued.concept_id, queued.dim_id, queued.incoming_parent_id)
              = (arriving.concept_id, arriving.dim_id, arriving.parent_id)))
"""


@dataclass(slots=True)
class Mistakes:
    """The first of them, and how many there are."""

    first: list[Mistake] = field(default_factory=list)
    count: int = 0

    def add(self, mistake: Mistake) -> None:
        self.count += 1
        if len(self.first) < MISTAKES_MAX:
            self.first.append(mistake)


@dataclass(slots=True)
class Staged:
    """What of a file is not in the tables: the few lines about dimensions and flags."""

    mistakes: Mistakes = field(default_factory=Mistakes)
    dimensions: list[tuple[int, DimensionLine]] = field(default_factory=list)
    muted: list[str] = field(default_factory=list)


def stage(file: BinaryIO, progress: Progress) -> Staged:
    """Reads the file into the tables. What is wrong with it is left out. Raises Unreadable."""
    staged = Staged()
    size = _size(file)
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        with cursor.copy(COPY) as copy:
            for number, line in interchange.read(file):
                if number % PROGRESS_EVERY == 0:
                    progress("Reading", file.tell(), size)
                _sort(staged, number, line, copy.write_row)
        cursor.execute("ANALYZE arriving")
    _leave_out_twins(staged)
    _leave_out_lineages(staged)
    staged.mistakes.first.sort(key=lambda mistake: mistake.line)
    return staged


def _size(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size


def _sort(staged: Staged, number: int, line: Line | Mistake, write_row: Callable[[Any], None]) -> None:
    if isinstance(line, Mistake):
        staged.mistakes.add(line)
    elif isinstance(line, DimensionLine):
        staged.dimensions.append((number, line))
    elif isinstance(line, ConceptLine):
        if line.is_muted:
            staged.muted.append(line.concept)
    else:
        write_row((number, line.kind, line.concept, line.parent, line.dimension, *_columns(line)))


def _columns(line: FactLine | DecidedLine | ConflictLine) -> tuple[Any, ...]:
    if isinstance(line, FactLine):
        times = (line.said_at, line.last_confirmed or line.said_at)
        return (line.is_isa, line.confidence, line.source, line.agent, *times, None, None)
    other = line.moved_to if isinstance(line, DecidedLine) else line.against or line.blocking
    return (None, None, None, None, None, None, other, interchange.write(line).decode())


def _leave_out_twins(staged: Staged) -> None:
    with connection.cursor() as cursor:
        cursor.execute(TWINS)
        twins = _all(cursor, f"SELECT line, first FROM arriving_twin ORDER BY line LIMIT {MISTAKES_MAX}")
        for line, first in twins:
            staged.mistakes.add(Mistake(line, f"line {first} has told of this place already"))
        cursor.execute("DELETE FROM arriving WHERE line IN (SELECT line FROM arriving_twin)")
        staged.mistakes.count += cursor.rowcount - len(twins)
    met: dict[str, int] = {}
    for number, row in staged.dimensions:
        if (first := met.setdefault(row.dimension, number)) != number:
            staged.mistakes.add(Mistake(number, f"{row.dimension} is a dimension already, in line {first}"))
    staged.dimensions = [(number, row) for number, row in staged.dimensions if met[row.dimension] == number]


def _leave_out_lineages(staged: Staged) -> None:
    wrong = set()
    for mistake in interchange.split_mistakes(staged.dimensions, names_of_dimensions()):
        staged.mistakes.add(mistake)
        wrong.add(mistake.line)
    staged.dimensions = [(number, row) for number, row in staged.dimensions if number not in wrong]


def names_of_dimensions() -> set[str]:
    return set(Dimension.objects.values_list("soas__token", flat=True))


def give_ids(*, adding: bool) -> int:
    """Gives the words their ids, which are added to the vocabulary or only stood in for; how many are new."""
    with connection.cursor() as cursor:
        cursor.execute(WORDS)
        missing = [token for (token,) in _all(cursor, MISSING_WORDS)] if adding else []
        for some in chunks(missing, WORDS_AT_ONCE):
            ids = store.ensure_tokens(some)
            cursor.execute(
                "UPDATE arriving_word SET id = new.id FROM unnest(%s::text[], %s::int[]) AS new (word, id)"
                " WHERE token = word",
                [list(ids), list(ids.values())],
            )
        cursor.execute(STAND_INS)
        new = len(missing) if adding else cursor.rowcount
        cursor.execute("ANALYZE arriving_word")
        cursor.execute(NUMBERS)
    return int(new)


def compare(differences: Differences) -> None:
    """Says of each fact what is to become of it. ``give_ids`` has been called."""
    with connection.cursor() as cursor:
        # A fact without a time is said now.
        cursor.execute(
            "UPDATE arriving SET said_at = coalesce(said_at, last_confirmed, now()),"
            " last_confirmed = coalesce(last_confirmed, now())"
            " WHERE kind = 'fact' AND (said_at IS NULL OR last_confirmed IS NULL)"
        )
        cursor.execute(SAME)
        cursor.execute(COMPARE.format(outcome=DIFFERENT[differences]))
        cursor.execute(RINGS.format(outcome=RING[differences]))
        while cursor.rowcount:  # what keeps its place because a ring was refused may be part of another
            cursor.execute(RINGS.format(outcome=RING[differences]))


def find_known() -> None:
    """Says of each conflict and each decided triple whether it is needless here, as things stand now."""
    with connection.cursor() as cursor:
        cursor.execute(KNOWN)


def counts() -> Counter[tuple[str, str]]:
    """How many lines of each kind have which outcome; an empty one where none is known."""
    with connection.cursor() as cursor:
        rows = _all(cursor, "SELECT kind, coalesce(outcome, ''), count(*) FROM arriving GROUP BY 1, 2")
        return Counter({(kind, outcome): number for kind, outcome, number in rows})


def rows(query: str) -> Iterator[list[tuple[Any, ...]]]:
    """What the query finds, in portions; others may be asked meanwhile."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(query)
        while portion := cursor.fetchmany(ROWS_AT_ONCE):
            yield portion


def ids_of_dimensions() -> list[int]:
    """All that the facts and conflicts of the file are about."""
    with connection.cursor() as cursor:
        found = _all(cursor, "SELECT DISTINCT dim_id FROM arriving WHERE kind IN ('fact', 'conflict')")
        return [dim_id for (dim_id,) in found]


def dimensions_of_facts() -> dict[str, bool]:
    """By name, whether the first fact in each says what a thing is."""
    with connection.cursor() as cursor:
        return dict(
            _all(
                cursor,
                "SELECT DISTINCT ON (dimension) dimension, coalesce(is_isa, (whole::jsonb ->> 'is_isa')::boolean)"
                " FROM arriving WHERE kind IN ('fact', 'conflict') ORDER BY dimension, kind DESC, line",
            )
        )


def _all(cursor: Any, query: str) -> list[tuple[Any, ...]]:
    cursor.execute(query)
    return list(cursor.fetchall())
