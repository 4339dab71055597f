"""Host and Origin, as Ollama checks them."""

import pytest

from festinger_site.asgi import is_own
from proxy.access.guard import Guard


async def nothing(*_: object) -> None:
    return None


def is_welcome(
    *,
    peer: str = "127.0.0.1",
    host: str = "localhost:11435",
    hosts: tuple[str, ...] = ("festinger.example",),
    path: str = "/api/tags",
    **more: str,
) -> bool:
    guard = Guard(nothing, is_own=is_own, hosts=hosts, origins=["https://desk.example"])
    headers = [(name.encode(), value.encode()) for name, value in {"host": host, **more}.items()]
    return not guard._find_fault({"type": "http", "headers": headers, "client": (peer, 5), "path": path})


OWN_PATHS = ("/iknowthat", "/candidates/1/promote", "/admin/", "/health")


@pytest.mark.parametrize(
    ("host", "from_here", "own_from_here", "from_elsewhere"),
    [
        ("localhost:11435", True, True, True),
        ("127.0.0.1:11435", True, True, True),
        ("[::1]:11435", True, True, True),
        ("192.168.1.4:11435", True, True, True),
        ("203.0.113.5:11435", True, True, True),
        ("[2001:db8::5]:11435", True, True, True),
        ("host.docker.internal:11435", True, True, True),
        ("festinger.example", True, True, True),  # configured
        ("FESTINGER.example:80", True, True, True),
        ("printer.local:11435", True, False, True),
        ("evil.internal", True, False, True),
        ("evil.localhost", True, False, True),
        ("nas:11435", False, False, True),
        ("nas.lan:11435", False, False, True),
        ("nas.home.arpa", False, False, True),
        ("evil.example", False, False, False),
        ("localhost.evil.example", False, False, False),
        ("evil.lan.example", False, False, False),
        ("x" * 60_000 + ".local", False, False, False),
    ],
)
def test_a_host_is_one_of_this_machine_of_a_private_network_or_configured(
    host: str, from_here: bool, own_from_here: bool, from_elsewhere: bool
) -> None:
    assert is_welcome(host=host, path="/api/tags") is from_here
    assert {is_welcome(host=host, path=path) for path in OWN_PATHS} == {own_from_here}
    assert {is_welcome(peer="10.0.0.9", host=host, path=path) for path in ("/api/chat", "/admin/")} == {from_elsewhere}


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost:3000", True),
        ("https://127.0.0.1", True),
        ("http://[::1]:8080", True),
        ("app://obsidian.md", True),
        ("vscode-webview://abc", True),
        ("https://desk.example", True),
        ("http://localhost:11435", True),
        ("https://evil.example", False),
        ("http://localhost.evil.example", False),
        ("null", False),
    ],
)
def test_only_local_and_configured_origins_are_welcome(origin: str, expected: bool) -> None:
    assert is_welcome(origin=origin) is expected


def test_a_page_served_from_here_is_welcome() -> None:
    assert is_welcome(peer="10.0.0.9", host="nas:11435", hosts=(), origin="http://nas:11435")
