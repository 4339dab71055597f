"""What was trained for the encoder is used as it was measured, or not at all."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memory.search.encoder import EncoderUnavailable, adapter
from memory.search.encoder.weights import Published
from memory.search.vectors import builtin
from memory.search.vectors.embedders import read_condition


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The adapter's file with one byte changed."""
    content = bytearray(adapter.FILE.read_bytes())
    content[len(content) // 2] ^= 1
    file = tmp_path / adapter.FILE.name
    file.write_bytes(content)
    monkeypatch.setattr(adapter, "FILE", file)
    adapter.find_mistake.cache_clear()
    yield file
    adapter.find_mistake.cache_clear()


def test_it_changes_the_matrices_of_the_layers_and_nothing_else(published: Published) -> None:
    merged = adapter.merge(published.tensors)

    changed = {name for name, tensor in merged.items() if not np.array_equal(tensor, published.tensors[name])}
    assert len(changed) == 36
    assert all(name.startswith("encoder.layer.") and name.endswith(".weight") for name in changed)
    assert adapter.FILE.stat().st_size <= 3_000_000


def test_a_file_that_one_byte_was_changed_of_is_refused_and_the_published_model_works(changed: Path) -> None:
    with pytest.raises(EncoderUnavailable, match="was changed"):
        adapter.merge({})
    assert builtin.current_name() == builtin.PUBLISHED
    assert builtin.classify(["I am a nurse."]) == [""]
    row = {"has_tables": True, "waiting": 0, "name": builtin.PUBLISHED, "dimensions": 384, "error": ""}
    condition = read_condition(row, "builtin")
    assert f"{changed} was changed" in condition.error


def test_it_tells_requests_that_need_something_said_before() -> None:
    needs, none = (
        adapter.judge(builtin.embed_query(text))[adapter.NEEDS]
        for text in ("draft the mail to the tenant of my flat", "what is the capital of Australia")
    )

    assert needs > 0 > none


def test_it_tells_what_belongs_to_a_profile() -> None:
    said = [
        "Always use tabs.", "I am a pilot and live in Bergen with two kids.",
        "The build fails on the second stage.", "Make the second paragraph shorter.",
    ]  # fmt: skip

    assert builtin.classify(said) == ["preference", "identity", "", ""]
