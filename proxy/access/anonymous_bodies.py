"""Bounds what somebody without a login can make the admin store."""

from collections.abc import Mapping

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError, connection
from django.http import parse_cookie

from memory import bounds
from proxy.upstream.asgi_types import Application, AsgiScope, Receive, Send
from proxy.upstream.relay import limit_body

ANONYMOUS_BODY_MAX_BYTES = 1024 * 1024
BODY = bounds.define("stranger_body_bytes", "bodies of over 1 MiB to the admin without a login, refused")


class LimitAnonymousBodies:
    """Wraps Django's ASGI application, which stores a whole body before anything there looks at the session or at
    ``DATA_UPLOAD_MAX_MEMORY_SIZE``."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Raises BodyTooLarge."""
        headers = dict(scope["headers"])
        may_be_large = (
            b"transfer-encoding" in headers or int(headers.get(b"content-length", 0)) > ANONYMOUS_BODY_MAX_BYTES
        )
        # Only then, because it is a query.
        if may_be_large and not await sync_to_async(is_logged_in, thread_sensitive=False)(headers):
            receive = limit_body(receive, ANONYMOUS_BODY_MAX_BYTES, bound=BODY, about="without a login")
        await self._app(scope, receive, send)


def is_logged_in(headers: Mapping[bytes, bytes]) -> bool:
    """True if the headers have the cookie of a session in which somebody is logged in."""
    key = parse_cookie(headers.get(b"cookie", b"").decode("latin-1")).get(settings.SESSION_COOKIE_NAME)
    try:
        return bool(key) and SESSION_KEY in SessionStore(key)
    except DatabaseError:
        return False
    finally:
        connection.close()  # this thread's connection, which no end of a request closes
