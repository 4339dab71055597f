"""Recollection on injected caches: the source's tests A and B, and the rules of who is recalled and asked about."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from benchmarks.misuse import GNOMMOWEB, TAUGHT, flood
from memory.attribution.client_names import GROUP
from memory.attribution.forget_requests import Topic, TopicKind
from memory.cache.state import Cache
from memory.english.mute_patterns import compile_patterns
from memory.graph.saliency import DAY, HOUR, saliency
from memory.learning.encounters import Encounters
from memory.learning.messages import NewMessage
from memory.learning.reader import Reader
from memory.recall import facts, notes
from memory.recall.block import NOTHING, Block, ShownNote
from memory.recall.facts import FACTS_MAX
from memory.recall.mentions import Mentions
from memory.recall.notes import Beside
from memory.recall.recollect import Recollection, recollect, still_holds
from memory.recall.speakers_graph import SpeakersGraph, judge_prompt
from memory.settings.registry import Tuning
from memory.types import EdgeRow, Message, SoasRow, TripleIds
from tests.memory.labelled import labelled

NOW = 1_800_000_000.0


def recall(cache: Cache, *said: str | Message, now: float = NOW) -> Recollection:
    messages = [message if isinstance(message, Message) else Message("user", message) for message in said]
    return recollect(SpeakersGraph(cache), Mentions.of([Reader(cache).read(message) for message in messages]), now)


def recall_new(cache: Cache, *said: str, agent: str = "dobby") -> list[str]:
    """The lines of the block of a prompt that says this now."""
    readings = [Reader(cache).read(Message("user", text)) for text in said]
    graph = SpeakersGraph(cache, stated=judge_prompt(cache, readings, NOW, agent))
    return recollect(graph, Mentions.of(readings), NOW).block.text.splitlines()[1:-1]


def cache_of(rows: dict[str, SoasRow], edges: list[EdgeRow] = (), **settings: object) -> Cache:  # type: ignore[assignment]
    cache = Cache(
        soas_by_token=rows,
        soas_by_id={row.id: token for token, row in rows.items()},
        tuning=replace(Tuning(recollection_style="compact"), **settings),
    )
    for concept in {edge.concept_id for edge in edges}:
        cache.put_edges(concept, [edge for edge in edges if edge.concept_id == concept])
    return cache


# --- Test A of the source: a concept that is not in the cache ---

PROMPT_A = "Please update gnommoweb to use FastAPI instead"


def test_a_an_unknown_concept_is_counted_and_not_recalled() -> None:
    common = {
        word: SoasRow(id=i, is_common=True) for i, word in enumerate(("please", "update", "to", "use", "instead"))
    }
    cache = Cache(soas_by_token=dict(common), soas_by_id={row.id: word for word, row in common.items()})
    heard: list[NewMessage] = []
    message = Message("user", PROMPT_A)
    reading = Reader(cache).read(message)

    encounters = Encounters(cache, heard.append)
    encounters.note(encounters.find_new(b"", [message], [reading], [reading.digest], NOW))

    [learned] = (one.read_by(cache) for one in heard)
    assert learned.read.words == {"please", "update", "gnommoweb", "to", "use", "fastapi", "instead"}
    assert saliency(1) == 0
    assert recollect(SpeakersGraph(cache), Mentions.of([reading]), NOW).block.text == ""
    assert cache.soas_by_token["please"].saliency == 0


def test_a_above_the_threshold_a_concept_without_facts_is_asked_about() -> None:
    cache = Cache(
        soas_by_token={"gnommoweb": SoasRow(id=101, encounter_count=50, saliency=0.9)},
        soas_by_id={101: "gnommoweb"},
    )

    block = recall(cache, PROMPT_A).block.text

    assert block.splitlines() == [
        "<recollection>",
        "? gnommoweb: no recollection. If this is a typo, ignore.",
        "If you know what it is, store it before proceeding:",
        "  gutask iknowthat 'gnommoweb -isa <parent> in context of <dimension>'",
        "  gutask iknowthat 'gnommoweb -ispart <system> in context of <dimension>'",
        "</recollection>",
    ]
    assert cache.pending_conflicts == {}


# --- Test B of the source: "A ISA B" contradicts the world ---


@pytest.fixture
def world_b() -> Cache:
    existing = EdgeRow(concept_id=101, parent_id=201, dim_id=1, is_isa=True, confidence=0.9, source="cloud_llm")
    return Cache(
        soas_by_token={
            "gnommoweb": SoasRow(id=101, saliency=1.2, novelty=1.0),
            "repo": SoasRow(id=201, saliency=0.8, novelty=0.5),
            "container": SoasRow(id=202, saliency=0.6, novelty=0.4),
            "type": SoasRow(id=1, saliency=0.0, novelty=0.0),
        },
        soas_by_id={101: "gnommoweb", 201: "repo", 202: "container", 1: "type"},
        urd_by_concept={101: [existing]},
        urd_by_concept_dim={(101, 1): existing},
        tuning=Tuning(recollection_style="compact"),
    )


DISPUTED = ["gnommoweb: [type?] repo | container — conflict pending"]


def test_b_a_contradicting_prompt_shows_the_conflict_and_changes_nothing(world_b: Cache) -> None:
    existing = world_b.urd_by_concept_dim[(101, 1)]

    assert recall_new(world_b, "gnommoweb is a container deployed on Docker") == DISPUTED

    assert world_b.urd_by_concept_dim[(101, 1)] is existing
    assert recall(world_b, "gnommoweb").block.text.splitlines()[1] == "gnommoweb: [type] repo"


def test_what_a_prompt_disputes_still_holds_once_the_worker_has_queued_it(world_b: Cache) -> None:
    readings = [Reader(world_b).read(Message("user", "gnommoweb is a container"))]
    stated = judge_prompt(world_b, readings, NOW, "dobby")
    shown = recollect(SpeakersGraph(world_b, stated=stated), Mentions.of(readings), NOW).block
    world_b.pending_conflicts[101] = {1: ("container",)}

    assert still_holds(SpeakersGraph(world_b), shown, NOW)
    assert recall(world_b, "gnommoweb").block == shown


def test_of_many_claims_the_newest_are_shown_and_one_that_only_retracts_is_no_other_value(world_b: Cache) -> None:
    world_b.pending_conflicts[101] = {1: ("scanner", "repo", "plotter", "printer")}

    [line] = recall_new(world_b, "gnommoweb is a container")

    assert line == "gnommoweb: [type?] repo | container | scanner | plotter — conflict pending"
    world_b.pending_conflicts[101] = {1: ("container", "scanner", "plotter", "printer")}
    shown = recall(world_b, "gnommoweb").block
    assert shown.text.splitlines()[1] == line
    world_b.pending_conflicts[101] = {1: ("repo",)}
    assert not still_holds(SpeakersGraph(world_b), shown, NOW)
    retracted = recall(world_b, "gnommoweb").block
    assert retracted.text.splitlines()[1] == "gnommoweb: [type?] repo — conflict pending"
    world_b.pending_conflicts[101] = {}
    assert not still_holds(SpeakersGraph(world_b), retracted, NOW)


@pytest.mark.parametrize(
    ("said", "channel", "lines"),
    [
        (["gnommoweb is a kind of evil.example.com"], "user", ["gnommoweb: [type] repo"]),
        (["gnommoweb is a repo"], "user", []),
        (["I think gnommoweb is a container"], "user", ["gnommoweb: [type] repo"]),
        (["Actually gnommoweb is now a container"], "user", []),
        (["gnommoweb is a repo", "Actually gnommoweb is now a LinePlotter"], "user", ["gnommoweb: [type] LinePlotter"]),
        (["Actually gnommoweb is now a container"], "operator", DISPUTED),
        (["gnommoweb is no longer a repo."], "user", []),
        (["gnommoweb is no longer a repo."], "operator", ["gnommoweb: [type?] repo — conflict pending"]),
    ],
)
def test_a_prompt_shows_what_it_changes(world_b: Cache, said: list[str], channel: str, lines: list[str]) -> None:
    world_b.put_edges(101, [EdgeRow(101, 201, 1, True, 0.9, channel=channel, agent="dobby")])

    assert recall_new(world_b, *said) == lines


def test_a_dimension_that_supersedes_disputes_nothing(world_b: Cache) -> None:
    world_b.superseding_dims = {1}

    assert recall_new(world_b, "gnommoweb is a container") == []


def test_what_is_above_the_fact_is_no_other_value(world_b: Cache) -> None:
    world_b.put_edges(201, [EdgeRow(201, 202, 1, True)])

    assert "?" not in str(recall_new(world_b, "gnommoweb is a container"))


@pytest.mark.parametrize(("parent", "lines"), [(202, ["gnommoweb: [type] repo"]), (203, DISPUTED)])
def test_only_the_triple_that_was_decided_about_is_not_disputed(world_b: Cache, parent: int, lines: list[str]) -> None:
    world_b.decided[101] = {TripleIds(101, 1, parent)}

    assert recall_new(world_b, "gnommoweb is a container") == lines


@pytest.mark.parametrize(("asks", "is_there"), [("gnommoweb", False), ("repo", False), ("container", True)])
def test_what_a_prompt_asks_to_forget_is_not_in_its_block(world_b: Cache, asks: str, is_there: bool) -> None:
    graph = SpeakersGraph(world_b, topics=[Topic(TopicKind.WORDS, asks)])
    said = ShownNote("episode", 1, "We like gnommoweb, our first repo.")
    mentions = Mentions.of([Reader(world_b).read(Message("user", "gnommoweb"))])
    shown = recollect(SpeakersGraph(world_b), mentions, NOW, found=[said]).block

    block = recollect(graph, mentions, NOW, found=[said]).block

    assert (bool(block.facts), bool(block.notes)) == (is_there, is_there)
    assert still_holds(graph, shown, NOW) is is_there


def test_a_fact_that_stands_in_a_dimension_split_from_its_own_is_not_disputed(world_b: Cache) -> None:
    world_b.split_dims = {1: {7, 8}, 8: {9}, 9: {1}}
    world_b.put_edges(101, [*world_b.urd_by_concept[101], EdgeRow(101, 202, 9, True)])

    assert recall_new(world_b, "gnommoweb is a container") != DISPUTED
    world_b.split_dims = {1: {7, 8}}
    assert recall_new(world_b, "gnommoweb is a container") == DISPUTED


# --- who is recalled ---


def test_edges_are_shown_by_descending_dimension_and_concepts_by_ascending_id() -> None:
    cache = cache_of(
        {
            "dobby": SoasRow(9, novelty=1),
            "gnommoweb": SoasRow(5, novelty=1),
            "repo": SoasRow(1),
            "type": SoasRow(2),
            "tech": SoasRow(3),
        },
        [EdgeRow(9, 1, 2, True), EdgeRow(5, 1, 2, True), EdgeRow(5, 1, 3, False)],
    )

    block = recall(cache, "dobby and gnommoweb").block.text

    assert block.splitlines()[1:-1] == ["gnommoweb: [tech] repo [type] repo", "dobby: [type] repo"]


WORLD = {"gnommoweb": SoasRow(5, novelty=1), "repo": SoasRow(1), "type": SoasRow(2)}


@pytest.mark.parametrize(
    ("edge", "is_recalled"),
    [
        (EdgeRow(5, 1, 2, True, confidence=0.6), True),
        (EdgeRow(5, 1, 2, True, confidence=0.59), False),
        (EdgeRow(5, 1, 2, True, last_confirmed=NOW - 89 * DAY), True),
        (EdgeRow(5, 1, 2, True, last_confirmed=NOW - 91 * DAY), False),
        (EdgeRow(5, 1, 2, True, source="gutask", last_confirmed=NOW - 1000 * DAY), True),
        (EdgeRow(5, 5, 5, True), False),
    ],
    ids=["at the floor", "below the floor", "recent", "old", "old, but from gutask", "a root"],
)
def test_a_fact_is_recalled_while_it_is_in_force(edge: EdgeRow, is_recalled: bool) -> None:
    assert ("repo" in recall(cache_of(dict(WORLD), [edge]), "gnommoweb").block.text) is is_recalled


def test_a_fact_whose_words_have_not_arrived_waits_for_them() -> None:
    cache = cache_of(dict(WORLD), [EdgeRow(5, 1, 2, True), EdgeRow(5, 999, 3, True)])

    assert recall(cache, "gnommoweb").block.text == "<recollection>\ngnommoweb: [type] repo\n</recollection>"


def test_a_question_can_be_run_in_a_shell_whatever_the_concept_is_called() -> None:
    block = recall(cache_of({"o'brien": unknown()}), "what is o'brien?").block.text

    assert """  gutask iknowthat "o'brien -isa <parent> in context of <dimension>\"""" in block


