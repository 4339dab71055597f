"""Common parts of OpenAI's endpoints, as Ollama translates them (its openai/ and middleware/)."""

import base64
import binascii
from collections.abc import Callable, Coroutine
from typing import Any

import orjson

from standin import catalogue, embedding
from standin.incoming import Request, go_name
from standin.shelf import Shelf
from standin.wire import Headers, Json, Refusal, Reply, Stream, go_json, line

CREATED = 1_767_268_800  # the shelf's NOW, in Unix seconds
TRANSLATED_TYPE = "application/json"  # without a charset, unlike gin's own
KEPT_OPEN: Headers = (("cache-control", "no-cache"), ("connection", "keep-alive"))  # for streams of named events only
MODELS = "/v1/models/"
IMAGE_PREFIXES = ("data:;base64,", *(f"data:image/{kind};base64," for kind in ("jpeg", "jpg", "png", "webp")))
EFFORTS = ("high", "medium", "low", "max")
ERROR_TYPES = {400: "invalid_request_error", 404: "not_found_error"}

Handler = Callable[[Shelf, Request], Coroutine[Any, Any, Reply | Stream]]


def reply_translated(value: object, *, status: int = 200) -> Reply:
    return Reply(line(value), status, TRANSLATED_TYPE)


def error(refusal: Refusal) -> Json:
    kind = ERROR_TYPES.get(refusal.status, "api_error")
    return {"error": {"message": refusal.message, "type": kind, "param": None, "code": None}}


def translate_refusals(handler: Handler, shape: Callable[[Refusal], Json] = error) -> Handler:
    """Wrap the handler so that its refusals have the ``shape`` of another API."""

    async def handle(shelf: Shelf, request: Request) -> Reply | Stream:
        try:
            return await handler(shelf, request)
        except Refusal as refusal:
            return reply_translated(shape(refusal), status=refusal.status)

    return handle


async def models(shelf: Shelf, request: Request) -> Reply:
    names = [catalogue.entry(name)["model"] for name in shelf.models]
    return reply_translated({"object": "list", "data": [model_entry(name) for name in names]})


async def model(shelf: Shelf, request: Request) -> Reply:
    name = request.path.removeprefix(MODELS)
    shelf.find(name)
    return reply_translated(model_entry(name))


def model_entry(name: str) -> Json:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "library"}


async def embeddings(shelf: Shelf, request: Request) -> Reply:
    asked = request.json("EmbedRequest", model=str, dimensions=int, encoding_format=str)
    encoding = (asked.get("encoding_format") or "float").lower()
    if encoding not in ("float", "base64"):
        told = f"Invalid value for 'encoding_format' = {asked['encoding_format']}."
        raise Refusal(400, f"{told} Supported values: ['float', 'base64'].")
    texts = asked.get("input")
    if texts is None or texts == []:
        raise Refusal(400, "invalid input")
    name = asked.get("model") or ""
    vectors, tokens = embedding.vectors(shelf, name, texts or [""], asked.get("dimensions"))
    encoded = [embedding.pack_base64(one) if encoding == "base64" else one for one in vectors]
    entries = [{"object": "embedding", "embedding": one, "index": index} for index, one in enumerate(encoded)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return reply_translated({"object": "list", "data": entries, "model": name, "usage": usage})


def tool_calls(calls: tuple[Json, ...]) -> list[Json]:
    """Return the model's calls, with their arguments as strings."""
    return [
        {
            "id": call["id"],
            "index": call["function"]["index"],
            "type": "function",
            "function": {"name": call["function"]["name"], "arguments": arguments(call)},
        }
        for call in calls
    ]


def arguments(call: Json) -> str:
    return go_json(call["function"]["arguments"]).decode()


def objects(items: object, where: str) -> list[Json]:
    """Return the items of a list, which may be missing. Raises Refusal for an item that is no object."""
    listed = items if isinstance(items, list) else []
    for item in listed:
        if not isinstance(item, dict):
            raise Refusal(400, f"json: cannot unmarshal {go_name(item)} into Go struct field {where}")
    return listed


def think(effort: object) -> object:
    """Convert ``effort`` to the native API's ``think``; None if it is not given. Raises Refusal."""
    if not effort:
        return None
    if effort == "none":
        return False
    if effort not in EFFORTS:
        raise Refusal(400, f'invalid reasoning value: "{effort}" (must be "high", "medium", "low", "max", or "none")')
    return effort


def check_image(url: object) -> None:
    """Raise Refusal if this is not a data URL of an image."""
    prefix = next((prefix for prefix in IMAGE_PREFIXES if str(url).startswith(prefix)), None)
    if prefix is None:
        raise Refusal(400, "invalid image input")
    check_base64(str(url).removeprefix(prefix), "invalid message format")


def check_base64(text: str, complaint: str) -> None:
    """Raise Refusal with the message ``complaint`` if the text is not base64."""
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise Refusal(400, complaint) from error


def check_arguments(text: str, complaint: str) -> None:
    """Raise Refusal with the message ``complaint`` if the arguments are not JSON."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, complaint) from error
