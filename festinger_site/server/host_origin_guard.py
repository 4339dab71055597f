"""Host and Origin, checked as Ollama checks them, before anything else sees a request.

A page on the web can make a browser post to localhost (Origin), or point a name of its own at 127.0.0.1 and
read the answer as its own site (DNS rebinding: Host). Festinger trusts loopback, so both end here, with 403.
"""

import socket
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import ip_address

from proxy.auth import is_loopback
from proxy.upstream.asgi_types import Application, Receive, Scope, Send, body, start

LOCAL_NAMES = ("localhost", "127.0.0.1", "0.0.0.0", "[[]::1]")  # as patterns: [[] is a bracket
LOCAL_ENDINGS = (".localhost", ".local", ".internal")  # host.docker.internal among them
LOCAL_ORIGINS = (
    *(f"{scheme}://{host}{port}" for scheme in ("http", "https") for host in LOCAL_NAMES for port in ("", ":*")),
    *("app://*", "file://*", "tauri://*", "vscode-webview://*", "vscode-file://*"),
)


class Guard:
    """Wraps an ASGI application. ``bind`` is the address the server listens on; on one that is not loopback,
    other machines may use any name for it, unless ``hosts`` are given: only requests from this machine are checked."""

    def __init__(self, app: Application, *, bind: str, hosts: Sequence[str] = (), origins: Sequence[str] = ()) -> None:
        self._app = app
        self._checks_all = bool(hosts) or bind == "localhost" or is_loopback(bind)
        self._hosts = {"", "localhost", socket.gethostname().lower(), *(host.lower() for host in hosts)}
        self._origins = (*LOCAL_ORIGINS, *origins)
        # Clients call one name over and over; bounded, as the header is anybody's.
        self._is_host_allowed = lru_cache(maxsize=256)(self._check_host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_welcome(scope):
            await self._app(scope, receive, send)
            return
        await send(start(403, [(b"content-length", b"0")]))
        await send(body(b"", more=False))

    def _is_welcome(self, scope: Scope) -> bool:
        host = origin = None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.decode("latin-1").lower()
            elif name == b"origin":
                origin = value.decode("latin-1").lower()
        # Another machine on an open port may use any name for it. A browser on this one may have been rebound.
        client = scope.get("client")
        if (self._checks_all or client is None or is_loopback(client[0])) and not self._is_host_allowed(host or ""):
            return False
        # A request without Origin comes from a program, or from a page's own site.
        if origin is None or origin.partition("://")[2] == host:
            return True
        return any(fnmatchcase(origin, pattern.lower()) for pattern in self._origins)

    def _check_host(self, host: str) -> bool:
        if host.startswith("["):  # [::1]:80
            name = host[1:].partition("]")[0]
        else:
            # An IPv6 address without brackets has no port.
            name = host.rpartition(":")[0] if host.count(":") == 1 else host
        if name in self._hosts or name.endswith(LOCAL_ENDINGS):
            return True
        # An address cannot be rebound: only a name's owner can point it somewhere else.
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or address.is_private or address.is_unspecified
