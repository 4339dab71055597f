from pathlib import Path

import pytest

from benchmarks.cues import CUES, OWN, matches, measure


@pytest.mark.parametrize("path", [OWN, CUES], ids=lambda path: path.name)
def test_labelled_sentences_are_read_precisely_and_completely(path: Path) -> None:
    accuracy = measure(path)

    assert accuracy["sentences"] > 90
    assert accuracy["precision"] >= 0.97, accuracy["mistakes"]
    assert accuracy["recall"] >= 0.90, accuracy["mistakes"]


def test_a_label_may_allow_two_readings() -> None:
    label = ["uffish", "api|rest_api", "type", True]

    assert matches(["uffish", "api", "type", True], label)
    assert matches(["uffish", "rest_api", "type", True], label)
    assert not matches(["uffish", "soap_api", "type", True], label)
    assert not matches(["uffish", "api", "type", False], label)
