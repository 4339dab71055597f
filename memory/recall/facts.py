"""Chooses the facts and questions of a block: concepts by priority, each one's facts by strength, all within a budget.
They are printed in order of id."""

from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Final, Literal, NamedTuple

from memory.cache.state import Cache, channel_of_edge
from memory.channels import OTHERS, Channel
from memory.english.doubt import SpeechAct
from memory.english.frequent_words import FREQUENT
from memory.english.statements import CueMatch
from memory.english.tokenizer import find_words
from memory.graph.saliency import DAY, may_ask, priority
from memory.learning.reader import Reading, find_statements
from memory.recall.block import (
    Block,
    ShownFact,
    ShownNote,
    ShownState,
    block_length,
    count_fitting,
    render_block,
    render_facts,
    render_note,
    render_notes,
    render_questions,
    render_state,
)
from memory.recall.mentions import Mentions
from memory.recall.speakers_graph import SpeakersGraph
from memory.search.lexemes import find_lexemes
from memory.search.ranking import weigh
from memory.types import EdgeRow, Place, SoasRow, Style, TripleIds

CONCEPTS_MAX: Final = 8  # with facts, in one block
FACTS_MAX: Final = 8  # about one concept
EXEMPT: Final = frozenset({"gutask", "operator"})  # sources of facts that are recalled however old
CONCEPT_SHARE: Final = 1 / 3  # of the room for facts, if other concepts have facts to show
ASKED_SHARE: Final = 0.5  # of the weight of a prompt's words that a fact that it asks for must have
ASKED_LOOKED_AT_MAX: Final = 200  # facts of one name
ASKED_MAX: Final = 24

Show = Callable[[EdgeRow], ShownFact]
SelectionReason = Literal["recalled", "asked", "too many concepts", "no room", "no facts in force"]


class SalientConcept(NamedTuple):
    """A salient concept of a prompt, with the facts that may be shown about it: at most FACTS_MAX, the strongest
    first."""

    row: SoasRow
    token: str
    priority: float
    edges: Sequence[EdgeRow] = ()
    written: str = ""  # as the prompt spells it, if it is asked about


