"""Whose voice a name is."""

import pytest

from memory.attribution.client_names import (
    REMEMBERED_MAX,
    UNREGISTERED_MAX,
    Supporter,
    choose_remembered,
    is_registered,
    is_reserved,
    name_unregistered,
    voice_of,
)
from memory.graph.statement import AGENT_MAX
from tests.memory.labelled import labelled


@labelled(__file__, "voice of a name")
def test_all_names_of_one_address_are_one_voice(agent: str, voice: str) -> None:
    assert (voice_of(agent), voice_of(voice)) == (voice, voice)
    assert is_registered(agent) is is_registered(voice) is (agent == voice and "." not in agent)


@labelled(__file__, "may be one")
def test_two_supporters_may_be_one_person(one: list[str], other: list[str], may_be: bool) -> None:
    assert Supporter(*one).may_be(Supporter(*other)) is Supporter(*other).may_be(Supporter(*one)) is may_be


def test_a_name_without_a_token_has_room_in_every_table() -> None:
    longest = name_unregistered("x" * 200, "1111:2222:3333:4444:5555:6666:7777:8888%" + "e" * 100)

    assert len(longest) <= AGENT_MAX


@pytest.mark.parametrize("name", ["loopback", "Anonymous", "dobby@10.0.0.7", "dobby@::1", "dobby@unknown"])
def test_nobody_is_registered_under_what_others_are_called(name: str) -> None:
    assert is_reserved(name)
    assert not is_reserved(f"{name}s")


def test_however_many_say_it_a_bounded_number_is_remembered() -> None:
    strangers = [f"agent{number}@10.0.{number}.7" for number in range(250)]
    owners = [f"owner{number:03}" for number in range(200)]

    assert choose_remembered(["b@10.0.0.7", "a@10.0.0.7", "dobby"]) == ["anonymous@10.0.0.7", "dobby"]
    assert len(choose_remembered(strangers)) == UNREGISTERED_MAX
    assert choose_remembered([*strangers, *owners]) == owners[:REMEMBERED_MAX]
