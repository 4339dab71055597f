"""The encoder's file in the home is made once, and not used after it was changed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings

from memory.search.encoder import EncoderUnavailable, model_file
from memory.search.encoder.model_file import ADAPTED, FOLDER, PUBLISHED, SUFFIX, find_model, make_model


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """With a copy of the file, as it was made."""
    original = find_model(settings.HOME)
    (tmp_path / FOLDER).mkdir()
    for name in (ADAPTED, ADAPTED + SUFFIX):
        (tmp_path / FOLDER / name).write_bytes(original.with_name(name).read_bytes())
    return tmp_path


def test_a_file_that_one_byte_was_changed_of_is_refused_and_stays(home: Path) -> None:
    file = find_model(home)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)

    with pytest.raises(EncoderUnavailable, match=r"was changed after it was made.*embed --rebuild makes"):
        find_model(home)
    assert file.read_bytes() == content


def test_a_file_without_a_digest_is_made_again(home: Path) -> None:
    (home / FOLDER / ADAPTED).write_bytes(b"half of it")
    (home / FOLDER / (ADAPTED + SUFFIX)).unlink()

    assert find_model(home).stat().st_size > 20_000_000


def test_it_is_made_once_however_many_need_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[None] = []
    monkeypatch.setattr(model_file, "build", lambda is_adapted: made.append(None) or b"a model")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(make_model, [tmp_path] * 4))

    assert len(made) == 1
    assert find_model(tmp_path).read_bytes() == b"a model"


def test_where_it_cannot_be_written_the_reason_is_told(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("not a folder")

    with pytest.raises(EncoderUnavailable, match="File exists"):
        find_model(tmp_path)


def test_the_published_model_has_a_file_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(model_file, "build", lambda is_adapted: b"adapted" if is_adapted else b"published")
    for name in (ADAPTED, PUBLISHED):
        make_model(tmp_path, name)

    assert [find_model(tmp_path, name).read_bytes() for name in (ADAPTED, PUBLISHED)] == [b"adapted", b"published"]
