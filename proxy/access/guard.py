"""Checks Host and Origin as Ollama does, before anything else sees a request.

A page on the web can make a browser post to localhost (Origin), or point a name of its own at 127.0.0.1 and read the
answer as its own site (DNS rebinding: Host). Festinger trusts loopback, so both end here, with 403. Festinger's own
endpoints accept only those names of this machine that nobody else can answer for.
"""

import logging
import socket
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import ip_address
from typing import Literal

from memory.log_throttle import LogThrottle
from proxy.access.caller import is_loopback
from proxy.errors import NotAllowed
from proxy.upstream.asgi_types import Application, AsgiScope, Receive, Send, body, start
from proxy.upstream.relay import send_error

logger = logging.getLogger(__name__)

# The names that a request may use for us. "machine": those that nobody else can answer for, because many requests from
# this machine need no token; "local": also those that Ollama accepts; "network": also those that no name server of the
# internet can give out.
Reach = Literal["machine", "local", "network"]

LOGGED_EVERY_S = 60.0
LOCAL_NAMES = ("localhost", "127.0.0.1", "0.0.0.0", "[[]::1]")  # as patterns: [[] is a bracket
LOCAL_ENDINGS = (".localhost", ".local", ".internal")  # host.docker.internal among them
PRIVATE_ENDINGS = (".home.arpa", ".lan")
# Names that container engines give to their host: containers use them for us, and some come from loopback.
CONTAINER_HOSTS = frozenset(
    {
        *("host.docker.internal", "gateway.docker.internal", "host.containers.internal"),
        *("host.lima.internal", "host.orb.internal"),
    }
)
SHOWN_MAX = 80  # characters of a refused name that are shown
NAME_MAX = 253  # characters of a host's name (RFC 1035); longer ones are not even cached
LOCAL_ORIGINS = (
    *(f"{scheme}://{host}{port}" for scheme in ("http", "https") for host in LOCAL_NAMES for port in ("", ":*")),
    *("app://*", "file://*", "tauri://*", "vscode-webview://*", "vscode-file://*"),
)


class Guard:
    """Wraps an ASGI application. ``is_own`` tells Festinger's own paths. ``hosts`` and ``origins`` are allowed in
    addition to those of this machine or a private network."""

    def __init__(
        self,
        app: Application,
        *,
        is_own: Callable[[str], bool],
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
    ) -> None:
        self._app = app
        self._is_own = is_own
        self._hosts = {"", "localhost", socket.gethostname().lower(), *(host.lower() for host in hosts)}
        self._origins = (*LOCAL_ORIGINS, *origins)
        self._log = LogThrottle(LOGGED_EVERY_S)
        # Clients use one name over and over. Bounded, because anybody can send the header.
        self._is_known = lru_cache(maxsize=256)(self._look_up_name)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (fault := self._find_fault(scope)):
            await self._app(scope, receive, send)
            return
        if self._log.is_due(time.monotonic()):
            logger.warning("request.refused", extra={"why": fault})
        if self._is_own(scope["path"]):
            await send_error(send, scope["path"], NotAllowed(fault, status=403))
        else:
            await send(start(403, [(b"content-length", b"0")]))
            await send(body(b"", more=False))

    def _find_fault(self, scope: AsgiScope) -> str:
        """Return why the request is refused, and which setting would allow it; empty if it passes."""
        host, origin = "", None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.decode("latin-1").lower()
            elif name == b"origin":
                origin = value.decode("latin-1").lower()
        client = scope.get("client")
        is_from_here = client is None or is_loopback(client[0])
        reach = "network" if not is_from_here else "machine" if self._is_own(scope["path"]) else "local"
        name = _without_port(host)
        if len(name) > NAME_MAX or not self._is_known(name, reach):
            return f"{host[:SHOWN_MAX]!r} is no name of this Festinger; FESTINGER_ALLOWED_HOSTS takes more names"
        # A request without Origin comes from a program, or from a page's own site.
        if origin is None or (host and origin.partition("://")[2] == host):
            return ""
        if any(fnmatchcase(origin, pattern.lower()) for pattern in self._origins):
            return ""
        return f"pages of {origin[:SHOWN_MAX]!r} may not call this Festinger; FESTINGER_ORIGINS takes more origins"

    def _look_up_name(self, name: str, reach: Reach) -> bool:
        if name in self._hosts or name in CONTAINER_HOSTS:
            return True
        if reach != "machine" and name.endswith(LOCAL_ENDINGS):
            return True
        if reach == "network" and ("." not in name or name.endswith(PRIVATE_ENDINGS)):
            return True
        # An address cannot be rebound: only a name's owner can point it somewhere else.
        try:
            ip_address(name)
        except ValueError:
            return False
        return True


def _without_port(host: str) -> str:
    if host.startswith("["):  # [::1]:80
        return host[1:].partition("]")[0]
    # An IPv6 address without brackets has no port.
    return host.rpartition(":")[0] if host.count(":") == 1 else host
