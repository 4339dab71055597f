"""The memory of running conversations: what stands where, as requests go on, fork, are sent again and reach other
processes, and what their messages name."""

from dataclasses import dataclass, field, replace
from math import inf

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.cache.state import Cache
from memory.domain.recall.rendering import Block
from memory.domain.steps import finish
from memory.domain.types import Message, SoasRow
from memory.learning.reader import Allowance, Reader
from memory.recall.mentions import Mentions, filter_salient
from memory.settings.registry import Tuning
from proxy.domain.prefixes import SHARED_MIN, Thread
from proxy.enrichment.conversations import BLOCKS_MAX, HOUR, Conversation, Conversations, Injection
from tests.proxy.threads import Said, thread

NOW = 1_800_000_000.0
HELLO: list[Said] = [("system", "S"), ("user", "hello")]
MORE: list[Said] = [("assistant", "yes"), ("user", "and now?")]
LONG = "x" * SHARED_MIN


def standing(memory: Conversations, asked: Thread, now: float = NOW) -> tuple[str, dict[int, str]] | None:
    """The block at the top and those further down, by the index of a part; None for a new conversation."""
    found = memory.resume(asked, now)
    if found is None:
        return None
    return found.top.text, {spot.part: block.text for spot, block in found.use_blocks(asked).items()}


def put(memory: Conversations, asked: Thread, block: str, now: float = NOW) -> None:
    """At the end of the last message, as the placement does."""
    found = memory.resume(asked, now)
    assert found is not None
    memory.put(found, asked.links[-1], Block(block), now)


# --- in one process ---


def test_a_conversation_that_nobody_began_is_new() -> None:
    memory = Conversations()
    memory.begin(thread(*HELLO), Block("top"), None, NOW)

    assert standing(memory, thread(("system", "S"), ("user", "hi"))) is None


def test_what_was_put_stands_in_all_that_goes_on_from_there() -> None:
    memory = Conversations()
    asked = thread(*HELLO, *MORE)
    memory.begin(thread(*HELLO), Block("top"), None, NOW)
    put(memory, asked, "tail")

    assert standing(memory, thread(*HELLO)) == ("top", {})
    assert standing(memory, asked) == ("top", {3: "tail"})
    assert standing(memory, thread(*HELLO, *MORE, *MORE)) == ("top", {3: "tail"})


def test_a_request_that_is_sent_again_finds_what_it_got() -> None:
    memory = Conversations()
    asked = thread(*HELLO, *MORE)
    memory.begin(asked, Block("top"), None, NOW)
    put(memory, asked, "tail")

    assert standing(memory, asked) == standing(memory, asked) == ("top", {3: "tail"})


def test_forks_keep_their_own_blocks_and_share_what_comes_before() -> None:
    memory = Conversations()
    common: list[Said] = [*HELLO, *MORE]
    one: list[Said] = [*common, ("assistant", "one"), ("user", "one")]
    other: list[Said] = [*common, ("assistant", "other"), ("user", "other")]
    memory.begin(thread(*HELLO), Block("top"), None, NOW)
    put(memory, thread(*common), "common")
    put(memory, thread(*one), "one's")
    put(memory, thread(*other), "other's")

    assert standing(memory, thread(*one, *MORE)) == ("top", {3: "common", 5: "one's"})
    assert standing(memory, thread(*other, *MORE)) == ("top", {3: "common", 5: "other's"})
    assert standing(memory, thread(*common, ("assistant", "third"), ("user", "one"))) == ("top", {3: "common"})


def test_a_block_whose_place_the_client_replaced_does_not_stand() -> None:
    memory = Conversations()
    memory.begin(thread(*HELLO), Block("top"), None, NOW)
    put(memory, thread(*HELLO, ("assistant", "yes"), ("user", "look\n[EXTRAS]")), "tail")

    assert standing(memory, thread(*HELLO, ("assistant", "yes"), ("user", "look"), *MORE)) == ("top", {})


