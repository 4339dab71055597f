"""Quarantines an agent: takes it out of the support of facts and memories. What nobody else supports becomes a
candidate; what the agent had superseded or retracted returns where its place is free. A run with a decision for each
concept and memory records the changes, and is undone like any other. A person who is forgotten leaves the support of
facts in the same way, but no candidates."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from django.db import connection
from django.db.models import Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils import timezone

from memory.attribution.client_names import Supporter, is_one_of_address, voice_of
from memory.channels import STRONGEST_FIRST, SURE, Channel, is_weaker
from memory.db.connections import chunks, run_together
from memory.db.transactions import in_transaction
from memory.english.phrases import format_count
from memory.graph import store
from memory.graph.snapshots import KEYED_FIELDS, Snapshot, take_snapshot
from memory.graph.store import Assertion, Attribution
from memory.memories import store as memories
from memory.memories.comparing import find_rivals
from memory.memories.forgetting import SHOWN, ForgetScope, Part
from memory.memories.store import Change
from memory.models import Alias, Edge, EdgeHistory, Memory, MemoryHistory, Soas, Source, Support
from memory.timing import FIRST_DATED
from memory.types import TripleIds
from resolution.actors import Actor
from resolution.conflicts import rulings
from resolution.conflicts.change_log import recording
from resolution.conflicts.detection import detect_memory
from resolution.conflicts.members import change_of
from resolution.conflicts.memories import close_moot_conflicts
from resolution.conflicts.queue import OPEN, recheck_claims
from resolution.intake.candidates import QUARANTINED, CandidateBook
from resolution.memories.setting_aside import clear_sentences
from resolution.models import Candidate, Claim, DecidedTriple, Decision, DecisionChange, Run

FORGOTTEN: Final = "Its speaker was forgotten."
PORTION: Final = 100  # rows in one transaction
UNDATED: Final = Q(said_at__lt=datetime.fromtimestamp(FIRST_DATED, UTC))
IDS: Final = ("concept_id", "dim_id", "parent_id")
HOLDING: Final = (Memory.Status.ACTIVE, Memory.Status.DEPRECATED)
# The source of what is stated through a channel.
SOURCES: Final = {Channel.OPERATOR: Source.OPERATOR, Channel.GUTASK: Source.GUTASK, Channel.EXPLAINED: Source.CLOUD_LLM}
Action, MemoryAction = EdgeHistory.Action, MemoryHistory.Action
# Changes by which somebody vouches for a memory. A restore without a status only ends a dispute.
VOUCHING: Final = Q(action__in=[MemoryAction.CONFIRM, MemoryAction.PROMOTE, MemoryAction.EDIT]) | Q(
    action=MemoryAction.RESTORE, after__has_key="status"
)


@dataclass(frozen=True, slots=True)
class Suspect:
    """A fact that the agent supports, by ``removed``. ``others`` support it, too, the strongest first; if there are
    none, the fact that it ``replaced`` returns."""

    edge: Edge
    removed: Sequence[Support]
    others: Sequence[Support]
    replaced: Snapshot | None = None

    @property
    def voucher(self) -> Support | None:
        return self.others[0] if self.others else None

    @property
    def words(self) -> str:
        """The sentence in which it was last stated."""
        return getattr(self.edge, "words", None) or ""


@dataclass(frozen=True, slots=True)
class SuspectMemory:
    """A memory that the agent brought. ``voucher`` is the strongest independent statement of it; ``replaced`` are
    memories of others that it replaced."""

    memory: Memory
    voucher: MemoryHistory | None = None
    replaced: Sequence[Memory] = ()


@dataclass(slots=True)
class Suspects:
    """The rows that are there because of an agent. ``facts`` and ``memories`` with a voucher stay. ``retracted``: the
    rows of the history, newest first, in which the agent retracted facts of others."""

    facts: Sequence[Suspect]
    claims: Sequence[Claim]
    retracted: Sequence[EdgeHistory]
    names: Sequence[Alias]
    memories: Sequence[SuspectMemory]

    def __bool__(self) -> bool:
        return bool(self.facts or self.claims or self.retracted or self.names or self.memories)

    @property
    def unvouched(self) -> list[Suspect]:
        return [one for one in self.facts if one.voucher is None]

    @property
    def unvouched_memories(self) -> list[SuspectMemory]:
        return [one for one in self.memories if one.voucher is None]

    def describe(self) -> str:
        """Return what becomes candidates, such as "3 facts and 1 memory"."""
        facts = format_count(len(self.unvouched), "fact")
        count = len(self.unvouched_memories)
        return f"{facts} and {format_count(count, 'memory', 'memories')}" if count else facts


# --- finding ---


def find_suspects(agent: str, since: datetime | None = None) -> Suspects:
    """Find what is there because this agent said it, optionally only what it first said since then."""
    claims = _find_claims(agent)
    names = Alias.objects.filter(agent=agent).exclude(channel=Channel.OPERATOR)
    # Aliases that its renamings have left stay: each renaming is a run of its own.
    renamed = Decision.objects.filter(kind=Decision.Kind.MERGE, actor=agent, undone_by=None)
    names = names.exclude(soas__token__in=list(renamed.values_list("arguments__concept", flat=True)))
    if since is not None:
        # Statements without a date, from before the conversation was first read, count from when they were read.
        claims = claims.filter(Q(said_at__gte=since) | UNDATED & Q(created_at__gte=since))
        names = names.filter(at__gte=since)
    finder = _Finder(agent, since)
    return Suspects(
        finder.find_facts(),
        list(claims.select_related("concept", "dim", "incoming_parent").order_by("pk")),
        finder.find_retracted(),
        list(names.select_related("soas", "concept").order_by("pk")),
        _find_memories(agent, since),
    )


def _find_claims(agent: str) -> QuerySet[Claim]:
    return Claim.objects.filter(agent=agent, status__in=OPEN).exclude(incoming_source=Source.OPERATOR)


@dataclass(slots=True)
class _Finder:
    agent: str
    since: datetime | None = None
    person: str = ""  # behind the agent, or behind any; empty: all of the agent
    _support: dict[int, list[Support]] = field(default_factory=dict)  # of facts, also of earlier ones

    def find_facts(self) -> list[Suspect]:
        named = {"agent": voice_of(self.agent), "person": self.person}
        own = Support.objects.filter(kind=Support.Kind.EDGE, **{name: one for name, one in named.items() if one})
        keys = [row.object_id for row in own if self._is_removed(row)]
        edges = list(_with_words(Edge.objects.filter(pk__in=keys)).order_by("concept_id", "dim_id"))
        self._read_support(keys)
        decided = _find_decided(keys)
        replaced = self._find_replaced(edges)
        found = []
        for edge in edges:
            removed = [row for row in self._support[edge.pk] if self._is_removed(row)]
            others = [*decided.get(edge.pk, ()), *self._find_others(edge.pk, edge.agent)]
            before = replaced.get(edge.ids) if not others else None
            found.append(
                Suspect(
                    edge, removed, sorted(others, key=lambda row: STRONGEST_FIRST.index(Channel(row.channel))), before
                )
            )
        return found

    def find_retracted(self) -> list[EdgeHistory]:
        """Return retractions of facts that others support, if nobody else has said anything about the slot since."""
        later = EdgeHistory.objects.filter(concept=OuterRef("concept"), dim=OuterRef("dim"), pk__gt=OuterRef("pk"))
        rows = EdgeHistory.objects.filter(
            ~Exists(later.exclude(actor=self.agent).exclude(action=Action.CONFIRM)),
            action=Action.RETIRE, actor=self.agent, before__isnull=False,
        ).exclude(source__in=[Source.OPERATOR, Source.FESTINGER])  # fmt: skip
        rows = rows.filter(at__gte=self.since) if self.since is not None else rows
        found = list(rows.select_related("concept", "dim").order_by("-pk"))
        self._read_support(_key_of(row.before) for row in found)
        return [row for row in found if not self._is_own(row.before)]

    def _find_replaced(self, edges: Sequence[Edge]) -> dict[TripleIds, Snapshot]:
        """Return what these facts have replaced, also through chains of the agent's own facts."""
        rows = EdgeHistory.objects.filter(
            action=Action.SUPERSEDE, concept_id__in={edge.concept_id for edge in edges},
            dim_id__in={edge.dim_id for edge in edges}, before__isnull=False, after__isnull=False,
        )  # fmt: skip
        before = {
            TripleIds(row.concept_id, row.dim_id, (row.after or {})["parent_id"]): row.before or {}
            for row in rows.order_by("pk")
        }
        self._read_support(map(_key_of, before.values()))
        found = {}
        for edge in edges:
            at, passed = before.get(edge.ids), {edge.parent_id}
            while at is not None and self._is_own(at) and at["parent_id"] not in passed:
                passed.add(at["parent_id"])
                at = before.get(edge.ids._replace(parent_id=at["parent_id"]))
            if at is not None and not self._is_own(at):
                found[edge.ids] = at
        return found

    def _read_support(self, keys: Iterable[int]) -> None:
        missing = set(keys) - self._support.keys()
        self._support |= {key: [] for key in missing}
        for row in Support.objects.filter(kind=Support.Kind.EDGE, object_id__in=missing).order_by("pk"):
            self._support[row.object_id].append(row)

    def _is_removed(self, row: Support) -> bool:
        is_own = not self.agent or row.agent == voice_of(self.agent)
        is_own = is_own and (not self.person or row.person == self.person) and row.channel != Channel.OPERATOR
        return is_own and (self.since is None or row.said_at >= self.since)

    def _find_others(self, key: int, author: str) -> list[Support]:
        """Return who else supports the fact: not a model that repeats what it was told."""
        rows = [row for row in self._support.get(key, ()) if not self._is_removed(row) and not row.is_partial]
        return [row for row in rows if row.channel in SURE or row.agent == voice_of(author)]

    def _is_own(self, fact: Snapshot | None) -> bool:
        """True if nobody else supports the earlier fact."""
        if fact is None or self._support[_key_of(fact)]:
            return fact is None or not self._find_others(_key_of(fact), fact["agent"])
        return bool(fact["agent"] == self.agent)  # from before supporters had rows


