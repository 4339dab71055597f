"""Reads what was trained for the encoder: an adapter of low rank for its matrices, and heads on its vectors. The folder
``training`` has the data, the script and the model card."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory.search.encoder import EncoderUnavailable

FILE: Final = Path(__file__).with_name("adapter.npz")
DIGEST: Final = "bbb4bed89e2e44f7241d69c04a1058dfcec2041e1fcfaecf74b20e3a2e73e34c"  # sha256
NEEDS: Final = "needs"  # the head for requests that need something said before
PROFILE: Final = ("preference", "identity")  # those for sentences of a person


def read_file() -> Mapping[str, NDArray[Any]]:
    """Return the arrays of the file. Raises EncoderUnavailable if it is not the one that was measured."""
    try:
        content = FILE.read_bytes()
    except OSError as error:
        raise EncoderUnavailable(f"{FILE}: cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != DIGEST:
        raise EncoderUnavailable(f"{FILE} was changed: its sha256 is not the expected one.")
    with np.load(BytesIO(content)) as arrays:
        return {name: arrays[name] for name in arrays.files}


@lru_cache(maxsize=1)
def find_mistake() -> str:
    """Return why the adapter cannot be used; "" if it can."""
    try:
        read_file()
    except EncoderUnavailable as mistake:
        return f"{mistake} The published model is used without it."
    return ""


def merge(tensors: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """Return the tensors with the adapter's changes added. Raises EncoderUnavailable."""
    arrays = read_file()
    return {
        name: tensor + arrays[f"{name}.b"].astype(np.float32) @ arrays[f"{name}.a"] if f"{name}.a" in arrays else tensor
        for name, tensor in tensors.items()
    }


def judge(vector: Sequence[float]) -> dict[str, float]:
    """Return what the heads, linear classifiers, say of a vector of length 1, by their names; nothing without the
    adapter. Each gives the logarithm of the odds; ``preference`` and ``identity``, minus that from which on nine of ten
    are right."""
    if find_mistake():
        return {}
    names, weights, biases = read_heads()
    scores = weights @ np.array(vector, dtype=np.float32) + biases
    return dict(zip(names, scores.tolist(), strict=True))


@lru_cache(maxsize=1)
def read_heads() -> tuple[list[str], NDArray[np.float32], NDArray[np.float32]]:
    """Return the names, the weights (heads, 384) and the biases. Raises EncoderUnavailable."""
    arrays = read_file()
    names = [str(name) for name in arrays["heads"]]
    return names, arrays["head_weights"].astype(np.float32), arrays["head_biases"].astype(np.float32)