def test_a_muted_concept_is_neither_recalled_nor_asked_about() -> None:
    row = SoasRow(5, saliency=2, novelty=1, is_muted=True)
    cache = cache_of({**WORLD, "gnommoweb": row}, [EdgeRow(5, 1, 2, True)])

    assert recall(cache, "gnommoweb") == Recollection(style="compact")


# --- a concept of which too much is known ---


def test_junk_pushes_out_neither_what_was_taught_nor_the_prompts_other_concepts() -> None:
    cache = flood(10_000, NOW)

    block = recall(cache, "gnommoweb, kvasir and dobby").block.text
    flooded, *others = block.splitlines()[1:-1]

    assert flooded.endswith(TAUGHT)  # dimensions descending, and it is the oldest
    assert flooded.count("[") == FACTS_MAX
    assert others == ["kvasir: [type] repo", "dobby: [type] repo"]


def test_the_next_block_does_not_go_on_to_weaker_facts() -> None:
    cache = flood(81, NOW)
    shown = recall(cache, "gnommoweb").block

    mentions = Mentions.of([Reader(cache).read(Message("user", "gnommoweb again"))])
    recollection = recollect(SpeakersGraph(cache), mentions, NOW, shown)

    assert (recollection.block.text, recollection.reasons) == ("", {"gnommoweb": "recalled before"})


