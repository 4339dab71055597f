"""Which headers cross the proxy."""

import pytest

from proxy.upstream.headers import filter_for_client, filter_for_upstream


def test_hop_by_hop_headers_end_here_also_those_that_connection_names() -> None:
    headers = [(b"connection", b"keep-alive, X-Hop"), (b"x-hop", b"1"), (b"keep-alive", b"5"), (b"x-end", b"2")]

    assert filter_for_upstream(headers) == [(b"x-end", b"2"), (b"accept-encoding", b"identity")]


def test_the_upstream_sees_its_own_host_and_no_festinger_header() -> None:
    headers = [(b"host", b"festinger:11435"), (b"x-festinger", b"off"), (b"x-festinger-agent", b"dobby")]

    assert filter_for_upstream(headers) == [(b"accept-encoding", b"identity")]


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        (b"a=1; b=2", b"a=1; b=2"),
        (b"festinger_session=x; a=1;festinger_csrf=y; b=festinger_", b"a=1; b=festinger_"),
        (b"a=1; festinger_messages=z", b"a=1"),
        (b"festinger_session=x", None),
    ],
)
def test_the_admins_cookies_stay_here(sent: bytes, arrives: bytes | None) -> None:
    kept = dict(filter_for_upstream([(b"cookie", sent)]))

    assert kept.get(b"cookie") == arrives


def test_the_upstream_sets_none_of_the_admins_cookies() -> None:
    headers = [(b"Content-Type", b"a"), (b"Set-Cookie", b"festinger_session=x; Path=/admin/"), (b"Set-Cookie", b"b=2")]

    assert filter_for_client(headers, 200) == [(b"content-type", b"a"), (b"set-cookie", b"b=2")]


@pytest.mark.parametrize(
    ("headers", "status", "expected"),
    [
        ({b"Content-Type": b"Text/HTML; charset=utf-8"}, 200, True),
        ({b"Content-Type": b"image/svg+xml"}, 404, True),
        ({b"Content-Length": b"5"}, 200, True),
        ({b"Content-Length": b"0"}, 200, False),
        ({b"ETag": b"1"}, 304, False),
        ({b"Content-Type": b"application/json"}, 200, False),
        ({b"Content-Type": b"text/plain; charset=utf-8"}, 200, False),
    ],
)
def test_a_page_of_the_upstreams_runs_no_scripts_in_the_admins_origin(
    headers: dict[bytes, bytes], status: int, *, expected: bool
) -> None:
    sandbox = {(b"content-security-policy", b"sandbox"), (b"x-content-type-options", b"nosniff")}

    assert (sandbox <= set(filter_for_client(headers.items(), status))) is expected


def test_the_client_gets_the_upstreams_headers_less_framing_and_date() -> None:
    headers = [
        (b"Content-Type", b"a"),
        (b"Date", b"d"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Content-Length", b"3"),
    ]

    assert filter_for_client(headers, 200) == [(b"content-type", b"a"), (b"content-length", b"3")]


def test_an_answer_without_a_body_has_no_length() -> None:
    headers = [(b"ETag", b"1"), (b"Content-Length", b"3")]

    assert [filter_for_client(headers, status) for status in (204, 304)] == [[(b"etag", b"1")]] * 2
