"""Candidates: facts that only a page, a tool or a model stated, or a person in a long message. They are kept beside the
graph until somebody vouches for them."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q, QuerySet
from django.utils import timezone

from memory.attribution.client_names import supporter_of, voice_of
from memory.channels import TENTATIVE, Channel, is_weaker, may_change
from memory.db.connections import run_together
from memory.db.transactions import in_transaction
from memory.graph import store
from memory.graph.aliases import rename
from memory.graph.fact_syntax import find_mistake
from memory.graph.store import NOBODY, Assertion, Attribution
from memory.models import Config, Dimension, Edge, Soas, Support
from memory.types import Triple
from resolution.actors import Actor
from resolution.conflicts.change_log import recording
from resolution.models import Candidate, Decision

KEPT: Final = timedelta(days=30)  # after it was last said
EVIDENCE_MAX: Final = 500  # characters
VOICES_MAX: Final = 20
QUARANTINED: Final = "quarantined"  # the reason of candidates that were facts
HEDGED: Final = "only believed"
OUTDATED: Final = "a later statement"  # closes a speaker's own candidates

Holder = tuple[str, str]  # agent and person for whom alone it holds; NOBODY for most
Place = tuple[Triple, Holder]


class CandidateBook:
    """The candidates for some triples while one transaction's statements are settled. Nothing is stored before
    ``write``."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        rows = find_candidates(set(triples)).select_for_update().order_by("id")
        self._rows: dict[Place, Candidate] = {(row.triple, row.holder): row for row in rows}
        self._changed: dict[Place, Candidate] = {}
        self._said: dict[Place, list[tuple[Attribution, str]]] = {}  # statements that make new rows
        self._known: list[Assertion] = []  # facts for everybody, stated by speakers who may have facts of their own

    def is_new(self, assertion: Assertion) -> bool:
        return _place_of(assertion) not in self._rows

    def is_dismissed(self, assertion: Assertion) -> bool:
        row = self._rows.get(_place_of(assertion))
        return row is not None and row.state == Candidate.State.DISMISSED

    def as_placeable(self, assertion: Assertion) -> Assertion | None:
        """Return the statement as it may be placed, else None. A user vouches by repeating a belief in another
        conversation, or by saying in other words what another says for themselves alone. Models and pages never vouch,
        however many there are."""
        said = assertion.attribution
        if said.channel == Channel.UNSURE:
            return self._confirm(assertion)
        row = self._rows.get((assertion.triple, NOBODY))
        if row is None or row.state != Candidate.State.OPEN or said.channel in TENTATIVE:
            return None
        voices = {(voice_of(agent), channel) for agent, channel in row.voices}
        is_again = (voice_of(said.agent), said.channel) in voices
        if not assertion.manner.is_hedged or not is_again or said.conversation == bytes(row.last_conversation):
            return None
        surer = replace(said, confidence=max(said.confidence, Config.tuning().recollection_confidence_floor))
        return Assertion(assertion.triple, surer, assertion.manner._replace(is_hedged=False))

    def _confirm(self, assertion: Assertion) -> Assertion | None:
        said = assertion.attribution
        if assertion.manner.is_hedged:
            return None
        own = replace(said, channel=Channel.USER)
        if Config.tuning().share_unsure == "all":
            return assertion._replace(attribution=own)
        # The same text pasted again is no second voice. An agent's system text is excluded: it changes every day.
        before = [
            row
            for (triple, holder), row in self._rows.items()
            if triple == assertion.triple and row.state == Candidate.State.OPEN and _are_two(holder, said.holder)
        ]
        is_in_other_words = said.paragraph and all(row.paragraph not in ("", said.paragraph) for row in before)
        if not before or not is_in_other_words or said.role != "user":
            return None
        return assertion._replace(attribution=own)

    def note(self, assertion: Assertion, why: str = "") -> None:
        """Add the statement, or add its voice to an existing candidate. A dismissed candidate stays dismissed."""
        said, place = assertion.attribution, _place_of(assertion)
        row = self._rows.get(place)
        if row is None:
            row = self._rows[place] = _new(place, said)
        if row.pk is None:
            self._said.setdefault(place, []).append((said, why))
        _say(row, said, why)
        self._changed[place] = row

    def settle(self, assertion: Assertion) -> list[Support]:
        """Close the candidates of the triple for all holders: it was placed, or its conflict was opened. Returns the
        supporters that stated it for themselves alone."""
        promoted = []
        for place, row in self._rows.items():
            if place[0] == assertion.triple and row.state == Candidate.State.OPEN:
                row.state, row.resolved_by = Candidate.State.PROMOTED, assertion.attribution.agent
                row.resolved_at = timezone.now()
                self._changed[place] = row
                if row.holder != NOBODY:
                    promoted.append(store.build_support(supporter_of(*row.holder), Channel.USER, row.first_said_at))
        self.supersede_own(assertion)
        return promoted

    def supersede_own(self, assertion: Assertion) -> None:
        """Note that the triple holds for everybody, so that what its speaker said earlier, for themselves alone, is
        outdated."""
        if assertion.attribution.holder != NOBODY:
            self._known.append(assertion)

    def withdraw(self, assertion: Assertion) -> bool:
        """Withdraw the candidate if the speaker may retract it; it waits again when it is said again. Returns True if
        there was one."""
        said = assertion.attribution
        is_withdrawn = False
        for holder in {NOBODY, said.holder}:
            row = self._rows.get((assertion.triple, holder))
            if row is None or row.state != Candidate.State.OPEN:
                continue
            is_sole = holder != NOBODY or {voice_of(said.agent)} == {voice_of(agent) for agent, _ in row.voices}
            if not may_change(said.channel, row.channel, is_sole=is_sole):
                continue
            row.state, row.resolved_by, row.resolved_at = Candidate.State.EXPIRED, said.agent, timezone.now()
            self._changed[assertion.triple, holder] = row
            is_withdrawn = True
        return is_withdrawn

    def write(self) -> None:
        if self._said:
            self._add()
        if self._changed:
            Candidate.objects.bulk_update(self._changed.values(), CHANGING)
        own = [row for row in self._changed.values() if row.for_speaker and row.state == Candidate.State.OPEN]
        if own:
            words = store.ensure_tokens(word for row in own for word in _words_of(row))
            run_together(store.novel(words.values()))
            for row in own:
                _outdate(row)
        for assertion in self._known:
            said = assertion.attribution
            earlier = _find_slot(said.holder, assertion.triple).filter(last_said_at__lte=said.heard_at)
            _close(earlier, Candidate.State.EXPIRED, OUTDATED)

    def _add(self) -> None:
        # Another worker may add the same rows at this moment: the second one adds its voice to the first one's rows.
        new = [_new(place, said[0][0]) for place, said in sorted(self._said.items(), key=str)]
        Candidate.objects.bulk_create(new, ignore_conflicts=True)
        triples = {triple for triple, _ in self._said}
        for row in find_candidates(triples).select_for_update().order_by("id"):
            place = (row.triple, row.holder)
            if place not in self._said:
                continue
            for said, why in self._said[place]:
                _say(row, said, why)
            mine = self._changed[place]
            if mine.state != Candidate.State.OPEN:
                row.state, row.resolved_by, row.resolved_at = mine.state, mine.resolved_by, mine.resolved_at
            self._changed[place] = row