def _key_of(fact: Snapshot | None) -> int:
    return (fact or {}).get("edge_id") or 0


def _with_words(edges: QuerySet[Edge]) -> QuerySet[Edge]:
    said = EdgeHistory.objects.filter(concept=OuterRef("concept"), dim=OuterRef("dim")).exclude(reason="")
    said = said.exclude(action=Action.RETIRE).annotate(of=Cast(KT("after__parent_id"), IntegerField()))
    words = said.filter(of=OuterRef("parent")).order_by("-pk").values("reason")[:1]
    return edges.exclude(concept=F("parent")).select_related(*store.WORDS).annotate(words=Subquery(words))


def _find_decided(keys: Collection[int]) -> dict[int, list[Support]]:
    """Return the operators whose decisions put these facts in the graph: they vouch for them."""
    made = DecisionChange.objects.filter(table_name="urd", key__in=keys, decision__undone_by=None)
    made = made.filter(before__isnull=True, decision__source=Source.OPERATOR)
    made = made.exclude(decision__kind=Decision.Kind.UNDO).exclude(decision__claim=None, decision__conflict=None)
    return {
        key: [store.build_support(Supporter(actor), Channel.OPERATOR, at)]
        for key, actor, at in made.values_list("key", "decision__actor", "decision__at")
    }


