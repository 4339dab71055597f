from pathlib import Path

import pytest

from benchmarks.cues import OWN, STATEMENTS, matches, measure


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
