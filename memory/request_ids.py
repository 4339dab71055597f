"""The id of the request that is answered now, or on whose account something is done: in logs, rows and answers."""

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
    """Empty where nothing is done for a request."""
    return _current.get()


def begin(sent: bytes) -> None:
    """Names the request as its client has, if that is fit to be logged and stored; else not yet."""
    name = sent.decode("latin-1")
    _current.set(name if SANE.fullmatch(name) else "")


def ensure(name: str = "") -> str:
    """Gives the request this name, or a random one, if it has none. Returns the one that it has."""
    if not _current.get():
        _current.set(name or token_hex(8))
    return _current.get()


@contextmanager
def within(request: str) -> Iterator[None]:
    """Meanwhile, what is done counts as done on account of that request."""
    token = _current.set(request)
    try:
        yield
    finally:
        _current.reset(token)