# --- which facts may be shown ---


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of recall: edges of at least the confidence ``floor``, confirmed since ``cutoff`` (seconds since the
    epoch) unless their source is EXEMPT, and none that the prompt takes back (``retracted``)."""

    floor: float
    cutoff: float
    retracted: Container[Place] = ()

    @classmethod
    def of(cls, graph: SpeakersGraph, now: float) -> "Bounds":
        tuning = graph.cache.tuning
        return cls(
            floor=tuning.recollection_confidence_floor,
            cutoff=now - tuning.recollection_recency_days * DAY,
            retracted={place for place, instead in graph.stated.instead.items() if instead is None},
        )


def is_in_force(edge: EdgeRow, bounds: Bounds) -> bool:
    """True if the canonical recollection query returns the edge; one without a time counts as just confirmed."""
    return (
        edge.confidence >= bounds.floor
        and (edge.last_confirmed is None or edge.last_confirmed >= bounds.cutoff or edge.source in EXEMPT)
        and not edge.is_root
        and edge.place not in bounds.retracted
    )


def find_strongest(edges: Sequence[EdgeRow], bounds: Bounds, words: Container[int]) -> list[EdgeRow]:
    """Return the edges that may be shown, from a concept's edges with the strongest first: the first FACTS_MAX that the
    canonical recollection query returns, without roots. ``words``: the known ids."""
    found = []
    for edge in edges:  # of a concept with thousands of facts, only the first few are examined
        # Words and edges are announced separately: an edge whose words have not arrived yet must wait.
        if is_in_force(edge, bounds) and edge.parent_id in words and edge.dim_id in words:
            found.append(edge)
            if len(found) == FACTS_MAX:
                break
    return found


def show_fact(graph: SpeakersGraph, edge: EdgeRow) -> ShownFact:
    words = graph.cache.soas_by_id
    is_disputed, rivals = graph.find_dispute(edge)
    concept, dimension, parent = words[edge.concept_id], words[edge.dim_id], graph.parent_of(edge)
    names = (concept, parent, *rivals)
    labels, told = tuple(map(graph.label_of, names)), graph.stated.instead.get(edge.place) or edge
    return ShownFact(concept, dimension, parent, is_disputed, rivals, told.is_isa, labels if labels != names else ())


def list_current(graph: SpeakersGraph, facts: Sequence[ShownFact], now: float) -> tuple[ShownFact, ...]:
    """Return the facts that would be shown as they were."""
    bounds = Bounds.of(graph, now)
    return tuple(fact for fact in facts if _is_current(graph, fact, bounds))


def _is_current(graph: SpeakersGraph, fact: ShownFact, bounds: Bounds) -> bool:
    cache = graph.cache
    concept, dim, parent = map(cache.soas_by_token.get, fact[:3])
    if concept is None or dim is None or cache.is_muted(fact.concept, concept):
        return False
    if fact.concept in cache.alias_rows or fact.dimension in cache.alias_rows:
        return False  # it has another name now
    edge = graph.find_edge(TripleIds(concept.id, dim.id, parent.id if parent is not None else 0))
    if edge is None or not is_in_force(edge, bounds):
        return False
    shown = show_fact(graph, edge)
    return shown._replace(rivals=(), labels=()) == fact._replace(rivals=(), labels=()) and (
        set(shown.rivals) == set(fact.rivals)
    )


# --- the candidates of a prompt ---


def find_asked_facts(cache: Cache, text: str) -> tuple[TripleIds, ...]:
    """Return the facts that a prompt asks for, the most alike first: about the concepts that the text names, or with
    one of them as their parent (`What runs on tyr-1?`), that have enough of its words."""
    shares = weigh(find_lexemes(text), cache.rarity)
    found: dict[TripleIds, tuple[float, float]] = {}
    for name in find_words(text).tokens:
        row = cache.soas_by_token.get(name)
        if row is None or row.is_common or cache.is_muted(name, row):
            continue
        children = (edge for key in list(cache.children.get(row.id, ())) for edge in cache.urd_by_concept.get(key, ()))
        edges = [*cache.urd_by_concept.get(row.id, ()), *(edge for edge in children if edge.parent_id == row.id)]
        for edge in edges[:ASKED_LOOKED_AT_MAX]:
            told = find_lexemes(" ".join(cache.soas_by_id.get(key, "").replace("-", " ") for key in edge.ids))
            share = sum(shares.get(lexeme, 0.0) for lexeme in told | find_lexemes(name))
            if share >= ASKED_SHARE and not edge.is_root:
                found[edge.ids] = share, edge.confidence
    return tuple(sorted(found, key=lambda ids: found[ids], reverse=True)[:ASKED_MAX])


def find_candidates(
    graph: SpeakersGraph, mentions: Mentions, linked: Sequence[TripleIds], now: float, shown: Block
) -> tuple[list[SalientConcept], list[SalientConcept], dict[str, str]]:
    """Return the salient concepts with facts that are not shown yet, those to ask about, and why the others are
    neither. Those of the ``linked`` facts are among them."""
    cache, names, bounds = graph.cache, graph.cache.soas_by_id, Bounds.of(graph, now)
    # A slot, or of one that holds many a parent's part.
    shown_places = {place for fact in shown.facts for place in (fact[:2], fact[:3])}

    def is_new(edge: EdgeRow) -> bool:
        return tuple(names[key] for key in edge.place) not in shown_places

    salient = mentions.find_salient(cache, now)
    known, unknown, reasons, done = list[SalientConcept](), list[SalientConcept](), dict[str, str](), set[str]()
    for spelling, row in salient.items():
        edges, word = graph.edges_about(row.id), spelling
        if (own := cache.alias_rows.get(spelling)) is not None:
            word = names[row.id]
            if word in salient or word in done or (own.is_common and spelling not in mentions.emphasised):
                continue
            done.add(word)
        if row.is_common and not (own or word in mentions.emphasised or (edges and _is_taught(word, edges[0]))):
            reasons[word] = "a common word"
        elif edges:
            # Before shown facts are left out: otherwise each block would continue with weaker facts.
            strongest = find_strongest(edges, bounds, names)
            if facts := [edge for edge in strongest if is_new(edge)]:
                known.append(SalientConcept(row, word, priority(row, now), facts))
            else:
                reasons[word] = "recalled before" if strongest else "no facts in force"
        elif word in shown.questions:
            reasons[word] = "asked before"
        elif refusal := _why_not_ask(cache, row, now):
            reasons[word] = refusal
        else:
            unknown.append(SalientConcept(row, word, priority(row, now)))
    new = [edge for edge in filter(None, map(graph.find_edge, linked)) if is_in_force(edge, bounds) and is_new(edge)]
    known += _list_linked(cache, new, {candidate.token for candidate in known})
    return _leave_out_stated(graph, known, mentions.readings, reasons), unknown, reasons


def _is_taught(word: str, strongest: EdgeRow) -> bool:
    """True if somebody entitled has made a concept of the common word, so that it is recalled even if it is not written
    as a name. An agent may do so with rare words: a line about `file` would be in nearly every prompt."""
    channel = channel_of_edge(strongest)
    is_by_operator = channel == Channel.OPERATOR and not strongest.is_root
    return is_by_operator or (channel == Channel.GUTASK and word not in FREQUENT)


def _why_not_ask(cache: Cache, row: SoasRow, now: float) -> str:
    if row.is_common:
        return "a common word"
    if row.id in cache.referenced:
        return "only known as a value"
    return "" if may_ask(row, now) else "asked about lately"


def _list_linked(cache: Cache, edges: Sequence[EdgeRow], listed: Collection[str]) -> list[SalientConcept]:
    """Return the concepts of these facts that are not ``listed`` yet."""
    by_concept: dict[str, list[EdgeRow]] = {}
    for edge in edges:
        by_concept.setdefault(cache.soas_by_id[edge.concept_id], []).append(edge)
    return [
        SalientConcept(row, word, 0.0, known[:FACTS_MAX])
        for word, known in by_concept.items()
        if word not in listed and not cache.is_muted(word, row := cache.soas_by_token[word])
    ]


def _leave_out_stated(
    graph: SpeakersGraph, known: list[SalientConcept], readings: Sequence[Reading], reasons: dict[str, str]
) -> list[SalientConcept]:
    """Leave out the facts that the prompt's own prose states: repeated, they would say less than the prose, in more
    tokens."""
    cache = graph.cache
    # In most turns nothing is known that is not shown yet: then a long history is not scanned.
    stated: dict[str, list[CueMatch]] = {candidate.token: [] for candidate in known}
    names = {name for one in known for name in (one.token, *cache.spellings.get(one.row.id, ()))}
    for reading in readings if known else ():
        for match in find_statements(cache, reading, names):
            if (subject := cache.canonical(match.subject)) in stated:
                stated[subject].append(match)
    left = []
    for candidate in known:
        matches = stated[candidate.token]
        if edges := [edge for edge in candidate.edges if not _is_only_repeated(graph, edge, matches)]:
            left.append(candidate._replace(edges=edges))
        else:
            reasons[candidate.token] = "stated in this prompt"
    return left


def _is_only_repeated(graph: SpeakersGraph, edge: EdgeRow, stated: Sequence[CueMatch]) -> bool:
    """True if the statements say the fact, or a more specific one, and no other value of its slot, and it is not
    disputed: otherwise the model has to be told which one holds."""
    cache, parent, is_said = graph.cache, graph.parent_of(edge), False
    for match in stated:
        row = cache.soas_by_token.get(match.dimension)
        if row is None or edge.dim_id not in {row.id, *cache.splits_of(row.id)}:
            continue
        said = cache.canonical(match.parent)
        if edge.is_additive and said != parent:
            continue  # they are beside each other
        if match.kind is SpeechAct.RETRACTS or (said != parent and not said.endswith(f"_{parent}")):
            return False
        is_said = is_said or (match.channel not in OTHERS and not match.is_hedged)
    return is_said and not graph.find_dispute(edge)[0]


# --- the selection ---


@dataclass(slots=True)
class Selection:
    """The content of a block: each concept's facts and the candidates to ask about, both in printing order, and for
    every candidate why it is in or out."""

    facts: list[ShownFact] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # of the facts, one text per concept
    asked: list[SalientConcept] = field(default_factory=list)
    reasons: dict[str, SelectionReason] = field(default_factory=dict)

    def block(
        self,
        notes: Sequence[ShownNote] = (),
        states: Sequence[ShownState] = (),
        profile: Sequence[ShownNote] = (),
    ) -> Block:
        """Make the block, with the states first, the profile after the facts, then the notes; empty if there is nothing
        of these."""
        questions = tuple(candidate.token for candidate in self.asked)
        # Questions first: a small model picks up what it reads last, and would answer with the question.
        written = [candidate.written or candidate.token for candidate in self.asked]
        asking = [render_questions(written)] if questions else []
        lines = [*map(render_state, states), *asking, *self.lines, *map(render_note, profile), *render_notes(notes)]
        return Block(render_block(lines), tuple(self.facts), questions, (*profile, *notes), tuple(states))


def select(
    known: Sequence[SalientConcept],
    unknown: Sequence[SalientConcept],
    *,
    show: Show,
    style: Style,
    max_questions: int,
    max_characters: int,
) -> Selection:
    """Select facts first, then questions with the remaining budget."""
    selection = Selection()
    room = max_characters - block_length([])
    room = _choose_facts(selection, by_priority(known), show, style, room)
    _choose_questions(selection, by_priority(unknown), max_questions, room)
    return selection


def by_priority(candidates: Sequence[SalientConcept]) -> list[SalientConcept]:
    return sorted(candidates, key=lambda candidate: (-candidate.priority, candidate.row.id))


_BY_DIMENSION: Final = attrgetter("dim_id", "parent_id")


def _choose_facts(
    selection: Selection, candidates: Sequence[SalientConcept], show: Show, style: Style, room: int
) -> int:
    def show_in_order(edges: Sequence[EdgeRow]) -> list[ShownFact]:
        # With dimensions descending: which facts are the strongest changes more often than which facts are shown.
        return [show(edge) for edge in sorted(edges, key=_BY_DIMENSION, reverse=True)]

    chosen: list[tuple[int, list[ShownFact], str]] = []
    share = room if len(candidates) == 1 else int(room * CONCEPT_SHARE)
    for candidate in candidates:
        if len(chosen) == CONCEPTS_MAX:
            selection.reasons[candidate.token] = "too many concepts"
            continue
        facts = show_in_order(candidate.edges)
        line, length_max = render_facts(facts, style), min(share, room - 1)
        if len(line) > length_max:  # its strongest facts stay
            count = count_fitting([show(edge) for edge in candidate.edges], style, length_max)
            facts = show_in_order(candidate.edges[:count])
            line = render_facts(facts, style)
        if len(line) >= room:
            selection.reasons[candidate.token] = "no room"
            continue
        room -= len(line) + 1
        chosen.append((candidate.row.id, facts, line))
        selection.reasons[candidate.token] = "recalled"
    # In an order that no count changes: equal facts give equal bytes, which a model's prompt cache needs.
    for _, facts, line in sorted(chosen, key=itemgetter(0)):
        selection.facts += facts
        selection.lines.append(line)
    return room


def _choose_questions(
    selection: Selection, candidates: Sequence[SalientConcept], max_questions: int, room: int
) -> None:
    for candidate in candidates:
        if len(selection.asked) == max_questions:
            selection.reasons[candidate.token] = "too many concepts"
            continue
        # Longer names may make the whole shorter: they are not part of the instruction for several.
        if len(render_questions([each.written or each.token for each in (*selection.asked, candidate)])) >= room:
            selection.reasons[candidate.token] = "no room"
            continue
        selection.asked.append(candidate)
        selection.reasons[candidate.token] = "asked"
    selection.asked.sort(key=lambda candidate: candidate.row.id)
