"""The circuit breaker over the turns of a conversation, and in several processes."""

import json

import pytest

from proxy.config.schema import Loops, Mitigations
from proxy.formats.base import Part, Prompt
from proxy.loops.guard import BreakerTrip, Cooldown, LoopGuard
from proxy.loops.mitigations import Intervention

LOOPS = Loops(mitigations=Mitigations(cooldown_s=60.0))
HELLO = b"the opening"
CALL = json.dumps({"thoughts": ["I look again."], "tool_name": "look", "tool_args": {"path": "/nowhere"}})
RESULT = json.dumps({"tool_name": "look", "tool_result": "no such folder"})
LADDER = [None, None, None, "note", "temperature", "truncate", "break"]


class Conversation:
    """As a client has it; ``now`` runs on by a second each turn."""

    def __init__(self, *guards: LoopGuard) -> None:
        self.guards = guards or (LoopGuard(),)
        self.now = 1_000_000.0
        self.parts = [Part("system", "You are an agent.", 0), Part("user", "list the files", 1, True)]
        self.turns = 0

    def ask(self, loops: Loops = LOOPS) -> Intervention | None:
        guard = self.guards[self.turns % len(self.guards)]
        self.turns += 1
        self.now += 1
        verdict = guard.look(Prompt("m", list(self.parts), True, False), HELLO, loops, self.now)
        guard.note(verdict)
        return verdict.intervention

    def say(self, role: str, text: str) -> None:
        self.parts.append(Part(role, text, len(self.parts), takes_block=role == "user"))  # type: ignore[arg-type]

    def repeat(self, loops: Loops = LOOPS, *, answer: str = CALL) -> str | None:
        """One turn of a model that says the same whenever it is asked: the step that was taken."""
        met = self.ask(loops)
        self.say("assistant", met.answer if met and met.answer else answer)
        self.say("user", RESULT)
        return met.step if met else None

    def loop(self, turns: int = 7) -> list[str | None]:
        return [self.repeat() for _ in range(turns)]


def test_the_ladder_ends_with_the_breaker_in_the_7th_turn() -> None:
    assert Conversation().loop() == LADDER


def test_the_breaker_answers_until_the_cool_down_is_over() -> None:
    conversation = Conversation()
    conversation.loop()

    steps = [conversation.repeat() for _ in range(59)]

    assert steps == ["break"] * 59
    assert conversation.repeat() == "truncate"


def test_after_the_cool_down_a_model_may_try_once() -> None:
    conversation = Conversation()
    conversation.loop()
    conversation.now += 60

    assert [conversation.repeat() for _ in range(3)] == ["truncate", "break", "break"]
    conversation.now += 60
    assert [conversation.repeat() for _ in range(3)] == ["truncate", "break", "break"]


def test_a_model_that_tries_something_else_goes_on() -> None:
    conversation = Conversation()
    conversation.loop()
    conversation.now += 60

    conversation.repeat(answer=json.dumps({"tool_name": "search", "tool_args": {"for": "files"}}))

    assert conversation.ask() is None


def test_a_try_whose_answer_was_lost_can_be_sent_again_but_not_forever() -> None:
    conversation = Conversation()
    conversation.loop()
    conversation.now += 60

    steps = [met.step for _ in range(4) if (met := conversation.ask())]

    assert steps == ["truncate", "truncate", "truncate", "break"]


def test_a_human_who_says_something_is_passed_on_at_once_and_starts_the_ladder_anew() -> None:
    conversation = Conversation()
    conversation.loop()

    conversation.say("user", json.dumps({"user_message": "look in /home instead"}))

    assert conversation.ask() is None
    conversation.now += 60
    assert conversation.loop() == LADDER


def test_another_conversation_that_began_likewise_does_not_shorten_the_rest() -> None:
    guard = LoopGuard()
    looping, other = Conversation(guard), Conversation(guard)
    looping.loop()

    assert other.ask() is None
    assert looping.repeat() == "break"


def test_a_shorter_cool_down_holds_at_once() -> None:
    conversation = Conversation()
    conversation.loop()
    shorter = Loops(mitigations=Mitigations(cooldown_s=2.0))

    steps = [conversation.repeat(shorter) for _ in range(3)]

    assert steps == ["break", "break", "truncate"]


def test_what_is_switched_off_is_not_done() -> None:
    conversation = Conversation()
    unbroken = Loops(mitigations=Mitigations(note=0, break_=0))

    steps = [conversation.repeat(unbroken) for _ in range(9)]

    assert steps == [None] * 4 + ["temperature"] + ["truncate"] * 4
    assert conversation.ask(Loops(enabled=False)) is None


def test_a_note_that_has_no_place_is_not_claimed() -> None:
    conversation = Conversation()
    conversation.loop(3)
    conversation.parts[-1] = Part("user", RESULT, conversation.parts[-1].place)

    assert conversation.ask() is None


def test_the_seed_is_new_each_time() -> None:
    conversation = Conversation()
    conversation.loop(4)

    seeds = {met.seed for _ in range(5) if (met := conversation.ask())}

    assert len(seeds) == 5


@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_that_tell_each_other_let_the_model_try_once(processes: int) -> None:
    guards: list[LoopGuard] = []

    def tell(trip: BreakerTrip) -> None:
        for guard in guards:
            guard.remember(trip)

    guards += [LoopGuard(tell) for _ in range(processes)]
    conversation = Conversation(*guards)

    assert conversation.loop() == LADDER
    conversation.now += 60
    assert [conversation.repeat() for _ in range(4)] == ["truncate", "break", "break", "break"]


def test_processes_that_do_not_tell_each_other_stop_it_all_the_same() -> None:
    conversation = Conversation(LoopGuard(), LoopGuard())

    assert conversation.loop() == LADDER
    assert {conversation.repeat() for _ in range(10)} == {"break"}


def test_an_older_trip_does_not_count() -> None:
    guard = LoopGuard()
    guard.remember(BreakerTrip(HELLO, until=2_000_000, count=6))

    guard.remember(BreakerTrip(HELLO, until=1_000_000, count=9))

    assert guard._cooldowns[HELLO] == Cooldown(until=2_000_000, count=6)


def test_only_so_many_conversations_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.loops.guard.COOLDOWNS_MAX", 3)
    guard = LoopGuard()

    for name in range(5):
        guard.remember(BreakerTrip(bytes([name]), until=float(name), count=6))

    assert list(guard._cooldowns) == [b"\2", b"\3", b"\4"]
