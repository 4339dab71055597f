"""A model's answer: its chunks, their pace, and where it fails."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import orjson

from standin.behaviours import COOL, NOTE, Fault, Model
from standin.wire import ConnectionCut, Headers, Json, Refusal, Reply, Stream

MAX_CHUNKS = 64
MIN_CHUNK_CHARS = 4  # about one token
PIECE_PAUSE_S = 0.001  # lets the reader receive each piece of a line separately


@dataclass(frozen=True, slots=True)
class Chunk:
    """The content of a chunk, and its fields from ``done`` on."""

    content: str = ""
    thinking: str = ""
    tool_calls: tuple[Json, ...] = ()
    end: Json = field(default_factory=lambda: {"done": False})


class Shape(ABC):
    """The format of one answer. Its stream is written in order, so it may keep state."""

    stream_type: str
    stream_headers: Headers = ()

    @abstractmethod
    def whole(self, chunk: Chunk) -> Reply:
        """Return the answer without streaming."""

    @abstractmethod
    def part(self, chunk: Chunk) -> bytes:
        """Return the bytes that a chunk adds to the stream."""

    @abstractmethod
    def failure(self, message: str) -> bytes:
        """Return the bytes that an error adds to the stream that it ends."""


def write_script(
    model: Model, heard: object, *, tools: list[Json], thinks: bool = True, temperature: object = None
) -> list[Chunk]:
    """Return everything the model will say to ``heard``, chunk by chunk."""
    gives_way = bool(model.gives_way_with) and (is_warm(temperature) or NOTE in orjson.dumps(heard).decode())
    if model.calls_tools and tools and not gives_way:
        return [Chunk(tool_calls=(call_of(tools[0]),))]
    text = model.gives_way_with if gives_way else orjson.dumps(heard).decode() if model.echoes else model.says
    thinking = [Chunk(thinking=part) for part in chunks(model.thinks if thinks else "", model.chunk_chars)]
    return thinking + [Chunk(content=part) for part in chunks(text, model.chunk_chars)]


def is_warm(temperature: object) -> bool:
    return isinstance(temperature, int | float) and temperature > COOL


def chunks(text: str, size: int) -> list[str]:
    size = size or max(MIN_CHUNK_CHARS, -(-len(text) // MAX_CHUNKS))
    return [text[start : start + size] for start in range(0, len(text), size)]


def call_of(tool: Json) -> Json:
    """Build a call of the tool, with ``"stand-in"`` for each required argument."""
    function = tool.get("function") or {}
    required = (function.get("parameters") or {}).get("required") or []
    arguments = dict.fromkeys(required, "stand-in")
    call = {"index": 0, "name": function.get("name"), "arguments": arguments}
    return {"id": "call_standin1", "function": call}


async def build_answer(
    model: Model, words: list[Chunk], last: Chunk, shape: Shape, *, streamed: bool
) -> Reply | Stream:
    """Build the answer from these words and the ``last`` chunk. Without streaming, raises Refusal and ConnectionCut; a
    stream raises while it is read."""
    answer = speak(model, words, last)
    if streamed or model.fault is Fault.HANG_HEADERS:
        parts = tear(write_stream(answer, shape, cuts=model.fault is Fault.CUT), model.piece_bytes)
        headers_first = model.fault is Fault.HANG_HEADERS
        return Stream(parts, shape.stream_type, shape.stream_headers, headers_first)
    reply = shape.whole(join_chunks([chunk async for chunk in answer]))
    if model.fault is Fault.CUT:
        raise ConnectionCut(reply.body[: len(reply.body) // 2], reply.content_type)
    return reply


async def speak(model: Model, words: list[Chunk], last: Chunk) -> AsyncIterator[Chunk]:
    if model.fault is Fault.HANG_HEADERS:
        await hang()
    for position, chunk in enumerate(words):
        await asyncio.sleep(model.delay_ms / 1000)
        if position == 1 and model.fault is Fault.ERROR:
            raise Refusal(500, "an error was encountered while running the model: unexpected EOF")
        if position == 1 and model.fault is Fault.HANG:
            await hang()
        yield chunk
    if model.fault is not Fault.NO_DONE:
        yield last


async def hang() -> None:
    """Wait until the client leaves, which cancels the answer."""
    await asyncio.Event().wait()


async def write_stream(answer: AsyncIterator[Chunk], shape: Shape, *, cuts: bool) -> AsyncIterator[bytes]:
    """Yield the stream. A refusal while it runs is its last part. With ``cuts``, it ends in the middle of the second
    part."""
    has_begun = False
    try:
        async for chunk in answer:
            part = shape.part(chunk)
            if cuts and has_begun:
                raise ConnectionCut(part[: len(part) // 2])
            has_begun = True
            yield part
    except Refusal as refusal:
        yield shape.failure(refusal.message)


async def tear(whole: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    """Yield the same bytes in pieces of at most ``size`` (0: as they are), each sent separately."""
    async for part in whole:
        if not size:
            yield part
            continue
        for start in range(0, len(part), size):
            yield part[start : start + size]
            await asyncio.sleep(PIECE_PAUSE_S)


def join_chunks(parts: list[Chunk]) -> Chunk:
    """Join the chunks into one, with the end of the last."""
    return Chunk(
        content="".join(one.content for one in parts),
        thinking="".join(one.thinking for one in parts),
        tool_calls=tuple(call for one in parts for call in one.tool_calls),
        end=parts[-1].end,
    )
