"""The rules of placing: what becomes of a statement in its slot. Many statements are placed in a handful of queries:
their slots are read and locked together, the rules are applied in memory, one statement after the other, and the
changes are written together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.db.models import Subquery
from django.db.models.expressions import RawSQL
from django.utils import timezone

from memory.attribution.client_names import Supporter, corroborate, supporter_of
from memory.channels import is_weaker
from memory.db.connections import Write
from memory.db.transactions import GraphChanged
from memory.english.doubt import SpeechAct
from memory.graph import store
from memory.graph.judging import NO_RULING, Effect, Judgement, NewFact, Ruling, StandingFact, is_about, judge
from memory.graph.slots import Changes, ConceptSurroundings, EdgesBySlot, with_splits
from memory.graph.snapshots import KEYED_FIELDS, Snapshot, take_snapshot
from memory.graph.store import DELIBERATE, Action, Assertion, Attribution
from memory.models import Dimension, Edge, Soas, Support
from memory.types import Slot, Triple, TripleIds

# Words, and all that is above them in any of some dimensions: with one look into the index for each. Without OFFSET
# Postgres would make it a join, and read all facts for many words.
ABOVE = """
    WITH RECURSIVE above AS (
        SELECT unnest(%s::int[]) AS id
        UNION SELECT parent_id FROM above,
            LATERAL (SELECT parent_id FROM urd WHERE urd.id = above.id AND dim_id = ANY(%s) OFFSET 0) AS up
    ) SELECT id FROM above
