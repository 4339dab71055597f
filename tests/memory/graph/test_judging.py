"""What becomes of a statement, by what stands."""

from dataclasses import dataclass, field
from functools import partial

import pytest

from memory.channels import Channel
from memory.english.doubt import SpeechAct
from memory.graph.judging import NO_RULING, Manner, NewFact, Ruling, StandingFact, is_about, judge
from memory.timing import undate

SLOT, SPLIT, OTHER_SPLIT, MOVED = 1, 2, 3, 4
ADDS = Manner(SpeechAct.ADDS)
CHANGES, CORRECTS, RETRACTS = Manner(SpeechAct.CHANGES), Manner(SpeechAct.CORRECTS), Manner(SpeechAct.RETRACTS)
HEDGED = Manner(is_hedged=True)
SAYS = Manner()


@dataclass
class Graph:
    """``above``: pairs of the upper and the lower; ``closing``: parents under which the concept is."""

    above: set[tuple[str, str]] = field(default_factory=set)
    closing: set[str] = field(default_factory=set)

    def is_above(self, dim_id: int, upper: str, lower: str) -> bool:
        return (upper, lower) in self.above

    def closes_cycle(self, dim_id: int, parent: str) -> bool:
        return parent in self.closing


GRAPH = Graph({("germany", "nuremberg")}, {"below"})


def act(
    parent: str,
    manner: Manner = SAYS,
    *standing: str,
    channel: Channel = Channel.USER,
    is_dated: bool = True,
    ruling: Ruling = NO_RULING,
    supersedes: bool = False,
    keeps_all: bool = False,
) -> str:
    """``standing``: parents with the channel, as in `printer gutask`, in the slot, and in other dimensions with them:
    `printer gutask 2`. One's own begin with a star."""
    facts = []
    for text in standing:
        words = [*text.split(), "user", str(SLOT)]
        if not keeps_all or is_about(words[0], parent, manner):
            dim_id = int(words[2]) if len(text.split()) > 2 else SLOT
            is_own, name = text.startswith("*"), words[0].removeprefix("*")
            facts.append(StandingFact(dim_id, name, words[1], is_own=is_own, is_additive=keeps_all))
    incoming = NewFact(SLOT, parent, channel, manner, 5.0 if is_dated else -5.0, is_dated=is_dated)
    found = judge(incoming, facts, GRAPH, ruling=ruling, supersedes=supersedes, keeps_all=keeps_all)
    return f"{found.act} {found.fact.parent}" if found.fact is not None else str(found.act)


def test_a_plain_statement_is_placed_confirmed_or_disputes() -> None:
    assert act("printer") == "place"
    assert act("printer", SAYS, "printer") == "confirm printer"
    assert act("plotter", SAYS, "printer") == "conflict printer"
    assert act("plotter", SAYS, "printer", supersedes=True) == "replace printer"
    assert act("plotter", SAYS, "printer operator", supersedes=True) == "conflict printer"
    assert act("plotter", SAYS, "printer", supersedes=True, is_dated=False) == "outdated printer"
    assert act("below") == "conflict"


def test_what_is_said_beside_something_else_disputes_nothing() -> None:
    assert act("husky", ADDS, "dog") == "candidate dog"
    assert act("husky", ADDS, "dog", supersedes=True) == "replace dog"
    assert act("flask_app", ADDS, "app") == "replace app"
    assert act("husky", ADDS, "husky") == "confirm husky"
    assert act("husky", ADDS) == "place"
    assert act("below", ADDS) == "conflict"


def test_a_chat_that_is_opened_again_disputes_nothing_that_was_said_since() -> None:
    old = NewFact(SLOT, "plotter", "user", said_at=undate(9e8), is_dated=False)

    since, before = (StandingFact(SLOT, "printer", "user", said_at=at) for at in (1.7e9, undate(8e8)))

    assert judge(old, [since], GRAPH).act == "candidate"
    assert judge(old, [before], GRAPH).act == "conflict"  # of two old chats nobody knows which is the later
    assert judge(old, [since], GRAPH, supersedes=True).act == "outdated"