def _find_memories(agent: str, since: datetime | None) -> list[SuspectMemory]:
    own = Memory.objects.filter(agent=agent).exclude(source=Memory.Source.OPERATOR).defer("lexemes")
    own = own.filter(created_at__gte=since) if since is not None else own
    found = []
    for memory in own.filter(status__in=HOLDING).order_by("pk"):
        # Changes of a run, such as a consolidation or a quarantine, vouch for nothing.
        said = memory.history.filter(VOUCHING, run=None, channel__in=SURE).order_by("pk")
        vouchers = [row for row in said if row.channel == Channel.OPERATOR or voice_of(row.actor) != voice_of(agent)]
        strongest = max(vouchers, key=lambda row: SURE[Channel(row.channel)], default=None)
        found.append(SuspectMemory(memory, strongest, () if strongest is not None else _find_replaced(memory, own)))
    return found


def _find_replaced(memory: Memory, own: QuerySet[Memory]) -> list[Memory]:
    """Return what the memory replaced, also through chains of the agent's own memories, which are quarantined, too."""
    found: list[Memory] = []
    steps, seen = [memory.pk], {memory.pk}
    while steps:
        rows = Memory.objects.filter(Q(superseded_by__in=steps) | Q(merged_into__in=steps)).exclude(pk__in=seen)
        before = list(rows.defer("lexemes").order_by("-said_at", "-pk"))
        seen |= {row.pk for row in before}
        steps = list(own.filter(pk__in=[row.pk for row in before]).values_list("pk", flat=True))
        found += [row for row in before if row.pk not in steps]
    return found


# --- taking out ---


