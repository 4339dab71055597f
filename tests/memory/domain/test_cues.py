from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.domain.cues.extractor import CueMatch, find_cues, names_near_cues
from memory.domain.text.agent_envelopes import unwrap
from memory.domain.text.sentences import MASK, mask
from memory.domain.text.snippets import sentence_stating
from memory.domain.text.tokenizer import tokenise

ORDINARY = (
    "a agent box bread class cluster code container docker file gateway image index is job library machine mercury"
    " memory network number of on orion package part process project region repo resource service set slow"
    " state team the tool type value worker works today file files port"
)


@dataclass
class Vocabulary:
    common: set[str] = field(default_factory=lambda: set(ORDINARY.split()))
    concepts: set[str] = field(default_factory=set)

    def is_common(self, token):
        return token in self.common

    def is_concept(self, token):
        return token in self.concepts


def read(text, role="user", **known):
    return find_cues(text, role, vocabulary=Vocabulary(**known))


def stated(text, **known):
    return [(triple.subject, triple.parent, triple.dimension, triple.is_isa) for triple in read(text, **known)]


@pytest.mark.parametrize(
    ("cue", "dimension", "is_isa", "confidence"),
    [
        ("is a", "type", True, 0.8),
        ("is an", "type", True, 0.8),
        ("ISA", "type", True, 0.9),
        ("is a kind of", "type", True, 0.8),
        ("is a type of", "type", True, 0.8),
        ("is an instance of", "type", True, 0.8),
        ("kind of", "type", True, 0.7),
        ("type of", "type", True, 0.7),
        ("instance of", "type", True, 0.7),
        ("is part of", "membership", False, 0.8),
        ("is a part of", "membership", False, 0.8),
        ("ISPART", "membership", False, 0.9),
        ("part of", "membership", False, 0.7),
        ("belongs to", "membership", False, 0.8),
        ("is owned by", "owned-by", False, 0.8),
        ("owned by", "owned-by", False, 0.7),
        ("member of", "membership", False, 0.7),
        ("is a member of", "membership", False, 0.8),
        ("runs on", "runs-on", False, 0.8),
        ("hosted by", "runs-on", False, 0.7),
        ("is hosted by", "runs-on", False, 0.8),
        ("deployed on", "runs-on", False, 0.7),
        ("is deployed on", "runs-on", False, 0.8),
        ("contained in", "membership", False, 0.7),
        ("is contained in", "membership", False, 0.8),
    ],
)
def test_each_pattern_of_the_tables(cue, dimension, is_isa, confidence):
    text = f"gnommoweb {cue} heimdall"

    assert read(text) == [CueMatch("gnommoweb", "heimdall", dimension, is_isa, confidence, 0, len(text))]


@pytest.mark.parametrize(
    ("role", "confidence"), [("user", 0.8), ("system", 0.8), ("assistant", 0.56), ("tool", 0.4), ("unheard-of", 0.4)]
)
def test_a_role_is_believed_as_far_as_it_is_trusted(role, confidence):
    assert [triple.confidence for triple in read("gnommoweb is a repo", role)] == [confidence]


def test_cues_are_read_in_any_case_but_operators_in_capitals():
    assert stated("gnommoweb IS A repo") == [("gnommoweb", "repo", "type", True)]
    assert stated("gnommoweb isa repo") == []


def test_words_used_by_one_match_start_no_other():
    assert stated("gnommoweb is a container deployed on Docker") == [("gnommoweb", "container", "type", True)]


def test_a_name_of_several_words_is_no_adjective():
    assert stated("gnommoweb belongs to Privet Drive") == [("gnommoweb", "privet_drive", "membership", False)]
    assert stated("gnommoweb is a massive") == []


def test_several_statements_of_a_sentence_are_read_from_left_to_right():
    triples = read("vexnode is hosted by hetzbox, and hetzbox is a server")

    assert [(triple.subject, triple.parent) for triple in triples] == [("vexnode", "hetzbox"), ("hetzbox", "server")]
    assert triples[0].end <= triples[1].start


def test_a_span_points_at_the_words_of_the_statement():
    text = "Hi. As ﬁle’s owner I know: gnommoweb is a repo of Glitch University, yes."

    (triple,) = read(text)

    assert text[triple.start : triple.end] == "gnommoweb is a repo of Glitch University"


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("gnommoweb is a repo", "gnommoweb"),
        ("The Glitch University is a repo", "glitch_university"),
        ("we think Orion is a repo", "orion"),
        ("the tool flarn is a repo", "flarn"),
        ("the kvasir service is a repo", "kvasir"),
        ("Orion is a kind of repo", "orion"),
        ("Orion is a repo of Docker", "orion"),
        ("orion ISA repo", "orion"),
    ],
)
def test_the_subject_is_the_name_before_the_cue(text, subject):
    assert [triple.subject for triple in read(text)] == [subject]


