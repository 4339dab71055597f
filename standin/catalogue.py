"""The model store, and the endpoints that list, show, copy, create and delete models."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace

from standin.behaviours import MODELS, Model, bare_name, slow_model
from standin.incoming import Request
from standin.wire import NOW, UNIX_NOW, Json, Refusal, Reply, Stream, json_reply, line, translated_reply

LATER = "2026-01-01T12:05:00.123456789Z"
SIZE_BYTES = 4_661_224_676
CONTEXT_LENGTH = 4096  # tokens; Ollama's default on a small GPU
DETAILS: Json = {
    "parent_model": "",
    "format": "gguf",
    "family": "llama",
    "families": ["llama"],
    "parameter_size": "8.0B",
    "quantization_level": "Q4_0",
}
MODEL_INFO: Json = {"general.architecture": "llama", "llama.context_length": 8192, "llama.embedding_length": 4096}
BLOBS = "/api/blobs/"
OPENAI_MODELS = "/v1/models/"


class Shelf:
    """The model store: the models, which are loaded, and uploaded blobs. With ``echoes``, every model behaves like
    ``echo``."""

    def __init__(self, *, echoes: bool = False) -> None:
        self.echoes = echoes
        self.models = dict(MODELS)
        self.loaded: set[str] = set()
        self.blobs: set[str] = set()

    def get(self, name: str) -> Model | None:
        bare = bare_name(name)
        model = self.models.get(bare) or slow_model(bare)
        return replace(model, echoes=True) if model and self.echoes else model

    def find(self, name: str) -> Model:
        """Return the model. Raises Refusal 404 if there is none."""
        model = self.get(name)
        if model is None:
            raise Refusal(404, f"model '{name}' not found")
        return model


async def tags(shelf: Shelf, request: Request) -> Reply:
    return json_reply({"models": [{**entry(name), "modified_at": NOW} for name in shelf.models]})


async def ps(shelf: Shelf, request: Request) -> Reply:
    loaded = {"expires_at": LATER, "size_vram": SIZE_BYTES, "context_length": CONTEXT_LENGTH}
    return json_reply({"models": [{**entry(name), **loaded} for name in sorted(shelf.loaded)]})


def entry(name: str) -> Json:
    full = full_name(name)
    return {"name": full, "model": full, "size": SIZE_BYTES, "digest": digest_of(name), "details": DETAILS}


def full_name(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def digest_of(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


async def openai_models(shelf: Shelf, request: Request) -> Reply:
    return translated_reply({"object": "list", "data": [openai_entry(full_name(name)) for name in shelf.models]})


async def openai_model(shelf: Shelf, request: Request) -> Reply:
    name = request.path.removeprefix(OPENAI_MODELS)
    shelf.find(name)
    return translated_reply(openai_entry(name))


def openai_entry(name: str) -> Json:
    return {"id": name, "object": "model", "created": UNIX_NOW, "owned_by": "library"}


async def show(shelf: Shelf, request: Request) -> Reply:
    asked = request.json()
    model = shelf.find(require_name(asked))
    system = asked.get("system") or model.system
    return json_reply(
        {
            **({"system": system} if system else {}),
            "details": DETAILS,
            "model_info": MODEL_INFO,
            "capabilities": model.capabilities,
            "modified_at": NOW,
        }
    )


def require_name(asked: Json) -> str:
    """Return the model's name; older clients send it as ``name``. Raises Refusal if it is missing."""
    name = asked.get("model") or asked.get("name")
    if not name:
        raise Refusal(400, "model is required")
    return str(name)


async def copy(shelf: Shelf, request: Request) -> Reply:
    asked = request.json()
    shelf.models[bare_name(asked["destination"])] = shelf.find(asked["source"])
    return Reply()


async def delete(shelf: Shelf, request: Request) -> Reply:
    asked = request.json()
    name = asked.get("model") or asked.get("name") or ""
    shelf.find(name)
    shelf.models.pop(bare_name(name), None)
    shelf.loaded.discard(bare_name(name))
    return Reply()


async def create(shelf: Shelf, request: Request) -> Reply | Stream:
    """Create a model. One made ``from`` another behaves like it, with the given ``system`` text."""
    asked = request.json()
    base = shelf.find(asked["from"]) if asked.get("from") else MODELS["llama3"]
    shelf.models[bare_name(require_name(asked))] = replace(base, system=asked.get("system") or base.system)
    return report_progress(asked, [{"status": "writing manifest"}, {"status": "success"}])


async def pull(shelf: Shelf, request: Request) -> Reply | Stream:
    """Pull a model. Any name works; a new one behaves like llama3."""
    asked = request.json()
    name = require_name(asked)
    shelf.models.setdefault(bare_name(name), shelf.get(name) or MODELS["llama3"])
    return report_progress(asked, [{"status": "pulling manifest"}, layer_step("pulling", name), {"status": "success"}])


async def push(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json()
    name = require_name(asked)
    start = {"status": "retrieving manifest"}
    if shelf.get(name) is None:
        return report_progress(asked, [start, {"error": "file does not exist"}])
    return report_progress(asked, [start, layer_step("pushing", name), {"status": "success"}])


def layer_step(verb: str, name: str) -> Json:
    digest = digest_of(bare_name(name))
    numbers = {"total": SIZE_BYTES, "completed": SIZE_BYTES}
    return {"status": f"{verb} {digest[:12]}", "digest": f"sha256:{digest}", **numbers}


def report_progress(asked: Json, steps: list[Json]) -> Reply | Stream:
    """Stream the steps as NDJSON, or return only the last one if the request says ``stream: false``."""
    if asked.get("stream") is not False:
        return Stream(stream_lines(steps))
    if "error" in steps[-1]:
        raise Refusal(500, steps[-1]["error"])
    return json_reply(steps[-1])


async def stream_lines(steps: list[Json]) -> AsyncIterator[bytes]:
    for step in steps:
        yield line(step)


async def blob(shelf: Shelf, request: Request) -> Reply:
    """HEAD tells if the blob is here. POST stores it if its digest matches the path."""
    digest = request.path.removeprefix(BLOBS)
    if digest in shelf.blobs:
        return Reply()
    if request.method == "HEAD":
        raise Refusal(404, f'blob "{digest}" not found')
    if request.digest != digest:
        raise Refusal(400, f'digest mismatch, expected "{digest}", got "{request.digest}"')
    shelf.blobs.add(digest)
    return Reply(status=201)
