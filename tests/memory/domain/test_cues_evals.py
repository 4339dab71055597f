from pathlib import Path

import pytest

from benchmarks.cues import HANDED, OWN, measure


@pytest.mark.parametrize("path", [OWN, HANDED], ids=lambda path: path.name)
def test_the_aims_are_met_on_labelled_sentences(path: Path) -> None:
    if not path.exists():
        pytest.skip("kept outside the project")

    accuracy = measure(path)

    assert accuracy["precision"] >= 0.97, accuracy["mistakes"]
    assert accuracy["recall"] >= 0.90, accuracy["mistakes"]
