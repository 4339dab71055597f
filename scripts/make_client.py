"""Writes the typed Python client (clients/python/festinger_client.py) from what OpenAPI says of the endpoints.

    python -m scripts.make_client

The source is the golden file that tests compare with a running server."""

import json
import keyword
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
OPENAPI: Final = ROOT / "tests" / "served" / "golden" / "openapi.json"
CLIENT: Final = ROOT / "clients" / "python" / "festinger_client.py"
FRAME: Final = Path(__file__).with_name("client_frame.py.txt")
KEY: Final = "Idempotency-Key"
TYPES: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}

Schema = dict[str, Any]


def write_client() -> str:
    """Return the module's source."""
    document = json.loads(OPENAPI.read_text())
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    methods = [write_method(document, *operation) for operation in operations]
    kinds = list_kinds(document, "\n".join(methods))
    source = FRAME.read_text().replace("# TYPES\n", "\n".join(kinds)).replace("    # METHODS\n", "\n".join(methods))
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", CLIENT.name, "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def write_method(document: Schema, method: str, path: str, operation: Schema) -> str:
    parameters = operation.get("parameters", [])
    content = operation.get("requestBody", {}).get("content", {})
    body = resolve(document, content["application/json"]["schema"]) if content else {}
    parts = {one["name"]: one["schema"] for one in parameters if one["in"] == "path"}
    query = {one["name"]: one["schema"] for one in parameters if one["in"] == "query"}
    given = body.get("properties", {}) | query
    required = [name for name in given if name in body.get("required", [])]
    optional = [name for name in given if name not in required]
    signature = ["self", *(f"{name}: {name_type(schema)}" for name, schema in parts.items())]
    named = [f"{name}: {name_type(given[name])}" for name in required]
    named += [f"{name}: {name_type(given[name]).removesuffix(' | None')} | None = None" for name in optional]
    takes_key = any(one["name"] == KEY for one in parameters)
    named += ['idempotency_key: str = ""'] if takes_key else []
    call = [repr(method), ("f" if parts else "") + json.dumps(re.sub(r"{(\w+)}", r"{_quote(\1)}", path))]
    if given:
        always = "".join(f"{json.dumps(name)}: {name}, " for name in required)
        some = f"_given({', '.join(f'{name}={name}' for name in optional)})"
        sent = f"{{{always}{f'**{some}' if optional else ''}}}" if required else some
        call.append(f"{'query' if query else 'body'}={sent}")
    elif content:
        call.append("body={}")
    call += ["key=idempotency_key"] if takes_key else []
    return (
        f"    def {operation['operationId']}({', '.join([*signature, *(['*', *named] if named else [])])})"
        f" -> {name_answer(operation)}:\n"
        f'        """{operation["summary"]}."""\n'
        f"        return self._call({', '.join(call)})\n"
    )


def name_answer(operation: Schema) -> str:
    """Return the type of what a call that succeeds returns."""
    answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
    names = [name_type(answer["content"]["application/json"]["schema"]) for answer in answers if "content" in answer]
    return " | ".join(dict.fromkeys(names)) or "str"


def list_kinds(document: Schema, methods: str) -> Iterator[str]:
    """Yield the definitions of the types that the methods name, and of those that these name."""
    written: dict[str, str] = {}
    texts = [methods]
    while texts:
        for name in re.findall(r"\w+", texts.pop()):
            if name in document["components"]["schemas"] and name not in written:
                written[name] = write_kind(name, document["components"]["schemas"][name])
                texts.append(written[name])
    # An alias is read at once, the fields of classes are not.
    yield from sorted(written.values(), key=lambda text: (text.startswith("class"), text))


def write_kind(name: str, schema: Schema) -> str:
    if "properties" not in schema:
        return f"{name} = {name_type(schema)}\n"
    required = schema.get("required", ())
    fields = {
        key: name_type(one) if key in required else f"NotRequired[{name_type(one)}]"
        for key, one in schema["properties"].items()
    }
    if any(map(keyword.iskeyword, fields)):
        listed = ", ".join(f"{json.dumps(key)}: {json.dumps(kind)}" for key, kind in fields.items())
        return f'{name} = TypedDict("{name}", {{{listed}}})\n'
    lines = "".join(f"    {key}: {kind}\n" for key, kind in fields.items())
    return f"class {name}(TypedDict):\n{lines}\n"


def name_type(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return re.sub(r"^Page_(\w+)_$", r"Page[\1]", name)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(name_type, schema["anyOf"])))
    if "enum" in schema:
        return f"Literal[{', '.join(map(json.dumps, schema['enum']))}]"
    if schema.get("type") == "array":
        return f"list[{name_type(schema['items'])}]"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {name_type(values) if isinstance(values, dict) else 'Any'}]"
    return TYPES.get(schema.get("type", ""), "Any")


def resolve(document: Schema, schema: Schema) -> Schema:
    [schema] = schema.get("allOf", [schema])  # where a call may have no body
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


if __name__ == "__main__":
    CLIENT.write_text(write_client())
