"""Answers as bytes: the frames of a running one, the JSON in them, and how an answer of our own is written."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import orjson

Json = dict[str, object]

JSON_TYPE = "application/json; charset=utf-8"
TRANSLATED_TYPE = "application/json"  # of /v1: without a charset
NDJSON_TYPE = "application/x-ndjson"
SSE_TYPE = "text/event-stream"

DATA = b"data:"
BLANK = (b"", b"\r")
SAID = frozenset({"content", "text", "response", "thinking", "reasoning", "reasoning_content", "arguments", "name"})
END = b"\n"  # what a listener is told after the last chunk
LINE_MAX_BYTES = 16 * 1024 * 1024  # generate's last line, with the ids of a million tokens, has 8 million
# Go's JSON escapes these in every string, so that it may stand inside HTML.
HTML_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


class LineFrames:
    """Cuts a body into lines without their line feed, in time linear in its bytes; chunks may break anywhere."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._is_lost = False

    @property
    def unfinished(self) -> int:
        """How many of the last bytes that were fed belong to a frame whose end has not come."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> list[bytes]:
        """The contents of the frames that end in this chunk."""
        end = chunk.rfind(b"\n")
        if end < 0 or self._is_lost:
            self._keep(chunk)
            return []
        whole = chunk[:end]
        # Joined only when a line ends: a line of a million chunks would be copied a million times.
        if self._rest:
            whole = bytes(self._rest) + whole
            self._rest.clear()
        if end + 1 < len(chunk):
            self._keep(chunk[end + 1 :])
        return whole.split(b"\n")

    def _keep(self, piece: bytes) -> None:
        # No answer has a line so long: rather than to hold all of it in memory, nothing is read from there on.
        self._is_lost = self._is_lost or len(self._rest) + len(piece) > LINE_MAX_BYTES
        if self._is_lost:
            self._rest.clear()
        else:
            self._rest += piece


class EventFrames:
    """The data of server-sent events, whose lines end with LF or CRLF. Names are skipped: the data repeats them."""

    def __init__(self) -> None:
        self._lines = LineFrames()
        self._data: list[bytes] = []
        self._begun_bytes = 0  # of the whole lines of an event that is not

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
            # An event without end, of many lines: what its lines bound one by one, this bounds for all of them.
            if self._begun_bytes > LINE_MAX_BYTES:
                self._data.clear()
        return found


class WholeFrames:
    """An answer that does not stream: one JSON object, of one line or of many, known as a whole when ``END`` is fed."""

    def __init__(self) -> None:
        self._body = bytearray()

    @property
    def unfinished(self) -> int:
        return len(self._body)

    def feed(self, chunk: bytes) -> list[bytes]:
        if len(self._body) + len(chunk) <= LINE_MAX_BYTES:
            self._body += chunk
        if chunk != END or not self._body.rstrip().endswith(b"}"):
            return []
        whole = bytes(self._body)
        self._body.clear()
        return [whole]


Frames = LineFrames | EventFrames | WholeFrames


class AnswerWatch(ABC):
    """Reads one running answer as it passes."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._is_over = False  # whatever comes now, nothing is left to end
        self._text_count = 0  # about one for each token

    @property
    def unfinished(self) -> int:
        """How many of the last bytes that were fed are of a line or an event whose end has not come."""
        return self._frames.unfinished

    def feed(self, chunk: bytes) -> str:
        """The text that this chunk of the body adds to the answer, thoughts and tool calls included."""
        said = ""
        for frame in self._frames.feed(chunk):
            text = self._read(frame)
            if text:
                said += text
                self._text_count += 1
        return said

    def ending(self) -> bytes:
        """What ends the answer as if the model had stopped there. It continues the whole frames: who sends it leaves
        out the ``unfinished`` bytes. Empty where the answer has ended, be it with an error."""
        return b"" if self._is_over else self._end()

    @abstractmethod
    def _read(self, frame: bytes) -> str:
        """The text of one frame, whatever it is."""

    @abstractmethod
    def _end(self) -> bytes: ...


class WholeWatch(AnswerWatch):
    """Reads an answer of any format that does not stream."""

    def __init__(self) -> None:
        super().__init__(WholeFrames())

    def _read(self, frame: bytes) -> str:
        return "".join(_iter_texts(parse_object(frame)))

    def _end(self) -> bytes:
        return b""


def _iter_texts(value: object) -> Iterator[str]:
    """Yield what the model says, wherever in the object it stands: all formats call it by one of these names."""
    if isinstance(value, list):
        for each in value:
            yield from _iter_texts(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name == "arguments" and isinstance(each, dict):
                yield orjson.dumps(each).decode()  # Ollama's; others write them as a string
            elif isinstance(each, dict | list):
                yield from _iter_texts(each)
            elif name in SAID and isinstance(each, str):
                yield each


def complete_stream(begun: bytes, watch: AnswerWatch) -> bytes:
    """A stream that has only begun, with its end."""
    watch.feed(begun)
    return begun + watch.ending()


def parse_object(text: bytes) -> Json:
    """The JSON object, an empty one for anything else."""
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
    """Compact JSON as Go writes it."""
    encoded = orjson.dumps(value)
    for plain, escaped in HTML_ESCAPES:
        encoded = encoded.replace(plain, escaped)
    return encoded


def write_line(value: Mapping[str, object]) -> bytes:
    return write_json(value) + b"\n"


def write_data(value: Mapping[str, object]) -> bytes:
    """A server-sent event without a name."""
    return b"data: " + write_json(value) + b"\n\n"


def write_event(kind: str, **fields: object) -> bytes:
    """A server-sent event whose data says its name, too."""
    return b"event: " + kind.encode() + b"\n" + write_data({"type": kind, **fields})


def format_time(now: float) -> str:
    """Seconds since the epoch, as Ollama's own formats write them."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
