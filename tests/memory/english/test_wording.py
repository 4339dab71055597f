"""Sentences that give one slot a value, told by their wording."""

import pytest

from memory.english.claims.wording import share_slot


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
