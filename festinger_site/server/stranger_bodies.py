"""Bounds what somebody without a login can make the admin store: Django stores a body before it checks the session."""

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError, connection
from django.http import parse_cookie

from memory import bounds
from proxy.errors import BodyTooLarge
from proxy.upstream.asgi_types import Application, AsgiScope, Event, Receive, Send

STRANGER_BODY_MAX_BYTES = 1024 * 1024
BODY = bounds.define("stranger_body_bytes", "bodies of over 1 MiB to the admin without a login, refused")


class BoundStrangers:
    """Wraps Django's ASGI application."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Raises BodyTooLarge."""
        await self._app(scope, limit_without_session(scope, receive), send)


def limit_without_session(scope: AsgiScope, receive: Receive) -> Receive:
    """Wrap ``receive`` to raise BodyTooLarge if a body is too large and nobody is logged in."""
    size, has_session = 0, False

    async def count() -> Event:
        nonlocal size, has_session
        message = await receive()
        size += len(message.get("body", b""))
        # Check once, and only for large bodies, because it is a query.
        if size > STRANGER_BODY_MAX_BYTES and not has_session:
            has_session = await sync_to_async(is_logged_in, thread_sensitive=False)(scope)
            if not has_session:
                BODY.count_bite(limit=STRANGER_BODY_MAX_BYTES)
                raise BodyTooLarge(f"a request body of over {STRANGER_BODY_MAX_BYTES} bytes needs a login")
        return message

    return count


def is_logged_in(scope: AsgiScope) -> bool:
    """True if the request has the cookie of a session in which somebody is logged in."""
    sent = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin-1")
    key = parse_cookie(sent).get(settings.SESSION_COOKIE_NAME)
    try:
        return bool(key) and SESSION_KEY in SessionStore(key)
    except DatabaseError:
        return False
    finally:
        connection.close()  # this thread's connection, which no end of a request closes