def _are_two(holder: Holder, other: Holder) -> bool:
    """True if both are known, and are independent of each other."""
    return NOBODY not in (holder, other) and not supporter_of(*holder).may_be(supporter_of(*other))


def _words_of(row: Candidate) -> tuple[str, str, str]:
    return row.concept, row.parent, row.dimension


def _place_of(assertion: Assertion) -> Place:
    said = assertion.attribution
    return assertion.triple, said.holder if said.channel == Channel.UNSURE else NOBODY


def _find_slot(holder: Holder, triple: Triple) -> QuerySet[Candidate]:
    """Return the speaker's own candidates in the slot; none if the slot keeps all."""
    rows = Candidate.objects.filter(
        for_speaker=holder[0], for_person=holder[1], concept=triple.concept, dimension=triple.dimension,
        state=Candidate.State.OPEN,
    )  # fmt: skip
    is_additive = Dimension.objects.filter(soas__token=triple.dimension, is_additive=True).exists()
    return rows.none() if is_additive else rows


def _outdate(row: Candidate) -> None:
    """Keep only the newest of a speaker's own candidates in the slot."""
    slot = _find_slot(row.holder, row.triple)
    newest = slot.order_by("-last_said_at", "-id").first()
    if newest is not None:
        _close(slot.exclude(pk=newest.pk), Candidate.State.EXPIRED, OUTDATED)


