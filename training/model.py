"""The encoder in JAX, with a low-rank adapter: text -> vector of length 1, as the product's ONNX graph computes it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

LAYERS: Final = 6
HEADS: Final = 12
LENGTHS: Final = (
    16,
    32,
    48,
    64,
    96,
    128,
    192,
    258,
)  # texts are padded to one of these, so that few shapes are compiled

Tensors = Mapping[str, Any]
Adapter = Mapping[str, tuple[Any, Any]]  # by the name of the weight: (rank, inputs) and (outputs, rank)


def adapted_names(tensors: Tensors) -> list[str]:
    """Return the names of the 36 matrices of the layers."""
    return [
        name
        for name in tensors
        if name.startswith("encoder.layer") and name.endswith(".weight") and "LayerNorm" not in name
    ]


def merge(tensors: Tensors, adapter: Adapter) -> dict[str, Any]:
    return {**tensors, **{name: tensors[name] + b @ a for name, (a, b) in adapter.items()}}


def encode(tensors: Tensors, pieces: Any, mask: Any) -> Any:
    """Encode (texts, length) ids and 1 or 0 for each to (texts, 384)."""
    size, length = pieces.shape
    hidden = tensors["embeddings.word_embeddings.weight"][pieces]
    hidden += tensors["embeddings.position_embeddings.weight"][:length]
    hidden = _normalise(hidden + tensors["embeddings.token_type_embeddings.weight"][0], tensors, "embeddings.LayerNorm")
    unheeded = (1 - mask)[:, None, None, :] * -1e9
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        query, key, value = (
            _project(hidden, tensors, f"{at}attention.self.{part}")
            .reshape(size, length, HEADS, -1)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        weights = jax.nn.softmax(query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1]) + unheeded, -1)
        mixed = (weights @ value).transpose(0, 2, 1, 3).reshape(size, length, -1)
        attended = hidden + _project(mixed, tensors, f"{at}attention.output.dense")
        hidden = _normalise(attended, tensors, f"{at}attention.output.LayerNorm")
        inner = jax.nn.gelu(_project(hidden, tensors, f"{at}intermediate.dense"), approximate=False)
        outer = hidden + _project(inner, tensors, f"{at}output.dense")
        hidden = _normalise(outer, tensors, f"{at}output.LayerNorm")
    mean = (hidden * mask[:, :, None]).sum(1) / jnp.maximum(mask[:, :, None].sum(1), 1)
    return mean / (jnp.linalg.norm(mean, axis=-1, keepdims=True) + 1e-9)


def pad(texts: Sequence[Sequence[int]], longest: int, shortest: int = 0) -> tuple[Any, Any]:
    """Pad ids to one length, of at most ``longest`` and at least ``shortest``."""
    length = max(shortest, min(longest, max(map(len, texts))))
    if length != shortest:
        length = next((each for each in LENGTHS if each >= length), LENGTHS[-1])
    pieces, mask = np.zeros((len(texts), length), np.int32), np.zeros((len(texts), length), np.float32)
    for row, text in enumerate(texts):
        cut = text[:length]
        pieces[row, : len(cut)], mask[row, : len(cut)] = cut, 1
    return pieces, mask


_encode = jax.jit(encode)


def encode_all(tensors: Tensors, texts: Sequence[Sequence[int]], batch: int = 32) -> Any:
    """Encode texts of any lengths, a batch of about the same length at a time; zeros for one without pieces."""
    vectors = np.zeros((len(texts), 384), np.float32)
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    for start in range(0, len(order), batch):
        some = order[start : start + batch]
        filled = [texts[at] or [0] for at in some] + [[0]] * (batch - len(some))
        vectors[some] = np.asarray(_encode(tensors, *pad(filled, LENGTHS[-1])))[: len(some)]
    return vectors


def _normalise(hidden: Any, tensors: Tensors, name: str) -> Any:
    mean = hidden.mean(-1, keepdims=True)
    deviation = jnp.sqrt(((hidden - mean) ** 2).mean(-1, keepdims=True) + 1e-12)
    return (hidden - mean) / deviation * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]


def _project(hidden: Any, tensors: Tensors, name: str) -> Any:
    return hidden @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]
