"""Answers a write that is sent again with the same idempotency key, as after a time-out, as it did the first time."""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Final

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from cryptography.fernet import Fernet
from django.core.handlers.asgi import ASGIRequest
from django.db import connection, connections
from django.http import HttpResponse

from proxy.access.caller import Caller
from proxy.errors import BadValue, Clash
from proxy.models import IdempotentCall

KEY_MAX: Final = 255  # characters
# A call that a killed process has left without an answer may be made again after a minute.
CLAIM: Final = """
    INSERT INTO idempotent_call (call, request) VALUES (%s, %s)
    ON CONFLICT (call) DO UPDATE SET request = excluded.request, answer = NULL, at = now()
        WHERE idempotent_call.at < now() - interval '1 day'
           OR (idempotent_call.answer IS NULL AND idempotent_call.at < now() - interval '1 minute')
    RETURNING call
"""

Work = Callable[[], Awaitable[HttpResponse]]


async def answer_once(key: str, caller: Caller, request: ASGIRequest, work: Work) -> HttpResponse:
    """Do the work, or return what it has answered to this caller's key within a day. A failed call leaves the key free.
    Raises Clash while the first call runs, BadValue if it was another one, and what the work raises."""
    project = caller.named_project or caller.project  # the first call may make the project that it names
    asked = f"{request.method} {request.path}\n{caller.person}\n{project}\n".encode()
    asked += request.body
    call, digest = sha256(f"{caller.name}\n{key}".encode()).digest(), sha256(asked).digest()
    # The digests that are stored do not open it: nothing of an answer can be read without its request.
    seal = Fernet(urlsafe_b64encode(sha256(key.encode() + b"\n" + asked).digest()))
    known = await sync_to_async(_claim)(call, digest)
    if known is not None:
        status, _, content = seal.decrypt(known).partition(b" ")
        return HttpResponse(content, status=int(status), content_type="application/json")
    # Goes on, and keeps the answer, where the client does not wait for it: that client sends it again.
    return await asyncio.shield(asyncio.create_task(_do(call, seal, work)))


async def _do(call: bytes, seal: Fernet, work: Work) -> HttpResponse:
    answer = None
    async with ThreadSensitiveContext():
        try:
            response = await work()
            answer = seal.encrypt(b"%d %s" % (response.status_code, response.content))
            return response
        finally:
            await sync_to_async(_keep)(call, answer)
            await sync_to_async(connections.close_all)()


def _claim(call: bytes, digest: bytes) -> bytes | None:
    """Claim the call; return the sealed answer if it has one. Raises Clash, BadValue."""
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [call, digest])
        if cursor.fetchone() is not None:
            return None
    row = IdempotentCall.objects.filter(pk=call).first()
    if row is not None and bytes(row.request) != digest:
        raise BadValue("this Idempotency-Key came with another request before")
    if row is None or row.answer is None:
        raise Clash("the first request with this Idempotency-Key is still being answered; try again")
    return bytes(row.answer)


def _keep(call: bytes, answer: bytes | None) -> None:
    rows = IdempotentCall.objects.filter(pk=call)
    if answer is not None:
        rows.update(answer=answer)
    else:
        rows.delete()
