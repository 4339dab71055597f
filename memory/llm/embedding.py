"""Asks a model's server for the vectors of texts."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from memory.llm import call_log
from memory.llm.call_log import Usage
from memory.llm.client import PROVIDERS, access_to
from memory.llm.errors import HttpFailure, LlmError, Misconfigured, Unavailable, Unreadable, no_answer
from memory.llm.types import Embedded
from memory.models import LanguageModel, LlmCall


def embed_texts(model: LanguageModel, texts: Sequence[str], timeout_s: float) -> list[list[float]]:
    """Return a vector for each text, with one request. If the model is a row of *Language models*, the call is a row of
    ``llm_call``, so that its cost is known. It does not count for the day's calls, which are for questions. Raises
    LlmError."""
    access = access_to(model)
    send = getattr(PROVIDERS[model.provider], "embed", None)
    if send is None:
        raise Misconfigured(f"{model} cannot turn texts into vectors: choose another embedder in the settings.")

    async def ask() -> Embedded:
        async with asyncio.timeout(timeout_s):
            answer: Embedded = await send(access, texts)
            return answer

    started = time.monotonic()
    usage, error = Usage(0, 0, None), ""
    try:
        answer = asyncio.run(ask())
        usage = call_log.usage_of(model, answer.tokens, 0)
        return read_vectors(answer.vectors, len(texts))
    except TimeoutError:
        error = "No answer in time."
        raise Unavailable(error) from None
    except HttpFailure as failure:
        message = f"{access.url}: " + (f"status {failure.status}: " if failure.status else "") + failure.message
        error = " ".join(message.replace(access.key or "\0", "[key]").split())[: call_log.ERROR_MAX]
        raise (Unavailable if failure.may_pass else Misconfigured)(error) from None
    except ValueError as failure:  # a body that is declared as JSON and is not
        raise no_answer(failure) from None
    except LlmError as failure:
        error = str(failure)
        raise
    finally:
        call_log.count_call(model, LlmCall.Purpose.EMBED, usage, error)
        if model.pk is not None:
            record(model, usage, len(texts), started, error)


def record(model: LanguageModel, usage: Usage, count: int, started: float, error: str) -> None:
    call = LlmCall.objects.create(
        model=model,
        model_name=str(model),
        purpose=LlmCall.Purpose.EMBED,
        subject=f"{count} texts",
        at=timezone.now(),
    )
    call_log.end(call.pk, usage, started=started, error=error)


def read_vectors(vectors: Any, count: int) -> list[list[float]]:
    """Check that these are ``count`` lists of numbers. Raises Unreadable."""
    if not isinstance(vectors, list) or len(vectors) != count:
        raise Unreadable("There is not one vector for each text in the answer.")
    for vector in vectors:
        if not isinstance(vector, list) or not vector or not all(isinstance(number, int | float) for number in vector):
            raise Unreadable("A vector in the answer is no list of numbers.")
    return vectors
