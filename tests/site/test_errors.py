"""Error answers of our own endpoints are JSON, whatever went wrong."""

import json

from django.test import Client, RequestFactory

from festinger_site.errors import server_error


def test_an_unexpected_error_is_told_as_json_without_a_traceback(client: Client) -> None:
    client.raise_request_exception = False

    answer = client.post("/reload")  # the runtime of a server is not there

    assert answer.status_code == 500
    assert answer.json() == {"error": "something went wrong in Festinger; its log says what"}


def test_one_in_a_prompt_is_told_in_the_prompts_format() -> None:
    openai, anthropic = (server_error(RequestFactory().post(path)) for path in ("/v1/responses", "/v1/messages"))

    assert json.loads(openai.content)["error"]["type"] == "api_error"
    assert json.loads(anthropic.content)["error"]["message"].startswith("something went wrong")
    assert json.loads(anthropic.content)["type"] == "error"


def test_an_error_in_the_admin_is_a_page(client: Client) -> None:
    assert server_error(RequestFactory().get("/admin/memory/")).headers["Content-Type"].startswith("text/html")
