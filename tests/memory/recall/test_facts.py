"""Blocks as a whole: within their budget, in their order, in their alphabet."""

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from memory.cache.state import SLOT_MAX, order_by_rank, rank
from memory.english.tokenizer import tokenise
from memory.graph.saliency import DAY, priority, saliency
from memory.recall.block import (
    CLOSING,
    CONFLICT,
    DISPUTED,
    OPENING,
    ShownFact,
    block_length,
    render_questions,
)
from memory.recall.facts import CONCEPTS_MAX, FACTS_MAX, SalientConcept, Selection, select
from memory.types import EdgeRow, SoasRow, Style
from tests.prompts import facts_in

TYPE, TECH = 100, 101
TOKENS = st.text(st.characters(codec="utf-8"), max_size=40).map(lambda text: [t.text for t in tokenise(text)])
tokens = TOKENS.filter(bool).map(lambda found: found[0])
edges = st.lists(
    st.tuples(st.integers(200, 210), st.one_of(st.none(), st.floats(0, 1e9))), min_size=1, max_size=FACTS_MAX
).map(lambda drawn: [EdgeRow(0, parent, 1000 - i, True, last_confirmed=at) for i, (parent, at) in enumerate(drawn)])


@st.composite
def candidates(draw: st.DrawFn, *, known: bool) -> list[SalientConcept]:
    names = draw(st.lists(tokens, unique=True, max_size=12))
    first = 0 if known else 500
    return [
        SalientConcept(
            SoasRow(first + i),
            name,
            draw(st.floats(0, 10)),
            [replace(edge, concept_id=i) for edge in draw(edges)] if known else (),
        )
        for i, name in enumerate(names)
    ]


@given(
    candidates(known=True),
    candidates(known=False),
    st.lists(tokens, min_size=11, max_size=11),
    st.integers(0, 9),
    st.integers(0, 3000),
    st.booleans(),
    st.sampled_from(["compact", "sentences"]),
)
def test_a_block_keeps_its_budget_its_limits_and_its_alphabet(
    known: list[SalientConcept],
    unknown: list[SalientConcept],
    parents: list[str],
    max_questions: int,
    max_characters: int,
    disputed: bool,
    style: Style,
) -> None:
    selection = select(
        known,
        unknown,
        show=lambda edge: ShownFact(
            known[edge.concept_id].token, f"d{edge.dim_id}", parents[edge.parent_id - 200], disputed, is_isa=False
        ),
        style=style,
        max_questions=max_questions,
        max_characters=max_characters,
    )

    block = selection.block()
    text = block.text
    assert len(text) <= max_characters or text == ""
    if style == "compact":
        assert facts_in(text) == {(fact.concept, fact.dimension): (fact.parent, disputed) for fact in block.facts}
    else:
        end = " (disputed)." if disputed else "."
        told = [f"{fact.concept} is in {fact.parent} ({fact.dimension}){end}" for fact in block.facts]
        assert "\n".join(selection.lines).splitlines() == told
    assert list(block.questions) == re.findall(r"^\? (\S+): no recollection", text, re.MULTILINE)
    assert len(selection.lines) <= CONCEPTS_MAX
    share = (max_characters - block_length([])) // (3 if len(known) > 1 else 1)
    assert all(len(line) <= share or line.count("[") == 1 or line.count("\n") == 0 for line in selection.lines)
    assert len(selection.asked) <= max_questions
    assert set(selection.reasons) == {candidate.token for candidate in known + unknown}
    assert_in_alphabet(text, {c.token for c in known + unknown} | set(parents))


def assert_in_alphabet(text: str, vocabulary: set[str]) -> None:
    """Fail unless a block without its own fixed words is tokens, brackets and marks."""
    in_other_quotes = render_questions(["'\0"]).replace("'\0", "\0")
    asked = "\n".join([render_questions(["\0"]), render_questions(["\0", "\0"]), in_other_quotes])
    fixed = {part.strip() for line in asked.splitlines() for part in line.split("\0")} - {""}
    for part in sorted(fixed | {OPENING, CLOSING, CONFLICT, DISPUTED, f"{DISPUTED}."}, key=len, reverse=True):
        text = text.replace(part, " ")
    text = re.sub(r" is in (\S+) \((d\d+)\)\.?", r" \1 \2", text)
    for word in re.split(r"[\s:\[\]?]+", text):
        assert not word or word in vocabulary or re.fullmatch(r"d\d+", word), word


