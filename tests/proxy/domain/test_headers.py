"""Which headers cross the proxy."""

from proxy.domain.headers import filter_for_client, filter_for_upstream


def test_hop_by_hop_headers_end_here_also_those_that_connection_names() -> None:
    headers = [(b"connection", b"keep-alive, X-Hop"), (b"x-hop", b"1"), (b"keep-alive", b"5"), (b"x-end", b"2")]

    assert filter_for_upstream(headers) == [(b"x-end", b"2"), (b"accept-encoding", b"identity")]


def test_the_upstream_sees_its_own_host_and_no_festinger_header() -> None:
    headers = [(b"host", b"festinger:11435"), (b"x-festinger", b"off"), (b"x-festinger-agent", b"dobby")]

    assert filter_for_upstream(headers) == [(b"accept-encoding", b"identity")]


def test_a_festinger_token_stays_here() -> None:
    headers = [(b"authorization", b"Bearer fst_x")]

    assert filter_for_upstream(headers, without=frozenset({b"authorization"})) == [(b"accept-encoding", b"identity")]
    assert (b"authorization", b"Bearer fst_x") in filter_for_upstream(headers)


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
