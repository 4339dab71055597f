"""What the declaration of an endpoint promises, for every one."""

import pytest

from proxy.api.endpoint import ENDPOINTS, Endpoint
from proxy.api.routes import api
from proxy.errors import BadValue

PATHS = api.get_openapi_schema()["paths"]


def name(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.input is not None], ids=name)
def test_an_unknown_key_is_refused_by_its_name(endpoint: Endpoint) -> None:
    assert endpoint.input is not None

    with pytest.raises(BadValue, match=r"^vorpal: there is no such key$"):
        endpoint.input.model_validate({"vorpal": 1, "manxome": 2})


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=name)
def test_openapi_asks_for_a_token_where_the_endpoint_does(endpoint: Endpoint) -> None:
    described = PATHS[endpoint.path][endpoint.method.lower()]

    assert described.get("security", []) == ([{"Bearer": []}] if endpoint.scope is not None else [])
    assert (401 in described["responses"]) == (endpoint.scope is not None)


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.path not in ("/metrics", "/gutask")], ids=name)
def test_openapi_has_a_schema_of_every_answer(endpoint: Endpoint) -> None:
    described = PATHS[endpoint.path][endpoint.method.lower()]["responses"]

    for answer in described.values():
        schema = answer["content"]["application/json"]["schema"]
        assert "$ref" in schema or "anyOf" in schema


def test_no_two_operations_have_the_same_name() -> None:
    names = [described["operationId"] for path in PATHS.values() for described in path.values()]

    assert len(names) == len(set(names))
