"""Reads and writes edges, singly and many at once, and what they need: words, dimensions, locks, history. Every change
of the graph leaves a row in ``edge_history``. All functions run inside the caller's transaction."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final, NamedTuple

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from memory.attribution.client_names import Supporter, is_one_of_address, supporter_of, voice_of
from memory.channels import Channel, channel_of
from memory.db.connections import Write, columns, fetch_rows, run_together
from memory.db.locks import Lock, lock_until_commit
from memory.db.transactions import constraint_of
from memory.graph.judging import PLAIN, Manner
from memory.graph.snapshots import KEYED_FIELDS, Snapshot, read_snapshot, take_snapshot
from memory.models import Dimension, Edge, EdgeHistory, Soas, Source, Support
from memory.timing import is_dated
from memory.types import Triple, TripleIds

# The concepts of the aliases among words, and the locks of dimensions and others: the latter first, all in one order.
ALIASES: Final = """
    SELECT alias.id, concept_id, token FROM alias JOIN soas ON soas.id = concept_id WHERE alias.id = ANY(%s)
    UNION ALL
    SELECT NULL, NULL, pg_advisory_xact_lock(lock, number)::text FROM (
        SELECT lock, number FROM unnest(%s::int[], %s::int[]) AS other (lock, number)
        UNION
        SELECT %s, coalesce((SELECT concept_id FROM alias WHERE id = word), word) FROM unnest(%s::int[]) AS word
        ORDER BY lock DESC, number
    ) AS wanted
"""
# Read together with an edge: otherwise showing it in words takes a query for each.
WORDS = ("concept", "parent", "dim")
STORED = attrgetter(
    "concept_id", "parent_id", "dim_id", "is_isa", "confidence", "source", "channel", "agent", "is_corroborated",
    "said_at", "last_confirmed", "edge_id",
)  # fmt: skip
# Stated on purpose, not read in passing.
DELIBERATE = (Source.GUTASK, Source.OPERATOR)
# The role of an agent that imports a file: others said its contents, elsewhere.
IMPORTED = "import"

Action = EdgeHistory.Action
# Called inside the transaction with edges that are new in their places. Apps that this one does not know add their
# functions when they are ready.
followers: list[Callable[[Iterable[Edge]], None]] = []


NOBODY: Final = ("", "")
Held = tuple[Collection[int], Collection[int]]  # locks, and their second numbers


@dataclass(frozen=True, slots=True)
class Attribution:
    """The origin of a fact or of its change: who, through which channel, how surely, when, and in which words."""

    agent: str
    source: Source
    confidence: float
    at: datetime
    evidence: str = ""
    role: str = ""  # user, assistant, tool or system; empty for gutask and operators
    conversation: bytes = b""  # 16 bytes: the digest of the conversation's opening; empty for none
    channel: str = ""  # by source and role if empty
    # For an unsure statement: for whom it holds (agent and person), and the digest of its paragraph.
    holder: tuple[str, str] = NOBODY
    paragraph: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "channel", Channel(self.channel or channel_of(self.source, self.role)))

    @property
    def is_dated(self) -> bool:
        """True if it was read when it was said, and not in a conversation that was first seen later."""
        return is_dated(self.at.timestamp())

    @property
    def supporter(self) -> Supporter:
        return supporter_of(self.agent, self.holder[1])

    @property
    def heard_at(self) -> datetime:
        """When it was said or, if that is not known, now."""
        return self.at if self.is_dated else timezone.now()


class Assertion(NamedTuple):
    """A statement to be placed: a triple, its attribution, and the manner in which it is stated."""

    triple: Triple
    attribution: Attribution
    manner: Manner = PLAIN


class SlotTaken(Exception):
    """The slot holds another fact."""


# --- reading ---


def lock_edge(ids: TripleIds) -> Edge | None:
    """Return the edge in the place of this triple, locked until the end of the transaction: the one in its slot or,
    where all is kept, its own. A root always has its slot alone."""
    edges = Edge.objects.select_for_update(of=("self",)).select_related(*WORDS)
    in_place = Q(is_additive=False) | Q(parent_id=ids.parent_id) | Q(parent=F("concept"))
    return edges.filter(in_place, concept_id=ids.concept_id, dim_id=ids.dim_id).first()


def find_closing_edge(ids: TripleIds, read: Callable[[set[int]], Iterable[Edge]] | None = None) -> Edge | None:
    """Return the edge that the triple would close to a cycle: the last step on a way up from its parent to its concept.
    None if all ways end elsewhere. ``read`` finds the edges of concepts in the dimension, by default with a query for
    each step."""
    # The trigger urd_acyclic has the last word, because it sees every write. This finds the edge that it is about.
    edges = Edge.objects.filter(dim_id=ids.dim_id).select_related(*WORDS)
    level, passed = {ids.parent_id}, set[int]()
    while level:
        above = read(level) if read is not None else edges.filter(concept_id__in=level)
        steps = {(edge.parent_id, edge.concept_id): edge for edge in above}
        closing = [step for step in steps if step[0] == ids.concept_id]
        if closing:
            return steps[min(closing)]  # of several always the same one
        passed |= level  # a cycle that was stored without the trigger would have no end, and neither would a root
        level = {parent_id for parent_id, _ in steps} - passed
    return None


# --- writing edges ---


def insert(edge: Edge, attribution: Attribution, action: Action = Action.INSERT) -> Edge:
    """Store a new edge, whose dimension exists, and return it with its words. Raises SlotTaken, and IntegrityError
    (``urd_acyclic``) for a cycle; the transaction goes on."""
    with transaction.atomic():  # a savepoint: a refusal must not cost the caller's transaction
        insert_edges([edge])
    writes = [novel([edge.concept_id])]
    writes.append(noted([build_history(action, edge, attribution, before=None, after=take_snapshot(edge))]))
    if not select_support([edge]).exists():  # one that returns has its supporters
        own = build_support(supporter_of(edge.agent), edge.channel, edge.said_at)
        writes.append(supported([(edge, own)]))
    run_together(*writes)
    return Edge.objects.select_related(*WORDS).get(pk=edge.pk)


def new_edge(ids: TripleIds, is_isa: bool, attribution: Attribution) -> Edge:
    """Make a statement's edge without storing it."""
    return Edge(
        concept_id=ids.concept_id,
        parent_id=ids.parent_id,
        dim_id=ids.dim_id,
        is_isa=is_isa,
        confidence=attribution.confidence,
        source=attribution.source,
        channel=attribution.channel,
        agent=attribution.agent,
        said_at=attribution.at,
        last_confirmed=attribution.heard_at,
    )


