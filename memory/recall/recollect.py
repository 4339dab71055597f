"""Recalls what a prompt needs, from the cache and by pure rules, without a query."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from memory.cache.own_facts import Holder
from memory.cache.places import find_edge
from memory.cache.state import Cache
from memory.channels import OTHERS, Channel
from memory.english.doubt import SpeechAct
from memory.english.frequent_words import FREQUENT
from memory.english.function_words import is_closed_class
from memory.english.statements import CueMatch
from memory.graph.saliency import DAY, may_ask, priority
from memory.learning.reader import Reading, find_statements
from memory.questions.choose import choose_askable, count_allowed
from memory.recall.lines import NoteKey, ShownNote, render_note
from memory.recall.mentions import Mentions
from memory.recall.notes import GIVEN, NOTHING_BESIDE, Beside, choose_notes, choose_profile, still_hold
from memory.recall.rendering import (
    CHARACTERS_PER_TOKEN,
    NOTHING,
    Block,
    ShownFact,
    block_length,
    count_tokens,
)
from memory.recall.selection import (
    FACTS_MAX,
    Bounds,
    SalientConcept,
    Selection,
    channel_of_edge,
    find_strongest,
    is_in_force,
    select,
)
from memory.recall.speakers_graph import SpeakersGraph
from memory.recall.stated import NOTHING_STATED, Stated
from memory.recall.states import NO_PROJECT, ProjectPrompt, choose_states
from memory.types import EdgeRow, SoasRow, Style, TripleIds

EMPTY_TOKENS = count_tokens(block_length([]))  # of a block without a line


@dataclass(frozen=True, slots=True)
class Recollection:
    """The block, the style of its facts, and why each salient concept, value of the project, memory and episode is in
    or out."""

    block: Block = NOTHING
    style: Style = "sentences"
    reasons: dict[str, str] = field(default_factory=dict)
    notes: dict[NoteKey, str] = field(default_factory=dict)


def recollect(
    cache: Cache,
    mentions: Mentions,
    now: float,
    shown: Block = NOTHING,
    *,
    why_not_ask: str = "",
    found: Sequence[ShownNote] = (),
    beside: Beside = NOTHING_BESIDE,
    linked: Sequence[TripleIds] = (),
    within: ProjectPrompt = NO_PROJECT,
    speaker: Holder | None = None,
    stated: Stated = NOTHING_STATED,
) -> Recollection:
    """Recall what belongs to these messages, without what their prompt shows already.

    ``shown``: all of the prompt's blocks as one; ``why_not_ask``: why the agent is asked nothing, if it is not;
    ``found``: the memories and episodes that belong to the prompt, the best first, and what came ``beside`` them;
    ``linked``: facts about concepts that it does not name, found from their parent; ``within``: the project whose state
    it is given; ``speaker``: whose own facts it is given; ``stated``: what it states itself. ``now`` is in seconds
    since the epoch."""
    style, graph = cache.tuning.recollection_style, SpeakersGraph.of(cache, speaker, stated)
    salient = mentions.find_salient(cache, now)
    left = cache.tuning.recollection_max_total_tokens - shown.tokens
    states, told = choose_states(cache, within, shown, left - EMPTY_TOKENS)
    if not (salient or found or beside.profile or linked or states):
        return Recollection(style=style, notes=told)
    left -= count_tokens(sum(state.length for state in states))
    profile = choose_profile(cache, beside, shown, min(left - EMPTY_TOKENS, cache.tuning.recollection_max_tokens))
    told |= {note.key: GIVEN for note in profile}
    of_profile = count_tokens(sum(len(render_note(note)) + 1 for note in profile))
    room = min(cache.tuning.recollection_max_tokens, left) - of_profile
    selection, reasons = _select(graph, salient, mentions, now, shown, room, style, why_not_ask, linked)
    recalled = selection.block(profile=profile)
    notes, notes_told = choose_notes(graph, found, beside, shown, recalled, left - (recalled.tokens or EMPTY_TOKENS))
    return Recollection(
        block=selection.block(notes, states, profile),
        style=style,
        reasons=reasons | selection.reasons,
        notes=told | notes_told,
    )


def _select(
    graph: SpeakersGraph,
    salient: Mapping[str, SoasRow],
    mentions: Mentions,
    now: float,
    shown: Block,
    room: int,
    style: Style,
    why_not_ask: str,
    linked: Sequence[TripleIds],
) -> tuple[Selection, dict[str, str]]:
    """Select the facts and questions of the block, and say why other concepts are not in it."""
    cache = graph.cache
    known, unknown, reasons = _sort(graph, salient, mentions, now, shown)
    known += _list_linked(graph, linked, {candidate.token for candidate in known}, now, shown)
    known = _leave_out_stated(graph, known, mentions.readings, reasons)
    count, refusal = count_allowed(cache.tuning, shown, why_not_ask)
    if count:
        unknown = choose_askable(cache, unknown, mentions, count, reasons)
    else:
        reasons |= dict.fromkeys((candidate.token for candidate in unknown), refusal)
    return select(
        known,
        unknown if count else (),
        show=partial(_show, graph),
        style=style,
        max_questions=count,
        max_characters=room * CHARACTERS_PER_TOKEN,
    ), reasons


def still_holds(cache: Cache, block: Block, now: float, speaker: Holder | None = None) -> bool:
    """True if everything in the block would still be said to the speaker: state, facts and notes as they were shown,
    questions unanswered."""
    if not all(map(cache.states.holds, block.states)):
        return False
    if block.notes and not still_hold(cache, block.notes):
        return False
    # Additional knowledge removes no block: removing one costs the model its prompt cache.
    graph = SpeakersGraph.of(cache, speaker)
    for word in block.questions:
        row = cache.soas_by_token.get(word)
        if row is None or cache.is_muted(word, row) or graph.knows(row.id):
            return False
    return len(list_current(cache, block.facts, now, speaker)) == len(block.facts)


def list_current(
    cache: Cache, facts: Sequence[ShownFact], now: float, speaker: Holder | None = None, stated: Stated = NOTHING_STATED
) -> tuple[ShownFact, ...]:
    """Return the facts that would be shown to the speaker as they were."""
    graph = SpeakersGraph.of(cache, speaker, stated)
    bounds = _bounds(graph, now)
    return tuple(fact for fact in facts if _is_in_force_as_shown(graph, fact, bounds))


def _is_in_force_as_shown(graph: SpeakersGraph, fact: ShownFact, bounds: Bounds) -> bool:
    cache = graph.cache
    concept, dim = cache.soas_by_token.get(fact.concept), cache.soas_by_token.get(fact.dimension)
    if concept is None or dim is None or is_closed_class(fact.concept) or cache.is_muted(fact.concept, concept):
        return False
    if fact.concept in cache.alias_rows or fact.dimension in cache.alias_rows:
        return False  # it has another name now
    edge = cache.urd_by_concept_dim.get((concept.id, dim.id))
    if edge is None and (parent := cache.soas_by_token.get(fact.parent)) is not None:
        edge = graph.find_edge(TripleIds(concept.id, dim.id, parent.id))
    if edge is None or not is_in_force(edge, bounds):
        return False
    if graph.parent_of(edge) != fact.parent:
        return False
    is_disputed, rivals = graph.find_dispute(edge)
    return fact.is_isa == edge.is_isa and is_disputed == fact.is_disputed and set(rivals) == set(fact.rivals)


def _bounds(graph: SpeakersGraph, now: float) -> Bounds:
    tuning = graph.cache.tuning
    return Bounds(
        floor=tuning.recollection_confidence_floor,
        cutoff=now - tuning.recollection_recency_days * DAY,
        retracted={place for place, instead in graph.stated.instead.items() if instead is None},
    )


def _sort(
    graph: SpeakersGraph,
    salient: Mapping[str, SoasRow],
    mentions: Mentions,
    now: float,
    shown: Block,
) -> tuple[list[SalientConcept], list[SalientConcept], dict[str, str]]:
    """Return candidates with facts that are not shown yet, candidates to ask about, and why the others
    are neither."""
    cache = graph.cache
    bounds, names = _bounds(graph, now), cache.soas_by_id
    shown_places, asked_before = _list_places(shown.facts), set(shown.questions)
    known, unknown, reasons, done = [], [], {}, set[str]()
    for spelling, row in salient.items():
        edges, word = graph.edges_about(row.id), spelling
        if (own := cache.alias_rows.get(spelling)) is not None:
            word = names[row.id]
            if word in salient or word in done or (own.is_common and spelling not in mentions.emphasised):
                continue
            done.add(word)
        if is_closed_class(word):  # of an earlier version, which accepted facts about them
            reasons[word] = "a word of grammar"
        elif row.is_common and not (own or word in mentions.emphasised or (edges and _is_taught(word, edges[0]))):
            reasons[word] = "a common word"
        elif edges:
            # Before shown facts are left out: otherwise each block would continue with weaker facts.
            strongest = find_strongest(edges, bounds, names)
            facts = strongest
            if shown_places:
                facts = [edge for edge in strongest if _name_place(names, edge) not in shown_places]
            if facts:
                known.append(SalientConcept(row, word, priority(row, now), facts))
            else:
                reasons[word] = "recalled before" if strongest else "no facts in force"
        elif word in asked_before:
            reasons[word] = "asked before"
        elif refusal := _why_not_ask(cache, row, now):
            reasons[word] = refusal
        else:
            unknown.append(SalientConcept(row, word, priority(row, now)))
    return known, unknown, reasons


def _list_linked(
    graph: SpeakersGraph, linked: Sequence[TripleIds], listed: Collection[str], now: float, shown: Block
) -> list[SalientConcept]:
    """Return the concepts of these facts that are not ``listed`` yet, with those facts that are in force and not
    shown."""
    cache, bounds, shown_places = graph.cache, _bounds(graph, now), _list_places(shown.facts)
    names = cache.soas_by_id
    edges: dict[str, list[EdgeRow]] = {}
    for ids in linked:
        edge = find_edge(cache, ids)
        if edge is not None and is_in_force(edge, bounds) and _name_place(names, edge) not in shown_places:
            edges.setdefault(names[ids.concept_id], []).append(edge)
    return [
        SalientConcept(row, word, 0.0, known[:FACTS_MAX])
        for word, known in edges.items()
        if word not in listed and not cache.is_muted(word, row := cache.soas_by_token[word])
    ]


def _list_places(facts: Collection[ShownFact]) -> set[tuple[str, ...]]:
    """Return the places of facts, in words: their slots, and also with their parents, which differ where all is
    kept."""
    return {place for fact in facts for place in (fact[:2], fact[:3])}


def _name_place(names: Mapping[int, str], edge: EdgeRow) -> tuple[str, ...]:
    slot = (names[edge.concept_id], names[edge.dim_id])
    return (*slot, names[edge.parent_id]) if edge.is_additive else slot


def _leave_out_stated(
    graph: SpeakersGraph,
    known: list[SalientConcept],
    readings: Sequence[Reading],
    reasons: dict[str, str],
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
        matches, edges = stated[candidate.token], candidate.edges
        if matches:
            edges = [edge for edge in edges if not _is_only_repeated(graph, edge, matches)]
        if edges:
            left.append(candidate._replace(edges=edges) if matches else candidate)
        else:
            reasons[candidate.token] = "stated in this prompt"
    return left


def _is_only_repeated(graph: SpeakersGraph, edge: EdgeRow, stated: Sequence[CueMatch]) -> bool:
    """True if the statements say the fact, or a more specific one, and no other value of its slot, and it is not
    disputed: otherwise the model has to be told which one holds."""
    cache = graph.cache
    parent = graph.parent_of(edge)
    own, is_contradicted = False, graph.find_dispute(edge)[0]
    for match in stated:
        row = cache.soas_by_token.get(match.dimension)
        if row is None or edge.dim_id not in {row.id, *cache.splits_of(row.id)}:
            continue
        said = cache.canonical(match.parent)
        if edge.is_additive and said != parent:
            continue  # they are beside each other
        if match.kind is SpeechAct.RETRACTS or (said != parent and not said.endswith(f"_{parent}")):
            is_contradicted = True
        own = own or (match.channel not in OTHERS and not match.is_hedged)
    return own and not is_contradicted


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
        return "known as a parent or a dimension"
    return "" if may_ask(row, now) else "asked about lately"


def _show(graph: SpeakersGraph, edge: EdgeRow) -> ShownFact:
    words = graph.cache.soas_by_id
    is_disputed, rivals = graph.find_dispute(edge)
    concept, dimension, parent = words[edge.concept_id], words[edge.dim_id], graph.parent_of(edge)
    names = (concept, parent, *rivals)
    labels, told = tuple(map(graph.label_of, names)), graph.stated.instead.get(edge.place) or edge
    return ShownFact(concept, dimension, parent, is_disputed, rivals, told.is_isa, labels if labels != names else ())
