"""Host and Origin, as Ollama checks them."""

import pytest

from festinger_site.asgi import is_own
from festinger_site.server.host_origin_guard import Guard


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


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:11435", True),
        ("127.0.0.1:11435", True),
        ("[::1]:11435", True),
        ("192.168.1.4:11435", True),
        ("host.docker.internal:11435", True),
        ("festinger.example", True),
        ("FESTINGER.example:80", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("8.8.8.8:11435", True),
        ("nas:11435", False),
        ("nas.lan:11435", False),
        ("printer.local", True),
        ("x" * 60_000 + ".local", False),
    ],
)
def test_only_local_and_configured_hosts_are_welcome(host: str, expected: bool) -> None:
    assert is_welcome(host=host) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:11435", True),
        ("127.0.0.1:11435", True),
        ("[::1]:11435", True),
        ("host.docker.internal:11435", True),
        ("festinger.example", True),
        ("printer.local:11435", False),
        ("evil.internal", False),
        ("evil.localhost", False),
    ],
)
@pytest.mark.parametrize("path", ["/iknowthat", "/candidates/1/promote", "/admin/", "/health"])
def test_from_this_machine_own_endpoints_take_only_exact_names(path: str, host: str, expected: bool) -> None:
    assert is_welcome(path=path, host=host) is expected
    assert is_welcome(path="/api/tags", host=host)


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


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("203.0.113.5:11435", True),
        ("[2001:db8::5]:11435", True),
        ("nas:11435", True),
        ("nas.local:11435", True),
        ("nas.home.arpa", True),
        ("festinger.example", True),
        ("nas.example:11435", False),
        ("evil.lan.example", False),
    ],
)
@pytest.mark.parametrize("path", ["/api/chat", "/admin/"])
def test_other_machines_use_addresses_private_names_and_configured_ones(path: str, host: str, expected: bool) -> None:
    assert is_welcome(peer="10.0.0.9", host=host, path=path) is expected
