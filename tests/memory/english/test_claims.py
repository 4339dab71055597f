"""What plain sentences claim, of what, and which of them are about one thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.english.claims import exclude_each_other, read_claims, read_plain, share_slot


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("The deployment target is Kubernetes.", "deploy target", "Kubernetes"),
        ("The team decided that the deployment target is Nomad.", "deploy target", "Nomad"),
        ("Remember that our deployment target is docker swarm now!", "deploy target", "docker swarm"),
        ("Good morning! Actually, the deployment target is Nomad.", "deploy target", "Nomad"),
        ("Our staging server is called heron.", "name server stage", "heron"),
        ("The staging server's name is heron.", "name server stage", "heron"),
        ("The team decided to use Kafka for the event bus.", "bus event", "Kafka"),
        ("The kiln is now owned by Bob.", "by kiln own", "Bob"),
        ("The mass limit of the mirror is 4.82 kg.", "limit mass mirror", "4.82 kg"),
        ("The backup host is db-3.", "backup host", "db-3"),
        ("The test lead is Anna Reilly.", "lead test", "Anna Reilly"),
        ("The mount is made of titanium.", "materi mount", "titanium"),
        ("Kvasir runs on tyr.", "kvasir on run", "tyr"),
        ("Hogwarts_express runs on hogsmeade_station.", "express hogwart on run", "hogsmeade_station"),
        ("crate08x is no longer in Oslo, but in Bergen.", "crate08x geographi", "Bergen"),
        ("edge1 listens on port 7181 now, not on 7081.", "edge1 port", "7181"),
    ],
)
def test_a_plain_sentence_claims_one_value_as_it_was_typed(text: str, slot: str, value: str) -> None:
    [claim] = read_claims(text).values()

    assert (claim.slot, claim.value, claim.is_denied) == (slot, value, False)


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
        "We use Slack for communication.",
        "Bob is Canadian.",
        "Kvasir is a service.",
        "Kvasir is in beta.",
        "Kvasir no longer runs on lovelace.",
    ],
)
def test_qualities_kinds_and_what_is_not_asserted_claim_nothing(text: str) -> None:
    assert read_claims(text) == {}


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("Our deployment target is not Kubernetes.", True),
        ("My plan B is the old server.", True),
        ("Our staging server is called heron.", True),
        ("The deployment target is kubernetes.", False),
        ("The kiln is owned by Bob.", False),
        ("The fixtures is Bob.", False),
        ("The target is Nomad. The host is db-3.", False),
    ],
)
def test_only_one_sentence_that_names_what_there_is_one_of_is_plain(text: str, is_plain: bool) -> None:
    assert (read_plain(text) is not None) is is_plain


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
    for slot, claim in read_claims(text).items():
        assert slot.split() == sorted(slot.split()) != []
        assert claim.value.strip()


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The deployment target is Kubernetes.", "The deployment target is Nomad."),
        ("crate08x is in Oslo.", "crate08x is no longer in Oslo, but in Bergen."),
        ("The wiki is at version 9.8.6.", "Good morning! The wiki is at version 9.9.3 now."),
        ("The invoice service is owned by Agnieszka.", "The invoice service is owned by Kwame."),
    ],
)
def test_two_values_of_one_thing_share_a_slot(older: str, newer: str) -> None:
    assert share_slot(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The port of edge1 is 8080.", "The port of edge2 is 8080."),
        ("Server A is on.", "Server B is on."),
        ("The wiki is at version 1.2.", "The wiki theme is at version 5.5."),
        ("You can call the porter at extension 21.", "You can call the canteen at extension 22."),
        ("I like tea.", "I like coffee."),
        ("The user is allergic to penicillin.", "The user is allergic to peanuts."),
        ("The user is a nurse.", "The user is a mother."),
        ("The checkout service is owned by Priya.", "The invoice service is owned by Kwame."),
        ("The game server is written in Clojure.", "The billing server is written in Go."),
        ("The budget for the kitchen is 900 euros.", "The budget for the garden is 800 euros."),
        ("Anna is allergic to nuts.", "Bob is allergic to nuts."),
        ("The user has a cat.", "The user has a dog."),
        ("Bob decided to use Kafka for events.", "Ann decided to use Kafka for events."),
        ("", "The deployment target is Nomad."),
    ],
)
def test_two_things_share_none(older: str, newer: str) -> None:
    assert not share_slot(older, newer)