"""
CONFIRMATION_IS_NOTED_EVERY = timedelta(days=1)
CLOCKS_DIFFER = timedelta(minutes=1)  # between machines, at most

# What becomes of an imported fact if its slot holds another: a conflict (or what the dimension's policy says), nothing,
# or it takes the slot in any case.
Differences = Literal["queue", "keep", "take"]


def _past(time: datetime) -> datetime:
    """Return the time, or now if a wrong clock has put it into the future: otherwise nothing could ever be later."""
    now = timezone.now()
    return now if time > now + CLOCKS_DIFFER else time


@dataclass(frozen=True, slots=True)
class Placement:
    """The result of placing a statement. ``edge``: the one in the graph now, which is the statement's own or the one
    that it collides with; None for a cycle, which ``closing`` closes. ``replaced``: the edge that was superseded or
    retired. ``ids``: those of the edge that the statement makes, confirms, retires, or would make if it collides."""

    status: Effect
    ids: TripleIds
    edge: Edge | None = None
    closing: Edge | None = None
    replaced: Edge | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """The additional data of a fact from a file, or from another name of its concept. ``by``: the importer, who did not
    state it; ``moved_from``: the fact under the other name, where it was said, with its ``support``."""

    by: Attribution
    last_confirmed: datetime
    is_corroborated: bool
    differences: Differences
    moved_from: Snapshot | None = None
    support: Sequence[Support] = ()


class SlotSet:
    """The slots of some triples, as the statements placed so far leave them. Nobody else can fill them until the end of
    the transaction. Call ``read``, then ``add`` before the first ``place``, and ``write`` after the last."""

    def __init__(
        self, triples: Iterable[Triple], *, known: Mapping[str, int] | None = None, is_import: bool = False
    ) -> None:
        """``known``: the ids of the words that exist, if they and their dimensions are locked. An import has many
        ``SlotSet`` in one transaction: it has locked the dimensions of all of them before, and marks concepts as novel
        after the last."""
        triples = set(triples)
        self._is_import = is_import
        dimensions = {one.dimension for one in triples}
        if known is None:
            words = {word for one in triples for word in (one.concept, one.parent, one.dimension)}
            known = store.lock_words(words, () if is_import else dimensions).ids
        self._known = {**known}
        self.concepts = {known[one.concept] for one in triples if one.concept in known}
        self._lowest = self.concepts | {known[one.parent] for one in triples if one.parent in known}
        self.dim_ids = {known[token] for token in dimensions if token in known}
        self.dimensions = {row.pk: row for row in with_splits(self.dim_ids)} if self.dim_ids else {}
        self.ids: dict[Triple, TripleIds] = {}
        self.edges = EdgesBySlot()
        self._support: dict[TripleIds, dict[Supporter, Support]] = {}
        self._changes = Changes()

    def add(self, triples: Iterable[Triple]) -> None:
        """Add the new words and dimensions of the triples that will be placed. Raises GraphChanged."""
        triples = list(triples)
        words = {word for one in triples for word in (one.concept, one.parent, one.dimension)}
        ids, added = store.add_words(words, self._known)
        self._words = {token: Soas(pk=pk, token=token) for token, pk in ids.items()}
        self.ids = {one: TripleIds(ids[one.concept], ids[one.dimension], ids[one.parent]) for one in triples}
        # Words, then dimensions, then edges: all writers lock in this order, which prevents deadlocks.
        is_isa = {self.ids[one].dim_id: one.is_isa for one in reversed(triples)}  # by the first triple of each
        if not {*ids.values()} <= added | {*self._known.values()}:
            raise GraphChanged("somebody else has just added a word")  # of which nothing was read
        for dim_id in sorted(is_isa.keys() - self.dimensions.keys()):
            self.dimensions[dim_id] = store.ensure_dimension(dim_id, is_isa=is_isa[dim_id])
        self._splits: dict[int, list[int]] = {dim_id: list(self._split(dim_id)) for dim_id in is_isa}

    def find_slot(self, triple: Triple) -> Slot | None:
        """Return the ids of the triple's slot, if its words are known."""
        concept_id, dim_id = self._known.get(triple.concept), self._known.get(triple.dimension)
        return (concept_id, dim_id) if concept_id is not None and dim_id is not None else None

    def find_standing(self, triple: Triple) -> Triple | None:
        """Return the fact in the triple's place: in its slot or, if the dimension keeps all, only the same one."""
        slot = self.find_slot(triple)
        found = self.edges.in_place(TripleIds(*slot, self._known.get(triple.parent, 0))) if slot is not None else None
        return found.fact if found is not None else None

    def _split(self, dim_id: int) -> Iterator[int]:
        """Yield the dimensions that were decomposed from this one, directly or through others."""
        # Sorted: if several contain a fact, the same one is confirmed each time.
        for split in sorted(pk for pk, row in self.dimensions.items() if row.split_from_id == dim_id):
            yield split
            yield from self._split(split)

    def supersedes(self, dim_id: int) -> bool:
        """True if the newer of two users' statements wins in this dimension."""
        return self._policy(dim_id) == Dimension.OnCollision.SUPERSEDE

    def keeps_all(self, dim_id: int) -> bool:
        """True if a slot in this dimension has room for many facts."""
        return self._policy(dim_id) == Dimension.OnCollision.KEEP_ALL

    def _policy(self, dim_id: int) -> str:
        row = self.dimensions.get(dim_id)
        return row.on_collision if row is not None else ""

    # --- reading ---

    def read(self, elsewhere: Iterable[int] = (), **more: Subquery) -> None:
        """Read and lock the slots, and everything above their concepts and parents, with which a cycle could be closed.
        ``elsewhere``: dimensions to which facts were moved, besides those that were split; ``more``: further columns of
        the edges."""
        dim_ids = [*{*self.dimensions, *elsewhere}]
        if not self._lowest or not dim_ids:
            return
        edges = Edge.objects.filter(concept_id__in=RawSQL(ABOVE, [[*self._lowest], dim_ids]), dim_id__in=dim_ids)
        edges = edges.annotate(**more).select_for_update(of=("self",)).order_by("edge_id")
        # An import shows few of its many edges in words.
        found = list(edges if self._is_import else edges.select_related("concept", "parent", "dim"))
        self.edges.add(found)
        self._read_support([edge for edge in found if edge.concept_id in self.concepts and not edge.is_root])

    def _read_support(self, edges: Sequence[Edge]) -> None:
        ids_of = {edge.pk: edge.ids for edge in edges}
        for row in store.select_support(edges) if edges else ():
            self._support.setdefault(ids_of[row.object_id], {})[row.supporter] = row
        for edge in edges:  # after a bulk load only the edge names its author
            author = store.build_support(supporter_of(edge.agent), edge.channel, edge.said_at)
            self._support.setdefault(edge.ids, {author.supporter: author})

    # --- the rules ---

    def place(self, assertion: Assertion, ruling: Ruling = NO_RULING, imported: Imported | None = None) -> Placement:
        """Place the fact, or take it out; or return what it collides with, and change nothing."""
        if imported is not None:
            return self._import(assertion, ruling, imported)
        judgement = self.judge(assertion, ruling)
        ids = self.ids[assertion.triple]
        fact = judgement.fact
        edges = self.edges.in_slot((ids.concept_id, fact.dim_id)).values() if fact is not None else ()
        found = next((edge for edge in edges if fact is not None and edge.parent.token == fact.parent), None)
        if found is not None and judgement.effect in (Effect.SUPERSEDED, Effect.RETIRED, Effect.CONFLICT):
            # The dimension of the fact, which may differ from the one that was said.
            is_retraction = assertion.manner.kind is SpeechAct.RETRACTS
            ids = TripleIds(ids.concept_id, found.dim_id, found.parent_id if is_retraction else ids.parent_id)
        match judgement.effect:
            case Effect.INSERTED | Effect.SUPERSEDED:
                return self._put(assertion, ids, found)
            case Effect.RETIRED:
                assert found is not None
                return self._retire(found, ids, assertion.attribution)
            case Effect.CONFIRMED:
                assert found is not None
                self._confirm(found, assertion.attribution, is_exact=judgement.is_exact)
                return Placement(Effect.CONFIRMED, ids, found)
            case Effect.CONFLICT if found is None:
                return Placement(Effect.CONFLICT, ids, closing=self._find_closing(ids))
            case _:
                return Placement(judgement.effect, ids, found)

    def judge(self, assertion: Assertion, ruling: Ruling = NO_RULING) -> Judgement:
        triple, said = assertion.triple, assertion.attribution
        ids = self.ids[triple]
        splits = [dim_id for dim_id in self._splits[ids.dim_id] if dim_id != ruling.moved_to]
        others = tuple(d for d in ruling.others if d not in (ids.dim_id, ruling.moved_to, *splits))
        dims = dict.fromkeys((ids.dim_id, ruling.moved_to, *splits, *others))
        edges = [e for d in dims if d is not None for e in self.edges.in_slot((ids.concept_id, d)).values()]
        # By its present name, in case it was merged since the statement was read.
        parent = next((edge.parent.token for edge in edges if edge.parent_id == ids.parent_id), triple.parent)
        edges = [
            e for e in edges if not e.is_additive or e.is_root or is_about(e.parent.token, parent, assertion.manner)
        ]
        words = {parent: ids.parent_id} | {edge.parent.token: edge.parent_id for edge in edges}
        at = said.at.timestamp()
        return judge(
            NewFact(ids.dim_id, parent, said.channel, assertion.manner, at, said.is_dated, is_heard=bool(said.role)),
            [
                StandingFact(
                    edge.dim_id,
                    edge.parent.token,
                    edge.channel,
                    edge.is_root,
                    _past(edge.said_at).timestamp(),
                    is_own=said.supporter in self._list_supporters(edge),
                    is_sole=self._list_supporters(edge) == [said.supporter] and not edge.is_corroborated,
                    is_additive=edge.is_additive,
                )
                for edge in edges
            ],
            ConceptSurroundings(self.edges, ids.concept_id, words),
            ruling=ruling._replace(others=others),
            supersedes=self.supersedes(ids.dim_id),
            keeps_all=self.keeps_all(ids.dim_id),
        )

    def _list_supporters(self, edge: Edge) -> list[Supporter]:
        return [supporter for supporter, row in self._support.get(edge.ids, {}).items() if not row.is_partial]

    def _import(self, assertion: Assertion, ruling: Ruling, imported: Imported) -> Placement:
        ids, said = self.ids[assertion.triple], assertion.attribution
        existing = self.edges.in_place(ids)
        if existing is not None and existing.is_root:
            return Placement(Effect.INVALID, ids, existing)
        is_moved = imported.moved_from is not None  # then it was said, under another name
        for dim_id in filter(None, (ids.dim_id, *self._splits[ids.dim_id], ruling.moved_to)):
            edge = self.edges.in_slot((ids.concept_id, dim_id)).get(ids.parent_id)
            if edge is not None and not edge.is_root:
                if is_moved:
                    self._confirm(edge, said, imported.support, is_exact=True)
                return Placement(Effect.CONFIRMED, ids, edge)
        if ruling.keeps_out and said.source not in DELIBERATE:
            return Placement(Effect.DECIDED, ids, existing)
        if existing is not None and imported.differences != "take":
            if imported.differences == "keep" or not self.supersedes(ids.dim_id):
                return Placement(Effect.CONFLICT, ids, existing)
            if is_moved and is_weaker(said.channel, existing.channel):
                return Placement(Effect.CONFLICT, ids, existing)  # newer words do not displace stronger ones
            if said.at < _past(existing.said_at):
                return Placement(Effect.OUTDATED, ids, existing)
        if (closing := self._find_closing(ids)) is not None:
            return Placement(Effect.CONFLICT, ids, closing=closing)
        return self._put(assertion, ids, existing, imported)

    def _find_closing(self, ids: TripleIds) -> Edge | None:
        # A superseded fact is no step of a cycle: the way up would have to begin with the concept itself.
        slots = self.edges.in_slot
        return store.find_closing_edge(ids, lambda level: [e for at in level for e in slots((at, ids.dim_id)).values()])

    def _put(
        self, assertion: Assertion, ids: TripleIds, replaced: Edge | None, imported: Imported | None = None
    ) -> Placement:
        triple, attribution = assertion.triple, assertion.attribution
        is_elsewhere = replaced is not None and ids.dim_id != self.ids[triple].dim_id
        # A moved fact says what those that moved it have made of it.
        is_isa = replaced.is_isa if replaced is not None and is_elsewhere else triple.is_isa
        edge = store.new_edge(ids, is_isa, attribution)
        edge.concept, edge.parent = self._words[triple.concept], self._words[triple.parent]
        edge.dim = replaced.dim if replaced is not None and is_elsewhere else self._words[triple.dimension]
        edge.is_additive = replaced.is_additive if replaced is not None else self.keeps_all(ids.dim_id)
        if imported is not None:
            edge.last_confirmed, edge.is_corroborated = imported.last_confirmed, imported.is_corroborated
        noted = imported.by if imported is not None else attribution
        if replaced is not None:
            self._drop(replaced)
        self._changes.new[edge.place] = edge
        self.edges.add([edge])
        self._support[ids] = {}
        own = store.build_support(attribution.supporter, attribution.channel, attribution.heard_at)
        for row in imported.support if imported is not None and imported.support else (own,):
            self._keep_support(edge, row)
        if replaced is None:
            moved_from = imported.moved_from if imported is not None else None
            self._note(Action.INSERT if moved_from is None else Action.MOVE, edge, noted, moved_from)
            return Placement(Effect.INSERTED, ids, edge)
        self._note(Action.SUPERSEDE, edge, noted, take_snapshot(replaced, KEYED_FIELDS))
        return Placement(Effect.SUPERSEDED, ids, edge, replaced=replaced)

    def _retire(self, edge: Edge, ids: TripleIds, attribution: Attribution) -> Placement:
        self._drop(edge)
        row = store.build_history(
            Action.RETIRE, edge, attribution, before=take_snapshot(edge, KEYED_FIELDS), after=None
        )
        self._changes.history.append(row)
        return Placement(Effect.RETIRED, ids, replaced=edge)

    def _drop(self, edge: Edge) -> None:
        self._changes.drop(edge)
        self.edges.drop(edge)
        self._support.pop(edge.ids, None)

    def add_supporters(self, edge: Edge, rows: Iterable[Support]) -> None:
        """Let others support a fact that was placed."""
        for row in rows:
            if row.supporter not in self._support[edge.ids]:
                self._keep_support(edge, row)

    def _keep_support(self, edge: Edge, row: Support) -> None:
        self._support[edge.ids][row.supporter] = row
        self._changes.support[edge.ids, row.supporter] = edge, row

    def _confirm(
        self, edge: Edge, attribution: Attribution, support: Sequence[Support] = (), *, is_exact: bool
    ) -> None:
        """Update the times. Another supporter raises the confidence. A statement of less than the fact (not
        ``is_exact``) does not vouch for the rest."""
        before = take_snapshot(edge)
        known, supporters = self._support[edge.ids], self._list_supporters(edge)
        row = known.get(attribution.supporter)
        edge.last_confirmed = max(_past(edge.last_confirmed), attribution.at)
        edge.said_at = max(_past(edge.said_at), attribution.at)
        if not any(attribution.supporter.may_be(other) for other in known):
            edge.confidence = max(corroborate(edge.confidence), attribution.confidence)
        vouching = [*([attribution.supporter] if is_exact else ()), *(row.supporter for row in support)]
        edge.is_corroborated |= any(not any(new.may_be(one) for one in supporters) for new in vouching)
        for other in support:
            if other.supporter not in known:
                self._keep_support(edge, other)
        if is_exact and is_weaker(edge.channel, attribution.channel):
            edge.channel = attribution.channel
        # A fact that was read somewhere and is now stated on purpose becomes a stated one.
        if is_exact and attribution.source in DELIBERATE and edge.source not in DELIBERATE:
            edge.source, edge.agent = attribution.source, attribution.agent
            edge.confidence = max(edge.confidence, attribution.confidence)
        if edge.pk is not None:
            self._changes.changed[edge.pk] = edge
        # The history need not grow with every repeat: one row a day is enough if only the times have changed.
        now = timezone.now()
        noted = row.confirmed_at if row is not None else None
        is_noted = noted is not None and noted > now - CONFIRMATION_IS_NOTED_EVERY
        is_stronger = row is not None and is_weaker(row.channel, attribution.channel)
        is_fuller = row is not None and row.is_partial and is_exact
        if (
            is_noted
            and not is_stronger
            and not is_fuller
            and (edge.confidence, edge.source) == (before["confidence"], before["source"])
        ):
            return
        self._note(Action.CONFIRM, edge, attribution, before)
        if row is None:
            row = store.build_support(attribution.supporter, attribution.channel, attribution.heard_at)
            row.is_partial = True
        row.is_partial &= not is_exact
        row.channel = attribution.channel if is_stronger else row.channel
        row.confirmed_at = now
        self._keep_support(edge, row)

    def _note(self, action: Action, edge: Edge, attribution: Attribution, before: Snapshot | None) -> None:
        row = store.build_history(action, edge, attribution, before=before, after=take_snapshot(edge))
        self._changes.history.append(row)

    def write(self, *also: Write) -> None:
        """Write the changes, and with them what others write. Raises GraphChanged if a slot was filled meanwhile, and
        IntegrityError (``urd_acyclic``)."""
        changes, self._changes = self._changes, Changes()
        is_novel = changes.new and not self._is_import
        changes.write(*also, *([store.novel(place[0] for place in changes.new)] if is_novel else ()))