CONCEPTS = {1: "gnommoweb", 2: "long", 3: "short"}


def show(edge: EdgeRow) -> ShownFact:
    dimension = {TYPE: "type", TECH: "tech"}.get(edge.dim_id, f"d{edge.dim_id}")
    return ShownFact(CONCEPTS[edge.concept_id], dimension, f"p{edge.parent_id}", False)


def chosen(known: list[SalientConcept], **limits: int) -> Selection:
    return select(
        known,
        [],
        show=show,
        style="compact",
        **({"max_questions": 3, "max_characters": 1400} | limits),
    )


MANY = SalientConcept(SoasRow(1), "gnommoweb", 1.0, [EdgeRow(1, i, 1000 + i, True) for i in range(FACTS_MAX)])
FEW = SalientConcept(SoasRow(3), "short", 0.5, [EdgeRow(3, 1, TYPE, True)])


def test_if_one_concept_alone_exceeds_the_budget_its_strongest_facts_stay() -> None:
    block = chosen([MANY], max_characters=80).block()

    assert block.text.splitlines()[1:-1] == ["gnommoweb: [d1002] p2 [d1001] p1 [d1000] p0"]


def test_beside_others_a_concept_has_a_third_of_the_room() -> None:
    room = block_length([]) + 3 * len("gnommoweb: [d1001] p1 [d1000] p0")

    assert chosen([MANY, FEW], max_characters=room).block().text.splitlines()[1:-1] == [
        "gnommoweb: [d1001] p1 [d1000] p0",
        "short: [type] p1",
    ]


def test_a_concept_whose_strongest_fact_finds_no_room_leaves_it_to_the_next() -> None:
    long = SalientConcept(SoasRow(2), "long", 1.0, [EdgeRow(2, 10**20, TYPE, True)])

    selection = chosen([long, FEW], max_characters=60)

    assert selection.block().text.splitlines()[1:-1] == ["short: [type] p1"]
    assert selection.reasons == {"long": "no room", "short": "recalled"}


def test_the_strongest_facts_are_those_of_operators_then_of_gutask_then_of_several_then_the_last_confirmed() -> None:
    weakest_first = [
        EdgeRow(1, 2, 1, True, source="inferred", last_confirmed=5.0),
        EdgeRow(1, 2, 2, True, source="cloud_llm", last_confirmed=6.0),
        EdgeRow(1, 2, 3, True, source="inferred", channel="user"),
        EdgeRow(1, 2, 4, True, source="inferred", last_confirmed=2.0, is_corroborated=True),
        EdgeRow(1, 2, 5, True, source="gutask", last_confirmed=1.0),
        EdgeRow(1, 2, 6, True, source="gutask", channel="operator", last_confirmed=0.0),
        EdgeRow(1, 2, 7, True, source="operator", last_confirmed=0.0),
    ]

    ranks = [rank(edge) for edge in weakest_first]
    assert ranks == sorted(ranks)


def test_a_slot_that_holds_many_does_not_hide_what_else_is_known() -> None:
    uses = [EdgeRow(1, 100 + n, 9, False, last_confirmed=float(n), is_additive=True) for n in range(20)]
    others = [EdgeRow(1, 2, dim_id, True, last_confirmed=-1.0) for dim_id in (3, 4)]

    ordered = order_by_rank([*others, *uses])

    assert [edge.dim_id for edge in ordered[: SLOT_MAX + 2]] == [9] * SLOT_MAX + [4, 3]
    assert [edge.parent_id for edge in ordered if edge.is_additive] == list(range(119, 99, -1))


def test_saliency_is_the_logarithm_of_the_encounters() -> None:
    assert [saliency(count) for count in (0, 1, 10, 1000)] == [0, 0, 1, 3]


def test_priority_is_halved_for_every_half_life_out_of_sight() -> None:
    row = SoasRow(1, saliency=2.0, novelty=1.0, last_seen=0.0)

    assert priority(row, 14 * DAY) == 1.0
    assert priority(row, 28 * DAY) == 0.5
    assert priority(SoasRow(1, novelty=1.0), 28 * DAY) == 1.0
