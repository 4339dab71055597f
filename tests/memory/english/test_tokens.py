import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.english.non_words import MAX_TOKEN_LENGTH
from memory.english.tokenizer import find_known_words, find_words, tokenise
from tests.memory.labelled import labelled

# Characters chosen for what they do: joiners, marks, letters that change length or case under NFKC, Hangul letters,
# signs that spell several words, invisible ones.
AWKWARD = (
    "_-.'@+’ \t\n\x1a/:<>\"`aZ0'sSıİßΣςΑǅᾈﬁ½℀⑴™²ｆＫｶﾞ가각ㄱㅏ㉠कि"
    "e\u0301\u0316\u0327\u0345\u0bd7\u200d\ufe0f\u20e3A\u0331"
)
WORDS = (
    "The", "the", "Glitch", "University's", "of", "ISA", "ISPART", "Orion", "orion's", "v1.2", "sk-abc", "12", "New",
    "York", "City.", "It's", "—", "don’t", "x__y", "gpt-4o", "Kiox", "300", "24.04", "GB", "people", "Actually", "Page",
)  # fmt: skip
prose = st.one_of(
    st.text(),
    st.text(alphabet=AWKWARD),
    st.lists(st.sampled_from(WORDS)).map(" ".join),
)


def texts(text):
    return [token.text for token in tokenise(text)]


@pytest.mark.parametrize(
    "name", ["gpt-4o", "runs-on", "glitch_university", "glitch.university", "agent0", "c3-p.o", "a@b", "r+d"]
)
def test_a_run_with_inner_joiners_is_one_token(name):
    assert texts(f"see {name}, please") == ["see", name, "please"]


@pytest.mark.parametrize("separator", list('/\\:="()[]{}<>,;!? \t\n'))
def test_what_is_no_joiner_splits(separator):
    assert texts(f"alpha{separator}beta") == ["alpha", "beta"]


@pytest.mark.parametrize("text", ["--alpha--beta--", "alpha - beta", "_alpha_ .beta.", "alpha... beta", "alpha__beta"])
def test_a_joiner_counts_only_between_two_alphanumerics(text):
    assert texts(text) == ["alpha", "beta"]


@labelled(__file__, "compound")
def test_capitalised_words_one_space_apart_are_one_token(text, expected):
    assert texts(text) == expected


@labelled(__file__, "number in a name")
def test_a_number_belongs_to_the_name_before_it_unless_it_counts_something(text, expected):
    assert texts(text) == expected


def test_a_name_with_a_number_also_names_what_it_is_without_it():
    assert [token.parts for token in tokenise("Kiox 300 and Team Blue 3")] == [
        ("kiox",),
        (),
        ("team", "blue", "team_blue"),
    ]
    assert find_words("the Kiox 300").emphasised == {"kiox_300", "kiox"}


@labelled(__file__, "opening word")
def test_a_word_that_opens_a_sentence_is_no_part_of_the_name_behind_it(text, expected):
    assert texts(text) == expected
    assert find_words(text).tokens == set(expected)


@pytest.mark.parametrize("text", ["dobby's", "dobby’s", "Dobby'S", "dobby's's"])
def test_the_possessive_is_dropped(text):
    assert texts(text) == ["dobby"]


def test_a_possessive_ends_a_name():
    assert texts("Ada Lovelace's Engine") == ["ada_lovelace", "engine"]


@pytest.mark.parametrize(
    "noise",
    [
        "42", "3.14", "1_000", "10.0.0.1", "v2", "v1.2.3", "1.2.3-rc.1", "2.0b1", "2024-01-15", "2024-01-15T10",
        "15.01.2024", "deadbeefcafe", "9f86d081884c7d659a2f", "0xdeadbeefcafe", "550e8400-e29b-41d4-a716-446655440000",
        "run-550e8400-e29b-41d4-a716-446655440000", "sk-proj-abc123", "ghp_16C7e42F292c6912E7", "AKIAIOSFODNN7EXAMPLE",
        "github_pat_11ABCDEFG", "xoxb-1234-abcd", "aB3dE5gH7jK9mN1pQ3sT", "x" * 65, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi",
    ],
)  # fmt: skip
def test_noise_is_no_token(noise):
    assert texts(f"see {noise} there") == ["see", "there"]