@pytest.mark.parametrize("manner", [CHANGES, CORRECTS])
def test_a_correction_replaces_what_is_not_stronger(manner: Manner) -> None:
    assert act("plotter", manner, "printer") == "replace printer"
    assert act("plotter", manner, "printer explained") == "replace printer"
    assert act("plotter", manner, "printer gutask") == "conflict printer"
    assert act("plotter", manner, "printer operator") == "conflict printer"
    assert act("plotter", manner, "printer gutask", channel=Channel.GUTASK) == "replace printer"
    assert act("printer", manner, "printer") == "confirm printer"
    assert act("plotter", manner) == "place"
    assert act("below", manner, "printer") == "conflict"


def test_what_only_a_model_says_corrects_nothing() -> None:
    assert act("plotter", CHANGES, "printer", channel=Channel.EXPLAINED) == "conflict printer"
    assert act("printer", RETRACTS, "printer", channel=Channel.EXPLAINED) == "nothing"


def test_a_correction_looks_where_the_fact_was_moved() -> None:
    moved = Ruling(others=(MOVED,))
    assert act("plotter", CHANGES, "printer user 2") == "replace printer"
    assert act("plotter", CHANGES, "printer user 2", "device user 3") == "candidate printer"
    instead = Manner(SpeechAct.CHANGES, instead_of="device")
    assert act("plotter", instead, "printer user 2", "device user 3") == "replace device"
    assert act("plotter", instead, "printer", "device user 4", ruling=moved) == "replace device"
    assert act("plotter", CHANGES, "printer user 4", ruling=moved) == "replace printer"
    assert act("printer", SAYS, "printer user 4", ruling=moved) == "place"


def test_of_several_facts_whoever_speaks_corrects_their_own() -> None:
    facts = [StandingFact(SPLIT, "printer", "user"), StandingFact(OTHER_SPLIT, "device", "user", is_own=True)]

    found = judge(NewFact(SLOT, "plotter", "user", CHANGES), facts, GRAPH)

    assert (found.act, found.fact) == ("replace", facts[1])


def test_a_retraction_takes_out_what_is_not_stronger_wherever_it_is() -> None:
    assert act("printer", RETRACTS, "printer") == "retire printer"
    assert act("printer", RETRACTS, "printer operator") == "conflict printer"
    assert act("printer", RETRACTS, "plotter") == "nothing"
    assert act("printer", RETRACTS, "plotter", "printer user 2") == "retire printer"
    assert act("printer", RETRACTS, "laser_printer") == "retire laser_printer"
    assert act("laser_printer", RETRACTS, "printer") == "nothing"
    assert act("printer", RETRACTS, "printer user 4", ruling=Ruling(others=(MOVED,))) == "retire printer"


def test_what_another_has_taught_is_disputed_when_it_is_taken_back_on_purpose() -> None:
    by_gutask = partial(act, "printer", RETRACTS, channel=Channel.GUTASK)
    assert by_gutask("printer gutask") == by_gutask("printer user") == "conflict printer"
    assert by_gutask("printer explained") == "retire printer"
    assert by_gutask("*printer gutask") == by_gutask("*printer user") == "retire printer"
    assert by_gutask("*printer operator") == "conflict printer"
    assert act("printer", RETRACTS, "*printer gutask") == "retire printer"
    assert act("printer", RETRACTS, "printer operator", channel=Channel.OPERATOR) == "retire printer"


