"""What a config.yaml may say, and how its mistakes are told."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from proxy.config_file.parser import FIELDS, RulesMistakes, read
from proxy.domain.config_schema import Mitigations, Rules, values


def mistakes(text: str) -> list[str]:
    with pytest.raises(RulesMistakes) as caught:
        read(text)
    return caught.value.mistakes


# --- what is taken ---


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "upstream:\n", "loops:\n  detector:\n  mitigations: ~\n", "{}", "\ufeff"]
)
def test_what_is_not_said_is_as_it_comes(text: str) -> None:
    assert read(text) == Rules()
    assert list(values(read(text), only_set=True)) == []


def test_each_key_is_taken() -> None:
    text = """
upstream: {url: "gpu:11434/base/", connect_timeout_s: 3}
limits: {max_body_bytes: 2048, conversations: 100}
loops:
  enabled: false
  detector: {window: 5, similarity: 1, patience: 4, complaints: [Again, "You: repeat"], stream: false}
  mitigations: {note: 2, temperature: 0, truncate: 7, break: 1000, temperature_step: 1e-1, cooldown_s: 5}
"""
    said = read(text)

    assert values(said) == {
        "upstream.url": "http://gpu:11434/base",
        "upstream.connect_timeout_s": 3.0,
        "limits.max_body_bytes": 2048,
        "limits.conversations": 100,
        "loops.enabled": False,
        "loops.detector.window": 5,
        "loops.detector.similarity": 1.0,
        "loops.detector.patience": 4,
        "loops.detector.complaints": ("Again", "You: repeat"),
        "loops.detector.stream": False,
        "loops.mitigations.note": 2,
        "loops.mitigations.temperature": 0,
        "loops.mitigations.truncate": 7,
        "loops.mitigations.break": 1000,
        "loops.mitigations.temperature_step": 0.1,
        "loops.mitigations.cooldown_s": 5.0,
    }
    assert set(values(said)) == set(FIELDS) == set(values(said, only_set=True))


def test_the_defaults_would_be_taken_from_a_file() -> None:
    nested: dict[str, Any] = {}
    for key, value in values(Rules()).items():
        *sections, name = key.split(".")
        into = nested
        for section in sections:
            into = into.setdefault(section, {})
        into[name] = list(value) if isinstance(value, tuple) else value

    assert read(yaml.safe_dump(nested)) == Rules()


def test_which_keys_a_file_sets() -> None:
    said = read("loops: {mitigations: {break: 6}}\nupstream: {url: http://127.0.0.1:11434}")

    assert list(values(said, only_set=True)) == ["upstream.url", "loops.mitigations.break"]


def test_code_says_break_with_a_dash() -> None:
    assert Mitigations(break_=9).break_ == 9
    with pytest.raises(ValidationError):
        Mitigations(break_=1)


def test_rules_with_another_value_are_other_rules() -> None:
    before = read("limits: {conversations: 500}")

    after = before.with_value("limits.max_body_bytes", 5000).with_value("upstream.url", "http://other")

    assert after == read("limits: {conversations: 500, max_body_bytes: 5000}\nupstream: {url: other}")
    assert before == read("limits: {conversations: 500}")


# --- what is not ---

STEP = "takes 0 for never, or a whole number from 2 to 1000"
ADDRESS = "takes an address such as http://127.0.0.1:11434"

VALUES: list[tuple[str, str, str]] = [
    ("loops.mitigations.note", "three", f"{STEP}, not 'three'"),
    ("loops.mitigations.note", "1", f"{STEP}, not 1"),
    ("loops.mitigations.note", "-3", f"{STEP}, not -3"),
    ("loops.mitigations.note", "3.0", f"{STEP}, not 3.0"),
    ("loops.mitigations.break", "true", f"{STEP}, not true"),
    ("loops.mitigations.break", "on", f"{STEP}, not 'on'"),
    ("loops.mitigations.cooldown_s", "5m", "takes a number from 0 to 86400, not '5m'"),
    ("loops.mitigations.cooldown_s", "1:30", "takes a number from 0 to 86400, not '1:30'"),
    ("loops.mitigations.cooldown_s", ".nan", "takes a number from 0 to 86400, not '.nan'"),
    ("loops.mitigations.cooldown_s", "false", "takes a number from 0 to 86400, not false"),
    ("loops.detector.window", "2", "takes a whole number from 3 to 200, not 2"),
    ("loops.detector.window", "010", "takes a whole number from 3 to 200, not '010'"),
    ("loops.detector.window", "0x10", "takes a whole number from 3 to 200, not '0x10'"),
    ("loops.detector.window", "1_0", "takes a whole number from 3 to 200, not '1_0'"),
    ("loops.detector.window", "", "takes a whole number from 3 to 200, not nothing"),
    ("loops.detector.window", "[3]", "takes a whole number from 3 to 200, not a list"),
    ("loops.detector.similarity", "0.4", "takes a number from 0.5 to 1, not 0.4"),
    ("loops.detector.stream", "no", "takes true or false, not 'no'"),
    ("loops.detector.stream", "1", "takes true or false, not 1"),
    ("loops.detector.complaints", "Again", "takes a list of at most 50 texts, not 'Again'"),
    ("loops.detector.complaints", f"[{'a, ' * 51}]", "takes a list of at most 50 texts, not a list"),
    ("loops.detector.complaints, item 2", "[Again, '']", "takes a text of 1 to 500 characters, not ''"),
    ("loops.detector.complaints, item 1", "['  ', Again]", "takes a text of 1 to 500 characters, not '  '"),
    ("loops.detector.complaints, item 1", "[5]", "takes a text of 1 to 500 characters, not 5"),
    ("upstream.url", "ftp://host", f"{ADDRESS}, not 'ftp://host'"),
    ("upstream.url", "http://host:port", f"{ADDRESS}, not 'http://host:port'"),
    ("upstream.url", "http://u:sesame@a host/", f"{ADDRESS}, not 'http://...@a host/'"),
    ("upstream.connect_timeout_s", "0", "takes a number above 0, at most 600, not 0"),
    ("limits.max_body_bytes", "1023", "takes a whole number from 1024 to 4294967296, not 1023"),
    ("limits.max_body_bytes", "9" * 5000, f"takes a whole number from 1024 to 4294967296, not '{'9' * 60}...'"),
    ("limits", "5", "takes the keys max_body_bytes, conversations, not 5"),
    ("loops.detector", "[]", "takes the keys window, similarity, patience, complaints, stream, not a list"),
]


@pytest.mark.parametrize(("key", "value", "told"), VALUES, ids=lambda part: part[:40])
def test_a_value_that_is_not_taken_is_told_with_its_place(key: str, value: str, told: str) -> None:
    text = ""
    for depth, part in enumerate(key.partition(",")[0].split(".")):
        text += f"{'' if depth == 0 else chr(10)}{'  ' * depth}{part}:"

    assert mistakes(f"{text} {value}\n") == [f"{key}: {told}"]


KEYS = [
    ("loop: {}", "loop: there is no such key; did you mean loops?"),
    ("loops: {detectr: 5}", "loops.detectr: there is no such key; did you mean detector?"),
    ("loops: {mitigations: {break_: 5}}", "loops.mitigations.break_: there is no such key; did you mean break?"),
    ("note: 5", "note: there is no such key; did you mean loops.mitigations.note?"),
    ("upstream.url: x", "upstream.url: there is no such key; did you mean upstream?"),
    ("on: 5", "on: there is no such key; the file takes upstream, limits, loops"),
    ("5: 5", "5: there is no such key; the file takes upstream, limits, loops"),
    ("limits: {<<: {}}", "limits.<<: there is no such key; limits takes max_body_bytes, conversations"),
    ('"a\\nb": 1', "'a\\nb': there is no such key; the file takes upstream, limits, loops"),
    ("- loops", "the file: takes the keys upstream, limits, loops, not a list"),
    ("loops", "the file: takes the keys upstream, limits, loops, not 'loops'"),
]


@pytest.mark.parametrize(("text", "told"), KEYS)
def test_a_key_that_is_not_known_is_told_with_one_that_may_be_meant(text: str, told: str) -> None:
    assert mistakes(text) == [told]


SYNTAX = [
    ("loops:\n\tenabled: true", "line 2, column 1: found character '\\t' that cannot start any token"),
    ("limits: {", "line 1, column 10: expected the node content, but found '<stream end>'"),
    ("a: b: c", "line 1, column 5: mapping values are not allowed here"),
    ("limits:\n  conversations: 500\n  conversations: 600", "line 3, column 3: conversations stands twice"),
    ("upstream: {}\n'upstream': {}", "line 2, column 1: upstream stands twice"),
    ("a: !!python/object:os.system {}", "could not determine a constructor for the tag"),
    ("limits: {conversations: !!int many}", "line 1, column 25: many is not of the kind tag:yaml.org,2002:int"),
    ("upstream: {}\n---\nlimits: {}", "line 2, column 1: but found another document"),
    ("upstream: *gpu", "line 1, column 11: found undefined alias 'gpu'"),
    ("? [a]\n: 1", "line 1, column 3: found unhashable key"),
    ("limits:\n  # \x01", "line 2: a character that YAML does not take (number 1)"),
    ("[" * 3000, "too many brackets or indentations within each other"),
]


@pytest.mark.parametrize(("text", "told"), SYNTAX, ids=lambda part: part[:30])
def test_what_is_no_yaml_is_told_with_line_and_column(text: str, told: str) -> None:
    [mistake] = mistakes(text)

    assert told in mistake


def test_all_mistakes_are_told_at_once() -> None:
    text = "upstream: {url: 5}\nlimits: {conversations: 5, max: 1}\nloops: {enabled: maybe}\nx: 1"

    assert [mistake.partition(":")[0] for mistake in mistakes(text)] == [
        "upstream.url",
        "limits.conversations",
        "limits.max",
        "loops.enabled",
        "x",
    ]


def test_a_text_that_names_itself_ends() -> None:
    assert mistakes("loops: &a {detector: *a}")[0].startswith("loops.detector.detector: there is no such key")
    assert mistakes("loops: {detector: {complaints: &a [*a]}}") == [
        "loops.detector.complaints, item 1: takes a text of 1 to 500 characters, not a list"
    ]


words = st.sampled_from(
    [*".:-{}[],#&*!|>'\"%@\n\t ", *"tn0123e", "loops", "detector", "window: 5", "on", "~", "\x00", "é"]
)


@given(st.one_of(st.text(), st.lists(words, max_size=60).map("".join)))
@example("a: 2001-99-99")
@example("a: =")
@example("!!int a")
@example("!!float ''")
@example("!!timestamp x")
@example("!!binary ä")
@example("? !!set {a}")
@example("!!omap 5")
@example("!!map 5")
@example("!!seq 5")
@example("? &a {a: 1}\n: *a")
@example("\ud800")
def test_any_text_is_taken_or_told_what_is_wrong_in_one_line(text: str) -> None:
    told = [""]
    try:
        read(text)
    except RulesMistakes as error:
        told = error.mistakes

    assert told
    assert all(mistake.isprintable() and len(mistake) < 300 for mistake in told)


letters = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])  # YAML folds their lines
texts = st.text(letters, min_size=1, max_size=500).filter(str.strip)


def is_written_as_text(text: str) -> bool:
    """PyYAML writes YAML 1.1, in which 0e0 is a text and needs no quotation marks. It is read as YAML 1.2, in which it
    is a number."""
    return re.fullmatch(r"[-+.0-9]+[eE][-+0-9]+", text) is None


def a_value(field: str) -> st.SearchStrategy[Any]:
    return {
        "loops.enabled": st.booleans(),
        "loops.detector.window": st.integers(3, 200),
        "loops.detector.similarity": st.floats(0.5, 1),
        "loops.detector.complaints": st.lists(texts.filter(is_written_as_text), max_size=50),
        "loops.mitigations.break": st.integers(0, 1000).filter(lambda number: number != 1),
        "limits.max_body_bytes": st.integers(1024, 4 * 1024**3),
    }[field]


SOME = ["loops.enabled", "loops.detector.window", "loops.detector.similarity", "loops.detector.complaints"]


@given(st.fixed_dictionaries({}, optional={key: a_value(key) for key in [*SOME, "loops.mitigations.break"]}))
def test_what_yaml_writes_is_what_is_read(said: dict[str, Any]) -> None:
    nested: dict[str, Any] = {"loops": {"detector": {}, "mitigations": {}}}
    for key, value in said.items():
        *sections, name = key.split(".")
        into = nested["loops"] if len(sections) == 1 else nested["loops"][sections[1]]
        into[name] = value

    found = values(read(yaml.safe_dump(nested, allow_unicode=True)))

    assert {key: list(found[key]) if isinstance(value, list) else found[key] for key, value in said.items()} == said
