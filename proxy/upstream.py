"""The one HTTP client. Whoever opens an answer closes it."""

import logging
from collections.abc import AsyncIterator, Iterable
from functools import lru_cache

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from proxy.errors import BadRequest, UpstreamUnreachable

logger = logging.getLogger(__name__)

CONNECT_S = 10.0
KEEP_ALIVE_S = 60.0
# No read timeout: a model may load for minutes before its first token.
TIMEOUT = {"connect": CONNECT_S, "read": None, "write": None, "pool": None}


class Upstream:
    """The model server behind the proxy."""

    def __init__(self, base_url: str) -> None:
        self._address = base_url
        self.base_url = without_password(base_url)  # as it is shown
        self._url = lru_cache(maxsize=256)(self._parse)  # agents ask for the same two or three
        self._transport = AiohttpTransport(client=_session)

    async def open(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[bytes, bytes]],
        content: bytes | AsyncIterator[bytes] | None,
    ) -> httpx.Response:
        """The upstream's answer, its body not read yet. ``target`` is path and query as the client sent them.

        Raises UpstreamUnreachable."""
        try:
            request = httpx.Request(
                method,
                self._url(target),
                headers=list(headers),
                content=content,
                extensions={"timeout": TIMEOUT},
            )
            return await self._transport.handle_async_request(request)
        except httpx.InvalidURL as error:
            raise BadRequest(f"this address cannot be asked for: {error}") from error
        except (httpx.TransportError, aiohttp.ClientError, OSError) as error:
            logger.warning("upstream.unreachable", extra={"url": self.base_url, "error": str(error)[:200]})
            raise UpstreamUnreachable(
                f"Festinger cannot reach the model server at {self.base_url}: {_reason(error)}"
            ) from error

    def _parse(self, target: str) -> httpx.URL:
        return httpx.URL(self._address + target)

    async def aclose(self) -> None:
        await self._transport.aclose()


def without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
        auto_decompress=False,
        trust_env=False,
    )


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
