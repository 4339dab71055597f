"""What the declaration of an endpoint promises, for every one."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from proxy.api.endpoint import ENDPOINTS, Endpoint
from proxy.api.routes import api
from proxy.errors import BadValue

DOCUMENT = api.get_openapi_schema()
PATHS = DOCUMENT["paths"]
# What is in no schema is a slip in an example.
SCHEMAS = {name: {"additionalProperties": False} | one for name, one in DOCUMENT["components"]["schemas"].items()}


def list_bodies() -> set[str]:
    """The schemas of what is sent, and of what is answered with success."""
    operations = [described for path in PATHS.values() for described in path.values()]
    contents = [one["requestBody"] for one in operations if "requestBody" in one]
    contents += [body for one in operations for status, body in one["responses"].items() if status < 300]
    return set(re.findall(r"#/components/schemas/(\w+)", json.dumps(contents)))


def find_example(schema: dict[str, Any]) -> Any:
    """That of the whole or, as Swagger does, of all fields that have one."""
    fields = {field: about["examples"][0] for field, about in schema["properties"].items() if "examples" in about}
    return schema.get("examples", [fields])[0]


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


@pytest.mark.parametrize("body", sorted(list_bodies()))
def test_every_body_has_an_example_that_fits_it(body: str) -> None:
    schema = SCHEMAS[body]
    example = find_example(schema)

    Draft202012Validator(schema | {"components": {"schemas": SCHEMAS}}).validate(example)
    assert example or not schema["properties"]


def test_no_two_operations_have_the_same_name() -> None:
    names = [described["operationId"] for path in PATHS.values() for described in path.values()]

    assert len(names) == len(set(names))
