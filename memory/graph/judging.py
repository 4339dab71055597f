"""Judges what a statement does to existing facts. The prompt that brings it and the worker that places it use the same
rule, so that a prompt shows what will be stored."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from memory.channels import Channel, is_weaker, may_change
from memory.english.doubt import SpeechAct
from memory.english.frequent_words import FREQUENT
from memory.timing import is_dated


class Effect(StrEnum):
    """The effect of a statement. A conflict without a fact means that it would close a cycle."""

    INSERTED = "inserted"
    CONFIRMED = "confirmed"
    SUPERSEDED = "superseded"  # it took the place of another fact
    RETIRED = "retired"
    CONFLICT = "conflict"
    CANDIDATE = "candidate"  # waits beside the graph
    OUTDATED = "outdated"
    DECIDED = "decided"  # a decision about it exists
    NEEDLESS = "needless"
    INVALID = "invalid"
    OVER_QUOTA = "over_quota"  # its agent has stated too much


class StandingFact(NamedTuple):
    """A fact about the concept of a statement. ``said_at`` is in seconds since the epoch; ``is_own``: the speaker of
    the statement supports it; ``is_sole``: and nobody else does."""

    dim_id: int
    parent: str
    channel: str
    is_root: bool = False
    said_at: float = 0.0
    is_own: bool = False
    is_sole: bool = False
    is_additive: bool = False  # others may be beside it in its slot


class Manner(NamedTuple):
    """The manner in which a triple is stated. ``instead_of``: the parent that a change names as no longer true."""

    kind: SpeechAct = SpeechAct.STATES
    is_hedged: bool = False
    instead_of: str = ""

    @property
    def is_changing(self) -> bool:
        return self.kind in (SpeechAct.CHANGES, SpeechAct.CORRECTS)


PLAIN: Final = Manner()


class NewFact(NamedTuple):
    """A statement about a slot. ``is_dated``: it is known to be newer than what was known before it was read."""

    dim_id: int
    parent: str
    channel: str
    manner: Manner = PLAIN
    said_at: float = 0.0
    is_dated: bool = True
    is_heard: bool = True  # in a message; a decision restates late on purpose


class Ruling(NamedTuple):
    """Decisions by people and the resolver: where the triple was moved, whether that keeps a statement of it out, and
    where others of its slot were moved."""

    moved_to: int | None = None
    keeps_out: bool = False
    others: tuple[int, ...] = ()


NO_RULING: Final = Ruling()


class Graph(Protocol):
    """The judge's questions about the graph around a slot."""

    def is_above(self, dim_id: int, upper: str, lower: str) -> bool:
        """True if ``upper`` is on the way up from ``lower`` in this dimension."""

    def closes_cycle(self, dim_id: int, parent: str) -> bool:
        """True if the concept is on the way up from this parent."""


def ancestors(parents_of: Callable[[int], Iterable[int]], word_id: int) -> Iterator[int]:
    """Yield everything above a word, each once; ``parents_of`` returns the next step."""
    passed, waiting = {word_id}, [word_id]
    while waiting:
        for parent_id in parents_of(waiting.pop()):
            if parent_id not in passed:
                passed.add(parent_id)
                waiting.append(parent_id)
                yield parent_id


@dataclass(frozen=True, slots=True)
class Judgement:
    """The effect, and ``fact``: the one that is confirmed, superseded, retired or in the way."""

    effect: Effect
    fact: StandingFact | None = None
    is_exact: bool = True  # for a confirmation: the fact has the very parent that was stated


def judge(
    said: NewFact,
    standing: Sequence[StandingFact],
    graph: Graph,
    *,
    ruling: Ruling = NO_RULING,
    supersedes: bool = False,
    keeps_all: bool = False,
) -> Judgement:
    """Judge a statement.

    ``standing``: the facts in the slot, those where its triple was moved, those in dimensions split from its own, and
    those where others of the slot were moved, in this order; in dimensions that keep all, only the facts that the
    statement ``is_about``. ``supersedes``: in this dimension the newer wins; ``keeps_all``: nothing there is in the
    way."""
    own = next((fact for fact in standing if fact.dim_id == said.dim_id), None)
    facts = [fact for fact in standing if not fact.is_root]
    if said.manner.kind is SpeechAct.RETRACTS:
        return _judge_retraction(said, facts)
    if own is not None and own.is_root:
        return Judgement(Effect.INVALID, own)
    if (known := _find_known(said, facts, graph, ruling)) is not None:
        return Judgement(Effect.NEEDLESS, known.fact) if said.manner.is_hedged else known
    own = None if keeps_all else own
    if said.manner.is_hedged:
        return Judgement(Effect.CANDIDATE, own)
    if said.manner.is_changing and not is_weaker(said.channel, Channel.USER) and not keeps_all:
        return _judge_change(said, own, facts, graph, ruling, supersedes=supersedes)
    if ruling.keeps_out and (own is not None or is_weaker(said.channel, Channel.GUTASK)):
        return Judgement(Effect.DECIDED, own)  # on purpose it may be stated if nothing is in its way
    return _judge_plain(said, own, graph, supersedes=supersedes)


def is_about(parent: str, said_parent: str, manner: Manner) -> bool:
    """True if a statement with ``said_parent`` is about the fact with ``parent``, in a slot that holds many."""
    is_named = parent in (said_parent, manner.instead_of)
    return is_named or (manner.kind is SpeechAct.RETRACTS and refines(parent, said_parent))


