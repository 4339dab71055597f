"""How an answer is framed: lines of JSON, and server-sent events; out of chunks that break anywhere, and into bytes."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

import orjson

Json = dict[str, object]

JSON_TYPE = "application/json; charset=utf-8"
TRANSLATED_TYPE = "application/json"  # of /v1: without a charset
NDJSON_TYPE = "application/x-ndjson"
SSE_TYPE = "text/event-stream"

DATA = b"data:"
BLANK = (b"", b"\r")
LINE_MAX_BYTES = 16 * 1024 * 1024  # generate's last line, with the ids of a million tokens, has 8 million
# Go's JSON escapes these in every string, so that it may stand inside HTML.
HTML_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


# --- reading ---


class Frames(Protocol):
    """``unfinished``: how many of the last bytes that were fed belong to a frame whose end has not come."""

    @property
    def unfinished(self) -> int: ...

    def feed(self, chunk: bytes) -> list[bytes]:
        """The contents of the frames that end in this chunk."""


class Lines:
    """Lines without their line feed, in time linear in their bytes. One that outgrows LINE_MAX_BYTES is none of an
    answer's: nothing is read from there on."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._is_lost = False

    @property
    def unfinished(self) -> int:
        return len(self._rest)

    def feed(self, chunk: bytes) -> list[bytes]:
        end = chunk.rfind(b"\n")
        if end < 0 or self._is_lost:
            self._keep(chunk)
            return []
        whole = chunk[:end]
        if self._rest:
            whole = bytes(self._rest) + whole
            self._rest.clear()
        if end + 1 < len(chunk):
            self._keep(chunk[end + 1 :])
        return whole.split(b"\n")

    def _keep(self, piece: bytes) -> None:
        self._is_lost = self._is_lost or len(self._rest) + len(piece) > LINE_MAX_BYTES
        if self._is_lost:
            self._rest.clear()
        else:
            self._rest += piece


class Events:
    """The data of server-sent events; names are not needed, the data has them. Lines end with LF or CRLF."""

    def __init__(self) -> None:
        self._lines = Lines()
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
            if self._begun_bytes > LINE_MAX_BYTES:
                self._data.clear()
        return found


def object_in(text: bytes) -> Json:
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


def text_at(value: Json, key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def number_at(value: Json, key: str) -> int:
    found = value.get(key)
    return found if isinstance(found, int) else 0


def object_at(value: Json, key: str) -> Json:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def objects_at(value: Json, key: str) -> list[Json]:
    found = value.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


# --- writing ---


def written(value: Mapping[str, object]) -> bytes:
    """Compact JSON as Go writes it."""
    encoded = orjson.dumps(value)
    for plain, escaped in HTML_ESCAPES:
        encoded = encoded.replace(plain, escaped)
    return encoded


def line(value: Mapping[str, object]) -> bytes:
    return written(value) + b"\n"


def data(value: Mapping[str, object]) -> bytes:
    """A server-sent event without a name."""
    return b"data: " + written(value) + b"\n\n"


def event(kind: str, **fields: object) -> bytes:
    """A server-sent event whose data says its name, too."""
    return b"event: " + kind.encode() + b"\n" + data({"type": kind, **fields})


def created_at(now: float) -> str:
    """The native API's time, of seconds since the epoch."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