def describe_quarantine(agent: str, since: datetime | None) -> str:
    """Return the note of the run, which is also the reason in the history."""
    when = f" since {timezone.localtime(since):%Y-%m-%d %H:%M}" if since is not None else ""
    return f"Quarantine of {agent}{when}"


def quarantine(found: Suspects, actor: Actor, trigger: Run.Trigger, note: str) -> Run:
    """Quarantine what was found, in portions, each in its own transaction."""
    run = Run.objects.create(
        trigger=trigger, actor=actor.signature, mode="", status=Run.Status.DONE, note=note,
        conflicts_total=len(found.claims), conflicts_seen=len(found.claims), ended_at=timezone.now(),
    )  # fmt: skip
    steps: Sequence[tuple[Sequence[Any], Callable[[Any, Actor, str], int]]] = (
        (found.facts, _take_facts_out), (found.claims, _dismiss_claims), (found.retracted, _put_retracted_back),
        (found.names, _end_names), (found.memories, _take_memories_out),
    )  # fmt: skip
    by_run = replace(actor, run=run)
    _, _, restored, names, _ = [sum(act(some, by_run, note) for some in chunks(rows, PORTION)) for rows, act in steps]
    facts, doubted = len(found.unvouched), len(found.unvouched_memories)
    rare = {"restored": restored, "names": names, "memories": doubted, "memories_kept": len(found.memories) - doubted}
    counts = {"quarantined": facts, "kept": len(found.facts) - facts, "dismiss": len(found.claims)}
    counts |= {name: count for name, count in rare.items() if count}
    Run.objects.filter(pk=run.pk).update(counts=counts, ended_at=timezone.now())
    run.refresh_from_db()
    return run


@in_transaction
def _take_facts_out(suspects: Sequence[Suspect], actor: Actor, note: str) -> int:
    store.lock_dimensions(one.edge.dim_id for one in suspects)
    # Read them again: facts that have changed since they were found are left alone.
    current = set(Edge.objects.filter(pk__in=[one.edge.pk for one in suspects]).values_list("pk", "agent", "parent_id"))
    by_concept: dict[Soas, list[Suspect]] = defaultdict(list)
    for one in suspects:
        if (one.edge.pk, one.edge.agent, one.edge.parent_id) in current:
            by_concept[one.edge.concept].append(one)
    # A decision for each concept: a later change of one does not block the undo of the others.
    for concept, some in by_concept.items():
        with recording(Decision.Kind.QUARANTINE, actor, note, arguments={"concept": concept.token}):
            _take_out(some, actor.attribute(note))
    return len(current)


def _take_out(suspects: Sequence[Suspect], by: Attribution, *, is_forgotten: bool = False) -> None:
    Support.objects.filter(pk__in=[row.pk for one in suspects for row in one.removed]).delete()
    gone = [one for one in suspects if one.voucher is None]
    noted = store.noted(
        store.build_history(Action.RETIRE, one.edge, by, before=take_snapshot(one.edge, KEYED_FIELDS), after=None)
        for one in gone
    )
    run_together(noted)
    store.delete_edges(one.edge.pk for one in gone)
    if not is_forgotten:  # The agent cannot bring a fact back by saying it again; anybody else can.
        rulings.remember({one.edge.ids: {one.edge.agent} for one in gone}, DecidedTriple.Kind.RETIRED)
    _keep([one for one in suspects if one.voucher is not None], by)
    for one in gone:
        if one.replaced is not None:
            _put_back(one.replaced, by)
        recheck_claims((one.edge.concept_id, one.edge.dim_id), place_first=True)
    if is_forgotten:
        return
    _note_candidates(
        Assertion(
            one.edge.fact,
            Attribution(
                one.edge.agent, Source(one.edge.source), one.edge.confidence, one.edge.said_at, one.words,
                channel=one.edge.channel,
            ),
        )
        for one in gone
    )  # fmt: skip


def _keep(suspects: Collection[Suspect], by: Attribution) -> None:
    """Leave facts to those who support them, too; a fact that only the agent had stated first is theirs now."""
    history = []
    for one in suspects:
        edge, voucher, before = one.edge, one.others[0], take_snapshot(one.edge)
        edge.is_corroborated = any(not row.supporter.may_be(voucher.supporter) for row in one.others)
        edge.channel = voucher.channel if is_weaker(voucher.channel, edge.channel) else edge.channel
        if voice_of(edge.agent) in {row.agent for row in one.removed}:
            edge.agent, edge.channel = voucher.agent, voucher.channel
            edge.source = SOURCES.get(Channel(voucher.channel), Source.INFERRED)
            edge.confidence = min(edge.confidence, SURE.get(Channel(voucher.channel), 1.0))
        if (after := take_snapshot(edge)) != before:
            history.append(store.build_history(Action.UNDO, edge, by, before=before, after=after))
    if history:
        run_together(store.updated(one.edge for one in suspects), store.noted(history))


