from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.attribution.envelopes import unwrap
from memory.english.sentences import MASK, NAME_MARK, SentenceFinder, mask
from memory.english.statements.extractor import CueMatch, SpeechAct, find_cues, has_name_near_cue
from memory.english.statements.patterns import find_forms
from memory.english.tokenizer import tokenise
from memory.questions.snippets import sentence_stating

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

    def is_place(self, token):
        return token in self.places

    def find_dimension(self, concept, parent):
        return self.dimensions.get((concept, parent))


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
        ("is a Python repo", "python_repo"),
        ("is a repo, nothing else", "repo"),
        ("is a repo that holds code", "repo"),
        ("is a repo written in Go", "repo"),
        ("is a fast and simple repo", "repo"),
        ("is a self-hosted, internal repo", "repo"),
        ("is a CI/CD gateway", "ci_cd_gateway"),
        ("is a **repo**", "repo"),
        ('is part of "Rivendell Stack"', "rivendell_stack"),
        ("is part of our release toolbox", "release_toolbox"),
        ("is part of Ada's platform", "platform"),
        ("is an important part of Rivendell", "rivendell"),
        ("is owned by the Data Platform Team.", "data_platform_team"),
        ("runs on Debian 12", "debian_12"),
    ],
)
def test_the_parent_is_the_head_of_the_phrase_after_the_cue(rest, parent):
    assert [triple.parent for triple in read(f"kvasir {rest}")] == [parent]


@pytest.mark.parametrize(
    "rest",
    [
        "is a mess", "is a good example", "is a bit slow today", "is a must.", "is a", "is a 42", "is a kvasir",
        "is a type", "is a repo of kvasir", "is a repo of 12", "is a repo of services", "is part of Docker of Orion",
        "is a repo of repo", "is a one two three four five",
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
    ],
)
def test_of_names_the_dimension_of_an_isa(text, dimension):
    assert [triple.dimension for triple in read(text)] == [dimension]


