"""The registry of settings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.settings import registry, retired
from memory.settings.registry import ConfigMistake, Tuning


def test_every_default_is_stored_and_read_back_as_itself() -> None:
    assert registry.read_rows(registry.defaults()) == (Tuning(), [])


def test_every_setting_has_a_help_text() -> None:
    assert [key for key, entry in registry.REGISTRY.items() if not (entry.description or "").strip()] == []


@pytest.mark.parametrize(
    ("key", "raw", "value"),
    [
        ("saliency_read_threshold", " 0.7 ", 0.7),
        ("zero_hit_max", "3", 3),
        ("write_model_id", "", None),
        ("write_model_id", "7", 7),
        ("resolution_schedule", "*/5 1-3 * * mon", "*/5 1-3 * * mon"),
    ],
)
def test_a_value_is_read(key: str, raw: str, value: object) -> None:
    assert registry.parse(key, raw) == value


@pytest.mark.parametrize(
    ("key", "raw", "takes"),
    [
        ("saliency_read_threshold", "much", "takes a number from 0 to 10"),
        ("saliency_read_threshold", "nan", "takes a number"),
        ("saliency_read_threshold", "inf", "takes a number"),
        ("saliency_read_threshold", "-1", "takes a number"),
        ("zero_hit_max", "1.5", "takes a whole number from 0 to 20"),
        ("zero_hit_max", "21", "takes a whole number"),
        ("write_model_id", "0", "takes a language model, or none, not '0'"),
        ("resolution_schedule", "at night", "takes five cron fields"),
        ("resolution_schedule", "99 2 * * *", "takes five cron fields"),
        ("no_such_key", "1", "is not a setting"),
    ],
)
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
