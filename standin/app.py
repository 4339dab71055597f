"""The ASGI application: routes requests and sends answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from standin import catalogue, chat_completions, completion, embedding, messages, openai, responses
from standin.catalogue import BLOBS, Shelf
from standin.incoming import KEPT_BODY_BYTES, KEPT_REQUESTS, ClientLeft, Receive, Request, RequestLog
from standin.wire import ConnectionCut, Headers, Refusal, Reply, Stream, json_reply, text_reply, translated_reply

VERSION = "0.33.0"
REQUESTS = "/standin/requests"
GO_BUFFER_BYTES = 2048  # net/http only computes Content-Length for bodies that fit its buffer

Handler = Callable[[Shelf, Request], Coroutine[Any, Any, Reply | Stream]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


async def alive(shelf: Shelf, request: Request) -> Reply:
    return text_reply("Ollama is running", content_type="text/plain; charset=utf-8")


async def version(shelf: Shelf, request: Request) -> Reply:
    return json_reply({"version": VERSION})


async def status(shelf: Shelf, request: Request) -> Reply:
    return json_reply({"cloud": {"disabled": True, "source": "env"}})


ROUTES: dict[str, dict[str, Handler]] = {
    "/": {"GET": alive, "HEAD": alive},
    "/api/version": {"GET": version, "HEAD": version},
    "/api/status": {"GET": status},
    "/api/tags": {"GET": catalogue.tags, "HEAD": catalogue.tags},
    "/api/ps": {"GET": catalogue.ps},
    "/api/show": {"POST": catalogue.show},
    "/api/generate": {"POST": completion.generate},
    "/api/chat": {"POST": completion.chat},
    "/api/embed": {"POST": embedding.embed},
    "/api/embeddings": {"POST": embedding.embeddings},
    "/api/copy": {"POST": catalogue.copy},
    "/api/delete": {"DELETE": catalogue.delete},
    "/api/create": {"POST": catalogue.create},
    "/api/pull": {"POST": catalogue.pull},
    "/api/push": {"POST": catalogue.push},
    "/api/blobs/:digest": {"HEAD": catalogue.blob, "POST": catalogue.blob},
    "/v1/chat/completions": {"POST": chat_completions.chat_completions},
    "/v1/completions": {"POST": chat_completions.completions},
    "/v1/responses": {"POST": responses.responses},
    "/v1/messages": {"POST": messages.messages},
    "/v1/embeddings": {"POST": embedding.openai_embeddings},
    "/v1/models": {"GET": catalogue.openai_models},
    "/v1/models/:model": {"GET": catalogue.openai_model},
}
NAMED = {"/api/blobs": "/api/blobs/:digest", "/v1/models": "/v1/models/:model"}  # routes with one more segment


class StandInOllama:
    """The application."""

    def __init__(self, *, echoes: bool = False) -> None:
        self.shelf = Shelf(echoes=echoes)
        self.log = RequestLog()

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        request = Request.from_scope(scope)
        responder = Responder(request.path, send)
        if request.path == REQUESTS:
            await responder.reply(self.inspect(request))
            return
        self.log.open(request)
        try:
            is_blob = request.path.startswith(BLOBS)
            await request.read(receive, limit=KEPT_BODY_BYTES if is_blob else None)
            left = await run_until_client_leaves(responder.answer(self.handle(request)), receive)
        except ClientLeft:
            left = True
        self.log.close(request, disconnected=left)

    def inspect(self, request: Request) -> Reply:
        """Return the requests received so far, or the ``last`` so many of them, for tests. Ollama has no such path."""
        if request.method == "DELETE":
            self.log.clear()
        [last] = parse_qs(request.query).get("last", [KEPT_REQUESTS])
        return json_reply(self.log.as_json(int(last)))

    async def handle(self, request: Request) -> Reply | Stream:
        """Answer the request. Raises Refusal and ConnectionCut."""
        methods = methods_at(request.path)
        if request.method in methods:
            try:
                return await methods[request.method](self.shelf, request)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise Refusal(400, f"malformed request: {error}") from error
        if methods:
            return Reply(b"405 method not allowed", 405, "text/plain", (("allow", ", ".join(methods)),))
        return text_reply("404 page not found", status=404)


def methods_at(path: str) -> dict[str, Handler]:
    folder, _, name = path.rpartition("/")
    pattern = NAMED.get(folder) if name else None
    return ROUTES.get(pattern or path, {})


async def run_until_client_leaves(answering: Coroutine[Any, Any, None], receive: Receive) -> bool:
    """Run the answer. Returns True if the client leaves first, which cancels it."""
    answer = asyncio.ensure_future(answering)
    departure = asyncio.ensure_future(wait_for_disconnect(receive))
    try:
        await asyncio.wait((answer, departure), return_when=asyncio.FIRST_COMPLETED)
        left = not answer.done()
    finally:
        answer.cancel()
        departure.cancel()
        await asyncio.gather(answer, departure, return_exceptions=True)
    if not left:
        answer.result()
    return left


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Responder:
    """The sender of one answer."""

    def __init__(self, path: str, send: Send) -> None:
        self._path = path
        self._send = send
        self._started = False

    async def answer(self, answering: Coroutine[Any, Any, Reply | Stream]) -> None:
        try:
            answer = await answering
            await (self.stream(answer) if isinstance(answer, Stream) else self.reply(answer))
        except Refusal as refusal:
            await self.reply(refuse(self._path, refusal))
        except ConnectionCut as cut:
            await self._cut(cut)

    async def reply(self, reply: Reply) -> None:
        headers = list(reply.headers)
        if reply.content_type:
            headers.append(("content-type", reply.content_type))
        if len(reply.body) <= GO_BUFFER_BYTES:
            headers.append(("content-length", str(len(reply.body))))
        await self._start(reply.status, tuple(headers))
        await self._send({"type": "http.response.body", "body": reply.body})

    async def stream(self, stream: Stream) -> None:
        """Send the stream. Status and headers go out with the first part, so that a refusal before it has its own
        status."""
        first = b"" if stream.headers_first else await anext(stream.parts, b"")
        await self._start(200, (("content-type", stream.content_type), *stream.headers))
        async for part in prepend(first, stream.parts):
            await self._send({"type": "http.response.body", "body": part, "more_body": True})
        await self._send({"type": "http.response.body"})

    async def _cut(self, cut: ConnectionCut) -> None:
        """Leave the answer unfinished, upon which uvicorn closes the connection."""
        if not self._started:
            await self._start(200, (("content-type", cut.content_type),))
        await self._send({"type": "http.response.body", "body": cut.torn, "more_body": True})

    async def _start(self, status: int, headers: Headers) -> None:
        self._started = True
        encoded = [(name.encode(), value.encode()) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})


def refuse(path: str, refusal: Refusal) -> Reply:
    """Return the refusal in the shape of the path's API."""
    if path == "/v1/messages":
        return translated_reply(messages.error(refusal), status=refusal.status)
    if path.startswith("/v1/"):
        return translated_reply(openai.error(refusal), status=refusal.status)
    return json_reply({"error": refusal.message}, status=refusal.status)


async def prepend(first: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in parts:
        yield part
