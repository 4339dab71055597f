"""What a prompt asks not to remember, or to forget, on the hot path."""

from collections.abc import Sequence

import pytest

from memory.access.switches import Restrictions
from memory.learning.setting_aside import ForgetOrder
from proxy.access.caller import NOTHING_KEPT
from proxy.telemetry import privacy
from proxy.telemetry.events import Events
from tests.proxy.enriching import Enriching

ANSWER = "Of course."


def send(proxy: Enriching, *said: str, off: Restrictions | None = None) -> str:
    """Send a conversation of which the users' messages are given; return the last message as it goes on."""
    messages: list[dict[str, str]] = []
    for text in said:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": ANSWER}]
    done = proxy.ask("/api/chat", {"model": "m", "messages": messages[:-1]}, off)
    assert done.plan is not None
    return done.body.decode()


@pytest.fixture
def proxy() -> Enriching:
    return Enriching()


@pytest.fixture
def orders(proxy: Enriching) -> list[ForgetOrder]:
    found: list[ForgetOrder] = []
    proxy.enricher.forget = found.append
    return found


def texts(proxy: Enriching) -> list[str]:
    return [heard.text for heard in proxy.heard]


def test_a_temporary_chat_recalls_and_teaches_nothing(proxy: Enriching) -> None:
    proxy.teach("kvasir", "worker")

    sent = send(proxy, "What is kvasir?", off=NOTHING_KEPT)

    assert "kvasir: [type] worker" in sent
    assert proxy.heard == []
    assert proxy.cache.soas_by_token["kvasir"].encounter_count == 0


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (("Off the record: I am ill.",), []),
        (("I like tea.", "Between us, I am ill."), ["I like tea.", ANSWER]),
        (("Between us, I am ill.", "I like tea."), ["I like tea."]),
        (("I like tea.", "Don't save this chat.", "I am ill."), ["I like tea.", ANSWER]),
        (("Forget my diet. I bake bread.",), ["I bake bread."]),
    ],
)
def test_what_asks_not_to_be_kept_is_not(proxy: Enriching, said: Sequence[str], kept: list[str]) -> None:
    send(proxy, *said)

    assert texts(proxy) == kept


def test_a_request_takes_effect_once(proxy: Enriching, orders: list[ForgetOrder]) -> None:
    send(proxy, "Forget my diet.")
    send(proxy, "Forget my diet.")
    send(proxy, "Forget my diet.", "And now?")

    assert [order.topic and order.topic.text for order in orders] == ["diet"]


def test_no_block_repeats_what_the_prompt_asks_to_forget(proxy: Enriching, orders: list[ForgetOrder]) -> None:
    proxy.teach("kvasir", "worker")
    assert "kvasir: [type] worker" in send(proxy, "What is kvasir?")

    sent = send(proxy, "What is kvasir?", "Please forget kvasir-x. Forget Kvasir.")

    assert "[type] worker" not in sent
    assert [order.effect for order in orders] == ["about", "about"]


def test_of_a_private_request_only_this_process_knows() -> None:
    events = Events("")
    event = {"request": "0" * 16, "at": 4e9, "block": "words", "reasons": {"kvasir": "recalled"}, "notes": []}

    privacy.begin(is_private=True)
    try:
        events.add(event)
    finally:
        privacy.begin(is_private=False)

    assert not events._recollections.rows
    assert [(one["block"], one["reasons"]) for one in events._private] == [("", {})]
