"""Marks the requests of which nothing may be written: those of temporary chats, and messages that ask not to be
kept."""

from contextvars import ContextVar

_IS_PRIVATE: ContextVar[bool] = ContextVar("is_private", default=False)


def begin(*, is_private: bool) -> None:
    """Mark what this task does from here on, and the tasks that it starts."""
    _IS_PRIVATE.set(is_private)


def is_private() -> bool:
    return _IS_PRIVATE.get()
