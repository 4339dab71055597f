"""The one HTTP client. Whoever opens an answer closes it."""

import logging
from collections.abc import AsyncIterator, Iterable

import httpx
from aiohttp import ClientError, encode_basic_auth
from yarl import URL

from memory.database import first_line
from proxy.domain.headers import AUTHORIZATION, Headers
from proxy.errors import UpstreamUnreachable
from proxy.transport import CONNECT_S, ExactTransport

logger = logging.getLogger(__name__)


class Upstream:
    """The model server behind the proxy."""

    def __init__(self, base_url: str) -> None:
        self.base_url = without_password(base_url)  # as it is shown
        address = URL(base_url)
        self._prefix = address.raw_path.rstrip("/").encode()
        self._credentials = _credentials(address)
        self._url = httpx.URL(str(address.origin()))
        self._transport = ExactTransport(address.origin())

    async def open(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[bytes, bytes]],
        content: bytes | AsyncIterator[bytes] | None,
    ) -> httpx.Response:
        """The upstream's answer, its body not read yet. ``target`` is path and query as the client sent them.

        Raises UpstreamUnreachable, or what reading ``content`` raised."""
        request = httpx.Request(
            method,
            self._url,
            headers=framed(self._authorized(headers), content),
            stream=Body(content) if isinstance(content, AsyncIterator) else httpx.ByteStream(content or b""),
            extensions={"target": self._prefix + target.encode("latin-1")},
        )
        try:
            return await self._transport.handle_async_request(request)
        except (httpx.TransportError, ClientError, OSError) as error:
            logger.warning("upstream.unreachable", extra={"url": self.base_url, "error": str(error)[:200]})
            _let_go(error)
            raise UpstreamUnreachable(
                f"Festinger cannot reach the model server at {self.base_url}: {_reason(error)}"
            ) from error

    def _authorized(self, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        if not self._credentials:
            return list(headers)
        return [header for header in headers if header[0] != AUTHORIZATION] + [(AUTHORIZATION, self._credentials)]

    async def aclose(self) -> None:
        await self._transport.aclose()


class Body(httpx.AsyncByteStream):
    """A request's body that is still arriving."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks


def framed(headers: Headers, content: bytes | AsyncIterator[bytes] | None) -> Headers:
    """The headers with the length of the content, or with its encoding where the length is not known."""
    if isinstance(content, bytes):
        headers.append((b"content-length", b"%d" % len(content)))
    elif content is not None and not any(name == b"content-length" for name, _ in headers):
        headers.append((b"transfer-encoding", b"chunked"))
    return headers


def without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _credentials(address: URL) -> bytes:
    """The value of an Authorization header, from user and password in the address; empty where there are none."""
    if address.user is None:
        return b""
    return encode_basic_auth(address.user, address.password or "").encode()


def _let_go(error: BaseException | None) -> None:
    """Frees what the frames of its traceback hold, the request's body above all: aiohttp's frames hold the error
    in turn, and only the collector of cycles would find them, much later."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no connection within {CONNECT_S:g} s"
    return first_line(error)