def test_what_was_taken_out_does_not_stand_and_can_be_put_again() -> None:
    memory = Conversations()
    asked = thread(*HELLO, *MORE)
    memory.begin(asked, Block("top"), None, NOW)
    put(memory, asked, "tail")

    put(memory, asked, "", NOW + 1)
    assert standing(memory, asked) == ("top", {})

    put(memory, asked, "another", NOW + 1)
    assert standing(memory, asked) == ("top", {3: "another"})


def test_a_conversation_that_begins_again_holds_only_its_new_top() -> None:
    memory = Conversations()
    asked = thread(*HELLO, *MORE)
    memory.begin(asked, Block("top"), None, NOW)
    put(memory, asked, "tail")

    memory.begin(asked, Block("new top"), "a SYSTEM", NOW + 1)

    found = memory.resume(asked, NOW + 1)
    assert found is not None
    assert (found.top.text, found.system, found.use_blocks(asked)) == ("new top", "a SYSTEM", {})
    assert len(memory) == 1


def test_another_model_is_another_conversation() -> None:
    memory = Conversations()
    memory.begin(thread(*HELLO), Block("top"), None, NOW)

    assert standing(memory, thread(*HELLO, model="another")) is None


def test_whoever_shares_a_long_beginning_goes_on_with_its_top_and_its_own_tails() -> None:
    memory = Conversations()
    main: list[Said] = [("system", LONG), ("user", "hello")]
    sub: list[Said] = [("system", LONG), ("user", "a sub-agent's task")]
    memory.begin(thread(*main), Block("top"), "a SYSTEM", NOW)
    put(memory, thread(*main), "main's")

    assert standing(memory, thread(*sub)) == ("top", {})
    put(memory, thread(*sub), "sub's")

    assert standing(memory, thread(*sub)) == ("top", {1: "sub's"})
    assert standing(memory, thread(*main)) == ("top", {1: "main's"})


def test_an_opening_that_is_the_beginning_of_anothers_keeps_its_tails() -> None:
    """As when a chat's first request ends in a part that the client rebuilds, and there are two such chats."""
    memory = Conversations()
    chat: list[Said] = [("user", "hello dear agent"), *MORE]
    memory.begin(thread(("user", "hello dear agent\n[EXTRAS] a")), Block("top"), None, NOW)
    assert standing(memory, thread(*chat)) == ("top", {})
    put(memory, thread(*chat), "tail")

    assert standing(memory, thread(("user", "hello dear agent\n[EXTRAS] b"))) == ("top", {})

    assert standing(memory, thread(*chat)) == ("top", {2: "tail"})


def test_of_many_that_are_known_the_one_with_the_longest_shared_beginning_is_found() -> None:
    memory = Conversations()
    for top, text in {"long": LONG + "\n" + "a" * 4_000, "short": LONG + "?" * 4_000}.items():
        memory.begin(thread(("user", text)), Block(top), None, NOW)

    assert standing(memory, thread(("user", LONG + "\n" + "a" * 4_000 + "!"))) == ("long", {})


# --- bounds ---


def conversation(number: int) -> Thread:
    return thread(("user", f"hello {number}\nand more"))


def test_of_too_many_conversations_those_are_forgotten_that_nobody_used_lately() -> None:
    memory = Conversations()
    memory.conversations_max = 3
    for number in range(3):
        memory.begin(conversation(number), Block(f"top {number}"), None, NOW)
    memory.resume(conversation(0), NOW)

    memory.begin(conversation(3), Block("top 3"), None, NOW)

    assert len(memory) == 3
    assert [standing(memory, conversation(number)) for number in (0, 1, 2, 3)] == [
        ("top 0", {}),
        None,
        ("top 2", {}),
        ("top 3", {}),
    ]


def test_what_is_forgotten_leaves_nothing_behind_and_takes_nothing_along() -> None:
    memory = Conversations()
    memory.conversations_max = 2
    for number in range(50):
        memory.begin(conversation(number), Block("top"), None, NOW)
        memory.begin(thread(("user", f"hello {number}")), Block("top"), None, NOW)

    kept = {key for held in memory._recent.values() for key in held.keys}
    assert set(memory._by_key) == kept