def insert_edges(edges: Iterable[Edge]) -> None:
    """Store new edges and give them their words, and keys to those that have none; history and novelty are up to the
    caller. Raises SlotTaken, and IntegrityError (``urd_acyclic``) for a cycle; the transaction is then lost."""
    new = {(edge.dim_id, edge.concept_id, edge.parent_id): edge for edge in edges}
    # In one order: two writers of the same slots cannot deadlock.
    rows = [STORED(edge) for _, edge in sorted(new.items(), key=lambda item: item[0])]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO urd"
            " (id, parent_id, dim_id, is_isa, confidence, source, channel, agent, is_corroborated, said_at,"
            " last_confirmed, edge_id, is_additive)"
            " SELECT new.id, parent_id, dim_id, is_isa, confidence, source, channel, agent, is_corroborated, said_at,"
            " last_confirmed, coalesce(edge_id, nextval(pg_get_serial_sequence('urd', 'edge_id'))),"
            " coalesce((SELECT is_additive FROM dimension WHERE dimension.id = new.dim_id), false)"
            " FROM unnest(%s::int[], %s::int[], %s::int[], %s::bool[], %s::float8[], %s::text[], %s::text[],"
            " %s::text[], %s::bool[], %s::timestamptz[], %s::timestamptz[], %s::bigint[])"
            " AS new (id, parent_id, dim_id, is_isa, confidence, source, channel, agent, is_corroborated, said_at,"
            " last_confirmed, edge_id)"
            " ON CONFLICT DO NOTHING RETURNING dim_id, id, parent_id, edge_id, is_additive,"
            " (SELECT token FROM soas WHERE soas.id = urd.dim_id), (SELECT token FROM soas WHERE soas.id = urd.id),"
            " (SELECT token FROM soas WHERE soas.id = urd.parent_id)",
            columns(rows, 12),
        )
        stored = {row[:3]: row[3:] for row in cursor.fetchall()}
    # The unique indexes decide a race: a place that somebody else has filled returns no key.
    if stored.keys() != new.keys():
        raise SlotTaken("a slot was filled meanwhile")
    for (dim_id, concept_id, parent_id), edge in new.items():
        edge.edge_id, edge.is_additive, *tokens = stored[dim_id, concept_id, parent_id]
        ids = (dim_id, concept_id, parent_id)
        edge.dim, edge.concept, edge.parent = (Soas(pk=pk, token=token) for pk, token in zip(ids, tokens, strict=True))
    for tell in followers:
        tell(new.values())