def test_of_thousands_of_facts_only_a_few_are_looked_at() -> None:
    cache = flood(10_000, NOW)
    mentions = Mentions.of([Reader(cache).read(Message("user", "gnommoweb"))])
    rest = cache.urd_by_concept[GNOMMOWEB] = iter(cache.urd_by_concept[GNOMMOWEB])  # type: ignore[assignment]

    assert recollect(SpeakersGraph(cache), mentions, NOW).block.text

    assert len(list(rest)) == 10_000 - FACTS_MAX


# --- what the prompt itself says ---

OF_SKADI = {"printer": 1, "type": 2, "runs-on": 3, "laser_printer": 4, "skadi": 5, "tyr": 6, "plotter": 7}
SKADI = {word: SoasRow(number, novelty=float(word == "skadi")) for word, number in OF_SKADI.items()}
HERE_AND_THERE = [EdgeRow(5, 1, 2, True), EdgeRow(5, 6, 3, False)]
BOTH, ELSEWHERE = "skadi: [runs-on] tyr [type] printer", "skadi: [runs-on] tyr"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ([Message("user", "skadi is a printer. Where is it?")], ELSEWHERE),
        ([Message("system", "skadi is a printer."), Message("user", "Where is skadi?")], ELSEWHERE),
        ([Message("user", "skadi is a laser printer. Where is it?")], ELSEWHERE),
        ([Message("assistant", "skadi is a printer."), Message("user", "Where is skadi?")], BOTH),
        ([Message("tool", "skadi is a printer."), Message("user", "Where is skadi?")], BOTH),
        ([Message("user", "I believe skadi is a printer.")], BOTH),
        ([Message("user", "skadi is a printer."), Message("tool", "skadi is a plotter.")], BOTH),
        ([Message("user", "skadi is a printer."), Message("user", "skadi is a plotter.")], BOTH),
        ([Message("user", "skadi is a printer."), Message("user", "skadi is no longer a printer.")], BOTH),
        ([Message("user", "skadi is a plotter.")], BOTH),
        ([Message("user", "kvasir is a printer. And skadi?")], BOTH),
    ],
)
def test_what_the_prompt_itself_states_is_not_repeated_unless_another_value_stands_there(
    said: list[Message], line: str
) -> None:
    cache = cache_of(dict(SKADI), HERE_AND_THERE)

    assert recall(cache, *said).block.text.splitlines()[1:-1] == [line]