def test_the_largest_do_not_take_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.enrichment.conversations.SIZE_MAX", 1_000_000)
    memory = Conversations()

    for number in range(20):
        memory.begin(conversation(number), Block("top"), None, NOW)
        put(memory, conversation(number), "b" * 99_000)

    assert 3 <= len(memory) <= 5
    assert standing(memory, conversation(19)) == ("top", {0: "b" * 99_000})
    put(memory, conversation(19), "b" * 999_000)
    assert len(memory) == 1  # what is in use stays, however large


@dataclass(frozen=True)
class Change:
    """Of one of few conversations, by this process or another; ``text`` is the block's, ``at`` when it came about."""

    number: int
    turns: int
    text: str
    is_told: bool
    at: float


changes = st.builds(
    Change,
    number=st.integers(0, 4),
    turns=st.integers(0, 3),
    text=st.text("b", max_size=300),
    is_told=st.booleans(),
    at=st.floats(NOW, NOW + 3 * HOUR),
)


@given(st.lists(changes, max_size=40))
def test_what_it_holds_is_what_it_counts(played: list[Change]) -> None:
    """Whatever comes, in whatever order."""
    memory = Conversations()
    memory.conversations_max = 3

    for change in played:
        asked = thread(("user", f"hello {change.number}\nand more"), *MORE * change.turns)
        if change.is_told:
            place = asked.links[-1] if change.turns else b""
            memory.remember(Injection(asked.key, tuple(asked.all_keys), place, Block(change.text), None, change.at))
        else:
            if not change.turns:
                memory.begin(asked, Block(change.text), None, change.at)
            elif memory.resume(asked, change.at) is not None:
                put(memory, asked, change.text, change.at)

        held = list(memory._recent.values())
        assert len(held) <= 3
        assert memory._size == sum(kept.size for kept in held)
        assert all(kept.size == anew(kept).size for kept in held)
        assert set(memory._by_key) == {key for kept in held for key in kept.keys}


def anew(known: Conversation) -> Conversation:
    made = Conversation(known.key, known.keys, known.top, known.system, known.at)
    for place, (text, at) in known.blocks.items():
        made.put(place, text, at)
    return made