def _put_back(snapshot: Snapshot, by: Attribution) -> bool:
    """Put the fact back under the present names of its words. Returns False if its place is taken."""
    own = _find_concepts(snapshot[name] for name in IDS)
    snapshot = snapshot | {name: own.get(snapshot[name], snapshot[name]) for name in IDS}
    ids = TripleIds(snapshot["concept_id"], snapshot["dim_id"], snapshot["parent_id"])
    is_possible = len(set(ids)) == len(ids) and Soas.objects.filter(pk__in=ids).count() == len(ids)
    if not is_possible or store.lock_edge(ids) is not None or store.find_closing_edge(ids) is not None:
        return False
    store.put_back(snapshot, by)
    return True


def _find_concepts(ids: Iterable[int]) -> Mapping[int, int]:
    """Map the ids of aliases among these to their concepts."""
    return dict(Alias.objects.filter(pk__in=set(ids)).values_list("pk", "concept_id"))


def _note_candidates(said: Iterable[Assertion]) -> None:
    said = list(said)
    book = CandidateBook(one.triple for one in said)
    for assertion in said:
        book.note(assertion, QUARANTINED)
    book.write()


def forget_facts(selection: ForgetScope, is_trial: bool) -> Iterator[Part]:
    """Take a speaker who is forgotten out of the support of facts, and their words out of the history. What nobody else
    supports is retired, and can be restored. Yields what is retired, and what stays."""
    found = _Finder(selection.agent, person=selection.person).find_facts()
    if is_one_of_address(selection.agent, selection.person):
        found = [one for one in found if one.edge.agent == selection.agent]
    for stays in ("", "others have stated it, too"):
        facts = [one.edge for one in found if (one.voucher is not None) == bool(stays)]
        yield Part("fact", len(facts), tuple(map(str, facts[:SHOWN])), stays)
    # A claim does not name the person behind its agent.
    claims = Claim.objects.none() if selection.person else _find_claims(selection.agent)
    rows = list(claims.select_related("concept", "dim", "incoming_parent"))
    yield Part("claim", len(rows), tuple(str(row.fact) for row in rows[:SHOWN]))
    if not is_trial:
        clear_sentences(selection)
        store.lock_dimensions({one.edge.dim_id for one in found} | {row.dim_id for row in rows})
        _dismiss(claims, FORGOTTEN)
        _take_out(found, Actor("festinger", Source.FESTINGER).attribute(FORGOTTEN), is_forgotten=True)
        _forget_log(selection, [one.edge.pk for one in found])
        if not selection.person:
            Candidate.objects.filter(voices__0__0=selection.agent, voices__1__isnull=True).delete()


def _forget_log(selection: ForgetScope, taken_out: Sequence[int]) -> None:
    """Forget in the log of decisions what the speaker supported or stated, so that no undo brings it back under their
    name. ``taken_out``: the keys of facts that they supported until now."""
    named = {"agent": voice_of(selection.agent), "person": selection.person}
    who = {name: one for name, one in named.items() if one}
    supported = DecisionChange.objects.filter(table_name=Support._meta.db_table)
    supported = supported.filter(Q(before__contains=who) | Q(after__contains=who))
    stated = DecisionChange.objects.filter(table_name=Edge._meta.db_table)
    own = Support.objects.filter(~Exists(Edge.objects.filter(pk=OuterRef("object_id"))), **who)
    own = own.exclude(channel=Channel.OPERATOR)
    claimed = DecisionChange.objects.none()
    if selection.agent:
        author = {"agent": selection.agent}
        of_author = Q(before__contains=author) | Q(after__contains=author)
        stated = stated.filter(of_author)
        if not selection.person:
            claimed = DecisionChange.objects.filter(of_author, table_name=Claim._meta.db_table)
    if is_one_of_address(selection.agent, selection.person):
        keys = list(stated.values_list("key", flat=True))
        supported = supported.filter(Q(before__object_id__in=keys) | Q(after__object_id__in=keys))
        own = own.filter(object_id__in=keys)
    elif selection.person:
        keys = [(row.after or row.before or {})["object_id"] for row in supported]
        stated = stated.filter(key__in=[*keys, *own.values_list("object_id", flat=True), *taken_out])
    own.delete()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL festinger.redacting = 'on'")  # the triggers of append-only tables respect it
        for rows in (supported, stated, claimed):
            rows.update(before=None, after=None, is_forgotten=True)
        cursor.execute("SET LOCAL festinger.redacting = 'off'")