def test_a_concept_that_has_edges_is_distinctive():
    assert stated("memory is a service") == []
    assert stated("memory is a service", concepts={"memory"}) == [("memory", "service", "type", True)]


@pytest.mark.parametrize(
    "text",
    [
        "Orion is a repo",
        "Orion is a repo of services",
        "it is a repo",
        "there is a repo",
        "what is a repo",
        "12 is a repo",
        "a service is a repo",
        "the port of kvasir is a number",
        "restarting kvasir is a process",
        "to restart kvasir is a process",
        "the box that hosts kvasir is a machine",
        "whatever kvasir needs is a box",
        "a Docker image is a file",
        "each kvasir is a service",
        "kvasir's file is a box",
        "kvasir, is a service",
        "kvasir\nis a service",
        "/opt/kvasir is a file",
        "$KVASIR is a file",
    ],
)
def test_without_a_distinctive_subject_nothing_is_stated(text):
    assert stated(text) == []


@pytest.mark.parametrize(
    ("rest", "parent"),
    [
        ("is a Python repo", "repo"),
        ("is a repo, nothing else", "repo"),
        ("is a repo that holds code", "repo"),
        ("is a repo written in Go", "repo"),
        ("is a fast and simple repo", "repo"),
        ("is a self-hosted, internal repo", "repo"),
        ("is a CI/CD gateway", "gateway"),
        ("is a **repo**", "repo"),
        ('is part of "Rivendell Stack"', "rivendell_stack"),
        ("is part of our release toolbox", "toolbox"),
        ("is part of Ada's platform", "platform"),
        ("is an important part of Rivendell", "rivendell"),
        ("is owned by the Data Platform Team.", "data_platform_team"),
        ("runs on Debian 12", "debian"),
    ],
)
def test_the_parent_is_the_head_of_the_phrase_after_the_cue(rest, parent):
    assert [triple.parent for triple in read(f"kvasir {rest}")] == [parent]


@pytest.mark.parametrize(
    "rest",
    [
        "is a mess", "is a good example", "is a bit slow today", "is a must.", "is a", "is a 42", "is a kvasir",
        "is a type", "is a repo of kvasir", "is a repo of repo", "is a one two three four five",
        "is part of the problem", "belongs to you", "is owned by them", "runs on Mondays", "runs on port 80",
        "runs on every push", "runs on top of it", "kind of works",
    ],
)  # fmt: skip
def test_without_an_object_nothing_is_stated(rest):
    assert stated(f"kvasir {rest}") == []


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("kvasir is a repo of Glitch University", "glitch_university"),
        ("kvasir is a repo of the Glitch University", "glitch_university"),
        ("kvasir is a kind of repo of Docker", "docker"),
        ("kvasir ISA repo of Docker", "docker"),
        ("kvasir is a repo of 12", "type"),
        ("kvasir is part of Docker of Orion", "membership"),
    ],
)
def test_of_names_the_dimension_of_an_isa(text, dimension):
    assert [triple.dimension for triple in read(text)] == [dimension]


@pytest.mark.parametrize(
    "text",
    [
        "gnommoweb is a repo?", 'Did he say "gnommoweb is a repo?"', "If gnommoweb is a repo, clone it",
        "ask whether gnommoweb is a repo", "unless gnommoweb is a repo stop", "suppose gnommoweb is a repo",
        "imagine gnommoweb is a repo", "one could say gnommoweb is a repo", "It is not true that gnommoweb is a repo",
        "I don't think gnommoweb is a repo", "I don’t think gnommoweb is a repo", "never mind, gnommoweb is a repo",
        "we no longer say gnommoweb is a repo", "nobody said gnommoweb is a repo", "I doubt gnommoweb is a repo",
        "it is false that gnommoweb is a repo",
    ],
)  # fmt: skip
def test_what_is_asked_supposed_or_denied_is_not_stated(text):
    assert stated(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "If you ask me, gnommoweb is a repo",
        "Is it? gnommoweb is a repo",
        "It is not slow. gnommoweb is a repo",
        "gnommoweb is a repo, not a container",
        "See mirkwood.db e.g. here; gnommoweb is a repo",
        "It should work because gnommoweb is a repo",
    ],
)
def test_a_condition_reaches_to_the_end_of_its_clause_and_a_negation_to_that_of_its_sentence(text):
    assert stated(text) == [("gnommoweb", "repo", "type", True)]


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
    assert set(masked) == set("a \n" + MASK)