def _judge_retraction(said: NewFact, facts: Sequence[StandingFact]) -> Judgement:
    if said.manner.is_hedged or is_weaker(said.channel, Channel.USER):
        return Judgement(Effect.NEEDLESS)
    same = [fact for fact in facts if fact.parent == said.parent]
    found = same or [fact for fact in facts if refines(fact.parent, said.parent)]
    if not found or (len(found) > 1 and not same and found[0].is_additive):  # unclear which of them it takes back
        return Judgement(Effect.NEEDLESS)
    return Judgement(Effect.RETIRED if _takes_effect(said, found[0]) else Effect.CONFLICT, found[0])


def _takes_effect(said: NewFact, fact: StandingFact, *, supersedes: bool = False) -> bool:
    """True if a correction, refinement or retraction of the fact takes effect at once."""
    if supersedes and not is_weaker(said.channel, fact.channel):
        return True
    return may_change(said.channel, fact.channel, is_sole=fact.is_sole)


def _find_known(said: NewFact, facts: Sequence[StandingFact], graph: Graph, ruling: Ruling) -> Judgement | None:
    """Find the fact that already says the same or more: in the slot, in a dimension split from its own, or where it was
    moved."""
    near = [fact for fact in facts if fact.dim_id == ruling.moved_to or fact.dim_id not in ruling.others]
    for fact in near:
        if fact.parent == said.parent:
            return Judgement(Effect.CONFIRMED, fact)
    for fact in near:
        if said.manner.instead_of and fact.parent == said.manner.instead_of:
            continue  # `is no laser printer any more, but a printer`
        if refines(fact.parent, said.parent) or graph.is_above(fact.dim_id, said.parent, fact.parent):
            return Judgement(Effect.CONFIRMED, fact, is_exact=False)
    return None


def _judge_change(
    said: NewFact,
    own: StandingFact | None,
    facts: Sequence[StandingFact],
    graph: Graph,
    ruling: Ruling,
    *,
    supersedes: bool,
) -> Judgement:
    named = [fact for fact in facts if fact.parent == said.manner.instead_of]
    moved = [fact for fact in facts if fact.dim_id == ruling.moved_to]
    candidates = named or moved or ([own] if own is not None else facts)
    if ruling.keeps_out and not (moved and candidates[0] in moved):
        return Judgement(Effect.DECIDED, own)
    if len(candidates) > 1:  # people correct their own statements
        candidates = [fact for fact in candidates if fact.is_own] or candidates
    if len(candidates) > 1:  # unclear which of them it changes
        return Judgement(Effect.CANDIDATE, candidates[0])
    fact = candidates[0] if candidates else None
    if fact is not None and not _takes_effect(said, fact, supersedes=supersedes):
        return Judgement(Effect.CONFLICT, fact)
    if graph.closes_cycle(fact.dim_id if fact is not None else said.dim_id, said.parent):
        return Judgement(Effect.CONFLICT)
    return Judgement(Effect.SUPERSEDED if fact is not None else Effect.INSERTED, fact)


def _judge_plain(said: NewFact, own: StandingFact | None, graph: Graph, *, supersedes: bool) -> Judgement:
    if own is not None:
        is_deliberate = not is_weaker(said.channel, Channel.GUTASK)
        says_more = refines(said.parent, own.parent) or graph.is_above(own.dim_id, own.parent, said.parent)
        if says_more and not graph.closes_cycle(own.dim_id, said.parent):
            may_replace = said.is_dated and not is_weaker(said.channel, Channel.USER)
            may_replace = may_replace and _takes_effect(said, own, supersedes=supersedes)
            return Judgement(Effect.SUPERSEDED if may_replace else Effect.CANDIDATE, own)
        differing = None if is_deliberate else _compare(said.parent, own.parent)
        # Two words for one thing, `mail_relay` and `backup_relay`, unless both are names: `flask_app`, `fastapi_app`.
        if differing is not None and any(FREQUENT.issuperset(modifiers) for modifiers in differing):
            return Judgement(Effect.CANDIDATE, own)
        # An old chat is opened again, and the fact is newer; or both were said together.
        is_no_dispute = (not said.is_dated and is_dated(own.said_at)) or said.manner.kind is SpeechAct.ADDS
        if is_no_dispute and not supersedes:
            return Judgement(Effect.CANDIDATE, own)
        is_older = said.said_at < own.said_at
        if is_older and own.is_own and said.is_heard:  # it comes late: the same speaker has said otherwise since
            return Judgement(Effect.OUTDATED, own)
        if not supersedes or is_weaker(said.channel, own.channel):
            return Judgement(Effect.CONFLICT, own)  # newer words do not displace stronger ones
        if is_older:
            return Judgement(Effect.OUTDATED, own)
    if graph.closes_cycle(said.dim_id, said.parent):
        return Judgement(Effect.CONFLICT)
    return Judgement(Effect.SUPERSEDED if own is not None else Effect.INSERTED, own)


# --- parents of one head ---


def refines(parent: str, other: str) -> bool:
    """True if ``parent`` says more of the same thing: `flask_app` of `app`, `node_18` of `node`."""
    differing = _compare(parent, other)
    return differing is not None and bool(differing[0]) and not differing[1]


def _compare(parent: str, other: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the modifiers that only the one has, and those that only the other has, of two parents with one head; None
    for different heads."""
    head, modifiers = _split_head(parent)
    other_head, others = _split_head(other)
    return (modifiers - others, others - modifiers) if head == other_head else None


def _split_head(parent: str) -> tuple[str, frozenset[str]]:
    parts = parent.split("_")
    # A number after the head belongs to its name: `node_18`.
    at = next((index for index in range(len(parts) - 1, -1, -1) if not parts[index].replace(".", "").isdigit()), 0)
    return parts[at], frozenset(parts[:at] + parts[at + 1 :])
