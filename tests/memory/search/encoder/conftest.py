"""The encoder in full precision, and as it is used; the published weights both are made from."""

from pathlib import Path

import pytest
from django.conf import settings

from memory.search.encoder import adapter
from memory.search.encoder.encoder import Encoder
from memory.search.encoder.graph import build_graph
from memory.search.encoder.model_file import find_model
from memory.search.encoder.weights import Published, read_published


@pytest.fixture(scope="session")
def published() -> Published:
    return read_published()


@pytest.fixture(scope="session")
def precise(published: Published, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    """As published, in full precision."""
    file: Path = tmp_path_factory.mktemp("encoder") / "precise.onnx"
    file.write_bytes(build_graph(published.tensors, published.vocabulary).SerializeToString())
    return Encoder(file)


@pytest.fixture(scope="session")
def adapted(published: Published, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    """With the adapter, in full precision."""
    file: Path = tmp_path_factory.mktemp("encoder") / "adapted.onnx"
    file.write_bytes(build_graph(adapter.merge(published.tensors), published.vocabulary).SerializeToString())
    return Encoder(file)


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    return Encoder(find_model(settings.HOME))