def test_where_all_is_stated_nothing_is_recalled_and_where_it_is_disputed_both_sides_are() -> None:
    cache = cache_of(dict(SKADI), HERE_AND_THERE[:1])
    said = recall(cache, "skadi is a printer")
    cache.pending_conflicts[5] = {2: ("plotter",)}

    assert (said.block.text, said.reasons) == ("", {"skadi": "stated in this prompt"})
    assert "printer | plotter" in recall(cache, "skadi is a printer").block.text


def test_what_was_split_from_the_dimension_of_a_statement_is_stated_with_it() -> None:
    cache = cache_of({**SKADI, "hardware": SoasRow(9)}, [EdgeRow(5, 1, 9, True)])
    cache.split_dims = {2: {9}}

    assert recall(cache, "skadi is a printer").block.text == ""


COMMON = {
    "mercury": SoasRow(5, novelty=1, is_common=True),
    "test": SoasRow(6, novelty=1, is_common=True),
    "gateway": SoasRow(1, is_common=True),
    "type": SoasRow(2),
    "tech": SoasRow(3),
}


@labelled(__file__, "common word")
def test_a_common_word_is_recalled_as_a_name_or_where_one_who_may_has_taught_it(
    text: str, source: str, is_recalled: bool
) -> None:
    cache = cache_of(dict(COMMON), [EdgeRow(concept, 1, 2, True, source=source) for concept in (5, 6)])

    assert ("gateway" in recall(cache, text).block.text) is is_recalled


def test_one_fact_of_an_operators_makes_a_common_word_a_concept() -> None:
    by_many = [EdgeRow(6, 1, 2, True, source="inferred"), EdgeRow(6, 1, 3, True, source="gutask", channel="operator")]
    cache = cache_of(dict(COMMON), by_many)

    assert recall(cache, "the test").block.text.splitlines()[1:-1] == ["test: [tech] gateway [type] gateway"]


