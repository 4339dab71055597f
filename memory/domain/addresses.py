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
        address = URL(url)
        host = (address.raw_host or "").removesuffix(".")
        if FOUR_NUMBERS.fullmatch(host):
            IPv4Address(host)  # raises ValueError for 999.1.1.1, which would be looked up as a name
        has_labels = all(0 < len(label) <= HOST_LABEL_MAX for label in host.split("."))
        # A colon in the user's name could not be told from the one before the password.
        fits = BASE_ADDRESS.fullmatch(url) and url.isprintable() and has_labels and ":" not in (address.user or "")
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("an address such as http://127.0.0.1:11434")
    return url.rstrip("/")
