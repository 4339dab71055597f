"""The memory of blocks: its bounds, and processes that tell each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.recall.block import NOTHING, Block, ShownNote
from proxy.formats.prefixes import PrefixDigests, digest_words
from proxy.prompts import blocks as bounds
from proxy.prompts.blocks import ANSWERS_MAX, PLACE_BYTES, VERSIONS_MAX, Blocks, Injection, Version
from tests.proxy.threads import thread

NOW = 1_800_000_000.0
ASKED = thread(("user", "hello"))


def answered(answer: str) -> PrefixDigests:
    return thread(("user", "hello"), ("assistant", answer), ("user", "so?"))


def text_of(blocks: Blocks, asked: PrefixDigests) -> str | None:
    found = blocks.find(asked, 0)
    return None if found is None else found.block.text


def test_another_process_has_what_it_was_told_however_often() -> None:
    told: list[Injection] = []
    one, other = Blocks(told.append), Blocks()
    for number, text in enumerate(("first", "second")):
        version = Version(Block(text), NOW + number)
        one.begin(ASKED.place, version)
        one.note_answer(ASKED.place, version.at, digest_words(text))
    one.remove(ASKED.place, version)

    for injection in told * 2:
        other.remember(injection)

    for process in (one, other):
        assert [text_of(process, answered(answer)) for answer in ("first", "second", "third")] == ["first", "", ""]


def test_of_two_processes_that_answer_one_prompt_at_once_the_later_has_the_newest_block() -> None:
    early, late = Injection(ASKED.place, Block("early"), NOW), Injection(ASKED.place, Block("late"), NOW + 1)
    seen = []

    for order in ((early, late), (late, early)):
        process = Blocks()
        for injection in order:
            process.remember(injection)
        seen.append(text_of(process, ASKED))

    assert seen == ["late", "late"]


def test_what_was_taken_away_does_not_come_back() -> None:
    told: list[Injection] = []
    process = Blocks(told.append)
    version = Version(Block("text"), NOW)
    process.begin(ASKED.place, version)
    process.remove(ASKED.place, version)

    for injection in told:
        process.remember(injection)

    assert text_of(process, ASKED) == ""


def test_a_place_has_its_newest_versions_and_a_version_some_answers() -> None:
    process = Blocks()
    for number in range(VERSIONS_MAX + 1):
        version = Version(Block(f"version {number}"), NOW + number)
        process.begin(ASKED.place, version)
        for answer in range(ANSWERS_MAX + 1):
            process.note_answer(ASKED.place, version.at, digest_words(f"{number} {answer}"))

    oldest, last = f"0 {0}", f"1 {ANSWERS_MAX - 1}"
    assert text_of(process, answered(last)) == "version 1"
    assert text_of(process, answered(oldest)) == f"version {VERSIONS_MAX}"


def test_of_too_many_places_those_go_that_nobody_used_lately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SIZE_MAX", 2 * PLACE_BYTES + 100)
    process = Blocks()
    for number in range(3):
        process.begin(bytes([number] * 16), Version(Block("text"), NOW))
        process.notes_at(bytes(16))

    assert [bool(process.list_versions()), len(process)] == [True, 2]
    assert process.notes_at(bytes([1] * 16)) == ()


Act = tuple[int, int, str]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["begin", "remove", "answer", "notes"]), st.text(max_size=9)))
)
def test_what_it_holds_is_what_it_counts(played: list[tuple[int, str, str]]) -> None:
    process = Blocks()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "SIZE_MAX", 2 * PLACE_BYTES + 100)
        for number, (place, act, text) in enumerate(played):
            key, found = bytes([place] * 16), process.list_versions()
            if act == "begin":
                process.begin(key, Version(Block(text), NOW + number))
            elif act == "notes":
                process.keep_notes(key, (ShownNote("memory", number, text),), NOW + number)
            elif act == "answer" and found:
                process.note_answer(key, found[-1].at, digest_words(text))
            elif act == "remove" and found:
                process.remove(key, found[-1])

    assert process._size == sum(version.size for version in process.list_versions())


def test_the_largest_do_not_take_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SIZE_MAX", 10_000)
    process = Blocks()

    for number in range(9):
        process.begin(bytes([number] * 16), Version(Block("x" * 2_000), NOW))

    assert len(process) == 2
    assert NOTHING not in [version.block for version in process.list_versions()]
