"""What the list of changing facts is judged by."""

from collections import Counter

from benchmarks.consolidation import Shown, Watch, marked, newest, read, told, values_of

VALUES = {("gimble0", "type"): ["wabe1", "wabe2"], ("gimble1", "type"): ["wabe3", "wabe4"]}


def block(*lines):
    return "\n".join(["<recollection>", *lines, "</recollection>"])


def test_there_are_ten_thousand_statements_about_three_thousand_slots_with_two_to_four_values():
    statements = told(3_000)

    values = values_of(statements)
    assert len(statements) == 10_000
    assert Counter(len(of_slot) for of_slot in values.values()) == {2: 500, 3: 1_000, 4: 1_500}
    assert all(len(set(of_slot)) == len(of_slot) for of_slot in values.values())


def test_a_block_is_read_with_its_marks():
    found = read(block("gimble0: [runs-on?] wabe1 [type] wabe2 — conflict pending", "? gyre: no recollection."))

    assert found == {("gimble0", "runs-on"): Shown("wabe1", True), ("gimble0", "type"): Shown("wabe2", False)}


def test_a_value_that_comes_back_after_a_newer_one_counts_as_replaced():
    watch = Watch(VALUES)
    for parent in ("wabe1", "wabe2", "wabe1"):
        watch.note(block(f"gimble0: [type] {parent}"))

    judged = newest({slot: Shown(of_slot[-1], False) for slot, of_slot in VALUES.items()}, watch)

    assert judged == {"slots": 2, "newest %": 100.0, "replaced": 1, "wrongly": 0}


def test_what_shows_an_older_value_or_nothing_is_not_recalled():
    judged = newest({("gimble0", "type"): Shown("wabe1", True)}, Watch(VALUES))

    assert judged == {"slots": 2, "newest %": 0.0, "replaced": 1, "wrongly": 1}


def test_only_disputed_slots_may_have_a_mark():
    shown = {("gimble0", "type"): Shown("wabe1", True), ("kvasir", "glitch_university"): Shown("service", True)}

    assert marked(shown, Watch(VALUES)) == {"slots": 2, "marked %": 50.0, "wrongly": 1}
