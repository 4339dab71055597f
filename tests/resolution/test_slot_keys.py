"""Where layers are about one thing, and whether they say the same of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.english.claims import same_value
from resolution.conflicts.keys import SlotValue, make_slot_key, read_fact, read_memory, read_state

words = st.sampled_from(["lateral", "support", "material", "decision", "mass", "limit", "mirror", "8080", "gf"])
names = st.lists(words, min_size=1, max_size=4)
joiners = st.sampled_from(["-", "_", ".", "/", ":"])


def keys(values: list[SlotValue]) -> set[str]:
    return {value.key for value in values}


def contradict(memory: SlotValue, other: SlotValue) -> bool:
    """As the query of detection compares a memory with a fact or a state."""
    one, two = set(memory.words), set(other.words)
    return two <= one if memory.is_denied else not (one <= two or two <= one)


def meet(state: tuple[str, str, str], fact: tuple[str, str]) -> bool:
    """``state``: slug, category, key; ``fact``: concept, dimension."""
    key = make_slot_key(*state)
    return key != "" and key == make_slot_key("", *fact)


@pytest.mark.parametrize(
    ("state", "fact"),
    [
        (("p05", "decision", "lateral_support_material"), ("p05.lateral-support", "decision.material")),
        (("p05", "decision", "lateral_support_material"), ("p05", "decision.lateral-support-material")),
        (
            ("p05-interferometer", "requirement", "mass_of_the_mirror"),
            ("p05-interferometer/mirror", "requirement.mass"),
        ),
        (("hive", "milestones", "beta"), ("beta", "hive.milestone")),
        (("p05", "parameter", "gain_a"), ("p05.gain-a", "parameter")),
    ],
)
def test_state_and_a_fact_that_names_its_project_meet(state: tuple[str, str, str], fact: tuple[str, str]) -> None:
    assert meet(state, fact)


@pytest.mark.parametrize(
    ("state", "fact"),
    [
        (("p05", "decision", "lateral_support_material"), ("lateral-support", "decision.material")),
        (("p05", "decision", "lateral_support_material"), ("p06.lateral-support", "decision.material")),
        (("p05", "decision", "lateral_support_material"), ("p05.axial-support", "decision.material")),
        (("p05", "mass", "mass"), ("p05", "mass")),
        (("p05", "p05", "mass"), ("p05", "mass")),
        (("p05", "parameter", "gain_a"), ("p05.gain-b", "parameter")),
        (("p05", "part", "with_coating"), ("p05.without-coating", "part")),
    ],
)
def test_what_is_about_something_else_does_not_meet(state: tuple[str, str, str], fact: tuple[str, str]) -> None:
    assert not meet(state, fact)


@given(names, names, joiners, st.randoms())
def test_neither_order_nor_joiners_matter(category: list[str], key: list[str], joiner: str, random: object) -> None:
    every = [*category, *key]
    random.shuffle(every)  # type: ignore[attr-defined]
    at = max(1, len(every) // 2)
    concept, dimension = joiner.join(["p05", *every[:at]]), joiner.join(every[at:])

    assert make_slot_key("p05", "_".join(category), ".".join(key)) == (
        make_slot_key("", concept, dimension) if len(set(every)) >= 2 else ""
    )


@given(names, names)
def test_one_word_and_none_never_meet(one: list[str], other: list[str]) -> None:
    key = make_slot_key("", *one, *other)

    assert (key == "") == (len({*one, *other}) < 2)
    assert make_slot_key("", "", "of the") == make_slot_key("p05", "p05", "mass") == ""


def test_a_memory_meets_by_its_slot_with_its_category_or_without() -> None:
    assert keys(read_memory("", "identity", "phone number", "")) == {"number phone", "ident number phone"}
    assert keys(read_memory("p05", "preference", "workflow", "")) == {"p05 prefer workflow"}
    assert read_memory("p05", "preference", "", "The support material is PEEK.") == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("The lateral support material is PEEK.", "lateral_support_material", "PEEK"),
        ("The team decided that our mass limit is now 4.82 kg.", "mass_limit", "4.82 kg"),
        ("The deployment day is Friday from now on.", "deployment_day", "Friday"),
        ("We switched to graphQL for the portal API", "portal_api", "graphQL"),
        ("Our critical design review is 12 March 2027", "critical_design_review", "12 March 2027"),
    ],
)
def test_a_memory_without_a_slot_meets_the_state_whose_key_it_gives_a_value(text: str, key: str, value: str) -> None:
    said = {one.key: one for one in read_memory("p05", "project", "", text)}
    [met] = [one for one in read_state("p05", "decision", key, value) if one.key in said]

    assert (said[met.key].value, said[met.key].words) == (met.value, met.words)


def meets(concept: str, dimension: str, value: str) -> dict[str, str]:
    [said] = read_fact(concept, dimension, value)
    return {said.key: said.value, f"= {said.key}": said.value}


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("Kvasir runs on lovelace.", meets("kvasir", "runs-on", "lovelace")),
        ("p05.laser is owned by ron.", meets("p05.laser", "owned-by", "ron")),
        ("The team thinks that kvasir runs on lovelace.", {}),
        ("Kvasir may run on lovelace.", {}),
        ("Kvasir no longer runs on lovelace.", {}),
        ("Kvasir used to run on lovelace.", {}),
        ("Kvasir is a service.", {}),
        ("The deployment day is cancelled.", {}),
        ("The deployment day is not Friday.", {}),
        ("The deployment day was Friday.", {}),
        ("The deployment day is Friday or Monday.", {}),
        ("Is the deployment day Friday?", {}),
        ("The lateral support material is expensive, says PEEK.", {}),
        ("The wavelength is 633 nm.", {}),
    ],
)
def test_only_what_a_memory_plainly_says_meets_anything(text: str, met: dict[str, str]) -> None:
    assert {one.key: one.value for one in read_memory("", "project", "", text)} == met


@pytest.mark.parametrize(
    ("one", "other", "different"),
    [
        ("Friday", "Thursday", True),
        ("4.8 kg", "8.4 kg", True),
        ("Postgres 16", "Postgres 17", True),
        ("12 March", "March 12", False),
        ("lovelace", "lovelace_cluster", False),
        ("Fridays", "friday", False),
        ("Friday, 10:00", "Friday", False),
    ],
)
def test_values_differ_where_each_says_what_the_other_does_not(one: str, other: str, different: bool) -> None:
    [said], [told] = read_fact("day", "deployment", one), read_fact("day", "deployment", other)

    assert contradict(said, told) == contradict(told, said) == different


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("GF-PTFE", "gf_ptfe", True),
        ("4.8 kg", "4.8kg", True),
        ("4.8 kg", "4.8_kg", True),
        ("4.8 kg", "4.82 kg", False),
        ("-5 °C", "5 °C", False),
        ("< 5", "> 5", False),
        ("GF-PTFE", "PEEK", False),
        ("Postgres 16", "postgres 17", False),
    ],
)
def test_only_case_and_joiners_make_no_other_value(one: str, other: str, same: bool) -> None:
    assert same_value(one, other) == same_value(other, one) == same


@pytest.mark.parametrize(
    ("text", "category", "value", "denies"),
    [
        ("The user's phone number is 1234.", "identity", "1234", False),
        ("The user's phone number is 1234.", "identity", "5678", True),
        ("The user's mass limit is 4.82 kg.", "identity", "4.8 kg", True),
        ("The user's mass limit is 8.4 kg.", "identity", "4.8 kg", True),
        ("The user prefers rebase workflow.", "preference", "merge-commit workflow", True),
        ("The user prefers rebase workflow.", "preference", "rebase", False),
        ("The user prefers rebase to merge commits.", "preference", "merge-commits", True),
        ("The user never uses the rebase workflow.", "preference", "rebase", True),
        ("The user never uses the rebase workflow.", "preference", "merge", False),
        ("The user's favourite colour is blue.", "preference", "Blue", False),
    ],
)
def test_a_memory_that_says_another_thing_denies_it(text: str, category: str, value: str, denies: bool) -> None:
    [fact] = read_fact("what", "it-is-about", value)

    assert {contradict(said, fact) for said in read_memory("", category, "two words", text)} == {denies}
