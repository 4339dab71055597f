"""Reads running answers frame by frame, with the JSON in them, and writes answers of Festinger's own."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import orjson

logger = logging.getLogger(__name__)

Json = dict[str, object]

JSON_TYPE = "application/json; charset=utf-8"
TRANSLATED_TYPE = "application/json"  # for /v1: without a charset
NDJSON_TYPE = "application/x-ndjson"
SSE_TYPE = "text/event-stream"

DATA = b"data:"
BLANK = (b"", b"\r")
SAID = frozenset({"content", "text", "response", "thinking", "reasoning", "reasoning_content", "arguments", "name"})
END = b"\n"  # is fed to a listener after the last chunk
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


class WholeFrames:
    """An answer that does not stream: one JSON object on one or more lines, which is complete when ``END`` is fed."""

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
    """Reads one answer while it runs."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._is_over = False  # nothing is left to end, whatever still comes
        self._text_count = 0  # about one for each token

    @property
    def unfinished(self) -> int:
        """The number of bytes at the end of the input that belong to an unfinished line or event."""
        return self._frames.unfinished

    def feed(self, chunk: bytes) -> str:
        """Return the text that this chunk of the body adds to the answer, thoughts and tool calls included."""
        said = ""
        for frame in self._frames.feed(chunk):
            text = self._read(frame)
            if text:
                said += text
                self._text_count += 1
        return said

    def feed_content(self, chunk: bytes) -> str:
        """Return what this chunk adds to the text of the answer alone. Use it or ``feed``, not both."""
        return "".join(map(_read_content, self._frames.feed(chunk)))

    def ending(self) -> bytes:
        """Return the bytes that end the answer as if the model had stopped there.

        They continue the whole frames: the sender has to leave out the ``unfinished`` bytes. Empty if the answer has
        ended, even with an error.
        """
        return b"" if self._is_over else self._end()

    @abstractmethod
    def _read(self, frame: bytes) -> str:
        """Return the text of one frame of any kind."""

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
    """Yield what the model says, wherever it is in the object: all formats use one of these names."""
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


def _read_content(frame: bytes) -> str:
    """Return the text that one frame of any format adds to an answer, without thoughts and calls."""
    value = parse_object(frame)
    kind, delta = get_text(value, "type"), value.get("delta")
    if isinstance(delta, str):  # /v1/responses
        return delta if kind == "response.output_text.delta" else ""
    if isinstance(delta, dict):  # /v1/messages
        return get_text(delta, "text")
    items = [item for item in get_objects(value, "output") if item.get("type") == "message"]
    texts = get_objects(value, "content") + [part for item in items for part in get_objects(item, "content")]
    said = [get_text(value, "response"), get_text(get_object(value, "message"), "content")]
    said += [get_text(part, "text") for part in texts]
    for choice in get_objects(value, "choices"):
        said.append(get_text(choice, "text"))
        said += [get_text(get_object(choice, name), "content") for name in ("message", "delta")]
    return "".join(said)


# Takes the text of an answer as it comes, and whether the answer is over.
AnswerListener = Callable[[str, bool], None]


def listen(read: Callable[[bytes], str], listeners: Sequence[AnswerListener]) -> Callable[[bytes], None]:
    """Return a listener for the chunks of one answer, then ``END``. It never raises. ``read``: how a watch reads a
    chunk, ``feed`` or ``feed_content``."""

    def hear(chunk: bytes) -> None:
        try:
            text, is_over = read(chunk), chunk == END
            for listener in listeners if text or is_over else ():
                listener(text, is_over)
        except Exception:
            logger.exception("answer.unread")

    return hear


def complete_stream(begun: bytes, watch: AnswerWatch) -> bytes:
    """Return a stream that has only begun, with its end."""
    watch.feed(begun)
    return begun + watch.ending()


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
