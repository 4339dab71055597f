"""The weights are taken from whichever package holds the published ones, and from nothing else."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from memory.search.encoder import EncoderUnavailable, weights
from memory.search.encoder.weights import ARCHIVE, PACKAGES, TOKENIZER, WEIGHTS, Published, read_package

Install = Callable[..., None]
OTHERS = {WEIGHTS: b"others", TOKENIZER: b"{}"}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package with these files, as far as its metadata tell."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(package: str, files: dict[str, bytes]) -> None:
        about = tmp_path / f"{package}-1.dist-info"
        about.mkdir()
        (tmp_path / package).mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (about / "RECORD").write_text("".join(f"{package}/{name},,\n" for name in files))
        for name, content in files.items():
            (tmp_path / package / name).write_bytes(content)
        (tmp_path / package / "__init__.py").write_text("raise AssertionError('it was imported')")

    return write


def test_the_published_tensors_are_read(published: Published) -> None:
    assert len(published.tensors) == 103
    assert published.tensors["embeddings.word_embeddings.weight"].shape == (len(published.vocabulary), 384)
    assert all(np.isfinite(tensor).all() for tensor in published.tensors.values())


def test_the_packages_are_those_that_are_installed_in_the_same_order() -> None:
    lines = (settings.ROOT / "requirements-encoder.txt").read_text().splitlines()

    assert tuple(line.partition("==")[0] for line in lines if not line.startswith("#")) == PACKAGES


def test_without_a_package_it_tells_which_file_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "PACKAGES", ("nobody",))

    with pytest.raises(EncoderUnavailable, match=r"requirements-encoder.txt.*not installed"):
        weights.read_published()


def test_other_weights_are_refused(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("spoilt", OTHERS)
    monkeypatch.setattr(weights, "PACKAGES", ("nobody", "spoilt"))

    with pytest.raises(EncoderUnavailable, match=f"spoilt does not hold the published {WEIGHTS}"):
        weights.read_published()


def test_the_next_package_counts_where_one_holds_other_weights(
    install: Install, monkeypatch: pytest.MonkeyPatch, published: Published
) -> None:
    install("spoilt", OTHERS)
    monkeypatch.setattr(weights, "PACKAGES", ("spoilt", *PACKAGES))

    assert weights.read_published().vocabulary == published.vocabulary


def test_files_in_an_archive_are_found_too(install: Install) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as written:
        for name, content in OTHERS.items():
            written.writestr(name, content)
    install("zipped", {ARCHIVE: archive.getvalue()})

    assert read_package("zipped") == OTHERS


def test_a_broken_archive_is_told(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("zipped", {ARCHIVE: b"no archive"})
    monkeypatch.setattr(weights, "PACKAGES", ("zipped",))

    with pytest.raises(EncoderUnavailable, match="zipped cannot be read"):
        weights.read_published()
