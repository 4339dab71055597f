"""Reads running answers frame by frame, with the JSON in them, and writes answers of Festinger's own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

Json = dict[str, object]

JSON_TYPE = "application/json; charset=utf-8"
TRANSLATED_TYPE = "application/json"  # for /v1: without a charset
NDJSON_TYPE = "application/x-ndjson"
SSE_TYPE = "text/event-stream"

DATA = b"data:"
BLANK = (b"", b"\r")
TEXT_FIELDS = frozenset(
    {"content", "text", "response", "thinking", "reasoning", "reasoning_content", "arguments", "name"}
)
LINE_MAX_BYTES = 16 * 1024 * 1024  # generate's last line, with the ids of a million tokens, has 8 million
# Go's JSON escapes these in every string, so that it is safe inside HTML.
HTML_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


class LineFrames:
    """Splits a body into lines without their line feed, in time linear in its bytes; chunks may break anywhere."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._is_lost = False

    @property
    def unfinished(self) -> int:
        """The number of bytes at the end of the input that belong to an unfinished frame."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the contents of the frames that end in this chunk."""
        end = chunk.rfind(b"\n")
        if end < 0 or self._is_lost:
            self._keep(chunk)
            return []
        whole = chunk[:end]
        # Join only when a line ends: otherwise a line of a million chunks would be copied a million times.
        if self._rest:
            whole = bytes(self._rest) + whole
            self._rest.clear()
        if end + 1 < len(chunk):
            self._keep(chunk[end + 1 :])
        return whole.split(b"\n")

    def _keep(self, piece: bytes) -> None:
        # No answer has such a long line: rather than hold all of it in memory, read nothing from there on.
        self._is_lost = self._is_lost or len(self._rest) + len(piece) > LINE_MAX_BYTES
        if self._is_lost:
            self._rest.clear()
        else:
            self._rest += piece


class EventFrames:
    """The data of server-sent events, whose lines end with LF or CRLF. Event names are skipped: the data repeats
    them."""

    def __init__(self) -> None:
        self._lines = LineFrames()
        self._data: list[bytes] = []
        self._begun_bytes = 0  # of the whole lines of an unfinished event

    @property
    def unfinished(self) -> int:
        return self._begun_bytes + self._lines.unfinished

    def feed(self, chunk: bytes) -> list[bytes]:
        found = []
        for line in self._lines.feed(chunk):
            self._begun_bytes += len(line) + 1
            if line.startswith(DATA):
                self._data.append(line[len(DATA) :].strip())
            elif line in BLANK:
                if self._data:
                    found.append(b"\n".join(self._data))
                self._data, self._begun_bytes = [], 0
            # LineFrames bounds each line; this bounds an endless event of many lines.
            if self._begun_bytes > LINE_MAX_BYTES:
                self._data.clear()
        return found


Frames = LineFrames | EventFrames


class Delta(NamedTuple):
    """The text and calls that a piece of an answer adds to it."""

    text: str = ""  # all that the model writes, thoughts and tool calls included
    content: str = ""  # what it says to the user


# Takes what is added to an answer as it comes, and whether the answer is over.
AnswerListener = Callable[[Delta, bool], None]


class AnswerReader(ABC):
    """Reads one answer while it runs."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._is_over = False  # nothing is left to end, whatever still comes
        self._delta_count = 0  # of those with text: about one for each token

    @property
    def unfinished(self) -> int:
        """The number of bytes at the end of the input that belong to an unfinished line or event."""
        return self._frames.unfinished

    def feed(self, chunk: bytes) -> Delta:
        """Return what this chunk of the body adds to the answer."""
        deltas = [delta for frame in self._frames.feed(chunk) if (delta := self._read(frame)).text]
        self._delta_count += len(deltas)
        return join_deltas(deltas)

    def finish(self) -> Delta:
        """Return what the end of the body adds, such as a last line without line feed."""
        return Delta() if self._is_over else self.feed(b"\n")

    def ending(self) -> bytes:
        """Return the bytes that end the answer as if the model had stopped there.

        They continue the whole frames: the sender has to leave out the ``unfinished`` bytes. Empty if the answer has
        ended, even with an error.
        """
        if self._is_over:
            return b""
        self._is_over = True
        return self._end()

    @abstractmethod
    def _read(self, frame: bytes) -> Delta:
        """Return what one frame of any kind adds."""

    @abstractmethod
    def _end(self) -> bytes: ...


def join_deltas(deltas: Sequence[Delta]) -> Delta:
    if len(deltas) == 1:
        return deltas[0]
    return Delta("".join(delta.text for delta in deltas), "".join(delta.content for delta in deltas))


class WholeReader(AnswerReader):
    """Reads an answer of any format that does not stream: one JSON object on one or more lines."""

    def __init__(self) -> None:
        super().__init__(LineFrames())
        self._body = bytearray()

    def feed(self, chunk: bytes) -> Delta:
        if len(self._body) + len(chunk) <= LINE_MAX_BYTES:
            self._body += chunk
        return Delta()

    def finish(self) -> Delta:
        return self._read(bytes(self._body))

    def _read(self, frame: bytes) -> Delta:
        value = parse_object(frame)
        return Delta("".join(_iter_texts(value)), _read_content(value))

    def _end(self) -> bytes:
        return b""


def _iter_texts(value: object) -> Iterator[str]:
    """Yield what the model writes, wherever it is in the object: all formats use one of these names."""
    if isinstance(value, list):
        for each in value:
            yield from _iter_texts(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name == "arguments" and isinstance(each, dict):
                yield orjson.dumps(each).decode()  # Ollama's; others write them as a string
            elif isinstance(each, dict | list):
                yield from _iter_texts(each)
            elif name in TEXT_FIELDS and isinstance(each, str):
                yield each


def _read_content(value: Json) -> str:
    """Return what the model says to the user in a whole answer of any format."""
    messages = [value, get_object(value, "message"), *get_objects(value, "choices")]
    messages += [get_object(choice, "message") for choice in get_objects(value, "choices")]
    messages += [item for item in get_objects(value, "output") if item.get("type") == "message"]
    parts = [part for message in messages for part in (message, *get_objects(message, "content"))]
    return "".join(get_text(part, name) for part in parts for name in ("response", "content", "text"))


def complete_stream(begun: bytes, reader: AnswerReader) -> bytes:
    """Return a stream that has only begun, with its end."""
    reader.feed(begun)
    return begun + reader.ending()


def parse_object(text: bytes) -> Json:
    """Return the JSON object, an empty one for anything else."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return False
    return True


def get_text(value: Json, key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def get_number(value: Json, key: str) -> int:
    found = value.get(key)
    return found if isinstance(found, int) else 0


def get_object(value: Json, key: str) -> Json:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def get_objects(value: Json, key: str) -> list[Json]:
    found = value.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def write_json(value: Mapping[str, object]) -> bytes:
    """Serialize to compact JSON as Go writes it."""
    encoded = orjson.dumps(value)
    for plain, escaped in HTML_ESCAPES:
        encoded = encoded.replace(plain, escaped)
    return encoded


def write_line(value: Mapping[str, object]) -> bytes:
    return write_json(value) + b"\n"


def write_data(value: Mapping[str, object]) -> bytes:
    """Serialize a server-sent event without a name."""
    return b"data: " + write_json(value) + b"\n\n"


def write_event(kind: str, **fields: object) -> bytes:
    """Serialize a server-sent event whose data repeats its name."""
    return b"event: " + kind.encode() + b"\n" + write_data({"type": kind, **fields})


def format_time(now: float) -> str:
    """Format seconds since the epoch as Ollama's own formats do."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
