"""The registry of settings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.settings import registry, retired
from memory.settings.registry import ConfigMistake, Tuning
from tests.memory.labelled import labelled


def test_every_default_is_stored_and_read_back_as_itself() -> None:
    assert registry.read_rows(registry.defaults()) == (Tuning(), [])


def test_every_setting_has_a_help_text() -> None:
    assert [key for key, entry in registry.REGISTRY.items() if not (entry.description or "").strip()] == []


@labelled(__file__, "value")
def test_a_value_is_read(key: str, raw: str, value: object) -> None:
    assert registry.parse(key, raw) == value


@labelled(__file__, "bad value")
def test_a_bad_value_is_told_with_what_it_takes(key: str, raw: str, takes: str) -> None:
    with pytest.raises(ConfigMistake, match=f"{key} {takes}"):
        registry.parse(key, raw)


@given(st.dictionaries(st.sampled_from([*registry.REGISTRY, "unknown"]), st.text(max_size=8)))
def test_whatever_is_stored_a_tuning_comes_out_and_bad_rows_are_named(rows: dict[str, str]) -> None:
    tuning, mistakes = registry.read_rows(rows)

    for key in rows.keys() & registry.REGISTRY:
        try:
            registry.parse(key, rows[key])
        except ConfigMistake:
            assert any(mistake.startswith(key) for mistake in mistakes)
            assert getattr(tuning, key) == getattr(Tuning(), key)
    assert not any(mistake.startswith("unknown") for mistake in mistakes)  # of another version


def test_no_setting_is_also_one_that_is_gone() -> None:
    assert retired.SETTINGS.keys() & registry.REGISTRY == set()


def test_settings_of_other_versions_are_listed_with_what_holds_instead() -> None:
    rows = {"zero_hit_max": "many", "vocabulary_max": "5", "newer": "\x1b" * 100}

    unknown, retired = registry.list_ignored(rows)

    assert retired == "vocabulary_max = '5': at most 1,000,000 words"
    assert unknown.startswith("newer = '\\x1b")
    assert len(unknown) < 100
