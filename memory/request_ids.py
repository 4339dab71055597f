"""The id of the request that is being answered, or that caused the current work: in logs, rows and answers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from secrets import token_hex
from typing import Final

LENGTH_MAX: Final = 64
SANE: Final = re.compile(rf"[A-Za-z0-9._:-]{{1,{LENGTH_MAX}}}")

_current: ContextVar[str] = ContextVar("request_id", default="")


def current() -> str:
    """Return the current id; "" if nothing is done for a request."""
    return _current.get()


def begin(sent: bytes) -> None:
    """Set the client's name of the request, if it is fit to be logged and stored; otherwise none yet."""
    name = sent.decode("latin-1")
    _current.set(name if SANE.fullmatch(name) else "")


def ensure(name: str = "") -> str:
    """Give the request this name, or a random one, if it has none. Returns its name."""
    if not _current.get():
        _current.set(name or token_hex(8))
    return _current.get()


@contextmanager
def within(request: str) -> Iterator[None]:
    """Attribute everything done in the block to that request."""
    token = _current.set(request)
    try:
        yield
    finally:
        _current.reset(token)
