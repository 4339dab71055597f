"""Reading verdicts, without a database."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.english.tokenizer import tokenise
from resolution.conflicts.verdict import (
    ALLOWED,
    KINDS,
    REASON_MAX,
    Verdict,
    VerdictMistake,
    read_dimension,
    read_verdict,
)

TYPES = ("isa_isa", "ispart_ispart", "misclassification", "cycle", "retraction")
NAMES = {"existing_dimension": "artifact-type", "new_dimension": "deployment-type", "dimension": "runs-on"}


def test_the_decomposition_of_the_sources_test_is_read() -> None:
    verdict = read_verdict(
        {
            "decision": "decompose",
            "existing_dimension": "artifact-type",
            "new_dimension": "deployment-type",
            "reasoning": "repo describes what it is, container how it is deployed",
        },
        "isa_isa",
    )

    assert verdict == Verdict(
        "decompose",
        "repo describes what it is, container how it is deployed",
        existing_dimension="artifact-type",
        new_dimension="deployment-type",
    )


@pytest.mark.parametrize("collision_type", TYPES)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_language_model_may_decide_what_the_table_says(kind: str, collision_type: str) -> None:
    data = {"decision": kind, "reason": "because"} | NAMES

    if kind in ALLOWED[collision_type]:
        assert read_verdict(data, collision_type).decision == kind
    else:
        with pytest.raises(VerdictMistake, match="only"):
            read_verdict(data, collision_type)


def test_an_operator_may_decide_anything() -> None:
    verdicts = [read_verdict({"decision": kind, "reason": ""} | NAMES, None) for kind in sorted(KINDS)]

    assert [verdict.decision for verdict in verdicts] == ["decompose", "dismiss", "relocate", "update"]


def test_the_table_is_that_of_the_specification() -> None:
    assert {kind: sorted(may) for kind, may in ALLOWED.items()} == {
        "isa_isa": ["decompose", "dismiss", "update"],
        "ispart_ispart": ["dismiss", "update"],
        "misclassification": ["dismiss", "relocate"],
        "cycle": ["dismiss", "relocate", "update"],
        "retraction": [],
    }


def test_what_a_decision_does_not_need_is_ignored() -> None:
    assert read_verdict({"decision": "dismiss", "reason": "no", "is_isa": "perhaps"} | NAMES, None) == Verdict(
        "dismiss", "no"
    )


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("artifact-type", "artifact-type"),
        ("artifact type", "artifact-type"),
        ("Artifact Type", "artifact_type"),
        ("Artifact type", "artifact-type"),
        ("  `Runs-On`. ", "runs-on"),
        ('"deployment"', "deployment"),
        ("ｔｙｐｅ", "type"),
        ("größe", "größe"),
    ],
)
def test_a_dimension_is_read_from_how_people_write_names(written: str, name: str) -> None:
    assert read_dimension(written, "dimension") == name


@pytest.mark.parametrize(
    "written",
    [
        "",
        "  ",
        None,
        7,
        "2024-01-01",
        "v1.2.3",
        "12",
        "artifact/type",
        "artifact, type",
        "<recollection>",
        "type\x00type",
        "a" * 65,
        "word " * 3000,
        "what this thing is when it runs",
        "a1b2c3d4e5f6a1b2c3d4",
        "sk-abcdefgh12345678",
        "-",
        "the",
        "None",
        "Very Long Name That Nobody Would Ever Give A Dimension In This World Of Ours",
    ],
)
def test_what_is_not_one_name_is_refused(written: object) -> None:
    with pytest.raises(VerdictMistake):
        read_dimension(written, "dimension")


def test_a_model_may_not_name_a_dimension_as_only_operators_may() -> None:
    data = {"decision": "relocate", "dimension": "Run This Or Die", "reason": "x"}
    assert read_verdict(data | {"dimension": "run-this-or-we-die"}, None).dimension == "run-this-or-we-die"

    for name, why in (("run-this-or-we-die", "more than 4 words"), ("evil.example.com", "the name of a host")):
        with pytest.raises(VerdictMistake, match=f"{name}' is a?.*{why}: only an operator"):
            read_verdict(data | {"dimension": name}, "misclassification")


def test_a_word_of_grammar_is_named_in_the_refusal() -> None:
    with pytest.raises(VerdictMistake, match="'With' cannot be the dimension: 'with' is a function word"):
        read_dimension("With", "dimension")


def test_two_dimensions_that_are_the_same_are_refused() -> None:
    data = {"decision": "decompose", "existing_dimension": "kind", "new_dimension": "Kind", "reason": "x"}

    with pytest.raises(VerdictMistake, match="must differ"):
        read_verdict(data, "isa_isa")


@pytest.mark.parametrize("data", [None, [], "dismiss", 3, {}, {"decision": ["dismiss"]}, {"decision": "drop"}])
def test_what_is_no_verdict_is_refused(data: object) -> None:
    with pytest.raises(VerdictMistake):
        read_verdict(data, "isa_isa")


@pytest.mark.parametrize("is_isa", [True, False, None])
def test_a_relocation_may_say_whether_it_is_a_kind(is_isa: bool | None) -> None:
    data = {"decision": "relocate", "dimension": "runs-on", "is_isa": is_isa, "reason": "x"}

    assert read_verdict(data, None).is_isa is is_isa


@pytest.mark.parametrize("is_isa", [True, False, "perhaps"])
@pytest.mark.parametrize("collision_type", ["misclassification", "cycle"])
def test_a_language_model_does_not_turn_a_part_into_a_kind(collision_type: str, is_isa: object) -> None:
    data = {"decision": "relocate", "dimension": "runs-on", "is_isa": is_isa, "reason": "x"}

    assert read_verdict(data, collision_type).is_isa is None


@pytest.mark.parametrize("is_isa", ["true", 1, 0, []])
def test_a_flavour_that_is_no_truth_value_is_refused(is_isa: object) -> None:
    with pytest.raises(VerdictMistake, match="is_isa"):
        read_verdict({"decision": "relocate", "dimension": "runs-on", "is_isa": is_isa, "reason": "x"}, None)


def test_a_reason_can_be_stored() -> None:
    verdict = read_verdict({"decision": "dismiss", "reason": " a\x00b\ud800 " + "x" * 9000}, None)

    assert verdict.reason.startswith("ab? x")
    assert len(verdict.reason) == REASON_MAX


def test_a_reason_that_is_no_text_is_refused() -> None:
    with pytest.raises(VerdictMistake, match="reason"):
        read_verdict({"decision": "dismiss", "reason": {"a": 1}}, None)


@given(st.text(max_size=90))
@example("ﬃ" * 30)
@example("İ" * 40)
def test_a_name_is_read_to_one_token_that_reads_as_itself_or_refused(written: str) -> None:
    try:
        name = read_dimension(written, "dimension")
    except VerdictMistake:
        return

    assert [token.text for token in tokenise(name)] == [name]
    assert len(name) <= 64


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)
fields = st.dictionaries(
    st.sampled_from([*NAMES, "decision", "reason", "reasoning", "is_isa"]),
    json_values | st.sampled_from(sorted(KINDS)),
    max_size=7,
)


@given(fields, st.sampled_from([*TYPES, None, "odd"]))
def test_any_json_is_a_verdict_or_a_mistake(data: dict[str, object], collision_type: str | None) -> None:
    try:
        verdict = read_verdict(data, collision_type)
    except VerdictMistake:
        return

    assert collision_type is None or verdict.decision in ALLOWED[collision_type]
    json.dumps(verdict.reason).encode()
