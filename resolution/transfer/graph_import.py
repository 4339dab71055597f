"""Imports a file's facts, aliases and rulings, in portions, by the same rules and writers as statements and
decisions. All functions run inside the caller's transaction, which holds the locks of the dimensions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from django.db.models import Q
from django.utils import timezone

from memory.attribution.client_names import choose_remembered
from memory.db.connections import chunks, run_together
from memory.graph import store
from memory.graph.judging import Effect, Ruling
from memory.graph.placement import Differences, Imported, Placement, SlotSet
from memory.graph.store import Assertion, Attribution
from memory.models import Alias, Edge, Soas
from memory.types import Slot, TripleIds
from resolution.conflicts import rulings
from resolution.conflicts.queue import OpenClaims, recheck_claims
from resolution.models import DecidedTriple
from resolution.transfer.lines import AliasLine, DecidedLine, FactLine
from resolution.transfer.report import Report

# More than 2,000 rows in one statement are announced as one reload (sql/functions.sql), and no portion of a
# large import should make the caches read its rows one by one.
FACTS_AT_ONCE: Final = 5_000
LINES_AT_ONCE: Final = 1_000

PLACED: Final[Mapping[str, str]] = {
    "inserted": "new", "confirmed": "same", "superseded": "taken", "outdated": "outdated",
}  # fmt: skip

NumberedFact = tuple[int, FactLine]


class GraphImport:
    """The import of the graph. ``by`` is the importer as the history names them; ``report`` counts the outcomes."""

    def __init__(self, by: Attribution, differences: Differences, report: Report) -> None:
        self._by = by
        self._differences: Differences = differences
        self._report = report
        self._now = timezone.now()
        self._concepts: set[int] = set()  # concepts of placed facts
        self._disputed: set[Slot] = set()  # slots of placed facts with open claims

    def add_aliases(self, lines: Iterable[AliasLine]) -> None:
        """Add the aliases whose word has no facts and no concept here."""
        for portion in chunks(lines, LINES_AT_ONCE):
            concept_of = store.ensure_tokens(word for line in portion for word in line.words())
            words = dict(Soas.objects.filter(token__in=[line.alias for line in portion]).values_list("token", "pk"))
            ids = set(words.values())
            used = {*Alias.objects.filter(Q(pk__in=ids) | Q(concept__in=ids)).values_list("pk", "concept")}
            taken = {word for pair in used for word in pair}
            for name in ("concept", "parent", "dim"):
                taken |= set(Edge.objects.filter(**{f"{name}__in": ids}).values_list(name, flat=True))
            # A word that is both an alias and a concept in the file would make a chain of aliases.
            taken |= {words[line.alias] for line in portion if line.concept in words}
            new = [line for line in portion if words[line.alias] not in taken | {concept_of[line.concept]}]
            Alias.objects.bulk_create(
                Alias(
                    soas_id=words[line.alias], concept_id=concept_of[line.concept], channel=line.channel,
                    agent=line.agent or self._by.agent, at=line.at or self._now,
                )
                for line in new
            )  # fmt: skip
            self._report.aliases += Counter(new=len(new), unused=len(portion) - len(new))

    def place_facts(self, facts: Iterable[NumberedFact]) -> None:
        waiting = [fact for portion in chunks(facts, FACTS_AT_ONCE) for fact in self._place(portion)]
        # A fact may stop closing a cycle once other facts of the file have replaced a step of it.
        while waiting:
            still = [fact for portion in chunks(waiting, FACTS_AT_ONCE) for fact in self._place(portion)]
            if len(still) == len(waiting):
                break
            waiting = still
        for portion in chunks(waiting, FACTS_AT_ONCE):
            self._place(portion, is_last_try=True)
        # At the end, all words in order: the flusher locks them in the same order.
        for concepts in chunks(sorted(self._concepts), FACTS_AT_ONCE):
            run_together(store.novel(concepts))
        for slot in sorted(self._disputed):
            recheck_claims(slot, place_first=False)

    def _place(self, facts: Sequence[NumberedFact], *, is_last_try: bool = False) -> list[NumberedFact]:
        """Place the facts, and return those that would close a cycle. On the last try, they are queued instead."""
        triples = [line.triple for _, line in facts]
        slots = SlotSet(triples, is_import=True)
        # Read claims and rulings before the slots, as intake does: of a claim decided in between, the ruling is seen.
        claims, known = OpenClaims(slots.concepts), rulings.find_rulings(slots.concepts, slots.dim_ids)
        slots.read(elsewhere={row.moved_to_id for row in known.values() if row.moved_to_id is not None})
        slots.add(triples)
        waiting: list[NumberedFact] = []
        placed: set[TripleIds] = set()
        replaced: list[Edge] = []
        for number, line in facts:
            said_at = line.said_at or line.last_confirmed or self._now
            said = Attribution(line.agent, line.source, line.confidence, said_at, channel=line.channel or "")
            confirmed = line.last_confirmed or line.said_at or self._now
            imported = Imported(self._by, confirmed, line.is_corroborated, self._differences)
            ids = slots.ids[line.triple]
            if len(set(ids)) < len(ids):  # two of its words name one concept here
                self._report.add_fact(number, line.triple, line.confidence, "same", None)
                continue
            ruling, existing = known.get(ids), slots.edges.in_place(ids)
            moved_to = ruling.moved_to_id if ruling is not None else None
            placement = slots.place(Assertion(line.triple, said), Ruling(moved_to), imported)
            if placement.closing is not None and not is_last_try:
                waiting.append((number, line))
                continue
            outcome = self._judge(placement, is_decided=ruling is not None)
            self._report.add_fact(number, line.triple, line.confidence, outcome, existing)
            if outcome in ("different", "ring"):
                against = Placement(Effect.CONFLICT, ids, existing) if existing is not None else placement
                claims.add(against, said, is_isa=line.is_isa)
            elif outcome in ("new", "taken"):
                placed.add(ids)
            if placement.replaced is not None:
                replaced.append(placement.replaced)
        # The speakers of replaced facts cannot bring them back by stating them again.
        rulings.remember(rulings.find_speakers(replaced), DecidedTriple.Kind.RETIRED)
        rulings.forget_rows(row for ids, row in known.items() if ids in placed)
        slots.write()
        claims.write()
        self._concepts.update(ids.concept_id for ids in placed)
        self._disputed |= claims.open_slots() & {ids.slot for ids in placed}
        return waiting

    def _judge(self, placement: Placement, *, is_decided: bool) -> str:
        """Return the placement's outcome, a key of the report's OUTCOMES."""
        if placement.status in PLACED:
            return PLACED[placement.status]
        if self._differences == "keep":
            return "kept"
        if is_decided:
            return "decided"
        return "ring" if placement.closing is not None else "different"

    def add_rulings(self, lines: Iterable[DecidedLine]) -> None:
        """Add rulings about triples that are neither facts nor decided here."""
        for portion in chunks(lines, LINES_AT_ONCE):
            ids = store.ensure_tokens(word for line in portion for word in line.words())
            by_triple = {TripleIds(ids[line.concept], ids[line.dimension], ids[line.parent]): line for line in portion}
            edges = Edge.objects.filter(
                concept_id__in={triple.concept_id for triple in by_triple},
                dim_id__in={triple.dim_id for triple in by_triple},
            )
            concepts, dims = ({one[at] for one in by_triple} for at in (0, 1))
            decided = rulings.find_rulings(concepts, dims).keys()
            settled = (decided | {edge.ids for edge in edges}) & by_triple.keys()
            DecidedTriple.objects.bulk_create(
                DecidedTriple(
                    **triple._asdict(),
                    kind=line.decision,
                    moved_to_id=ids[line.moved_to] if line.moved_to is not None else None,
                    agents=choose_remembered(line.agents),
                    conversation=bytes.fromhex(line.conversation),
                    decided_at=line.decided_at,
                )
                for triple, line in by_triple.items()
                if triple not in settled
            )
            self._report.decided += Counter(new=len(portion) - len(settled), unused=len(settled))
