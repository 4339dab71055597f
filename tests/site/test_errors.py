"""Error answers of our own endpoints are JSON, whatever went wrong."""

from django.test import Client


def test_an_unexpected_error_is_told_as_json_without_a_traceback(client: Client) -> None:
    client.raise_request_exception = False

    answer = client.post("/reload")  # the runtime of a server is not there

    assert answer.status_code == 500
    assert answer.json() == {"error": "something went wrong in Festinger; its log says what"}


def test_an_error_in_the_admin_is_a_page(client: Client) -> None:
    from django.test import RequestFactory

    from festinger_site.errors import server_error

    assert server_error(RequestFactory().get("/admin/memory/")).headers["Content-Type"].startswith("text/html")