def updated(edges: Iterable[Edge]) -> Write:
    """Return the write that stores the edges' confidence and times; the history is up to the caller."""
    rows = [
        (e.edge_id, e.confidence, e.source, e.channel, e.agent, e.is_corroborated, e.said_at, e.last_confirmed)
        for e in edges
    ]
    return (
        "UPDATE urd SET confidence = now.confidence, source = now.source, channel = now.channel,"
        " agent = now.agent, is_corroborated = now.is_corroborated, said_at = now.said_at,"
        " last_confirmed = now.last_confirmed"
        " FROM unnest(%s::bigint[], %s::float8[], %s::text[], %s::text[], %s::text[], %s::bool[],"
        " %s::timestamptz[], %s::timestamptz[])"
        " AS now (edge_id, confidence, source, channel, agent, is_corroborated, said_at, last_confirmed)"
        " WHERE urd.edge_id = now.edge_id",
        columns(rows, 8),
    )


def delete_edges(edge_ids: Iterable[int]) -> None:
    """Take edges out of the graph; the history is up to the caller."""
    Edge.objects.filter(pk__in=list(edge_ids)).delete()


def retire(edge: Edge, attribution: Attribution, action: Action = Action.RETIRE) -> EdgeHistory:
    """Move a fact from the graph into the history, and return the history row. Roots stay as long as their
    dimension."""
    if edge.is_root:
        raise ValueError(f"{edge} is the root of a dimension")
    row = build_history(action, edge, attribution, before=take_snapshot(edge, KEYED_FIELDS), after=None)
    row.save(force_insert=True)
    edge.delete()
    return row


def put_back(snapshot: Snapshot, attribution: Attribution) -> Edge:
    """Put the snapshot's edge back into the graph, with its dimension. Raises what ``insert`` raises."""
    ensure_dimension(snapshot["dim_id"], is_isa=snapshot["is_isa"])
    edge = Edge(**read_snapshot(Edge, snapshot))
    if Edge.objects.filter(pk=edge.pk).exists():  # moved away, and put back from before that
        edge.pk = None
    return insert(edge, attribution, Action.UNDO)


def move(edge: Edge, dim_id: int, attribution: Attribution) -> Edge:
    """Move the fact into another dimension, which exists; its confidence, source and times stay. Returns the given
    edge, changed. Raises SlotTaken, and IntegrityError (``urd_acyclic``) for a cycle; the transaction goes on."""
    if edge.is_root:
        raise ValueError(f"{edge} is the root of a dimension")
    before = take_snapshot(edge)
    try:
        with transaction.atomic():
            is_additive = Dimension.objects.filter(pk=dim_id).values("is_additive")
            Edge.objects.filter(pk=edge.pk).update(dim_id=dim_id, is_additive=Subquery(is_additive))
    except IntegrityError as error:
        if constraint_of(error) in ("urd_one_parent_per_dimension", "urd_unique_triple"):
            raise SlotTaken(f"{edge.concept} has another place in dimension {dim_id}") from error
        raise
    edge.dim_id = dim_id
    for tell in followers:
        tell([edge])
    build_history(Action.MOVE, edge, attribution, before=before, after=take_snapshot(edge)).save(force_insert=True)
    return edge


# --- supporters ---


def select_support(edges: Iterable[Edge]) -> QuerySet[Support]:
    return Support.objects.filter(kind=Support.Kind.EDGE, object_id__in=[edge.pk for edge in edges])


def select_supported(rows: QuerySet[Edge], agent: str, person: str = "") -> QuerySet[Edge]:
    """Narrow facts to those that an agent supports, or a person behind it. Without a token all names of an address are
    one supporter: of one of them, those that were first stated under it."""
    named = {name: one for name, one in (("agent", voice_of(agent)), ("person", person)) if one}
    support = Support.objects.filter(kind=Support.Kind.EDGE, object_id=OuterRef("pk"), **named)
    return rows.filter(Exists(support), **({"agent": agent} if is_one_of_address(agent, person) else {}))


