"""The only HTTP client. Whoever opens an answer closes it."""

import asyncio
import logging
import os
from collections.abc import Iterable

from aiohttp import encode_basic_auth
from yarl import URL

from memory.db.connections import first_line
from proxy.errors import UpstreamUnreachable
from proxy.upstream.headers import AUTHORIZATION, Headers
from proxy.upstream.transport import TRANSPORT_ERRORS, Answer, Body, Request, Transport

logger = logging.getLogger(__name__)


class Upstream:
    """The model server behind the proxy, which may move to another address."""

    def __init__(self, base_url: str, connect_timeout_s: float = 10.0) -> None:
        self._server = Server(base_url, connect_timeout_s)
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        """The address to show, without a password."""
        return self._server.shown_url

    def move(self, base_url: str, connect_timeout_s: float) -> None:
        """Send later requests to this address; running ones are not disturbed."""
        before = self._server
        if (base_url, connect_timeout_s) == (before.base_url, before.connect_timeout_s):
            return
        self._server = Server(base_url, connect_timeout_s)
        retiring = asyncio.create_task(before.transport.retire())
        self._retiring.add(retiring)
        retiring.add_done_callback(self._retiring.discard)

    async def open(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[bytes, bytes]],
        content: Body,
    ) -> Answer:
        """Return the upstream's answer before its body is read. ``target`` is path and query as the client sent them.

        Raises UpstreamUnreachable, or what reading ``content`` raised.
        """
        server = self._server
        try:
            return await server.transport.open(server.build_request(method, target, headers, content))
        except TRANSPORT_ERRORS as error:
            logger.warning("upstream.unreachable", extra={"url": server.shown_url, "error": str(error)[:200]})
            _drop_traceback(error)
            raise UpstreamUnreachable(
                f"Festinger cannot reach the model server at {server.shown_url}: {server.reason(error)}"
            ) from error

    async def aclose(self) -> None:
        for task in self._retiring:
            task.cancel()
        await asyncio.gather(*self._retiring, self._server.transport.aclose(), return_exceptions=True)


class Server:
    """A model server at one address, and the connections to it."""

    def __init__(self, base_url: str, connect_timeout_s: float) -> None:
        self.base_url = base_url
        self.shown_url = without_password(base_url)
        self.connect_timeout_s = connect_timeout_s
        address = URL(base_url)
        self._prefix = address.raw_path.rstrip("/").encode()
        self._credentials = _credentials(address)
        self._host = str(address.origin()).partition("://")[2].encode()
        self.transport = Transport(address.origin(), connect_timeout_s)

    def build_request(self, method: str, target: str, headers: Iterable[tuple[bytes, bytes]], content: Body) -> Request:
        sent: Headers = [(b"host", self._host), *headers]
        # User and password in upstream.url are for this server: they take precedence over the client's.
        if self._credentials:
            sent = [header for header in sent if header[0] != AUTHORIZATION] + [(AUTHORIZATION, self._credentials)]
        # Never both a length and an encoding: a server may read the body by either (RFC 9112 section 6.3).
        if isinstance(content, bytes):
            sent.append((b"content-length", b"%d" % len(content)))
        elif content is not None and not any(name == b"content-length" for name, _ in sent):
            sent.append((b"transfer-encoding", b"chunked"))
        return Request(method, self._prefix + target.encode("latin-1"), sent, content)

    def reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no connection within {self.connect_timeout_s:g} s"
        # Use the system's own message, without aiohttp's text around it.
        cause: object = error
        while isinstance(cause, BaseException):
            if isinstance(cause, OSError) and (cause.errno or 0) > 0:
                return os.strerror(cause.errno or 0)
            cause = cause.__cause__
        return first_line(error)


def without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _credentials(address: URL) -> bytes:
    """Return the value of an Authorization header for user and password in the address; empty if there are none."""
    if address.user is None:
        return b""
    return encode_basic_auth(address.user, address.password or "").encode()


def _drop_traceback(error: BaseException | None) -> None:
    """Free what the frames of the error's traceback hold, above all the request's body."""
    # aiohttp's frames refer to the error in turn: only the garbage collector would find the cycle, much later, while a
    # client that keeps retrying sends one body of many megabytes after the other.
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
