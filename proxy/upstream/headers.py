"""Filters the headers that cross the proxy. Names and values are bytes, names in lower case, as ASGI gives them."""

from collections.abc import Iterable

Headers = list[tuple[bytes, bytes]]

# Hop-by-hop, RFC 9110 section 7.6.1, and what each side computes for itself.
HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
# The upstream checks Host against its own address; an encoded answer could not be read in passing.
OF_THE_REQUEST = HOP_BY_HOP | {b"host", b"content-length", b"accept-encoding", b"expect"}
OF_THE_RESPONSE = HOP_BY_HOP | {b"date"}
AUTHORIZATION = b"authorization"
CONTENT_LENGTH = frozenset({b"content-length"})
# The prefix of the admin's cookies (festinger_site/settings.py): they are worth a login, which the upstream must not
# get.
OWN_COOKIES = b"festinger_"
# Types whose scripts a browser runs. It may take an answer without a type for a page.
ACTIVE = (b"text/html", b"application/xhtml+xml", b"image/svg+xml", b"text/xml", b"application/xml")
# For pages of the upstream: they would have the admin's origin.
SANDBOX = [(b"content-security-policy", b"sandbox"), (b"x-content-type-options", b"nosniff")]
WITHOUT_BODY = frozenset({204, 304})  # a 304 may give the length of a body that it does not send; our server cannot


def filter_for_upstream(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the client's headers for the upstream, without Festinger's own."""
    headers = [(name, value if name != b"cookie" else _without_own_cookies(value)) for name, value in headers]
    dropped = OF_THE_REQUEST | _connection_headers(headers)
    kept = [
        (name, value)
        for name, value in headers
        if name not in dropped and not name.startswith(b"x-festinger") and (value or name != b"cookie")
    ]
    return [*kept, (b"accept-encoding", b"identity")]


def filter_for_client(headers: Iterable[tuple[bytes, bytes]], status: int) -> Headers:
    """Return the upstream's headers for the client."""
    lowered = [(name.lower(), value) for name, value in headers]
    dropped = OF_THE_RESPONSE | _connection_headers(lowered)
    if status in WITHOUT_BODY:
        dropped |= CONTENT_LENGTH
    kept = [
        (name, value)
        for name, value in lowered
        if name not in dropped and not (name == b"set-cookie" and value.lstrip().startswith(OWN_COOKIES))
    ]
    return [*kept, *SANDBOX] if status not in WITHOUT_BODY and _may_be_page(dict(kept)) else kept


def _may_be_page(headers: dict[bytes, bytes]) -> bool:
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    return kind in ACTIVE or (not kind and headers.get(b"content-length") != b"0")


def _without_own_cookies(value: bytes) -> bytes:
    """Return the value of a ``Cookie`` header; empty if nothing is left of it."""
    if OWN_COOKIES not in value:
        return value
    kept = [pair for pair in value.split(b";") if not pair.lstrip().startswith(OWN_COOKIES)]
    return b";".join(kept).lstrip()


def _connection_headers(headers: Headers) -> frozenset[bytes]:
    """Return the headers that ``Connection: a, b`` makes hop-by-hop, too."""
    return frozenset(
        part.strip().lower() for name, value in headers if name == b"connection" for part in value.split(b",")
    )
