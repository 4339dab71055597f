"""The stand-in's model store: models, which of them are loaded, uploaded blobs."""

from dataclasses import replace

from standin.behaviours import MODELS, Model, bare_name, slow_model
from standin.wire import Refusal

# Time stands still here, so that two answers to one request are equal to the byte.
NOW = "2026-01-01T12:00:00.123456789Z"


class Shelf:
    """``echoes``: every model answers as ``echo`` does."""

    def __init__(self, *, echoes: bool = False) -> None:
        self.echoes = echoes
        self.models = dict(MODELS)
        self.loaded: set[str] = set()
        self.blobs: set[str] = set()

    def get(self, name: str) -> Model | None:
        bare = bare_name(name)
        model = self.models.get(bare) or slow_model(bare)
        return replace(model, echoes=True) if model and self.echoes else model

    def find(self, name: str, *, missing: str = "model '{}' not found") -> Model:
        """Raises Refusal 404 in the words of ``missing`` where there is no such model."""
        model = self.get(name)
        if model is None:
            raise Refusal(404, missing.format(name))
        return model
