"""Statements that cues announce in sentences, and how well labelled sentences are read."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.cues import OWN, STATEMENTS, matches, measure
from memory.attribution.envelopes import unwrap
from memory.english.doubt import SpeechAct
from memory.english.sentences import MASK, NAME_MARK, SentenceFinder, mask
from memory.english.statements import find_cues
from memory.english.tokenizer import tokenise
from tests.memory.labelled import labelled

ORDINARY = (
    "a agent backup box bread class cluster code container docker file gateway host image index is job library "
    "machine mail main mercury memory network number of on orion package part process project region repo resource "
    "server service set slow state team the tool type value worker works zorb today files port"
)


@dataclass
class Vocabulary:
    common: set[str] = field(default_factory=lambda: set(ORDINARY.split()))
    concepts: set[str] = field(default_factory=set)
    places: set[str] = field(default_factory=set)
    dimensions: dict[tuple[str, str], str] = field(default_factory=dict)

    def is_common(self, token):
        return token in self.common

    def is_concept(self, token):
        return token in self.concepts

    def is_location(self, token):
        return token in self.places

    def find_dimension(self, concept, parent):
        return self.dimensions.get((concept, parent))


def read(text, role="user", **known):
    return find_cues(text, role, vocabulary=Vocabulary(**known))


def stated(text, **known):
    return [(triple.subject, triple.parent, triple.dimension, triple.is_isa) for triple in read(text, **known)]


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("gnommoweb ISA repo", 0.9), ("gnommoweb is a repo", 0.8), ("gnommoweb runs on tyr", 0.8),
        ("gnommoweb part of Docker", 0.7), ("gnommoweb moved from tyr-1 to tyr-2", 0.8),
    ],
)  # fmt: skip
def test_the_less_a_form_leaves_to_guess_the_surer_it_is(text, confidence):
    assert {triple.confidence for triple in read(text)} == {confidence}


@pytest.mark.parametrize(
    ("role", "confidence"), [("user", 0.8), ("system", 0.8), ("assistant", 0.56), ("tool", 0.4), ("unheard-of", 0.4)]
)
def test_a_role_is_believed_as_far_as_it_is_trusted(role, confidence):
    assert [triple.confidence for triple in read("gnommoweb is a repo", role)] == [confidence]


def test_cues_are_read_in_any_case_but_operators_in_capitals():
    assert stated("gnommoweb IS A repo") == [("gnommoweb", "repo", "type", True)]
    assert stated("gnommoweb isa repo") == []


def test_several_statements_of_a_sentence_are_read_from_left_to_right():
    triples = read("vexnode is hosted by hetzbox, and hetzbox is a server")

    assert [(triple.subject, triple.parent) for triple in triples] == [("vexnode", "hetzbox"), ("hetzbox", "server")]
    assert triples[0].end <= triples[1].start


def test_a_span_points_at_the_words_of_the_statement():
    text = "Hi. As ﬁle’s owner I know: gnommoweb is a repo of Glitch University, yes."

    (triple,) = read(text)

    assert text[triple.start : triple.end] == "gnommoweb is a repo of Glitch University"


def test_a_concept_that_has_edges_is_distinctive():
    assert stated("memory is a service") == []
    assert stated("memory is a service", concepts={"memory"}) == [("memory", "service", "type", True)]


STATEMENT = "gnommoweb is a repo"
MASKED = [
    f"`{STATEMENT}`",
    f"``{STATEMENT}``",
    f"```\n{STATEMENT}\n```",
    f"```python\n{STATEMENT}",
    f"~~~\n{STATEMENT}\n~~~",
    f"> ```\n> {STATEMENT}\n> ```",
    f"<recollection>\n{STATEMENT}\n</recollection>",
    f"<recollection>\n{STATEMENT}",
    f"gutask iknowthat '{STATEMENT}'",
    f"  gutask recall {STATEMENT}",
    f'{{"note": "{STATEMENT}"}}',
    f'[{{"note": ["{STATEMENT}"]}}, {{"n": 1}}]',
    f"{{'note': '{STATEMENT}'}}",
    f'"note": "{STATEMENT}",',
    f"https://example.org/?q={STATEMENT.replace(' ', '%20')} is a",
]


@pytest.mark.parametrize("masked", MASKED)
def test_code_json_addresses_and_our_own_words_state_nothing(masked):
    assert stated(masked) == []


@pytest.mark.parametrize("masked", [text for text in MASKED if "\n" not in text or text.count("`" * 3) == 2])
def test_prose_after_what_is_masked_is_read(masked):
    assert stated(f"{masked}\nkvasir is a worker") == [("kvasir", "worker", "type", True)]


def test_masking_keeps_lengths_and_line_breaks():
    text = 'a `b`\n```\nc\n```\n{"d": 1}'

    masked = mask(text)

    assert [len(line) for line in masked.split("\n")] == [len(line) for line in text.split("\n")]
    assert set(masked) == set("ab \n" + MASK + NAME_MARK)  # a name in back-ticks is a name


def test_a_number_ends_a_sentence_but_before_a_german_month():
    line = SentenceFinder("Go-live ist am 15. März. Wir nutzen Postgres 16. Redis auch.")

    assert [line.sentence_at(at)[:2] for at in (0, 25, 50)] == [(0, 24), (24, 48), (48, 60)]


@labelled(__file__, "envelope")
def test_an_envelope_is_opened(text, role, expected):
    assert unwrap(text, role) == tuple(expected)


@pytest.mark.parametrize("text", ["{" * 20_000 + ' "user_message"', '{"user_message":' * 20_000], ids=len)
def test_what_is_too_deep_to_be_an_envelope_is_none(text: str) -> None:
    assert unwrap(text, "user") == (text, "user")


KINDS = {SpeechAct.STATES: "", SpeechAct.RETRACTS: "-", SpeechAct.CHANGES: ">", SpeechAct.CORRECTS: "!"}


def told(text, **known):
    """Each statement in short: its kind as a sign in front, a `?` behind if it is hedged."""
    return [
        f"{KINDS[one.kind]}{one.subject} {one.parent} [{one.dimension}]{'?' if one.is_hedged else ''}"
        for one in read(text, **known)
    ]


@labelled(__file__, "change")
def test_what_changes_or_corrects_says_so(text, expected):
    assert "; ".join(told(text)) == expected


@labelled(__file__, "changed fact")
def test_what_is_changed_is_the_one_fact_that_says_what_a_thing_is(text, dimension):
    known = {("kvasir", ""): "glitch", ("kvasir", "relay"): "glitch"}

    assert read(text, dimensions=known)[-1].dimension == dimension


def test_the_graph_tells_places_and_where_something_was() -> None:
    assert told("kvasir is in Vael") == []
    assert told("kvasir is in Vael", places={"vael"}) == ["kvasir vael [geography]"]
    assert told("kvasir moved from alpha to beta", dimensions={("kvasir", "alpha"): "phase"}) == [
        "-kvasir alpha [phase]",
        ">kvasir beta [phase]",
    ]


def test_what_is_only_believed_counts_less() -> None:
    confidences = [match.confidence for match in read("I think kvasir is a worker. I think odin ISA worker.")]

    assert confidences == [0.56, 0.56]  # also of an operator


def test_a_name_that_also_stands_inside_a_sentence_keeps_its_first_word() -> None:
    assert told("We watch Today Show. Today Show is a worker") == ["today_show worker [type]"]
    assert told("Today Show is a worker") == ["show worker [type]"]


def test_a_phrase_at_the_end_of_a_broken_line_may_go_on() -> None:
    long = "x" * 60

    assert told(f"{long} and kvasir is a mail\nrelay") == []
    assert told("kvasir is a worker\nodin is a repo") == ["kvasir worker [type]", "odin repo [type]"]


def test_an_operator_means_each_word() -> None:
    matches = find_cues("kvasir is a main worker", vocabulary=Vocabulary(), as_typed=True)

    assert [match.parent for match in matches] == ["main_worker"]


words = st.sampled_from(
    [
        "gnommoweb", "kvasir", "Orion", "The", "the", "a", "an", "is", "ISA", "ISPART", "part", "kind", "type",
        "instance", "member", "of", "belongs", "to", "owned", "by", "runs", "on", "hosted", "deployed", "contained",
        "in", "repo", "New", "York", "City", "not", "if", "?", ".", ",", ";", "`", "```", "{", '"', "}", ":", "\n",
        "<recollection>", "v1.2", "'s", "and", "fast", "that", "which", "are", "not", "no longer", "now", "services",
        "moved", "from", "called", "our", "(a", ")", "located", "written", "`kvasir`", "18", "Actually", "forget",
        "I think", "but", "it", "it's",
    ]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(words).map(" ".join)))
@example("A is a B is a C ISA D ISPART E of F")
@example("kvasir and odin are not services, which is not a repo but a service")
def test_any_text_is_read_to_ascending_triples_of_tokens(text):
    start, end = 0, 0
    for triple in read(text):
        # Statements about several things have one place, and so have both sides of a change.
        assert end <= triple.start or triple.start == start
        assert triple.start < triple.end <= len(text)
        start, end = triple.start, triple.end
        for part in (triple.subject, triple.parent, triple.dimension):
            assert [token.text for token in tokenise(part)] == [part]
        assert len({triple.subject, triple.parent, triple.dimension}) == 3
        assert 0 < triple.confidence < 1


@given(st.lists(words.filter(lambda word: "`" not in word and "\n" not in word)).map(" ".join))
def test_nothing_in_code_is_stated(text):
    assert read(f"`{text}`") == read(f"```\n{text}\n```") == []


def test_a_tool_result_too_deep_to_be_written_is_left_in_its_envelope():
    text = '{"tool_name": "shell", "tool_result": ' + "[" * 400 + "]" * 400 + "}"

    assert unwrap(text, "user") == (text, "tool")


@given(st.text(), st.sampled_from(["user", "tool"]))
def test_opening_any_envelope_gives_a_text_and_a_role(text, role):
    for wrapped in (text, "{" + text, '{"user_message": "' + text + '"}'):
        unwrapped, said_by = unwrap(wrapped, role)

        assert isinstance(unwrapped, str)
        assert said_by in ("user", "tool")


@pytest.mark.parametrize("path", [STATEMENTS, *OWN], ids=lambda path: path.name)
def test_labelled_sentences_are_read_precisely_and_completely(path: Path) -> None:
    accuracy = measure(path)

    assert accuracy["sentences"] > 30
    assert accuracy["precision"] >= 0.97, accuracy["mistakes"]
    assert accuracy["recall"] >= 0.90, accuracy["mistakes"]
    assert accuracy["retractions"] >= 0.90, accuracy["mistakes"]
    assert accuracy["hedged_below_floor"] == 1.0
    assert accuracy["needlessly_hedged"] <= 1


def test_a_label_may_allow_two_readings() -> None:
    label = ["uffish", "api|rest_api", "type", True]

    assert matches(["uffish", "api", "type", True], label)
    assert matches(["uffish", "rest_api", "type", True], label)
    assert not matches(["uffish", "soap_api", "type", True], label)
    assert not matches(["uffish", "api", "type", False], label)
