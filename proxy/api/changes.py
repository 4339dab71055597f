"""Shared parts of the routes that change something in an operator's name."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from ninja import Field, Schema
from pydantic import BaseModel

from memory.models import Source
from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.scopes import Permission, require
from proxy.errors import NotFound, ProxyError
from resolution.actors import Actor
from resolution.domain.verdicts import REASON_MAX
from resolution.errors import DecisionError, InvalidDecision, UnknownId

Done = TypeVar("Done")

LIMIT_MAX = 500
OFFSET_MAX = 1_000_000_000  # Postgres counts no further than a bigint


class PageQuery(Schema):
    limit: int = Field(50, ge=1, le=LIMIT_MAX)
    offset: int = Field(0, ge=0, le=OFFSET_MAX)


Reason = Annotated[str, Field(max_length=REASON_MAX, description="Is kept with the decision.")]


# Not Ninja's Schema, which reads any other JSON than an object as one without keys: then the defaults would decide.
class ReasonIn(BaseModel):
    reason: Reason = ""


class Clash(ProxyError):
    """Somebody else was faster, or the world is no longer what this was about."""

    status = 409


class BadDecision(ProxyError):
    """It cannot be decided like this."""

    status = 422


def caller_with(request: ASGIRequest, permission: Permission) -> Caller:
    """Return the sender of the request. Raises NotAllowed and DatabaseAway if they lack the permission."""
    caller: Caller = request.scope["caller"]  # festinger_site/asgi.py leaves it there
    require(caller, permission)
    return caller


async def apply_change(request: ASGIRequest, change: Callable[[Actor], Done]) -> Done:
    """Make a change in an operator's name, and return when this process's cache has it, so that the next prompt shows
    it."""
    return await apply_for(caller_with(request, "operator"), change)


async def apply_for(caller: Caller, change: Callable[[Actor], Done]) -> Done:
    """Make a change in the name of ``caller``, and wait for the cache as ``apply_change`` does. Raises NotAllowed."""
    require(caller, "operator")
    async with runtime.current().coherence.barrier(), translate_errors():
        return await sync_to_async(change)(Actor(caller.signature, Source.OPERATOR))


@asynccontextmanager
async def translate_errors() -> AsyncIterator[None]:
    try:
        yield
    except UnknownId as error:
        raise NotFound(str(error)) from error
    except InvalidDecision as error:
        raise BadDecision(str(error)) from error
    except DecisionError as error:
        raise Clash(str(error)) from error


def make_sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[0].upper()}{text[1:]}."
