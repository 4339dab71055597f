"""The SYSTEM text of each model's Modelfile, asked for in the background and remembered for a while."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx
import orjson

from memory import bounds
from proxy.errors import ProxyError
from proxy.upstream.asgi_types import Event, Send
from proxy.upstream.client import Upstream

logger = logging.getLogger(__name__)

KEPT_S = 600.0  # a model may be changed past this proxy, too
RETRY_S = 10.0
MODELS_MAX = 1_000
NAME_MAX = 200  # characters; names of models with registry and tag have some 60
QUESTIONS_MAX = 4  # at once: each takes one of the upstream's connections

QUESTIONS = bounds.define("modelfile_questions", "prompts for unknown models while four others were asked about")
# These change what a model is. A stream of progress says so with its last line: {"status":"success"}.
CHANGING = frozenset({"/api/create", "/api/pull", "/api/copy", "/api/delete"})
CHANGED = b'"success"'


@dataclass(frozen=True, slots=True)
class KnownSystem:
    """``system`` is None where the upstream could not say. ``until`` is on the monotonic clock."""

    system: str | None
    until: float


def is_model_name(text: str) -> bool:
    return len(text) <= NAME_MAX and text.isprintable()


def forgetting(modelfiles: "Modelfiles", send: Send) -> Send:
    """``send`` for the answer of a request that changes models: what was known is forgotten, here and in the other
    processes."""

    async def tell(message: Event) -> None:
        is_progress = message.get("more_body", False) and CHANGED not in message["body"]
        # Before the client hears of the change: its next prompt, which may go to another process, has to ask anew.
        if not is_progress:
            modelfiles.forget()
            if message["type"] == "http.response.body" and modelfiles.broadcast is not None:
                await modelfiles.broadcast()
        await send(message)

    return tell


class Modelfiles:
    """``broadcast`` makes the other processes forget; None where there are none."""

    def __init__(self, upstream: Upstream, broadcast: Callable[[], Awaitable[None]] | None = None) -> None:
        self.broadcast = broadcast
        self._upstream = upstream
        self._known: dict[str, KnownSystem] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}

    def system_of(self, model: str) -> str | None:
        """The model's SYSTEM text, "" if it has none, None while it is not known. Never waits: the upstream is
        asked in the background. What cannot be a model's name is never known."""
        if not is_model_name(model):
            return None
        # An old answer stands until a new one is there: else the beginning of prompts would change back and forth, and
        # the model evaluate all of them anew.
        known = self._known.get(model)
        if (known is None or known.until <= time.monotonic()) and model not in self._asking:
            if len(self._asking) < QUESTIONS_MAX:
                self._asking[model] = asyncio.create_task(self._ask(model))
            else:
                QUESTIONS.count_bite()
        return None if known is None else known.system

    def recall_system(self, model: str) -> str | None:
        """The same, from what is known, without asking for it."""
        known = self._known.get(model)
        return None if known is None else known.system

    def forget(self) -> None:
        """Something that changes models passed through."""
        self._known.clear()
        # Questions under way would bring the old answer.
        for task in self._asking.values():
            task.cancel()
        self._asking.clear()

    async def _ask(self, model: str) -> None:
        try:
            known = await self._fetch(model)
        except (ProxyError, httpx.TransportError, ValueError) as error:
            logger.info("modelfile.unknown", extra={"model": model, "error": str(error)[:200]})
            known = KnownSystem(None, time.monotonic() + RETRY_S)
        finally:
            # Not where it was forgotten: by now somebody else may be asking about the same model.
            if self._asking.get(model) is asyncio.current_task():
                del self._asking[model]
        # That the upstream did not answer says nothing about the model.
        if known.system is None and (old := self._known.get(model)) is not None:
            known = KnownSystem(old.system, known.until)
        while len(self._known) >= MODELS_MAX:
            del self._known[next(iter(self._known))]
        self._known[model] = known

    async def _fetch(self, model: str) -> KnownSystem:
        headers = [(b"content-type", b"application/json"), (b"accept-encoding", b"identity")]
        answer = await self._upstream.open("POST", "/api/show", headers, orjson.dumps({"model": model}))
        try:
            content = await answer.aread()
        finally:
            await answer.aclose()
        now = time.monotonic()
        # A server that only speaks the prompt endpoints has no Modelfiles: its models have no SYSTEM. Ollama itself
        # answers 404 for a model that is not there yet, so this is asked again soon.
        if answer.status_code in (404, 405, 501):
            return KnownSystem("", now + RETRY_S)
        if answer.status_code != 200:
            return KnownSystem(None, now + RETRY_S)
        shown = orjson.loads(content)
        system = shown.get("system") if isinstance(shown, dict) else None
        return KnownSystem(system if isinstance(system, str) else "", now + KEPT_S)
