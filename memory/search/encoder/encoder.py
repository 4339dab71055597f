"""Runs the encoder: texts to vectors, by onnxruntime, on one CPU and outside the interpreter's lock."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime

from memory.search.encoder.word_pieces import WordPieces

DIMENSIONS: Final = 384
VOCABULARY: Final = "vocabulary"  # the model's metadata with its word pieces, one a line


class Encoder:
    """The encoder. Safe to share among threads."""

    def __init__(self, model: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # Without arena and pattern a process takes 11 MB less after long texts, and no text takes longer.
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        options.log_severity_level = 3  # errors: a warning would go to stderr
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._pieces = WordPieces(self._session.get_modelmeta().custom_metadata_map[VOCABULARY].split("\n"))

    def encode_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector of length 1 for each text; zeros for a text without any word piece. Each text runs by itself:
        in a batch, a padded text costs as much as the longest, and the scale of 8-bit numbers, hence the vector,
        depends on its neighbours."""
        return [self._run(self._pieces.encode_text(text)) for text in texts]

    def encode_query(self, text: str) -> list[float]:
        return self._run(self._pieces.encode_query(text))

    def _run(self, pieces: Sequence[int]) -> list[float]:
        if not pieces:
            return [0.0] * DIMENSIONS
        [vector] = self._session.run(None, {"pieces": np.array(pieces, dtype=np.int64)})
        numbers: list[float] = vector.tolist()
        return numbers