@pytest.mark.parametrize("name", ["7b", "gpt-4", "llama3.2", "s3", "akiachak", "facade", "python3.11", "x" * 64, "k8s"])
def test_what_only_resembles_noise_is_a_token(name):
    assert texts(name) == [name]


def test_noise_keeps_names_apart():
    assert texts("Bucket AKIAIOSFODNN7EXAMPLE Store") == ["bucket", "store"]


@labelled(__file__, "script")
def test_other_scripts_and_forms(text, expected):
    assert texts(text) == expected


def test_a_word_that_grows_beyond_the_limit_in_small_letters_is_no_token():
    text = "İ" * 40  # each is two characters in lower case

    assert find_words(text).tokens == set()
    assert tokenise(text) == []


@labelled(__file__, "emphasis")
def test_emphasis_is_a_capital_inside_a_sentence_or_a_place_in_a_compound(text, emphasised):
    assert find_words(text).emphasised == set(emphasised)


def test_a_token_knows_how_it_was_written():
    the, name, runs = tokenise("The Glitch University runs")

    assert (the.is_capitalised, bool(the.parts), the.is_emphasised) == (True, False, False)
    assert (name.is_capitalised, name.parts, name.is_emphasised) == (True, ("glitch", "university"), True)
    assert (runs.is_capitalised, runs.is_emphasised) == (False, False)


def test_a_span_points_at_the_source_where_nfkc_changes_lengths():
    source = "ﬃ ﬁle, caf\u0065\u0301 Ｋｉ™ — don’t"

    written = [source[token.start : token.end] for token in tokenise(source)]

    assert written == ["ﬃ", "ﬁle", "cafe\u0301", "Ｋｉ", "don’t"]


@given(prose)
@example("İ.Σ'S ᾈ")
def test_spans_ascend_do_not_overlap_and_hold_what_was_read(text):
    end = 0
    for token in tokenise(text):
        assert end <= token.start < token.end <= len(text)
        if not token.parts:
            assert texts(text[token.start : token.end]) == [token.text]
        end = token.end


@given(prose)
def test_a_token_is_in_normal_form_and_has_only_the_characters_of_a_token(text):
    for token in texts(text):
        assert 1 <= len(token) <= MAX_TOKEN_LENGTH
        assert token == unicodedata.normalize("NFKC", token) == token.lower()
        assert token[0].isalnum()
        assert all(c.isalnum() or c in "_-.'@+" or unicodedata.category(c).startswith("M") for c in token)


@given(prose)
def test_a_token_is_read_as_itself(text):
    for token in texts(text):
        assert texts(token) == [token]


@given(prose)
@example("Foo Bar Baz. bar_baz Bar Baz")
@example("a℀b ㉠ᅡ x\u0301" + "\u0316" * 40)
def test_the_fast_path_reads_the_same_tokens(text):
    tokens = tokenise(text)
    parts = {part for token in tokens for part in token.parts}

    found = find_words(text)

    assert found.tokens == {token.text for token in tokens}
    assert found.emphasised == parts | {token.text for token in tokens if token.is_emphasised}


@given(prose, st.data())
@example("Foo Bar's baz. bar_baz iPhone ﬁle's", None)
def test_known_words_are_those_of_all_that_the_vocabulary_has(text, data):
    everything = find_words(text)
    candidates = sorted(everything.tokens | everything.emphasised)
    vocabulary = dict.fromkeys(candidates if data is None else data.draw(st.sets(st.sampled_from(candidates or ["a"]))))

    found = find_known_words(text, vocabulary)

    assert found.tokens == everything.tokens & vocabulary.keys()
    assert found.emphasised == everything.emphasised & vocabulary.keys()


@pytest.mark.parametrize("start", range(0, 0x20000, 0x1000))
def test_every_character_keeps_the_promises_of_a_token(start):
    text = "\n".join(f"a{chr(code)}b {chr(code)}" for code in range(start, start + 0x1000))

    tokens = tokenise(text)

    assert find_words(text).tokens == {token.text for token in tokens}
    for token in tokens:
        assert texts(token.text) == [token.text]
        assert token.text == unicodedata.normalize("NFKC", token.text) == token.text.lower()
