"""Lists the statuses of each route for OpenAPI: Ninja knows only 200 if a route builds its own response."""

from http.client import responses
from typing import Any, Final

from ninja import NinjaAPI

from proxy.api import facts, memories, project_state

FOR_EVERYBODY: Final = frozenset({"/health", "/gutask"})
# Statuses of single routes instead of 200, besides those that all routes of their kind have.
OUTCOMES: Final[dict[tuple[str, str], set[int]]] = {
    ("post", "/iknowthat"): set(facts.STATUS.values()),
    ("post", "/forget"): set(memories.FORGOTTEN),
    ("post", "/memory"): {*memories.STATUS.values(), *memories.FORGOTTEN},
    ("post", "/memory/{memory_id}/graduate"): {201, 202},
    ("post", "/aliases"): {200, 201, 409},
    ("delete", "/aliases/{alias}"): {200, 404, 409},
    ("post", "/concepts/merge"): {200, 404, 409},
    ("post", "/projects"): {201, 409},
    ("get", "/project/state"): {200, 404},
    ("post", "/project/state"): {*project_state.STATUS.values(), 404, 409},
    ("post", "/resolve/run"): {202, 409},
}
ERROR: Final = {
    "title": "Error",
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {"type": "string"},
        "position": {"type": "integer", "description": "Where in a fact, from 0."},
        "hint": {"type": "string"},
        "existing": {"type": "object", "description": "The fact that is known instead."},
        "setting": {"type": "string", "description": "The quota that is exhausted."},
        "retry_after_s": {"type": "integer"},
    },
}


class DescribedAPI(NinjaAPI):
    def get_openapi_schema(self, **options: Any) -> Any:
        schema = super().get_openapi_schema(**options)
        schema["components"]["schemas"]["Error"] = ERROR
        for path, operations in schema["paths"].items():
            for method, operation in operations.items():
                if path != "/gutask":
                    statuses = sorted(list_statuses(method, path, operation))
                    operation["responses"] = {str(status): describe(status) for status in statuses}
        return schema


def list_statuses(method: str, path: str, operation: dict[str, Any]) -> set[int]:
    statuses = set(OUTCOMES.get((method, path), {200}))
    statuses.add(403)  # also for a Host or Origin that is not trusted
    names_row = "_id}" in path
    if path not in FOR_EVERYBODY:
        statuses |= {401, 503}
    if "requestBody" in operation:
        statuses |= {400, 413, 422}
    if operation.get("parameters"):
        statuses.add(422)
    if names_row:
        statuses.add(404)
    if names_row and method == "post":  # somebody else has decided about it
        statuses.add(409)
    return statuses


def describe(status: int) -> dict[str, Any]:
    schema = {"type": "object"} if status < 400 else {"$ref": "#/components/schemas/Error"}
    return {"description": responses[status], "content": {"application/json": {"schema": schema}}}
