"""Long texts are looked through in a thread of their own: streams must not wait for a long log."""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

LookResult = TypeVar("LookResult")

LONG_TEXT: Final = 8_000  # characters: some 2 ms, for which the event loop may stand still


async def look_through(text: str, look: Callable[[str], LookResult]) -> LookResult:
    """``look`` must be pure: the cache is the event loop's."""
    return await asyncio.to_thread(look, text) if len(text) > LONG_TEXT else look(text)
