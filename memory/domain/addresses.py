"""Checks base addresses of HTTP servers, as settings and forms take them."""

import re
from ipaddress import IPv4Address

from yarl import URL

HOST_LABEL_MAX = 63  # characters, RFC 1035 section 2.3.4
FOUR_NUMBERS = re.compile(r"[0-9]+(\.[0-9]+){3}")
# User and password, host, port, path; no query.
BASE_ADDRESS = re.compile(r"https?://([^\s/?#@\[\]]+@)?([\w.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/[^\s?#]*)?")


def base_address(raw: str) -> str:
    """An http(s) base address without a trailing slash; a bare ``host:port`` gets ``http://``. Raises
    ValueError, whose message is what it takes."""
    url = raw if "://" in raw else f"http://{raw}"
    try:
        fits = BASE_ADDRESS.fullmatch(url) and url.isprintable() and is_usable(URL(url))
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("an address such as http://127.0.0.1:11434")
    return url.rstrip("/")


def is_usable(address: URL) -> bool:
    """Whether one can connect to its host, and send its user. Raises ValueError, too, where not."""
    host = (address.raw_host or "").removesuffix(".")
    if FOUR_NUMBERS.fullmatch(host):
        IPv4Address(host)
    return ":" not in (address.user or "") and all(0 < len(label) <= HOST_LABEL_MAX for label in host.split("."))
