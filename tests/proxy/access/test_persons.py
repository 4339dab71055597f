"""Who speaks through an agent."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.graph.statement import PERSON_MAX
from proxy.access.persons import clean_person, find_person

SESSION = "0b0e9f3e-5a1d-4c6e-9d55-7f1f3a1f8c11"
LONG = f'{{"session_id":1,"a":[{"[]," * 2_000}1]}}'
NESTED = f'{{"session_id":1,"a":{"[" * 400}{"]" * 400}}}'
ANTHROPIC = {"metadata": {"user_id": "alice"}}


@pytest.mark.parametrize(
    ("given_by_header", "payload", "person"),
    [
        ("", {}, ""),
        ("alice", {"user": "bob"} | ANTHROPIC, "alice"),
        ("", {"user": "bob", "safety_identifier": "carla"} | ANTHROPIC, "bob"),
        ("", {"safety_identifier": "carla"} | ANTHROPIC, "alice"),
        ("", {"safety_identifier": "carla", "metadata": "bob"}, "carla"),
        ("", {"user": {"id": "dave", "name": "Dave"}}, "dave"),
        ("", {"user": 7}, "7"),
        ("", {"user": True, "metadata": {"user_id": None}}, ""),
        ("", {"user": " \0al\nice "}, "alice"),
        ("", {"metadata": {"user_id": f"user_1f_account_2e_session_{SESSION}"}}, "user_1f_account_2e"),
        ("", {"metadata": {"user_id": f'{{"session_id":"{SESSION}","device_id":"d"}}'}}, '{"device_id":"d"}'),
        ("", {"metadata": {"user_id": '{"session_id"'}}, '{"session_id"'),
        (LONG, {}, blake2b(LONG.encode(), digest_size=16).hexdigest()),
        (NESTED, {}, blake2b(NESTED.encode(), digest_size=16).hexdigest()),
    ],
)
def test_the_first_that_names_a_person_counts(given_by_header: str, payload: dict[str, object], person: str) -> None:
    assert find_person(given_by_header, payload) == person


@given(st.text(), st.text())
def test_two_people_stay_two_however_long_their_names_are(one: str, other: str) -> None:
    people = [clean_person("x" * PERSON_MAX + name) for name in (one, other)]

    assert all(len(person) <= PERSON_MAX and person.isprintable() for person in people)
    said = ["".join(filter(str.isprintable, name)).rstrip() for name in (one, other)]
    assert (people[0] == people[1]) is (said[0] == said[1])