def _close(rows: QuerySet[Candidate], state: Candidate.State, by: str) -> int:
    return rows.update(state=state, resolved_by=by, resolved_at=timezone.now())


CHANGING: Final = (
    "channel", "confidence", "voices", "conversations", "last_conversation", "said_count", "evidence", "why", "state",
    "resolved_by", "resolved_at", "last_said_at", "paragraph",
)  # fmt: skip


def find_candidates(triples: Collection[Triple]) -> QuerySet[Candidate]:
    # Returns more than those asked for, but uses one index. The caller filters.
    return Candidate.objects.filter(
        concept__in={one.concept for one in triples},
        dimension__in={one.dimension for one in triples},
        parent__in={one.parent for one in triples},
    )


def find_waiting(concept: str, holder: Holder) -> list[Triple]:
    """Return the triples about the concept that hold for this speaker alone."""
    rows = Candidate.objects.filter(concept=concept, for_speaker=holder[0], for_person=holder[1])
    return [row.triple for row in rows.filter(state=Candidate.State.OPEN).order_by("dimension", "id")]


def find_standing(triples: Collection[Triple]) -> dict[Triple, Triple]:
    """Map the triples to the current facts in their places: in their slot or, if the dimension keeps all, only the same
    fact."""
    parents = {one.parent for one in triples}
    edges = Edge.objects.filter(
        Q(is_additive=False) | Q(parent__token__in=parents),
        concept__token__in={one.concept for one in triples}, dim__token__in={one.dimension for one in triples},
    )  # fmt: skip
    found: dict[tuple[str, ...], Triple] = {}
    for *words, is_additive in edges.values_list(
        "concept__token", "parent__token", "dim__token", "is_isa", "is_additive"
    ):
        row = Triple(*words)  # type: ignore[arg-type]  # three texts and a boolean
        found[(row.concept, row.dimension, row.parent) if is_additive else (row.concept, row.dimension)] = row
    slots = ((one, (one.concept, one.dimension)) for one in triples)
    standing = {one: found.get(slot) or found.get((*slot, one.parent)) for one, slot in slots}
    return {one: row for one, row in standing.items() if row is not None}


def _new(place: Place, said: Attribution) -> Candidate:
    """Build a row without any voices."""
    triple, holder = place
    return Candidate(
        concept=triple.concept,
        parent=triple.parent,
        dimension=triple.dimension,
        is_isa=triple.is_isa,
        channel=said.channel,
        confidence=said.confidence,
        for_speaker=holder[0],
        for_person=holder[1],
        paragraph=said.paragraph,
        voices=[],
        conversations=0,
        said_count=0,
        first_said_at=said.heard_at,
        last_said_at=said.heard_at,
    )