@pytest.mark.parametrize(
    "text",
    [
        "gnommoweb is a repo?", 'Did he say "gnommoweb is a repo?"', "If gnommoweb is a repo, clone it",
        "ask whether gnommoweb is a repo", "unless gnommoweb is a repo stop", "suppose gnommoweb is a repo",
        "imagine gnommoweb is a repo", "one could say gnommoweb is a repo",
        "I don't think gnommoweb is a repo", "I don’t think gnommoweb is a repo", "never mind, gnommoweb is a repo",
        "we no longer say gnommoweb is a repo", "nobody said gnommoweb is a repo", "I doubt gnommoweb is a repo",
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
    assert set(masked) == set("ab \n" + MASK + NAME_MARK)  # a name in back-ticks is a name


def test_a_number_ends_a_sentence_but_before_a_german_month():
    line = SentenceFinder("Go-live ist am 15. März. Wir nutzen Postgres 16. Redis auch.")

    assert [line.sentence_at(at)[:2] for at in (0, 25, 50)] == [(0, 24), (24, 48), (48, 60)]


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


KINDS = {SpeechAct.STATES: "", SpeechAct.RETRACTS: "-", SpeechAct.CHANGES: ">", SpeechAct.CORRECTS: "!"}


def told(text, **known):
    """Each statement in short: its kind as a sign in front, a `?` behind if it is hedged."""
    return [
        f"{KINDS[one.kind]}{one.subject} {one.parent} [{one.dimension}]{'?' if one.is_hedged else ''}"
        for one in read(text, **known)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kvasir is an old mail relay", "kvasir mail_relay [type]"),
        ("kvasir is a virtual machine", "kvasir virtual_machine [type]"),
        ("kvasir runs on our three Hetzner servers", "kvasir hetzner_server [runs-on]"),
        ("kvasir runs on the host merak-1", "kvasir merak-1 [runs-on]"),
        ('kvasir is a "main backup server"', "kvasir main_backup_server [type]"),
        ("kvasir is an EKS 1.31 cluster", "kvasir eks_cluster [type]"),
        ("kvasir runs on Node 18.", "kvasir node_18 [runs-on]"),
        ("kvasir is hosted by node 7", "kvasir node_7 [runs-on]"),
        ("`memory` is a Go service", "memory go_service [type]"),
        ("the `memory` service runs on `tyr-1`", "memory tyr-1 [runs-on]"),
        ("Oskar is our dog", "oskar dog [type]"),
        ("Anna Schmidt is the CEO of Velomax", "anna_schmidt ceo [velomax]"),
        ("kvasir is located in Oslo", "kvasir oslo [geography]"),
        ("the office Vael is in Nuremberg", "vael nuremberg [geography]"),
        ("kvasir is written in Rust", "kvasir rust [tech]"),
        ("The backup host is a VM called zwiebel.", "zwiebel vm [type]"),
        ("Actually Kvasir is a worker", "!kvasir worker [type]"),
        ("kvasir is now a worker", ">kvasir worker [type]"),
        ("Scratch that. kvasir is a worker", "!kvasir worker [type]"),
        ("I think kvasir is a worker", "kvasir worker [type]?"),
        ("kvasir is a worker, he said", "kvasir worker [type]?"),
        ("kvasir is not a worker", "-kvasir worker [type]"),
        ("kvasir no longer runs on tyr", "-kvasir tyr [runs-on]"),
        ("Please forget that the kvasir service is a worker", "-kvasir worker [type]"),
        ("kvasir is not a worker but a repo", "-kvasir worker [type]; >kvasir repo [type]"),
        ("kvasir is not a worker, but a repo", "-kvasir worker [type]; >kvasir repo [type]"),
        ("However Kvasir runs on tyr", "kvasir tyr [runs-on]"),
        ("To my knowledge kvasir is a worker", "kvasir worker [type]?"),
        ("kvasir is a worker. Forget that odin is a repo.", "kvasir worker [type]; -odin repo [type]"),
        ("kvasir isn't a worker, it's a repo", "-kvasir worker [type]; >kvasir repo [type]"),
        ("kvasir moved from tyr-1 to tyr-2", "-kvasir tyr-1 [runs-on]; >kvasir tyr-2 [runs-on]"),
        ("we moved kvasir from tyr-1 to tyr-2", "-kvasir tyr-1 [runs-on]; >kvasir tyr-2 [runs-on]"),
        ("kvasir is a relay, it uses Redis; it runs on tyr", "kvasir relay [type]; kvasir redis [uses]"),
        ("kvasir uses Redis and it is written in Rust", "kvasir redis [uses]"),
        ("kvasir runs on tyr and it is a server", "kvasir tyr [runs-on]"),
        ("kvasir and odin are mail relays", "kvasir mail_relay [type]; odin mail_relay [type]"),
        ("odin, kvasir and mimir belong to Docker", "odin docker [membership]; kvasir docker [membership]; "
         "mimir docker [membership]"),
        ("Kvasir, our mail relay, runs on tyr", "kvasir mail_relay [type]; kvasir tyr [runs-on]"),
        ("Kvasir (a mail relay) runs on tyr", "kvasir mail_relay [type]; kvasir tyr [runs-on]"),
        ("kvasir is a worker that runs on tyr and belongs to Docker",
         "kvasir worker [type]; kvasir tyr [runs-on]; kvasir docker [membership]"),
    ],
)  # fmt: skip
def test_what_is_said_and_how(text, expected):
    assert "; ".join(told(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "kvasir is a friend of the family", "kvasir is a bunch of Docker", "kvasir is the default", "kvasir is a typo",
        "kvasir is a worker, but I'm not sure", "kvasir is a worker (outdated)", "kvasir is a worker. Scratch that.",
        "I had planned that kvasir is a worker", "I thought kvasir is a worker", "kvasir used to be a worker",
        "kvasir is a worker, right?", "maybe kvasir is a worker, I think", "I think kvasir is not a worker",
        "if kvasir is not a worker", "kvasir is not only a worker", "kvasir is not yet part of Docker",
        "kvasir will be moved from tyr-1 to tyr-2", "kvasir moved from red to green", "kvasir is part of step 4",
        "create a VM called zwiebel", "it is a function called by Docker", "kvasir and odin are friends",
        "kvasir and odin are slow", "kvasir and odin are a cluster", "the ports of kvasir and odin are numbers",
        "we have Kvasir, a worker, and a repo", "In Oslo, a worker crashed", "kvasir is in maintenance",
        "Ada is in Oslo", "kvasir is written in haste", "kvasir is written in C++", "`n` is a worker",
        "`size` is an integer", "`kvasir.run()` is a worker",
        "iPhone 15 Pro is a worker", "kvasir is a bigger one", "Bob claims kvasir is a worker",
        "kvasir is a worker, though that may change", "kvasirs owned by Docker", "KVASIR Type of the box",
    ],
)  # fmt: skip
def test_what_is_neither_stated_nor_taken_back(text):
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("Actually kvasir is now a gateway", "glitch"),
        ("kvasir is no longer a relay", "glitch"),
        ("kvasir is a gateway", "type"),
        ("Actually kvasir is a gateway of Odin", "odin"),
        ("Actually kvasir is part of the mesh", "membership"),
        ("kvasir is not a relay but a gateway", "glitch"),
        ("kvasir is not a relay. It's a gateway.", "glitch"),
        ("kvasir is not a database but a gateway", "type"),
    ],
)
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
        "which",
        "are",
        "not",
        "no longer",
        "now",
        "services",
        "moved",
        "from",
        "called",
        "our",
        "(a",
        ")",
        "located",
        "written",
        "`kvasir`",
        "18",
        "Actually",
        "forget",
        "I think",
        "but",
        "it",
        "it's",
    ]
)


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


def is_near_cues(text, name):
    return has_name_near_cue(text, [name], find_forms(text))


@given(st.one_of(st.text(), st.lists(words).map(" ".join)))
def test_what_is_stated_about_a_name_is_never_overlooked(text):
    for triple in read(text):
        assert is_near_cues(text, triple.subject)


def test_a_name_far_from_any_cue_is_in_no_statement():
    assert is_near_cues("The Glitch University is a repo", "glitch_university")
    assert is_near_cues("D\u2019Artagnan is a repo", "d'artagnan")
    assert not is_near_cues("gnommoweb failed. " + "x " * 100 + "That is a mess.", "gnommoweb")


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


@pytest.mark.parametrize(
    ("text", "parents"),
    [
        ("No. Actually kvasir is now a FastAPI app.", ["fastapi_app"]),
        ("It is not No. 5, and kvasir is a service.", []),
    ],
)
def test_no_ends_a_sentence_unless_a_number_follows(text: str, parents: list[str]) -> None:
    assert [cue.parent for cue in read(text)] == parents