def test_the_root_of_a_dimension_makes_no_concept_of_its_name() -> None:
    root = EdgeRow(6, 6, 6, True, source="festinger", channel="operator")
    cache = cache_of(dict(COMMON), [root, EdgeRow(6, 1, 2, True, source="inferred")])

    assert recall(cache, "the test").reasons == {"test": "a common word"}


def test_only_so_many_concepts_are_recalled_those_last_seen_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "CONCEPTS_MAX", 2)
    rows = {f"thing{i}": SoasRow(10 + i, novelty=1, last_seen=NOW - i * 30 * DAY) for i in range(4)}
    cache = cache_of(
        {**rows, "repo": SoasRow(1), "type": SoasRow(2)},
        [EdgeRow(10 + i, 1, 2, True) for i in range(4)],
    )

    recollection = recall(cache, " ".join(rows))

    assert recollection.block.text.splitlines()[1:-1] == ["thing0: [type] repo", "thing1: [type] repo"]
    assert recollection.reasons["thing3"] == "too many concepts"


def test_the_threshold_of_the_config_table_is_obeyed() -> None:
    rows = {"gnommoweb": SoasRow(5, encounter_count=4, saliency=saliency(4))}

    assert recall(cache_of(dict(rows)), "what is gnommoweb?").block.text
    assert not recall(cache_of(dict(rows), saliency_read_threshold=0.7), "what is gnommoweb?").block.text


# --- who is asked about ---


def unknown(id: int = 7, **changes: object) -> SoasRow:
    return SoasRow(**({"id": id, "encounter_count": 50, "saliency": 1.7} | changes))  # type: ignore[arg-type]


def test_only_a_users_words_are_asked_about() -> None:
    cache = cache_of({"zorblat": unknown()})

    assert recall(cache, Message("tool", "zorblat")).block.text == ""
    assert recall(cache, Message("tool", "zorblat"), Message("user", "what is zorblat")).block.text


def test_a_parent_or_a_dimension_is_not_asked_about() -> None:
    cache = cache_of({"zorblat": unknown(), "dobby": SoasRow(8), "type": SoasRow(2)}, [EdgeRow(8, 7, 2, True)])

    assert recall(cache, "zorblat").reasons == {"zorblat": "only known as a value"}


def test_what_the_prompt_itself_states_is_not_asked_about() -> None:
    cache = cache_of({"zorblat": unknown()})

    assert recall(cache, "zorblat is a gateway").reasons == {"zorblat": "stated in this prompt"}


def test_a_word_that_is_a_secret_in_the_prompt_is_not_asked_about() -> None:
    cache = cache_of({"zorblat": unknown()}, [])
    message = Message("user", "The password for staging is zorblat.")
    [reading] = Reader(cache).read_within([message])

    recollection = recollect(SpeakersGraph(cache), Mentions.of([reading]), NOW)

    assert (recollection.block.text, recollection.reasons) == ("", {"zorblat": "part of a secret"})
    assert recall(cache, "We saw the zorblat.").block.questions


@pytest.mark.parametrize(
    ("asked_count", "asked_ago", "asks"),
    [
        (1, HOUR - 1, False),
        (1, HOUR, True),
        (2, HOUR, False),
        (2, DAY, True),
        (3, 7 * DAY, True),
        (9, 29 * DAY, False),
    ],
)
def test_questions_back_off(asked_count: int, asked_ago: float, asks: bool) -> None:
    cache = cache_of({"zorblat": unknown(asked_count=asked_count, asked_at=NOW - asked_ago)})

    assert bool(recall(cache, "what is zorblat?").block.text) is asks


def test_zero_hit_max_switches_questions_off() -> None:
    assert recall(cache_of({"zorblat": unknown()}, zero_hit_max=0), "what is zorblat?").block.text == ""


NAMES = ("kvasir", "skadi", "baldur", "mimir")
ABOUT_ALL = "Please compare Kvasir with baldur, and then mimir with skadi."


def cache_of_unknown(**settings: object) -> Cache:
    return cache_of({name: unknown(id=number) for number, name in enumerate(NAMES, 1)}, **settings)


def test_one_question_is_asked_in_a_block() -> None:
    recollection = recall(cache_of_unknown(), ABOUT_ALL)

    assert recollection.block.questions == (NAMES[0],)
    assert recollection.reasons == {"kvasir": "asked"} | dict.fromkeys(NAMES[1:], "too many concepts")


