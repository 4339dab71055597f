"""From two agents that contradict each other to a message at an operator's webhook: real processes."""

import base64
from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet

from tests.receiver import Receiver
from tests.served.learning import Festinger, festinger, headers_of
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

pytestmark = pytest.mark.slow

SECRET = "whsec-0123456789abcdef"
KEY = base64.urlsafe_b64encode(bytes(32)).decode()
TARGET = "INSERT INTO notification_target (kind, address, secret, events) VALUES ('webhook', %s, %s, %s)"


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def whole(durable: OwnPostgres, upstream: StandIn, receiver: Receiver) -> Iterator[Festinger]:
    with festinger(durable, "notified", upstream, FESTINGER_ENCRYPTION_KEY=KEY) as whole:
        secret = Fernet(KEY).encrypt(SECRET.encode()).decode()
        whole.run(TARGET, receiver.url, secret, ["conflict.opened", "loop.broken"])
        yield whole


def test_an_operator_is_notified_of_a_conflict_that_agents_open(whole: Festinger, receiver: Receiver) -> None:
    whole.teach("gnommoweb -isa repo")
    whole.teach("gnommoweb -isa container", agent="winky")

    whole.wait(lambda: receiver.got, 30)

    [got] = receiver.got
    [(conflict, page)] = whole.run("SELECT id, '/admin/resolution/conflict/' || id || '/change/' FROM conflict")
    assert got.verify(SECRET)
    assert (got.message["event"], got.message["url"]) == ("conflict.opened", page)
    assert got.message["data"]["items"] == [{"id": conflict, "slot": "gnommoweb [type]", "project": ""}]
    whole.wait(lambda: whole.run("SELECT state, attempts FROM notification_delivery") == [("delivered", 1)])


def test_an_operator_is_notified_of_a_loop_that_is_broken(whole: Festinger, receiver: Receiver) -> None:
    receiver.got.clear()
    turns = [("user", "Open the door."), ("assistant", "I open the door of the castle with the big key now.")] * 6

    whole.proxies[0].chat(*turns, turns[0], model="echo", headers=headers_of("kreacher"))

    whole.wait(lambda: receiver.got, 30)
    assert receiver.got[0].message["summary"].startswith("A loop of kreacher was broken")