def _say(row: Candidate, said: Attribution, why: str) -> None:
    is_first = not row.said_count
    known = {(voice_of(agent), channel) for agent, channel in row.voices}
    if (voice_of(said.agent), said.channel) not in known and len(row.voices) < VOICES_MAX:
        row.voices = [*row.voices, [said.agent, said.channel]]
    if is_first or said.conversation != bytes(row.last_conversation):
        row.conversations += 1
        row.last_conversation = said.conversation
    row.said_count += 1
    row.why = why or row.why or said.channel
    row.last_said_at = max(row.last_said_at, said.heard_at)
    if is_first or is_weaker(row.channel, said.channel):
        row.channel, row.evidence = said.channel, said.evidence[:EVIDENCE_MAX]
        row.confidence = max(row.confidence, said.confidence)
    if row.state in (Candidate.State.EXPIRED, Candidate.State.PROMOTED):  # promoted, but retracted since
        row.state, row.resolved_by, row.resolved_at = Candidate.State.OPEN, "", None


def lock_open(candidate_id: int) -> Candidate | None:
    """Return the candidate, locked, or None if it does not wait."""
    return Candidate.objects.select_for_update().filter(pk=candidate_id, state=Candidate.State.OPEN).first()


@in_transaction
def dismiss(candidate_id: int, actor: Actor, reason: str = "") -> Decision | None:
    """Dismiss the candidate, for now and when it is said again. Returns None if it is no longer open."""
    if (row := lock_open(candidate_id)) is None:
        return None
    with recording(Decision.Kind.REJECT, actor, reason, candidate=row) as decision:
        _close(Candidate.objects.filter(pk=row.pk), Candidate.State.DISMISSED, actor.signature)
    return decision


def close_known(concept_ids: Collection[int], actor: Actor) -> None:
    """Close the candidates about these concepts that are facts by now."""
    names = Soas.objects.filter(pk__in=concept_ids).values_list("token", flat=True)
    waiting = Candidate.objects.filter(concept__in=list(names), state=Candidate.State.OPEN)
    standing = find_standing({row.triple for row in waiting})
    known = [row.pk for row in waiting if standing.get(row.triple) == row.triple]
    _close(Candidate.objects.filter(pk__in=known), Candidate.State.PROMOTED, actor.signature)


def rename_word(old: str, new: str, by: str) -> None:
    """Rename the word in all candidates. If two become the same, their voices are united."""
    naming = Q(concept=old) | Q(parent=old) | Q(dimension=old)
    for row in Candidate.objects.select_for_update().filter(naming).order_by("id"):
        triple = rename(row.triple, {old: new})
        twins = find_candidates({triple}).filter(for_speaker=row.for_speaker, for_person=row.for_person)
        twin = next((one for one in twins.select_for_update() if one.triple == triple), None)
        if twin is None and not find_mistake(triple):
            row.concept, row.parent, row.dimension = triple.concept, triple.parent, triple.dimension
            row.save(update_fields=["concept", "parent", "dimension"])
        elif row.state == Candidate.State.OPEN:
            if twin is not None and twin.state == Candidate.State.OPEN:
                _unite(twin, row)
            row.state, row.resolved_by, row.resolved_at = Candidate.State.EXPIRED, by, timezone.now()
            row.save(update_fields=["state", "resolved_by", "resolved_at"])


def _unite(row: Candidate, other: Candidate) -> None:
    row.voices = [*row.voices, *(voice for voice in other.voices if voice not in row.voices)][:VOICES_MAX]
    row.conversations += other.conversations
    row.said_count += other.said_count
    row.last_said_at = max(row.last_said_at, other.last_said_at)
    row.confidence = max(row.confidence, other.confidence)
    if is_weaker(row.channel, other.channel):
        row.channel, row.evidence = other.channel, other.evidence
    row.save(update_fields=CHANGING)


def expire(now: datetime) -> int:
    """Expire candidates that nobody has repeated for long, and return how many."""
    old = Candidate.objects.filter(state=Candidate.State.OPEN, for_speaker="", last_said_at__lt=now - KEPT)
    return old.update(state=Candidate.State.EXPIRED, resolved_at=now)
