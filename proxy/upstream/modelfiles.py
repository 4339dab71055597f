"""Fetches the SYSTEM text of each model's Modelfile in the background, and remembers it for a while."""

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
    """``system`` is None if the upstream could not say. ``until`` is on the monotonic clock."""

    system: str | None
    until: float


def is_model_name(text: str) -> bool:
    return len(text) <= NAME_MAX and text.isprintable()


def forgetting(modelfiles: "Modelfiles", send: Send) -> Send:
    """Wrap ``send`` for the answer to a request that changes models, to forget what is known, here and in the other
    processes."""

    async def tell(message: Event) -> None:
        is_progress = message.get("more_body", False) and CHANGED not in message["body"]
        # Before the client learns of the change: its next prompt, which may go to another process, has to ask again.
        if not is_progress:
            modelfiles.forget()
            if message["type"] == "http.response.body" and modelfiles.broadcast is not None:
                await modelfiles.broadcast()
        await send(message)

    return tell


class Modelfiles:
    """The SYSTEM texts known to this process. ``broadcast`` makes the other processes forget; None if there are
    none."""

    def __init__(self, upstream: Upstream, broadcast: Callable[[], Awaitable[None]] | None = None) -> None:
        self.broadcast = broadcast
        self._upstream = upstream
        self._known: dict[str, KnownSystem] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}

    def system_of(self, model: str) -> str | None:
        """Return the model's SYSTEM text, "" if it has none, None while it is not known.

        Never waits: the upstream is asked in the background. A text that cannot be a model's name is never known.
        """
        if not is_model_name(model):
            return None
        # Keep an old answer until a new one is there: else the beginning of prompts would change back and forth, and
        # the model would have to evaluate all of them again.
        known = self._known.get(model)
        if (known is None or known.until <= time.monotonic()) and model not in self._asking:
            if len(self._asking) < QUESTIONS_MAX:
                self._asking[model] = asyncio.create_task(self._ask(model))
            else:
                QUESTIONS.count_bite()
        return None if known is None else known.system

    def recall_system(self, model: str) -> str | None:
        """Return the SYSTEM text as far as it is known, without asking the upstream."""
        known = self._known.get(model)
        return None if known is None else known.system

    def forget(self) -> None:
        """Forget all texts, after a request that changes models."""
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
            # Not if this task was forgotten: by now another one may be asking about the same model.
            if self._asking.get(model) is asyncio.current_task():
                del self._asking[model]
        # A missing answer says nothing about the model.
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
        # A server with only the prompt endpoints has no Modelfiles: its models have no SYSTEM. Ollama itself answers
        # 404 for a model that is not there yet, so ask again soon.
        if answer.status_code in (404, 405, 501):
            return KnownSystem("", now + RETRY_S)
        if answer.status_code != 200:
            return KnownSystem(None, now + RETRY_S)
        shown = orjson.loads(content)
        system = shown.get("system") if isinstance(shown, dict) else None
        return KnownSystem(system if isinstance(system, str) else "", now + KEPT_S)