def test_the_more_specific_takes_the_place_of_the_bare() -> None:
    assert act("flask_app", SAYS, "app") == "replace app"
    assert act("app", SAYS, "flask_app") == "confirm flask_app"
    assert act("flask_web_app", SAYS, "flask_app") == "replace flask_app"
    assert act("ubuntu_24.04", SAYS, "ubuntu") == "replace ubuntu"
    assert act("app_server", SAYS, "app") == "conflict app"
    assert act("flask_app", SAYS, "app gutask") == "candidate app"
    assert act("flask_app", SAYS, "app", is_dated=False) == "candidate app"
    assert act("flask_app", SAYS, "app", channel=Channel.EXPLAINED) == "candidate app"
    assert act("nuremberg", SAYS, "germany") == "replace germany"
    assert act("germany", SAYS, "nuremberg") == "confirm nuremberg"
    assert act("germany", CHANGES, "nuremberg") == "confirm nuremberg"
    assert act("app", Manner(SpeechAct.CHANGES, instead_of="flask_app"), "flask_app") == "replace flask_app"


def test_other_words_for_one_thing_dispute_only_as_names() -> None:
    assert act("fastapi_app", SAYS, "flask_app") == "conflict flask_app"
    assert act("mail_relay", SAYS, "backup_relay") == "candidate backup_relay"
    assert act("mail_relay", SAYS, "backup_relay", channel=Channel.GUTASK) == "conflict backup_relay"
    assert act("node_20", SAYS, "node_18") == "conflict node_18"


def test_what_is_only_believed_waits() -> None:
    assert act("printer", HEDGED) == "candidate"
    assert act("plotter", HEDGED, "printer") == "candidate printer"
    assert act("printer", HEDGED, "printer") == "nothing printer"
    assert act("plotter", Manner(SpeechAct.CHANGES, is_hedged=True), "printer") == "candidate printer"


@pytest.mark.parametrize("manner", [SAYS, CHANGES, CORRECTS, Manner(SpeechAct.CHANGES, instead_of="redis")])
def test_where_all_is_kept_a_statement_adds_and_nothing_is_in_its_way(manner: Manner) -> None:
    assert act("kafka", manner, "redis", "nats operator", keeps_all=True) == "place"
    assert act("redis_7", manner, "redis", keeps_all=True) == "place"
    assert act("germany", manner, "nuremberg", keeps_all=True) == "place"
    assert act("redis", manner, "redis", "redis_7", keeps_all=True) == "confirm redis"
    assert act("below", manner, "redis", keeps_all=True) == "conflict"
    assert act("kafka", manner, ruling=Ruling(keeps_out=True), keeps_all=True) == "decided"


def test_where_all_is_kept_one_fact_is_taken_back() -> None:
    assert act("redis", RETRACTS, "redis", "redis_7", "kafka", keeps_all=True) == "retire redis"
    assert act("redis", RETRACTS, "redis gutask", "kafka", keeps_all=True) == "conflict redis"
    assert act("redis", RETRACTS, "redis_7", "kafka", keeps_all=True) == "retire redis_7"
    assert act("redis", RETRACTS, "redis_6", "redis_7", keeps_all=True) == "nothing"
    assert act("redis", RETRACTS, "kafka", keeps_all=True) == "nothing"


def test_what_was_decided_is_not_disputed_again() -> None:
    ruling = Ruling(keeps_out=True)
    assert act("plotter", SAYS, "printer", ruling=ruling) == "decided printer"
    assert act("plotter", CHANGES, "printer", ruling=ruling) == "decided printer"
    assert act("plotter", SAYS, ruling=ruling) == "decided"
    assert act("plotter", SAYS, ruling=ruling, channel=Channel.GUTASK) == "place"
    assert act("plotter", SAYS, "printer", "plotter user 4", ruling=Ruling(MOVED, keeps_out=True)) == "confirm plotter"
    there = act("plotter", CHANGES, "printer", "scanner user 4", ruling=Ruling(MOVED, keeps_out=True))
    assert there == "replace scanner"


def test_the_root_of_a_dimension_is_no_place_for_a_fact() -> None:
    root = [StandingFact(SLOT, "type", "operator", is_root=True)]
    assert judge(NewFact(SLOT, "printer", "user"), root, GRAPH).act == "invalid"
    assert judge(NewFact(SLOT, "type", "user", RETRACTS), root, GRAPH).act == "nothing"