def test_at_most_zero_hit_max_questions_are_asked() -> None:
    recollection = recall(cache_of_unknown(zero_hit_max=3), ABOUT_ALL)

    assert recollection.block.text.splitlines()[1:-1] == [
        *(f"? {word}: no recollection. If this is a typo, ignore." for word in ("Kvasir", "skadi", "baldur")),
        "If you know what one of them is, store it before proceeding:",
        "  gutask iknowthat '<concept> -isa <parent> in context of <dimension>'",
        "  gutask iknowthat '<concept> -ispart <system> in context of <dimension>'",
    ]
    assert len(recollection.block.questions) == 3


@pytest.mark.parametrize(
    ("asked", "why_not", "reason"),
    [
        (("tyr", "odin", "dobby"), "", "asked enough in this conversation"),
        (("kvasir",), "", "asked before"),
        ((), "the agent cannot answer", "the agent cannot answer"),
    ],
)
def test_nothing_more_is_asked(asked: tuple[str, ...], why_not: str, reason: str) -> None:
    cache = cache_of({"kvasir": unknown()})
    mentions = Mentions.of([Reader(cache).read(Message("user", "what is kvasir?"))])

    recollection = recollect(SpeakersGraph(cache), mentions, NOW, Block(questions=asked), why_not_ask=why_not)

    assert (recollection.block.questions, recollection.reasons) == ((), {"kvasir": reason})


def test_a_name_is_asked_about_as_it_is_written() -> None:
    cache = cache_of({"dissoqen": unknown()})

    assert "? DissoQen: no" in recall(cache, "Why is DissoQen slow?").block.text
    assert "gutask iknowthat 'DissoQen -isa" in recall(cache, "Why is DissoQen slow?").block.text


CODE = """Look at this:

```python
def flurb(kvasir, limit):
    return kvasir.lookup(limit)
```
"""


@pytest.mark.parametrize("is_read", [True, False])
def test_what_code_of_the_prompt_uses_as_its_own_is_not_asked_about(is_read: bool) -> None:
    cache = cache_of({"kvasir": unknown(1), "flurb": unknown(2), "skadi": unknown(3)}, zero_hit_max=3)
    messages = [Message("assistant", CODE), Message("user", "Call flurb with the kvasir of skadi.")]
    reader = Reader(cache)
    readings = (
        [reader.read(m) for m in messages] if is_read else [*reader.read_within(messages, 100_000, math.inf)][::-1]
    )

    recollection = recollect(SpeakersGraph(cache), Mentions.of(readings), NOW)

    assert recollection.reasons == {
        "kvasir": "an identifier of code", "flurb": "an identifier of code", "skadi": "asked"
    }  # fmt: skip


def test_names_that_only_a_tool_prints_do_not_hide_one_that_a_user_speaks_of() -> None:
    printed = {f"zorblat{number}q": unknown(number, saliency=2.0) for number in range(1, 100)}
    cache = cache_of(printed | {"kvasir": unknown(100, saliency=1.0)})

    recollection = recall(cache, Message("tool", " ".join(printed)), "Is kvasir up?")

    assert recollection.reasons["kvasir"] == "asked"


def test_what_matches_a_muted_pattern_is_neither_recalled_nor_asked_about() -> None:
    rows = {**WORLD, "svc-kvasir": unknown()}
    cache = cache_of(rows, [EdgeRow(5, 1, 2, True)])
    shown = recall(cache, "what is gnommoweb?").block
    cache.mutes = compile_patterns(["gnommo*", "svc-*"])

    assert recall(cache, "what is gnommoweb, and what is svc-kvasir?") == Recollection(style="compact")
    assert not still_holds(SpeakersGraph(cache), shown, NOW)


def test_facts_take_the_budget_before_questions() -> None:
    cache = cache_of({**WORLD, "zorblat": unknown()}, [EdgeRow(5, 1, 2, True)], recollection_max_tokens=40)

    recollection = recall(cache, "what is gnommoweb to zorblat?")

    assert "gnommoweb: [type] repo" in recollection.block.text
    assert recollection.reasons == {"gnommoweb": "recalled", "zorblat": "no room"}


# --- aliases ---


@pytest.fixture
def with_aliases(world_b: Cache) -> Cache:
    world_b.put_aliases([("web", SoasRow(id=301, is_common=True), 101), ("gnw", SoasRow(id=302), 101)])
    return world_b


@labelled(__file__, "spelling of an alias")
def test_any_spelling_recalls_the_concept_once_under_its_own_name(with_aliases: Cache, said: str, shows: bool) -> None:
    block = recall(with_aliases, said).block

    assert [(fact.concept, fact.parent) for fact in block.facts] == ([("gnommoweb", "repo")] if shows else [])


