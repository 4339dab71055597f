"""The stand-in's model store: the models, which are loaded, and uploaded blobs."""

from dataclasses import replace

from standin.behaviours import MODELS, Model, bare_name, slow_model
from standin.wire import Refusal

# A constant time, so that two answers to one request are equal to the byte.
NOW = "2026-01-01T12:00:00.123456789Z"


class Shelf:
    """The model store. With ``echoes``, every model behaves like ``echo``."""

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
        """Return the model. Raises Refusal 404 with the message ``missing`` if there is none."""
        model = self.get(name)
        if model is None:
            raise Refusal(404, missing.format(name))
        return model