@in_transaction
def _dismiss_claims(claims: Sequence[Claim], actor: Actor, note: str) -> int:
    store.lock_dimensions(row.dim_id for row in claims)
    rows = Claim.objects.select_for_update().filter(pk__in=[row.pk for row in claims], status__in=OPEN)
    waiting = set(rows.values_list("pk", flat=True))
    by_concept: dict[Soas, list[Claim]] = defaultdict(list)
    for row in claims:
        if row.pk in waiting:
            by_concept[row.concept].append(row)
    for concept, some in by_concept.items():
        with recording(Decision.Kind.QUARANTINE, actor, note, arguments={"concept": concept.token}):
            _dismiss(Claim.objects.filter(pk__in=[row.pk for row in some]), note)
            stated = [row for row in some if not row.is_retraction]
            rulings.remember({row.incoming: {row.agent} for row in stated}, DecidedTriple.Kind.DISMISSED)
            _note_candidates(Assertion(row.fact, row.attribution) for row in stated)
    return len(waiting)


def _dismiss(claims: QuerySet[Claim], note: str) -> None:
    claims.update(
        status=Claim.Status.DISMISSED, resolution={"reason": note}, resolved_at=timezone.now(), claimed_until=None
    )


@in_transaction
def _put_retracted_back(rows: Sequence[EdgeHistory], actor: Actor, note: str) -> int:
    """Put back facts that the agent retracted, and return how many it put back."""
    dim_ids = {row.dim_id for row in rows}
    store.lock_dimensions(dim_ids | set(_find_concepts(dim_ids).values()))
    count = 0
    for row in rows:
        with recording(Decision.Kind.QUARANTINE, actor, note, arguments={"concept": row.concept.token}):
            count += row.before is not None and _put_back(row.before, actor.attribute(note))
            recheck_claims((row.concept_id, row.dim_id), place_first=False)
    return count


@in_transaction
def _end_names(aliases: Sequence[Alias], actor: Actor, note: str) -> int:
    for row in aliases:
        with recording(Decision.Kind.QUARANTINE, actor, note, arguments={"concept": row.soas.token}):
            row.delete()
    return len(aliases)


@in_transaction
def _take_memories_out(suspects: Sequence[SuspectMemory], actor: Actor, note: str) -> int:
    by = replace(change_of(actor, note), run=actor.run.pk if actor.run is not None else None)
    for one in suspects:
        # Read it again: a memory that has changed since it was found is left alone.
        rows = Memory.objects.select_for_update(of=("self",)).filter(pk=one.memory.pk, status__in=HOLDING)
        memory = rows.filter(agent=one.memory.agent, text=one.memory.text).first()
        if memory is None:
            continue
        # The decision does not have the text, which may be forgotten later.
        with recording(Decision.Kind.QUARANTINE, actor, note, arguments={"memory": memory.pk}):
            if one.voucher is not None:
                channel = Channel(one.voucher.channel)
                sure = min(memory.confidence, SURE[channel])
                memories.change(memory, MemoryAction.QUARANTINE, by, channel=channel, confidence=sure)
            else:
                memories.halve_confidence(memory, by)
                _put_memories_back(one.replaced, by)
            keys = {row.pk for row in (memory, *one.replaced)}
            disputes = MemoryHistory.objects.filter(action=MemoryAction.DISPUTE, after__beside__in=list(keys))
            close_moot_conflicts(keys | set(disputes.values_list("memory", flat=True)))
    return len(suspects)


def _put_memories_back(replaced: Sequence[Memory], by: Change) -> None:
    """Restore what was replaced, newest first: once one holds again, its place is taken for those that contradict
    it."""
    for old in replaced:
        memory = Memory.objects.select_for_update(of=("self",)).get(pk=old.pk)
        is_gone = memory.status in (Memory.Status.SUPERSEDED, Memory.Status.MERGED_INTO)
        if is_gone and not find_rivals(memory):
            memories.restore(memory, by)
            detect_memory(memory)