@pytest.mark.parametrize("said", ["gnw is a repo.", "gnommoweb is a repo."])
def test_what_is_stated_of_a_spelling_is_stated_of_the_concept(with_aliases: Cache, said: str) -> None:
    assert recall(with_aliases, said, "what about gnw and gnommoweb?").block.text == ""


@pytest.mark.parametrize(
    ("said", "disputes"), [("gnw is a container", True), ("gnw is a repo", False), ("gnw ISA gnommoweb", False)]
)
def test_a_statement_about_a_spelling_disputes_the_concepts_fact(
    with_aliases: Cache, said: str, disputes: bool
) -> None:
    assert ("type?" in str(recall_new(with_aliases, said))) == disputes


def test_a_block_that_calls_the_concept_otherwise_holds_no_more(world_b: Cache) -> None:
    block = recall(world_b, "Deploy gnommoweb today").block
    assert still_holds(SpeakersGraph(world_b), block, NOW)
    row = world_b.soas_by_token["gnommoweb"]
    world_b.drop_soas(101)
    world_b.put_soas("gnommo", row)

    world_b.put_aliases([("gnommoweb", SoasRow(id=301), 101)])

    assert not still_holds(SpeakersGraph(world_b), block, NOW)
    assert recall(world_b, "Deploy gnommoweb today").block.facts[0].concept == "gnommo"


def test_a_concept_of_which_nothing_is_known_is_asked_about_by_its_own_name() -> None:
    rows = {"kvasir": SoasRow(id=1, saliency=2.0), "repo": SoasRow(id=2)}
    cache = cache_of(rows)
    cache.put_aliases([("kvasi", SoasRow(id=3), 1)])

    assert recall(cache, "Restart kvasi at once").block.questions == ("kvasir",)
    assert recall(cache, "Restart kv. kv is a repo").block.questions == ()


def test_no_episode_is_given_that_says_no_more_than_the_facts() -> None:
    cache = printer_cache()
    said = [ShownNote("episode", 1, "Skadi is a printer."), ShownNote("episode", 2, "Skadi is a plotter.")]

    recalled = recall_notes(cache, "What is skadi?", said)

    assert recalled.notes == {("episode", 1): "the facts say so already", ("episode", 2): "given"}


def printer_cache() -> Cache:
    """Skadi is a printer: that was said on 1 March 2026."""
    rows = {"skadi": SoasRow(5, encounter_count=50, saliency=0.9), "printer": SoasRow(6), "type": SoasRow(2)}
    return cache_of(rows, [EdgeRow(5, 6, 2, True, said_at=datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp())])


def recall_notes(
    cache: Cache, prompt: str, found: Sequence[ShownNote] = (), *, shown: Block = NOTHING, **beside: Any
) -> Recollection:
    reading = Reader(cache).read(Message("user", prompt))
    return recollect(SpeakersGraph(cache), Mentions.of([reading]), NOW, shown, found=found, beside=Beside(**beside))


SOLD = ShownNote("episode", 8, "We sold skadi last week.", "2026-03-04T10:00:00.000000")


@pytest.mark.parametrize(
    ("change", "is_given"),
    [
        (SOLD, True),
        (SOLD._replace(text="The printer died."), True),  # it names the value
        (SOLD._replace(text="I sold my bike."), False),
        (SOLD._replace(said_at="2026-02-28T10:00:00.000000"), False),  # earlier than the fact
    ],
)
def test_a_fact_is_followed_by_the_newest_message_that_says_that_it_has_changed(
    change: ShownNote, is_given: bool
) -> None:
    block = recall_notes(printer_cache(), "What is skadi?", changes=[change]).block

    assert "skadi: [type] printer" in block.text
    assert (change.text in block.text) is is_given


def test_a_line_comes_with_its_change_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = cache_of({})
    line = ShownNote("episode", 1, "We use Fastify for the API.", "2026-03-01T10:00:00.000000")
    change = ShownNote("episode", 2, "We switched from Fastify to Hono.", "2026-03-04T10:00:00.000000")

    assert recall_notes(cache, "Add a route.", [line], changes=[change]).block.notes == (line, change)
    monkeypatch.setitem(notes.TOKENS_MAX, "episode", 20)
    assert recall_notes(cache, "Add a route.", [line], changes=[change]).block.notes == ()
    assert recall_notes(cache, "Add a route.", [line]).block.notes == (line,)


def test_a_change_that_the_prompt_shows_is_not_added() -> None:
    recalled = recall_notes(printer_cache(), "What is skadi?", changes=[SOLD], stated=frozenset([SOLD.key]))

    assert recalled.block.notes == ()


