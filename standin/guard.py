"""Checks Host (against DNS rebinding) and Origin (against web pages) as Ollama does in its server/routes.go."""

import ipaddress
import re
import socket

from standin.incoming import Request
from standin.wire import Reply

LOCAL_NAMES = ("", "localhost", socket.gethostname().lower())
LOCAL_SUFFIXES = (".localhost", ".local", ".internal")
# The networks of Go's netip.Addr.IsPrivate. Python's is_private includes the documentation networks, too.
PRIVATE = [ipaddress.ip_network(net) for net in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")]
ORIGINS = re.compile(
    r"https?://(localhost|127\.0\.0\.1|0\.0\.0\.0)(:.*)?"
    r"|(app|file|tauri|vscode-webview|vscode-file)://.*"
)
PREFLIGHT_HEADERS = (
    ("access-control-allow-headers", "Authorization,Content-Type,User-Agent,Accept,X-Requested-With"),
    ("access-control-allow-methods", "GET,POST,PUT,PATCH,HEAD,DELETE,OPTIONS"),
    ("access-control-max-age", "43200"),
    ("vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
)

FORBIDDEN = Reply(status=403)


def refuse_stranger(request: Request, *, checks_host: bool) -> Reply | None:
    """Return the answer to a request that is refused or is a preflight, or None for one that may pass."""
    origin = foreign_origin(request)
    if origin and not ORIGINS.fullmatch(origin):
        return FORBIDDEN
    if origin and request.method == "OPTIONS":
        return Reply(status=204, headers=(("access-control-allow-origin", origin), *PREFLIGHT_HEADERS))
    if checks_host and not is_local(hostname(request.header("host"))):
        return FORBIDDEN
    return None


def cors_headers(request: Request) -> tuple[tuple[str, str], ...]:
    """Return the headers that let a page of an allowed origin read the answer. A preflight's answer has its own."""
    origin = foreign_origin(request)
    if request.method == "OPTIONS" or not ORIGINS.fullmatch(origin):
        return ()
    return (("access-control-allow-origin", origin), ("vary", "Origin"))


def foreign_origin(request: Request) -> str:
    """Return the Origin header, or "" if it is missing or is this server."""
    origin = request.header("origin")
    _, _, host = origin.partition("://")
    return "" if host == request.header("host") else origin


def hostname(host: str) -> str:
    """Return ``Host`` without its port and brackets, like Go's ``net.SplitHostPort``."""
    match = re.fullmatch(r"\[(.*)\]:\d*|([^:]*):\d*", host)
    return (match[1] or match[2] or "") if match else host


def is_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower() in LOCAL_NAMES or host.lower().endswith(LOCAL_SUFFIXES)
    return address.is_loopback or address.is_unspecified or any(address in net for net in PRIVATE)