def test_what_is_named_is_remembered_of_so_many_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of messages that name nothing."""
    monkeypatch.setattr("proxy.enrichment.conversations.NAMES_MAX", 300)
    cache, memory = vocabulary(), Conversations()
    reading = Reader(cache).read(Message("user", "please"))

    for number in range(4):
        said: list[Said] = [("user", f"hello {number}")] * 100
        memory.mentions(cache, thread(*said), [reading] * 100)

    assert len(memory._beginnings) == 3
    assert memory._names <= 300


def test_of_too_many_blocks_those_go_that_stood_nowhere_lately() -> None:
    """An agent that rebuilds the end of its prompt leaves a block behind at each turn."""
    memory = Conversations()
    asked = thread(*HELLO, *MORE)
    memory.begin(asked, Block("top"), None, NOW)
    put(memory, asked, "stays")

    for turn in range(2 * BLOCKS_MAX):
        rebuilt = thread(*HELLO, *MORE, ("assistant", "yes"), ("user", f"[EXTRAS] {turn}"))
        assert standing(memory, rebuilt) == ("top", {3: "stays"})
        put(memory, rebuilt, "rebuilt")

    assert standing(memory, asked) == ("top", {3: "stays"})
    found = memory.resume(asked, NOW)
    assert found is not None
    assert len(found.blocks) == BLOCKS_MAX


# --- over several processes ---


@dataclass
class Process:
    """Its memory, and what it told."""

    told: list[Injection] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memory = Conversations(self.told.append)

    def hears(self, *told: Injection) -> None:
        for injection in told:
            self.memory.remember(injection)


def begun(top: str = "top") -> Process:
    process = Process()
    process.memory.begin(thread(*HELLO), Block(top), "a SYSTEM", NOW)
    return process


def test_another_process_goes_on_where_one_stopped() -> None:
    one, other = begun(), Process()
    put(one.memory, thread(*HELLO, *MORE), "tail", NOW + 1)

    other.hears(*one.told)

    asked = thread(*HELLO, *MORE, *MORE)
    assert standing(other.memory, asked, NOW + 2) == ("top", {3: "tail"})
    found = other.memory.resume(asked, NOW + 2)
    assert found is not None
    assert found.system == "a SYSTEM"
    assert other.told == []


def test_another_process_knows_a_conversation_by_its_shared_beginning() -> None:
    one, other = Process(), Process()
    one.memory.begin(thread(("system", LONG), ("user", "hello")), Block("top"), None, NOW)

    other.hears(*one.told)

    assert standing(other.memory, thread(("system", LONG), ("user", "another task"))) == ("top", {})


def test_what_a_process_told_itself_changes_nothing() -> None:
    one = begun()
    asked = thread(*HELLO, *MORE)
    put(one.memory, asked, "tail", NOW + 1)
    put(one.memory, asked, "", NOW + 2)
    put(one.memory, asked, "another", NOW + 3)

    for injection in list(one.told):  # one by one, as they come
        one.hears(injection)
        assert standing(one.memory, asked, NOW + 3) == ("top", {3: "another"})


def test_of_two_processes_the_later_word_about_a_place_counts_in_whatever_order_they_come() -> None:
    asked = thread(*HELLO, *MORE)
    link = asked.links[-1]
    earlier, later = (
        Injection(asked.key, (), link, Block(block), None, at)
        for block, at in (("earlier", NOW + 1), ("later", NOW + 2))
    )

    for told in ([earlier, later], [later, earlier]):
        process = begun()
        process.hears(*told)
        assert standing(process.memory, asked) == ("top", {3: "later"})


def test_a_conversation_that_was_rebuilt_elsewhere_is_rebuilt_here_with_nothing_of_before() -> None:
    one, other = begun(), Process()
    asked = thread(*HELLO, *MORE)
    put(one.memory, asked, "tail", NOW + 1)
    other.hears(*one.told)

    other.memory.begin(asked, Block("new top"), "a SYSTEM", NOW + 2)
    late = Injection(asked.key, (), asked.links[1], Block("written before it was known"), None, NOW + 1.5)
    one.hears(*other.told, late)

    assert standing(one.memory, asked, NOW + 3) == ("new top", {})


def test_what_a_process_put_there_that_knew_nothing_of_the_conversation_is_all_that_stands() -> None:
    one, other, third = begun(), begun(), Process()
    asked = thread(*HELLO, *MORE)
    put(one.memory, asked, "as it was", NOW + 1)
    other.told.clear()

    other.memory.begin(asked, Block("top"), "a SYSTEM", NOW + 2)
    put(other.memory, thread(*HELLO, *MORE, *MORE), "as it is", NOW + 2)
    third.hears(*one.told, *other.told)

    assert standing(third.memory, thread(*HELLO, *MORE, *MORE), NOW + 3) == ("top", {5: "as it is"})


def test_an_older_beginning_does_not_replace_a_newer_one() -> None:
    one = begun("newer")

    one.hears(Injection(thread(*HELLO).key, tuple(thread(*HELLO).all_keys), b"", Block("older"), None, NOW - 1))

    assert standing(one.memory, thread(*HELLO)) == ("newer", {})


def test_a_block_of_an_unknown_conversation_is_nothing() -> None:
    process = Process()
    asked = thread(*HELLO, *MORE)

    process.hears(Injection(asked.key, (), asked.links[-1], Block("tail"), None, NOW))

    assert standing(process.memory, asked) is None


def test_a_conversation_in_use_is_told_again_after_an_hour() -> None:
    """What a process loads when it starts does not reach back as far as conversations do."""
    one = begun()
    asked = thread(*HELLO, *MORE)
    put(one.memory, asked, "tail", NOW + 1)
    one.memory.resume(asked, NOW + HOUR)
    assert len(one.told) == 2

    one.memory.resume(asked, NOW + HOUR + 2)
    one.memory.resume(asked, NOW + HOUR + 3)

    again = one.told[2:]
    assert [injection.at for injection in again] == [NOW + HOUR + 2] * 2
    other = Process()
    other.hears(*again)
    assert standing(other.memory, asked, NOW + HOUR + 4) == ("top", {3: "tail"})


def test_what_was_told_again_changes_nothing_where_all_is_known() -> None:
    one, other = begun(), Process()
    asked = thread(*HELLO, *MORE)
    put(one.memory, asked, "tail", NOW + 1)
    other.hears(*one.told)
    one.memory.resume(asked, NOW + HOUR + 2)
    put(other.memory, thread(*HELLO, *MORE, *MORE), "newer", NOW + HOUR + 3)

    other.hears(*one.told)
    one.hears(*other.told)

    for process in (one, other):
        found = standing(process.memory, thread(*HELLO, *MORE, *MORE), NOW + HOUR + 4)
        assert found == ("top", {3: "tail", 5: "newer"})


# --- what is named ---

NAMES = ["zorb", "plumbus", "Glitch University", "kvasir", "Mercury", "shuttle"]
sentences = st.lists(st.sampled_from([*NAMES, "please", "look", "at the", "it."]), max_size=5).map(" ".join)


@dataclass(frozen=True)
class Step:
    """The client goes on from the turn ``back`` turns ago, with these texts and with this tail, which it leaves out the
    next time; meanwhile this word is heard of so often that it becomes salient, or becomes a name."""

    back: int
    texts: tuple[str, str]
    tail: str
    rises: str


steps = st.builds(
    Step,
    back=st.sampled_from([0, 0, 0, 1, 2]),
    texts=st.tuples(sentences, sentences),
    tail=st.one_of(st.just(""), sentences.map(lambda text: "\n[EXTRAS] " + text)),
    rises=st.sampled_from(["", "", "zorb", "plumbus", "glitch_university", "mercury", "shuttle"]),
)


def vocabulary() -> Cache:
    """Mercury and shuttle are common words that nothing is known about: no names yet. Plumbus is not known at all."""
    cache = Cache(tuning=Tuning())
    common = {"please", "look", "at", "the", "it", "mercury", "shuttle"}
    for number, word in enumerate(["zorb", "glitch_university", "kvasir", "extras", *sorted(common)], 1):
        cache.put_soas(word, SoasRow(id=number, is_common=word in common))
    cache.loaded_at = NOW
    return cache


def rise(cache: Cache, word: str) -> None:
    row = cache.soas_by_token.get(word) or SoasRow(id=len(cache.soas_by_token) + 1)
    cache.put_soas(word, replace(row, novelty=1.0))


@pytest.mark.parametrize("characters", [0, 40, 10_000])
@given(sentences, st.lists(steps, min_size=1, max_size=8))
@example("zorb", [Step(0, ("", "plumbus"), "\n[EXTRAS] zorb", "mercury"), Step(0, ("Mercury", ""), "", "")])
def test_what_is_named_is_the_same_as_if_all_was_looked_at_anew(
    characters: int, opening: str, played: list[Step]
) -> None:
    """However much of the new text may be read before the model is asked, and whichever words become names later."""
    cache, memory = vocabulary(), Conversations()
    reader = Reader(cache)
    turns: list[Said] = [("system", "Look at kvasir."), ("user", opening)]

    for step in played:
        if step.rises:
            rise(cache, step.rises)
        turns = turns[: max(2, len(turns) - 2 * step.back)]
        asked: list[Said] = [*turns[:-1], (turns[-1][0], turns[-1][1] + step.tail)]
        messages = [Message(role, text) for role, text in asked]
        readings = finish(reader.read_within(messages, Allowance(characters, inf)))
        found = memory.mentions(cache, thread(*asked), readings)

        anew = Mentions.of([reading for reading in readings if reading is not None])
        assert (found.names, found.emphasised, found.by_user) == (anew.names, anew.emphasised, anew.by_user)
        assert found.readings == anew.readings
        assert found.salient == set(filter_salient(cache, anew.names))
        for message, reading in zip(messages, readings, strict=True):
            assert reading is None or reading.names == Reader(cache).read(message).names
        turns = [*turns, ("assistant", step.texts[0]), ("user", step.texts[1])]
