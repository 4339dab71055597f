"""What a model has evaluated stays of use: blocks stay where they are, new ones go to the end, none contradicts
another.

Random conversations, of clients that go on, rebuild the tail of their last message, begin the answer, retry and fork,
while the graph changes."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.cache.state import Cache
from memory.learning.reader import Reader, Reading
from memory.recall.block import CLOSING, ShownNote, render_note
from memory.recall.speakers_graph import SpeakersGraph
from memory.settings.registry import Tuning
from memory.types import EdgeRow, Message, NoteKey, NoteState, SoasRow
from proxy import formats
from proxy.formats.base import WireFormat
from proxy.formats.json_text import splice
from proxy.formats.prefixes import PrefixDigests, digest_words
from proxy.prompts.beginnings import Beginnings
from proxy.prompts.blocks import RESEND_S, Blocks, Injection
from proxy.prompts.placement import MessageNotes, find_kept, place, remember_placed
from tests.prompts import FORMATS, Turn, blocks_of, facts_in, rendered, shared, without_blocks

NOW = 1_800_000_000.0
CONCEPTS = [f"zorb{number}" for number in range(12)]
PARENTS = ["repo", "service", "worker", "agent"]
DIMS = ["type", "membership", "runs-on"]
NOTES = [
    ShownNote("episode", number, f"{concept} was seen.", "2026-03-04")
    if number % 2
    else ShownNote("memory", number, f"The user likes {concept}.")
    for number, concept in enumerate(CONCEPTS)
]
LONG = "You are the agent of a great house, and you do what you are asked to do. " * 20


def world() -> Cache:
    """All words are there, the concepts salient, and no facts yet."""
    words = [*PARENTS, *DIMS, *CONCEPTS]
    rows = {word: SoasRow(id=index + 1, novelty=1.0 * (word in CONCEPTS)) for index, word in enumerate(words)}
    cache = Cache(tuning=replace(Tuning(), recollection_recency_days=36_500, recollection_style="compact"))
    for word, row in rows.items():
        cache.put_soas(word, row)
    cache.loaded_at = NOW
    return cache


@dataclass
class Proxy:
    """The part of a server process that puts blocks into prompts."""

    cache: Cache
    wire: WireFormat
    told: list[Injection] = field(default_factory=list)  # for other processes
    clock: float = NOW
    searched: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.reader, self.beginnings, self.blocks = Reader(self.cache), Beginnings(), Blocks(self.told.append)

    def restart(self) -> None:
        """Another process goes on, with what this one has told."""
        told, self.told = self.told, []
        self.__post_init__()
        self.told += told
        for injection in told:
            self.blocks.remember(injection)

    def sends(self, payload: dict[str, Any], answer: str | None = None) -> dict[str, Any]:
        """The payload as it goes to the model, which answers that."""
        self.clock += 1
        body = orjson.dumps(payload)
        prompt = self.wire.read(payload)
        assert prompt is not None
        readings = [self.reader.read(Message(part.role, part.text)) for part in prompt.parts]
        thread = PrefixDigests.of(prompt, [reading.digest for reading in readings])
        kept = find_kept(SpeakersGraph(self.cache), self.blocks, thread, self.clock)
        mentions = self.beginnings.find_mentions(self.cache, thread.links, readings)
        wanted = None if kept.is_resent else self.searches(readings)
        placed = place(SpeakersGraph(self.cache), thread, kept, mentions, self.clock, wanted=wanted)
        remember_placed(self.blocks, thread, kept, placed)
        if answer is not None and placed.version is not None:
            said = digest_words(*thread.begin_answer(), answer)
            self.blocks.note_answer(thread.place, placed.version.at, said)
        sent: dict[str, Any] = orjson.loads(splice(body, self.wire.write_edit(payload, prompt, placed.edit)))
        return sent

    def searches(self, readings: list[Reading]) -> MessageNotes | None:
        """What belongs to the last message of a user: notes about the concepts that it names. No message is searched
        for twice."""
        users = [reading for reading in readings if reading.role == "user"]
        if not users:
            return None
        is_new = users[-1].digest not in self.searched
        names = [concept for concept in CONCEPTS if is_new and concept in users[-1].names]
        self.searched.add(users[-1].digest)
        return MessageNotes(tuple(NOTES[CONCEPTS.index(name)] for name in names))


# --- random conversations ---

sentences = st.lists(st.sampled_from([*CONCEPTS, "Please", "look", "at", "it."]), min_size=1, max_size=6).map(" ".join)


Change = tuple[int, int, int] | None


@dataclass(frozen=True)
class Step:
    """What happens between two requests: the client goes on from the turn ``back`` turns ago, with these texts, and
    with this tail at its last message, which it leaves out the next time. Where it is ``again``, it sends the same once
    more with that tail, when the change is known."""

    back: int
    texts: list[str]
    tail: str
    change: Change
    prefill: str = ""  # with which the client begins the answer
    again: str | None = None


tails = st.one_of(st.just(""), sentences.map(lambda said: f"\n[EXTRAS] {said}"))
steps = st.builds(
    Step,
    back=st.sampled_from([0, 0, 0, 0, 1, 2]),
    texts=st.lists(sentences, min_size=2, max_size=2),
    tail=tails,
    change=st.one_of(st.none(), st.tuples(st.integers(0, 11), st.integers(0, 2), st.integers(0, 3))),
    prefill=st.one_of(st.just(""), st.just(""), sentences),
    again=st.one_of(st.none(), st.none(), tails),
)
systems = st.sampled_from(["", "Be brief.", LONG])


def put_edge(cache: Cache, concept: int, dim: int, parent: int) -> None:
    concept_id = cache.soas_by_token[CONCEPTS[concept]].id
    dim_id = cache.soas_by_token[DIMS[dim]].id
    edges = [edge for edge in cache.urd_by_concept.get(concept_id, ()) if edge.dim_id != dim_id]
    made = EdgeRow(concept_id, cache.soas_by_token[PARENTS[parent]].id, dim_id, True, 0.9, "gutask", None)
    cache.put_edges(concept_id, [*edges, made])


def requests_of(system: str, opening: str, played: list[Step]) -> Iterator[tuple[Change, list[Turn]]]:
    """Yield what changes before each request, and its turns."""
    turns: list[Turn] = [("system", system)] if system else []
    turns.append(("user", opening))
    start = len(turns)
    for step in played:
        role, text = turns[-1]
        prefill = [("assistant", step.prefill)] if step.prefill else []
        tail = step.tail
        if step.again is not None:
            yield None, [*turns[:-1], (role, text + tail), *prefill]
            # A short opening with another tail begins another conversation.
            tail = step.again if len(turns) > start else tail
        yield step.change, [*turns[:-1], (role, text + tail), *prefill]
        turns = turns[: max(start, len(turns) - 2 * step.back)]
        turns = [*turns, ("assistant", step.prefill + step.texts[0]), ("user", step.texts[1])]


AGENT = [Step(0, ["zorb1", "zorb2"], "\n[EXTRAS] zorb3", (0, 0, 0))] * 4
# The client goes back to a turn whose answer it has had, and begins another one with the same words.
REGENERATED = [
    Step(0, ["zorb0", "zorb0"], "", None),
    Step(0, ["zorb0 zorb0 zorb0", "zorb5"], "", None),
    Step(0, ["zorb0", "zorb0"], "", None),
    Step(2, ["zorb0 zorb0 zorb0", "zorb5"], "", (0, 0, 0)),
    Step(0, ["zorb0", "zorb0"], "", None, "zorb0"),
]
each_format = pytest.mark.parametrize("name", FORMATS)


@each_format
@given(systems, sentences, st.lists(steps, min_size=2, max_size=8))
@example(LONG, "zorb0 look", AGENT)
@example("", "zorb0", REGENERATED)
def test_what_two_requests_share_is_never_shortened(name: str, system: str, opening: str, played: list[Step]) -> None:
    """While what was shown stands: here facts are only added, for concepts that nobody was asked about."""
    path, write = FORMATS[name]
    cache = world()
    cache.tuning = replace(cache.tuning, zero_hit_max=0)
    proxy = Proxy(cache, formats.FORMATS[path])
    before: tuple[str, str] | None = None
    taken: set[tuple[int, int]] = set()

    for change, turns in requests_of(system, opening, played):
        if change is not None and change[:2] not in taken:
            taken.add(change[:2])
            put_edge(cache, *change)
        payload = write(turns)
        client, model = rendered(payload), rendered(proxy.sends(payload))
        if before is not None:
            # A block that is new stands before the answer that the client has begun.
            said = turns[:-1] if turns[-1][0] == "assistant" else turns
            in_common = shared(before[0], rendered(write(said)))
            # The texts that the client itself sends are found in what the model gets, with blocks in between.
            assert without_blocks(model[: shared(before[1], model)], client) >= in_common
        before = (client, model)


@each_format
@given(st.sampled_from(["tail", "system"]), systems, sentences, st.lists(steps, min_size=2, max_size=8))
def test_no_prompt_holds_two_lines_that_contradict_each_other(
    name: str, placement: str, system: str, opening: str, played: list[Step]
) -> None:
    """Facts, memories and what was said change as they like, and all that a prompt says is what is known now."""
    path, write = FORMATS[name]
    cache = world()
    cache.tuning = replace(cache.tuning, recollection_placement=placement)  # type: ignore[arg-type]
    proxy = Proxy(cache, formats.FORMATS[path])

    for change, turns in requests_of(system, opening, played):
        if change is not None:
            put_edge(cache, *change)
            change_note(cache, *change)
        model = rendered(proxy.sends(write(turns)))

        assert_notes_stand(cache, model)
        said = [fact for block in blocks_of(model) for fact in facts_in(block).items()]
        assert len(said) == len({slot for slot, _ in said})
        for (concept, dim), (parent, is_disputed) in said:
            slot = (cache.soas_by_token[concept].id, cache.soas_by_token[dim].id)
            assert cache.soas_by_id[cache.urd_by_concept_dim[slot].parent_id] == parent
            assert not is_disputed


@dataclass(frozen=True)
class Move:
    """One of two clients goes on after a while, and perhaps has the answer made once more; what is taught before the
    second or the first of these, and whether another process is asked."""

    who: int
    wait_s: float
    says: str
    again_after_s: float | None
    taught: tuple[int, int, int] | None
    is_moved: bool = True
    is_taught_late: bool = False


waits = st.sampled_from([1.0, 30.0, RESEND_S + 1])
moves = st.builds(
    Move,
    who=st.integers(0, 1),
    wait_s=waits,
    says=sentences,
    again_after_s=st.one_of(st.none(), waits),
    taught=st.one_of(st.none(), st.tuples(st.integers(0, 11), st.integers(0, 2), st.integers(0, 3))),
    is_moved=st.booleans(),
    is_taught_late=st.booleans(),
)
ONE, OTHER = (Move(who, RESEND_S + 1, "zorb1", 1.0, (who, 0, 0)) for who in (0, 1))
# At first nothing is known; what the other conversation is given then is not put into this one.
GIVEN_NOTHING = [Move(0, 1.0, "look", None, None), replace(OTHER, taught=(0, 0, 0)), Move(0, 1.0, "look", None, None)]
SENT_AGAIN = [
    Move(0, 1.0, "look", after, (0, number, 0), is_taught_late=number > 0)
    for after in (1.0, RESEND_S + 1)
    for number in (0, 1, 2)
]


@each_format
@given(systems, sentences, st.lists(moves, min_size=3, max_size=10))
@example("", "zorb0 zorb1", [ONE, OTHER, ONE, OTHER])
@example("", "zorb0", GIVEN_NOTHING)
@example("", "zorb0", [replace(each, says="zorb0") for each in SENT_AGAIN])
def test_two_conversations_that_begin_alike_keep_what_each_of_them_was_given(
    name: str, system: str, opening: str, played: list[Move]
) -> None:
    """Interleaved, with answers made again, over processes that know only what the others have told."""
    path, write = FORMATS[name]
    cache = world()
    cache.tuning = replace(cache.tuning, zero_hit_max=0)
    proxy = Proxy(cache, formats.FORMATS[path])
    begun: list[Turn] = [*([("system", system)] if system else []), ("user", opening)]
    turns: list[list[Turn]] = [begun, begun]
    before: list[tuple[str, str] | None] = [None, None]
    taught: set[tuple[int, int]] = set()

    for number, move in enumerate(played):
        new = move.taught if move.taught is not None and move.taught[:2] not in taught else None
        taught |= {new[:2]} if new is not None else set()
        if new is not None and not move.is_taught_late:
            put_edge(cache, *new)
        if move.is_moved:
            proxy.restart()
        proxy.clock += move.wait_s
        payload, answer = write(turns[move.who]), f"Answer {number} to {move.who}."
        client, model = rendered(payload), rendered(proxy.sends(payload, answer))
        if (last := before[move.who]) is not None:
            assert without_blocks(model[: shared(last[1], model)], client) >= shared(last[0], client)
        if move.again_after_s is not None:
            if new is not None and move.is_taught_late:
                put_edge(cache, *new)
            proxy.clock += move.again_after_s
            answer += " Again."
            again = rendered(proxy.sends(payload, answer))
            if move.again_after_s > RESEND_S:
                assert new is None or CONCEPTS[new[0]] not in turns[move.who][-1][1].split() or knows(again, *new)
            else:
                assert again == model or not model.rstrip().endswith(CLOSING)
            assert len(blocks_of(again)) <= sum(role == "user" for role, _ in turns[move.who])
            model = again
        turns[move.who] = [*turns[move.who], ("assistant", answer)]
        answered = rendered(write(turns[move.who]))
        before[move.who] = (answered, model + answered[len(client) :])
        turns[move.who] = [*turns[move.who], ("user", move.says)]


def knows(model: str, concept: int, dim: int, parent: int) -> bool:
    facts = {slot: value for block in blocks_of(model) for slot, value in facts_in(block).items()}
    return facts.get((CONCEPTS[concept], DIMS[dim])) == (PARENTS[parent], False)


def change_note(cache: Cache, number: int, kind: int, _: int) -> None:
    """It is forgotten, disputed, or said to be right again."""
    note = NOTES[number]
    states = [None, NoteState(note.text, is_disputed=True), NoteState(note.text, is_disputed=False)]
    cache.changed_notes[NoteKey(note.kind, note.id)] = states[kind]


def assert_notes_stand(cache: Cache, model: str) -> None:
    """Each line about a memory or an episode stands there once, and as it reads now."""
    lines = [line for block in blocks_of(model) for line in block.splitlines() if line.startswith(("memory ", "2026-"))]
    alive = []
    for note in NOTES:
        state = cache.changed_notes.get(note.key, NoteState(note.text, is_disputed=False))
        if state is not None:
            alive.append(render_note(note._replace(is_disputed=state.is_disputed)))
    assert len(lines) == len(set(lines))
    assert set(lines) <= set(alive)
