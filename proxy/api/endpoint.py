"""Declares Festinger's own endpoints, each once: the ASGI router, OpenAPI and MCP read the table ENDPOINTS."""

import inspect
import re
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from pathlib import Path
from typing import Annotated, Any, Final, Generic, TypeVar, get_args, get_origin

import yaml
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Body, Field, Header, Query, Router
from ninja.security.base import AuthBase
from pydantic import BaseModel, ConfigDict, ValidationError, create_model, model_validator

from proxy import runtime
from proxy.access.scopes import Permission
from proxy.api.idempotency import KEY_MAX, answer_once
from proxy.errors import BadValue

Handler = Callable[..., Any]
Answers = Mapping[int, Any]

LIMIT_MAX = 500
OFFSET_MAX = 1_000_000_000  # Postgres counts no further than a bigint
KEY_SHOWN_MAX = 80  # characters
IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=KEY_MAX,
        description="A repeat with the same key and body gets the first answer again, for a day.",
    ),
]
EXAMPLES: Final = Path(__file__).with_name("examples.yaml")
PARAMETER: Final = re.compile(r"{(\w+)}")

router = Router()


class Input(BaseModel):
    """A body, a query or a tool's arguments. Raises BadValue for an unknown key."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        if isinstance(given, dict):
            refuse_unknown(given, cls.model_fields)
        return given


@cache
def read_examples() -> dict[str, dict[str, Any]]:
    examples: dict[str, dict[str, Any]] = yaml.safe_load(EXAMPLES.read_text())
    return examples


def find_example(answer: type[BaseModel]) -> dict[str, Any]:
    """Return the answer's example with those of the types that it extends; of a page, that of its item."""
    for item in answer.__pydantic_generic_metadata__["args"]:
        return {"items": [find_example(item)], "count": 1}
    parts = (read_examples().get(one.__name__, {}) for one in reversed(answer.__mro__))
    return {key: value for part in parts for key, value in part.items()}


def add_example(schema: dict[str, Any], answer: type[BaseModel]) -> None:
    if example := find_example(answer):
        schema["examples"] = [example]


class Output(BaseModel):
    """The JSON of an answer, of which only the fields that were set are sent."""

    model_config = ConfigDict(from_attributes=True, json_schema_extra=add_example)

    def lines(self) -> Iterator[str]:
        """Yield the answer as a tool tells it to a model: short lines of text."""
        raise NotImplementedError(type(self).__name__)


Item = TypeVar("Item", bound=Output)


class OpenOutput(Output):
    """The JSON of an answer with more keys than the declared ones, which depend on what it is about."""

    model_config = ConfigDict(extra="allow")


class PageQuery(Input):
    limit: int = Field(50, ge=1, le=LIMIT_MAX)
    offset: int = Field(0, ge=0, le=OFFSET_MAX)


class Page(Output, Generic[Item]):
    items: list[Item]
    count: int = Field(description="On all pages.")

    def lines(self) -> Iterator[str]:
        for item in self.items:
            yield from item.lines()
        if len(self.items) != self.count or not self.count:
            yield f"{len(self.items)} of {self.count} shown." if self.count else "Nothing was found."


class Error(OpenOutput):
    error: str
    position: int = Field(0, description="Where in a fact, from 0.")
    hint: str = ""
    existing: dict[str, Any] = Field({}, description="The fact that is known instead.")
    setting: str = Field("", description="The quota that is exhausted.")
    retry_after_s: int = 0


class Bearer(AuthBase):
    """Describes the token for OpenAPI. festinger_site/asgi.py checks it, before it reads a body."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Tool:
    """The MCP tool of an endpoint. ``defaults`` replace those of the endpoint's input."""

    name: str
    description: str
    defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Endpoint:
    """One method of a path.

    - ``answers``: the type of its content by status, the usual one first.
    - ``scope``: None if everybody may call it.
    - ``writes``: an answer waits until this process's cache has what the call has changed.
    """

    method: str
    path: str
    handler: Handler
    answers: Answers
    scope: Permission | None
    writes: bool
    tool: Tool | None

    @property
    def summary(self) -> str:
        return inspect.cleandoc(self.handler.__doc__ or "").partition("\n\n")[0].removesuffix(".")

    @property
    def template(self) -> re.Pattern[str]:
        return re.compile(PARAMETER.sub("[^/]+", self.path))

    @property
    def input(self) -> type[Input] | None:
        return inspect.get_annotations(self.handler).get("given")

    @property
    def takes_key(self) -> bool:
        return self.writes and self.method == "POST"

    @property
    def arguments(self) -> type[Input]:
        """The input of the tool: that of the endpoint, with the parameters of its path."""
        assert self.input is not None
        assert self.tool is not None
        types = inspect.get_annotations(self.handler)
        fields: dict[str, Any] = {name: (types[name], ...) for name in PARAMETER.findall(self.path)}
        for name, default in self.tool.defaults.items():
            known = self.input.model_fields[name]
            fields[name] = Annotated[known.annotation, *known.metadata], default
        return create_model(self.tool.name, __base__=self.input, **fields)

    async def call(self, **values: Any) -> tuple[int, Output | HttpResponse]:
        """Run the handler, in a thread if it is not a coroutine. Returns the status and the content."""
        is_async = inspect.iscoroutinefunction(self.handler)
        run: Callable[..., Awaitable[Any]] = self.handler if is_async else sync_to_async(self.handler)
        async with runtime.current().coherence.barrier() if self.writes else nullcontext():
            result = await run(**values)
        status, content = result if isinstance(result, tuple) else (next(iter(self.answers)), result)
        if not isinstance(content, self.answers[status]):
            raise TypeError(f"{self.method} {self.path} declares another answer than {content!r}")
        return status, content

    async def answer(self, request: ASGIRequest, idempotency_key: str = "", **values: Any) -> HttpResponse:
        is_query = self.input is not None and self.method == "GET"
        refuse_unknown(request.GET, self.input.model_fields if self.input is not None and is_query else ())
        caller = request.scope["caller"]

        async def respond() -> HttpResponse:
            status, content = await self.call(caller=caller, **values)
            return JsonResponse(dump(content), status=status) if isinstance(content, Output) else content

        return await (answer_once(idempotency_key, caller, request, respond) if idempotency_key else respond())