def build_support(supporter: Supporter, channel: str, said_at: datetime) -> Support:
    """Make the row of a supporter without storing it."""
    agent, person = supporter
    return Support(kind=Support.Kind.EDGE, agent=agent, person=person, channel=channel, said_at=said_at)


def supported(rows: Iterable[tuple[Edge, Support]]) -> Write:
    """Return the write that stores supporters of stored edges, or their new channels and times."""
    values = [
        (edge.pk, row.agent, row.person, row.channel, row.is_partial, row.said_at, row.confirmed_at)
        for edge, row in rows
    ]
    return (
        "INSERT INTO support (kind, object_id, agent, person, channel, is_partial, said_at, confirmed_at)"
        " SELECT 'edge', * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::bool[],"
        " %s::timestamptz[], %s::timestamptz[])"
        " ON CONFLICT (kind, object_id, agent, person) DO UPDATE SET channel = excluded.channel,"
        " is_partial = excluded.is_partial, confirmed_at = excluded.confirmed_at",
        columns(values, 7),
    )


# --- words and dimensions ---


class LockedWords(NamedTuple):
    """Words of the vocabulary that cannot be pruned or merged until the end of the transaction. ``ids``: by token, for
    an alias that of its concept; ``names``: the concepts of the aliases among them."""

    ids: dict[str, int]
    names: dict[str, str]


