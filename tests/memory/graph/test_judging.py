"""What becomes of a statement, by what stands."""

from dataclasses import dataclass, field
from functools import partial

import pytest

from memory.channels import Channel
from memory.english.doubt import SpeechAct
from memory.graph.judging import NO_RULING, Manner, NewFact, Ruling, StandingFact, is_about, judge
from memory.timing import undate

SLOT, MOVED = 1, 4
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
    `printer gutask 2`. What only the speaker supports begins with a star, what others support, too, with a plus."""
    facts = []
    for text in standing:
        words = [*text.lstrip("*+").split(), "user", str(SLOT)]
        if not keeps_all or is_about(words[0], parent, manner):
            dim_id = int(words[2]) if len(text.split()) > 2 else SLOT
            is_own, is_sole = text[0] in "*+", text[0] == "*"
            facts.append(
                StandingFact(dim_id, words[0], words[1], is_own=is_own, is_sole=is_sole, is_additive=keeps_all)
            )
    incoming = NewFact(SLOT, parent, channel, manner, 5.0 if is_dated else -5.0, is_dated=is_dated)
    found = judge(incoming, facts, GRAPH, ruling=ruling, supersedes=supersedes, keeps_all=keeps_all)
    return f"{found.effect} {found.fact.parent}" if found.fact is not None else str(found.effect)


def test_a_plain_statement_is_placed_confirmed_or_disputes() -> None:
    assert act("printer") == "inserted"
    assert act("printer", SAYS, "printer") == "confirmed printer"
    assert act("plotter", SAYS, "printer") == "conflict printer"
    assert act("plotter", SAYS, "printer", supersedes=True) == "superseded printer"
    assert act("plotter", SAYS, "printer operator", supersedes=True) == "conflict printer"
    assert act("plotter", SAYS, "printer", supersedes=True, is_dated=False) == "outdated printer"
    assert act("below") == "conflict"


def test_what_is_said_beside_something_else_disputes_nothing() -> None:
    assert act("husky", ADDS, "dog") == "candidate dog"
    assert act("husky", ADDS, "dog", supersedes=True) == "superseded dog"
    assert act("flask_app", ADDS, "*app") == "superseded app"
    assert act("husky", ADDS, "husky") == "confirmed husky"
    assert act("husky", ADDS) == "inserted"
    assert act("below", ADDS) == "conflict"


def test_a_chat_that_is_opened_again_disputes_nothing_that_was_said_since() -> None:
    old = NewFact(SLOT, "plotter", "user", said_at=undate(9e8), is_dated=False)

    since, before = (StandingFact(SLOT, "printer", "user", said_at=at) for at in (1.7e9, undate(8e8)))

    assert judge(old, [since], GRAPH).effect == "candidate"
    assert judge(old, [before], GRAPH).effect == "conflict"  # of two old chats nobody knows which is the later
    assert judge(old, [since], GRAPH, supersedes=True).effect == "outdated"


@pytest.mark.parametrize("manner", [CHANGES, CORRECTS])
def test_a_correction_replaces_what_only_its_speaker_supports_or_a_weaker_channel(manner: Manner) -> None:
    assert act("plotter", manner, "*printer") == act("plotter", manner, "*printer gutask") == "superseded printer"
    assert act("plotter", manner, "printer") == act("plotter", manner, "+printer") == "conflict printer"
    assert act("plotter", manner, "printer", supersedes=True) == "superseded printer"
    assert act("plotter", manner, "printer gutask", supersedes=True) == "conflict printer"
    assert act("plotter", manner, "printer explained") == "superseded printer"
    assert act("plotter", manner, "printer gutask") == "conflict printer"
    assert act("plotter", manner, "*printer operator") == "conflict printer"
    by_gutask = partial(act, "plotter", manner, channel=Channel.GUTASK)
    assert (by_gutask("printer"), by_gutask("printer gutask")) == ("superseded printer", "conflict printer")
    assert act("plotter", manner, "printer operator", channel=Channel.OPERATOR) == "superseded printer"
    assert act("printer", manner, "printer") == "confirmed printer"
    assert act("plotter", manner) == "inserted"
    assert act("below", manner, "*printer") == "conflict"


def test_what_only_a_model_says_corrects_nothing() -> None:
    assert act("plotter", CHANGES, "printer", channel=Channel.EXPLAINED) == "conflict printer"
    assert act("printer", RETRACTS, "printer", channel=Channel.EXPLAINED) == "needless"


def test_a_correction_looks_where_the_fact_was_moved() -> None:
    moved = Ruling(others=(MOVED,))
    assert act("plotter", CHANGES, "*printer user 2") == "superseded printer"
    assert act("plotter", CHANGES, "printer user 2", "device user 3") == "candidate printer"
    instead = Manner(SpeechAct.CHANGES, instead_of="device")
    assert act("plotter", instead, "printer user 2", "*device user 3") == "superseded device"
    assert act("plotter", instead, "printer", "*device user 4", ruling=moved) == "superseded device"
    assert act("plotter", CHANGES, "*printer user 4", ruling=moved) == "superseded printer"
    assert act("printer", SAYS, "printer user 4", ruling=moved) == "inserted"


def test_of_several_facts_whoever_speaks_corrects_their_own() -> None:
    assert act("plotter", CHANGES, "printer user 2", "*device user 3") == "superseded device"
    assert act("plotter", CHANGES, "printer user 2", "+device user 3") == "conflict device"


def test_a_retraction_takes_out_what_only_its_speaker_supports_wherever_it_is() -> None:
    assert act("printer", RETRACTS, "*printer") == act("printer", RETRACTS, "*printer gutask") == "retired printer"
    assert act("printer", RETRACTS, "printer") == act("printer", RETRACTS, "+printer") == "conflict printer"
    assert act("printer", RETRACTS, "printer operator") == "conflict printer"
    assert act("printer", RETRACTS, "plotter") == "needless"
    assert act("printer", RETRACTS, "plotter", "*printer user 2") == "retired printer"
    assert act("printer", RETRACTS, "*laser_printer") == "retired laser_printer"
    assert act("laser_printer", RETRACTS, "printer") == "needless"
    assert act("printer", RETRACTS, "*printer user 4", ruling=Ruling(others=(MOVED,))) == "retired printer"


def test_a_retraction_takes_out_what_was_said_through_a_weaker_channel() -> None:
    by_gutask = partial(act, "printer", RETRACTS, channel=Channel.GUTASK)
    assert by_gutask("printer user") == by_gutask("+printer user") == "retired printer"
    assert by_gutask("printer gutask") == by_gutask("+printer gutask") == "conflict printer"
    assert by_gutask("*printer gutask") == "retired printer"
    assert by_gutask("*printer operator") == "conflict printer"
    assert act("printer", RETRACTS, "printer explained") == "retired printer"
    assert act("printer", RETRACTS, "printer operator", channel=Channel.OPERATOR) == "retired printer"


def test_the_more_specific_takes_the_place_of_the_bare() -> None:
    assert act("flask_app", SAYS, "*app") == "superseded app"
    assert act("flask_app", SAYS, "app explained") == "superseded app"
    assert act("flask_app", SAYS, "app") == act("flask_app", SAYS, "+app") == "candidate app"
    assert act("app", SAYS, "flask_app") == "confirmed flask_app"
    assert act("flask_web_app", SAYS, "*flask_app") == "superseded flask_app"
    assert act("ubuntu_24.04", SAYS, "*ubuntu") == "superseded ubuntu"
    assert act("app_server", SAYS, "app") == "conflict app"
    assert act("flask_app", SAYS, "app gutask") == "candidate app"
    assert act("flask_app", SAYS, "*app", is_dated=False) == "candidate app"
    assert act("flask_app", SAYS, "*app", channel=Channel.EXPLAINED) == "candidate app"
    assert act("nuremberg", SAYS, "*germany") == "superseded germany"
    assert act("germany", SAYS, "nuremberg") == "confirmed nuremberg"
    assert act("germany", CHANGES, "nuremberg") == "confirmed nuremberg"
    assert act("app", Manner(SpeechAct.CHANGES, instead_of="flask_app"), "*flask_app") == "superseded flask_app"


def test_other_words_for_one_thing_dispute_only_as_names() -> None:
    assert act("fastapi_app", SAYS, "flask_app") == "conflict flask_app"
    assert act("mail_relay", SAYS, "backup_relay") == "candidate backup_relay"
    assert act("mail_relay", SAYS, "backup_relay", channel=Channel.GUTASK) == "conflict backup_relay"
    assert act("node_20", SAYS, "node_18") == "conflict node_18"


def test_what_is_only_believed_waits() -> None:
    assert act("printer", HEDGED) == "candidate"
    assert act("plotter", HEDGED, "printer") == "candidate printer"
    assert act("printer", HEDGED, "printer") == "needless printer"
    assert act("plotter", Manner(SpeechAct.CHANGES, is_hedged=True), "printer") == "candidate printer"


@pytest.mark.parametrize("manner", [SAYS, CHANGES, CORRECTS, Manner(SpeechAct.CHANGES, instead_of="redis")])
def test_where_all_is_kept_a_statement_adds_and_nothing_is_in_its_way(manner: Manner) -> None:
    assert act("kafka", manner, "redis", "nats operator", keeps_all=True) == "inserted"
    assert act("redis_7", manner, "redis", keeps_all=True) == "inserted"
    assert act("germany", manner, "nuremberg", keeps_all=True) == "inserted"
    assert act("redis", manner, "redis", "redis_7", keeps_all=True) == "confirmed redis"
    assert act("below", manner, "redis", keeps_all=True) == "conflict"
    assert act("kafka", manner, ruling=Ruling(keeps_out=True), keeps_all=True) == "decided"


def test_where_all_is_kept_one_fact_is_taken_back() -> None:
    assert act("redis", RETRACTS, "*redis", "*redis_7", "kafka", keeps_all=True) == "retired redis"
    assert act("redis", RETRACTS, "redis gutask", "kafka", keeps_all=True) == "conflict redis"
    assert act("redis", RETRACTS, "*redis_7", "kafka", keeps_all=True) == "retired redis_7"
    assert act("redis", RETRACTS, "*redis_6", "*redis_7", keeps_all=True) == "needless"
    assert act("redis", RETRACTS, "kafka", keeps_all=True) == "needless"


def test_what_was_decided_is_not_disputed_again() -> None:
    ruling = Ruling(keeps_out=True)
    assert act("plotter", SAYS, "printer", ruling=ruling) == "decided printer"
    assert act("plotter", CHANGES, "printer", ruling=ruling) == "decided printer"
    assert act("plotter", SAYS, ruling=ruling) == "decided"
    assert act("plotter", SAYS, ruling=ruling, channel=Channel.GUTASK) == "inserted"
    assert (
        act("plotter", SAYS, "printer", "plotter user 4", ruling=Ruling(MOVED, keeps_out=True)) == "confirmed plotter"
    )
    there = act("plotter", CHANGES, "printer", "*scanner user 4", ruling=Ruling(MOVED, keeps_out=True))
    assert there == "superseded scanner"


def test_the_root_of_a_dimension_is_no_place_for_a_fact() -> None:
    root = [StandingFact(SLOT, "type", "operator", is_root=True)]
    assert judge(NewFact(SLOT, "printer", "user"), root, GRAPH).effect == "invalid"
    assert judge(NewFact(SLOT, "type", "user", RETRACTS), root, GRAPH).effect == "needless"