ENDPOINTS: Final[list[Endpoint]] = []


def declare(
    method: str,
    path: str,
    *,
    statuses: Sequence[int] = (200,),
    scope: Permission | None = "agent",
    writes: bool = False,
    errors: Iterable[int] = (),
    tool: Tool | None = None,
) -> Callable[[Handler], Handler]:
    """Declare the decorated handler as the endpoint.

    It gets the ``caller``, the parameters of the path and, as ``given``, its input: a body or, for GET, the query. It
    returns the content that its signature names, with one of the ``statuses`` or else the first of them. Its docstring
    is the summary, a paragraph, and the description. ``errors`` are the statuses of errors besides those that all
    endpoints of its kind have."""

    def register(handler: Handler) -> Handler:
        returned = inspect.get_annotations(handler)["return"]
        content = get_args(returned)[1] if get_origin(returned) is tuple else returned
        answers = dict.fromkeys(statuses, content)
        endpoint = Endpoint(method, path, handler, answers, scope, writes, tool)
        if tool is not None and endpoint.input is None:
            raise TypeError(f"{path}: a tool takes its arguments as `given`")
        ENDPOINTS.append(endpoint)
        mistakes = dict.fromkeys(sorted({*errors, *_list_errors(endpoint)}), Error)
        router.api_operation(
            [method],
            path,
            response=dict.fromkeys(statuses, None if content is HttpResponse else content) | mistakes,
            summary=endpoint.summary,
            description=inspect.cleandoc(handler.__doc__ or "").partition("\n\n")[2],
            operation_id=handler.__name__,
            tags=[handler.__module__.rpartition(".")[2].replace("_", " ")],
            by_alias=True,
            auth=Bearer() if scope is not None else None,
        )(_make_view(endpoint))
        return handler

    return register


get, post, delete = (partial(declare, method) for method in ("GET", "POST", "DELETE"))


def _make_view(endpoint: Endpoint) -> Callable[..., Awaitable[HttpResponse]]:
    """Return the view for Ninja, which reads from its signature where each argument comes from."""

    @wraps(endpoint.handler)
    async def view(request: ASGIRequest, **values: Any) -> HttpResponse:
        return await endpoint.answer(request, **values)

    parameters = [inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for one in inspect.signature(endpoint.handler).parameters.values():
        if one.name == "given":
            source: Any = Query() if endpoint.method == "GET" else Body()  # type: ignore[type-arg]
            default = one.default if endpoint.method == "GET" else _find_default(one.annotation)
            one = one.replace(annotation=Annotated[one.annotation, source], default=default)
        if one.name != "caller":
            parameters.append(one)
    if endpoint.takes_key:
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("idempotency_key", kind, annotation=IdempotencyKey, default=""))
    view.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return view


def _find_default(body: type[Input]) -> Any:
    """Return the content of a call without a body, if it may have none."""
    try:
        return body()
    except ValidationError:
        return inspect.Parameter.empty


def _list_errors(endpoint: Endpoint) -> set[int]:
    """Return the statuses of errors that follow from the kind of endpoint."""
    names_row, has_body = "_id}" in endpoint.path, endpoint.input is not None and endpoint.method == "POST"
    statuses = {403, 422}  # a Host or Origin that is not trusted; an unknown key
    statuses |= {401, 503} if endpoint.scope is not None else set()
    statuses |= {400, 413} if has_body else set()
    statuses |= {404} if names_row else set()
    # Somebody else has decided; or the first call with its key is not over.
    return statuses | ({409} if endpoint.takes_key or (names_row and endpoint.method == "POST") else set())


def find_endpoint(method: str, path: str) -> Endpoint | None:
    return next((one for one in ENDPOINTS if one.method == method and one.template.fullmatch(path)), None)


def refuse_unknown(given: Iterable[str], known: Container[str]) -> None:
    """Raises BadValue, which names one key: there may be 100,000."""
    unknown = next((key for key in given if key not in known), None)
    if unknown is not None:
        raise BadValue(f"{unknown[:KEY_SHOWN_MAX]}: there is no such key")


def format_mistakes(mistakes: Iterable[Mapping[str, Any]]) -> str:
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in mistakes)


def dump(content: Output) -> dict[str, Any]:
    return content.model_dump(exclude_unset=True, by_alias=True)


def make_page(
    kind: type[Page[Item]], rows: QuerySet[Any], query: PageQuery, read: Callable[[list[Any]], list[Any]] = list
) -> Page[Item]:
    """Return the page of the rows that the query asks for, serialized by ``read`` or by their attributes."""
    found = list(rows[query.offset : query.offset + query.limit])
    return kind(items=read(found), count=rows.count())