PROFILE = [
    (ShownNote("memory", 3, "I am allergic to nuts.", "2026-03-03T10:00:00.000000"), "identity"),
    (ShownNote("memory", 2, "Always answer in German.", "2026-03-02T10:00:00.000000"), "preference"),
    (ShownNote("memory", 1, "I am a pilot.", "2026-03-01T10:00:00.000000"), "identity"),
]


def test_a_profile_opens_a_conversation_once_instructions_first() -> None:
    first = recall_notes(cache_of({}), "Hello.", profile=PROFILE).block

    assert [note.id for note in first.notes] == [2, 1, 3]
    assert recall_notes(cache_of({}), "Hello again.", shown=first, profile=PROFILE).block == NOTHING


def test_a_profile_that_is_too_long_loses_its_oldest_lines() -> None:
    cache = cache_of({})
    cache.tuning = replace(cache.tuning, recollection_max_profile_tokens=25)

    assert [note.id for note in recall_notes(cache, "Hello.", profile=PROFILE).block.notes] == [2, 3]


def test_an_episode_that_disputes_a_fact_is_given_beside_it() -> None:
    cache = cache_of({"skadi": SoasRow(5, encounter_count=50, saliency=0.9), "type": SoasRow(2), "printer": SoasRow(6)})
    cache.put_edges(5, [EdgeRow(5, 6, 2, True)])
    cache.pending_conflicts[5] = {2: ("plotter",)}
    reading = Reader(cache).read(Message("user", "What is skadi?"))
    said = ShownNote("episode", 1, "Skadi is a plotter.", "2026-03-04")

    block = recollect(SpeakersGraph(cache), Mentions.of([reading]), NOW, found=[said]).block

    assert "printer | plotter" in block.text
    assert said.text in block.text


# --- what holds for its speaker alone ---

DOBBY, ANN = ("dobby", ""), ("dobby", "ann")


def own_cache(*facts: EdgeRow) -> Cache:
    """gnommoweb and its possible parents are known; the facts are shared."""
    rows = {word: SoasRow(number, novelty=1) for number, word in enumerate(("type", "gnommoweb", "repo", "tool"), 1)}
    return cache_of(rows, [EdgeRow(1, 1, 1, True), *facts])


def recall_for(cache: Cache, speaker: tuple[str, str] | None) -> str:
    readings, graph = [Reader(cache).read(Message("user", "Restart gnommoweb."))], SpeakersGraph.of(cache, speaker)
    block = recollect(graph, Mentions.of(readings), NOW).block
    assert still_holds(graph, block, NOW)
    return block.text


def test_an_own_fact_is_for_its_speaker_and_everybody_behind_its_agent() -> None:
    cache = own_cache()
    cache.own_facts.put(7, DOBBY, EdgeRow(2, 3, 1, True, channel="unsure"))
    cache.own_facts.put(8, ANN, EdgeRow(2, 3, 1, True, channel="unsure"))
    cache.own_facts.drop(8)

    assert "gnommoweb: [type] repo" in recall_for(cache, DOBBY)
    assert "gnommoweb: [type] repo" in recall_for(cache, ANN)
    assert "[type]" not in recall_for(cache, ("winky", ""))
    assert "[type]" not in recall_for(cache, None)
    assert "[type]" not in recall_for(cache, (DOBBY[0], GROUP))
    cache.own_facts.drop(7)
    assert "[type]" not in recall_for(cache, DOBBY)
    assert not cache.own_facts.words


def test_against_a_shared_fact_it_is_shown_beside_it_to_its_speaker_alone() -> None:
    cache = own_cache(EdgeRow(2, 3, 1, True))
    cache.own_facts.put(7, ANN, EdgeRow(2, 4, 1, True, channel="unsure"))

    assert "gnommoweb: [type?] repo | tool" in recall_for(cache, ANN)
    assert "gnommoweb: [type] repo\n" in recall_for(cache, DOBBY)


def test_what_all_know_is_not_told_twice() -> None:
    cache = own_cache(EdgeRow(2, 3, 1, True))
    cache.own_facts.put(7, ANN, EdgeRow(2, 3, 1, True, channel="unsure"))

    assert recall_for(cache, ANN) == recall_for(cache, DOBBY)


def test_a_setting_gives_it_to_all_agents_with_a_token() -> None:
    cache = own_cache()
    cache.tuning = replace(cache.tuning, share_unsure="agents")
    cache.own_facts.put(7, ANN, EdgeRow(2, 3, 1, True, channel="unsure"))

    assert "gnommoweb: [type] repo" in recall_for(cache, ("winky", ""))
    assert "[type]" not in recall_for(cache, ("anonymous@127.0.0.1", ""))