def lock_words(tokens: Iterable[str], dimensions: Iterable[str] = (), also: Held = ((), ())) -> LockedWords:
    """Lock those of the tokens that the vocabulary has; then ``also``, locks and their numbers; then the slots of the
    ``dimensions`` among the tokens (see ``lock_dimensions``)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT token, id FROM soas WHERE token = ANY(%s) ORDER BY id FOR KEY SHARE", [sorted({*tokens} - {""})]
        )
        ids: dict[str, int] = dict(cursor.fetchall())
        # Only once the words are locked: they may have become aliases while this waited.
        dims = [ids[token] for token in {*dimensions} if token in ids]
        cursor.execute(ALIASES, [[*ids.values()], *map(list, also), Lock.DIMENSION, dims])
        concepts = {word_id: (concept_id, name) for word_id, concept_id, name in cursor.fetchall() if word_id}
    names = {token: concepts[word_id][1] for token, word_id in ids.items() if word_id in concepts}
    ids = {token: concepts[word_id][0] if word_id in concepts else word_id for token, word_id in ids.items()}
    return LockedWords(ids | {name: concept_id for concept_id, name in concepts.values()}, names)


def ensure_tokens(tokens: Iterable[str]) -> dict[str, int]:
    """Return the ids of the tokens, for an alias that of its concept; tokens that the vocabulary lacks are added."""
    tokens = set(tokens)
    return add_words(tokens, lock_words(tokens).ids)[0]


def add_words(tokens: Iterable[str], known: Mapping[str, int]) -> tuple[dict[str, int], set[int]]:
    """Add the tokens that are not among the known locked words. Returns the ids of all, and those of the added."""
    wanted = sorted(set(tokens))  # in one order everywhere: two writers of the same words cannot deadlock
    ids, added = dict(known), dict[str, int]()
    if missing := [token for token in wanted if token not in known]:
        insert = "INSERT INTO soas (token) SELECT unnest(%s::text[]) ON CONFLICT (token) DO NOTHING RETURNING token, id"
        added = dict(fetch_rows(insert, [missing]))
        others = [token for token in missing if token not in added]  # somebody else has added them just now
        ids |= added | (lock_words(others).ids if others else {})
    return {token: ids[token] for token in wanted}, set(added.values())


def label_words(spelled: Mapping[str, str], *, may_replace: Collection[str] = ()) -> None:
    """Store how tokens are typed: only the first time, or always for those that one ``may_replace``."""
    labels = {token: label if label != token else "" for token, label in spelled.items()}
    rows = [(token, label, token in may_replace) for token, label in labels.items() if label or token in may_replace]
    if not rows:  # nearly always
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH new AS (SELECT * FROM unnest(%s::text[], %s::text[], %s::bool[]) AS new (token, label, may_replace)),"
            " changing AS ("
            "  SELECT id, new.label FROM soas JOIN new USING (token)"
            "  WHERE (soas.label = '' OR may_replace) AND soas.label <> new.label"
            "    AND (new.label = '' OR normalize(lower(replace(new.label, ' ', '_')), NFKC) = token)"
            "  ORDER BY id FOR NO KEY UPDATE OF soas"
            " ) UPDATE soas SET label = changing.label FROM changing WHERE soas.id = changing.id",
            columns(rows, 3),
        )


def ensure_dimension(dim_id: int, *, is_isa: bool, question: str = "", keeps_all: bool = False) -> Dimension:
    """Return the dimension; if it does not exist, add it with its root."""
    # A dimension exists exactly as long as its root edge: both come in one transaction.
    policy = Dimension.OnCollision.KEEP_ALL if keeps_all else Dimension.OnCollision.QUEUE
    dimension, created = Dimension.objects.get_or_create(
        soas_id=dim_id, defaults={"is_isa": is_isa, "question": question, "on_collision": policy}
    )
    if created:
        Edge.objects.bulk_create(
            [
                Edge(
                    concept_id=dim_id, parent_id=dim_id, dim_id=dim_id, is_isa=is_isa, source=Source.FESTINGER,
                    is_additive=keeps_all,
                )
            ],
            ignore_conflicts=True,
        )  # fmt: skip
    return dimension


def lock_dimensions(dim_ids: Iterable[int]) -> None:
    """Keep others from filling a slot of these dimensions until the end of the transaction."""
    # The trigger that refuses cycles takes this lock, too (sql/functions.sql). A writer that takes it first, for all
    # dimensions at once, and only then reads and locks rows, sees what the others have committed, and cannot deadlock
    # with them.
    lock_until_commit(Lock.DIMENSION, dim_ids)


def drop_dimension(dim_id: int) -> bool:
    """Remove a dimension and its root if it has no fact and none was split from it; return whether it did. The caller
    must hold its lock."""
    facts = Edge.objects.filter(dim_id=dim_id).exclude(concept_id=dim_id)
    if facts.exists() or Dimension.objects.filter(split_from_id=dim_id).exists():
        return False
    Edge.objects.filter(dim_id=dim_id).delete()
    Dimension.objects.filter(soas_id=dim_id).delete()
    return True


# --- history ---


def build_history(
    action: Action, edge: Edge, attribution: Attribution, *, before: Snapshot | None, after: Snapshot | None
) -> EdgeHistory:
    """Make the row of the history without storing it."""
    return EdgeHistory(
        concept_id=edge.concept_id,
        dim_id=edge.dim_id,
        action=action,
        before=before,
        after=after,
        actor=attribution.agent,
        role=attribution.role,
        source=attribution.source,
        channel=attribution.channel,
        conversation=attribution.conversation or None,
        reason=attribution.evidence,
    )


def noted(rows: Iterable[EdgeHistory]) -> Write:
    """Return the write that stores rows that ``build_history`` made, many at once."""
    # One statement with an array for each column: Django's statement for many rows takes longer to build than to run.
    values = []
    for row in rows:
        was, now = (json.dumps(snapshot) if snapshot is not None else None for snapshot in (row.before, row.after))
        who = (row.actor, row.role, row.source, row.channel, row.conversation, row.reason)
        values.append((row.concept_id, row.dim_id, row.action, was, now, *who))
    return (
        "INSERT INTO edge_history"
        " (concept_id, dim_id, action, before, after, actor, role, source, channel, conversation, reason)"
        " SELECT * FROM unnest(%s::int[], %s::int[], %s::text[], %s::jsonb[], %s::jsonb[], %s::text[], %s::text[],"
        " %s::text[], %s::text[], %s::bytea[], %s::text[])",
        columns(values, 11),
    )


def novel(concept_ids: Iterable[int]) -> Write:
    """Return the write that marks these concepts as novel, because facts were placed about them."""
    return (
        "UPDATE soas SET novelty = 1 WHERE id IN (SELECT id FROM soas WHERE id = ANY(%s) AND novelty < 1"
        " ORDER BY id FOR NO KEY UPDATE)",  # in one order: two writers of the same words cannot deadlock
        [sorted(concept_ids)],
    )
