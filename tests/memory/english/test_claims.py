"""What a plain sentence claims, and of what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.english.claims.claim import exclude_each_other
from memory.english.claims.reader import read_claims

ONE = (
    "The deployment target is Kubernetes.",
    "The team decided that the deployment target is Nomad.",
    "The deployment target is not Kubernetes.",
)


@pytest.mark.parametrize("text", ONE)
def test_who_gives_a_slot_a_value_speaks_of_the_same(text: str) -> None:
    [claim] = read_claims(text)

    assert (claim.slot, claim.is_named) == ("deployment target", True)


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("Our staging server is called heron.", "nam server staging", "heron"),
        ("The staging server's name is heron.", "nam server staging", "heron"),
        ("The team decided to use Kafka for the event bus.", "bus event", "Kafka"),
        ("The kiln is now owned by Bob.", "by kiln own", "Bob"),
        ("The mass limit of the mirror is 4.82 kg.", "limit mass mirror", "4.82 kg"),
        ("The backup host is db-3.", "backup host", "db-3"),
    ],
)
def test_a_definite_phrase_has_one_value_as_it_was_typed(text: str, slot: str, value: str) -> None:
    [claim] = read_claims(text)

    assert (claim.slot, claim.value, claim.is_named) == (slot, value, True)


@pytest.mark.parametrize(
    "text",
    [
        "The API is REST-based.",
        "The VPN is down.",
        "The problem is Redis.",
        "I think the deployment target is Nomad.",
        "Maybe the deployment target is Nomad.",
        "The deployment target was Nomad.",
        "Is the deployment target Nomad?",
        "The team uses Postgres.",
        "Kvasir is a service.",
        "Kvasir no longer runs on lovelace.",
    ],
)
def test_qualities_kinds_and_what_is_not_asserted_claim_nothing(text: str) -> None:
    assert read_claims(text) == ()


@pytest.mark.parametrize(
    "text",
    ["Bob is Canadian.", "We use Slack for communication.", "The mount is made of titanium.", "Kvasir runs on tyr."],
)
def test_what_may_stand_beside_another_value_is_not_named(text: str) -> None:
    [claim] = read_claims(text)

    assert not claim.is_named


@pytest.mark.parametrize(
    ("one", "other", "is_one_right"),
    [
        ("Kubernetes", "Nomad", True),
        ("Friday", "Monday", True),
        ("4.8 kg", "4.82 kg", True),
        ("10:30", "10:03", True),
        ("1.1", "1.10", True),
        ("1.1 kg", "1.10 kg", False),
        ("Friday", "v1.2", False),
        ("Redis", "2 GB", False),
        ("24 V", "2 A", False),
        ("1.2 m", "400 kg", False),
        ("Monday", "10:30", False),
        ("8080", "TCP", False),
        ("30s", "30 s", False),
        ("5,000 EUR", "5000 EUR", False),
        ("5", "5.0", False),
        ("PostgreSQL", "Postgres", False),
        ("GF-PTFE", "gf ptfe", False),
    ],
)
def test_values_of_one_sort_exclude_each_other(one: str, other: str, is_one_right: bool) -> None:
    assert exclude_each_other(one, other) is exclude_each_other(other, one) is is_one_right


@given(st.text(max_size=60))
def test_a_slot_has_words_and_a_value(text: str) -> None:
    for claim in read_claims(text):
        assert claim.slot.split() == sorted(claim.slot.split()) != []
        assert claim.value.strip()