def test_the_sentence_of_a_statement_is_its_evidence():
    text = "First, e.g. this. Then gnommoweb is a repo of v1.2 kind! More."
    start = text.index("gnommoweb")

    assert sentence_stating(text, start, start + 9) == "Then gnommoweb is a repo of v1.2 kind!"


@pytest.mark.parametrize(
    ("text", "role", "expected"),
    [
        ('{"user_message": "hi", "attachments": []}', "user", ("hi", "user")),
        (' \n{"user_message": "hi"}', "system", ("hi", "user")),
        ('{"tool_name": "t", "tool_result": "hi"}', "user", ("hi", "tool")),
        ('{"tool_name": "t", "tool_result": {"a": 1}}', "user", ('{"a":1}', "tool")),
        (
            '{"tool_name": "t", "tool_args": {"a": 1}}',
            "assistant",
            ('{"tool_name": "t", "tool_args": {"a": 1}}', "assistant"),
        ),
        ('{"user_message": "hi"', "user", ('{"user_message": "hi"', "user")),
        ('{"user_message": 3}', "user", ('{"user_message": 3}', "user")),
        ('["user_message"]', "user", ('["user_message"]', "user")),
        ("user_message", "user", ("user_message", "user")),
        ("", "user", ("", "user")),
    ],
)
def test_an_envelope_is_opened(text, role, expected):
    assert unwrap(text, role) == expected


RESULT = '{"tool_name": "sh", "tool_result": "kvasir is a repo."}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RESULT + '\n\n[EXTRAS]\n{"memories": "zorblat is a worker."}', ("kvasir is a repo.", "tool")),
        ('{"user_message": "hi"}\n[EXTRAS]\nzorblat is a worker.', ("hi", "user")),
        ('{"user_message": "hi"}{"user_message": "there"}', ("hi\nthere", "user")),
        (RESULT + '\n{"user_message": "hi"}', ("kvasir is a repo.\nhi", "tool")),
        (RESULT + '{"system_warning": "again"}', ("kvasir is a repo.", "tool")),
        ('{"user_message": 3} hi', ('{"user_message": 3} hi', "user")),
        ('{"user_message": "hi" and more', ('{"user_message": "hi" and more', "user")),
        ("{" * 20_000 + ' "user_message"', ("{" * 20_000 + ' "user_message"', "user")),
        ('{"user_message":' * 20_000, ('{"user_message":' * 20_000, "user")),
    ],
)
def test_what_a_client_puts_behind_an_envelope_nobody_has_said(text: str, expected: tuple[str, str]) -> None:
    assert unwrap(text, "user") == expected


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_an_envelope_raises_no_trust(role):
    assert unwrap('{"user_message": "hi"}', role) == ("hi", role)


words = st.sampled_from(
    [
        "gnommoweb",
        "kvasir",
        "Orion",
        "The",
        "the",
        "a",
        "an",
        "is",
        "ISA",
        "ISPART",
        "part",
        "kind",
        "type",
        "instance",
        "member",
        "of",
        "belongs",
        "to",
        "owned",
        "by",
        "runs",
        "on",
        "hosted",
        "deployed",
        "contained",
        "in",
        "repo",
        "New",
        "York",
        "City",
        "not",
        "if",
        "?",
        ".",
        ",",
        ";",
        "`",
        "```",
        "{",
        '"',
        "}",
        ":",
        "\n",
        "<recollection>",
        "v1.2",
        "'s",
        "and",
        "fast",
        "that",
    ]
)


@given(st.one_of(st.text(), st.lists(words).map(" ".join)))
@example("A is a B is a C ISA D ISPART E of F")
def test_any_text_is_read_to_ascending_triples_of_tokens(text):
    end = 0
    for triple in read(text):
        assert end <= triple.start < triple.end <= len(text)
        end = triple.end
        for part in (triple.subject, triple.parent, triple.dimension):
            assert [token.text for token in tokenise(part)] == [part]
        assert len({triple.subject, triple.parent, triple.dimension}) == 3
        assert 0 < triple.confidence < 1


@given(st.one_of(st.text(), st.lists(words).map(" ".join)))
def test_what_is_stated_about_a_name_is_never_overlooked(text):
    for triple in read(text):
        assert names_near_cues(text, [triple.subject])
        assert names_near_cues(text, [triple.parent], as_parents=True)


def test_a_name_far_from_any_cue_is_in_no_statement():
    assert names_near_cues("The Glitch University is a repo", ["glitch_university"])
    assert names_near_cues("D\u2019Artagnan is a repo", ["d'artagnan"])
    assert not names_near_cues("gnommoweb failed. " + "x " * 100 + "That is a mess.", ["gnommoweb"])


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
