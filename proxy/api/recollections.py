"""The endpoints that tell what a prompt would be given, and what one was given, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from asgiref.sync import sync_to_async
from django.db import Error as DatabaseError
from django.urls import reverse
from ninja import Field
from psycopg import DataError, Error

from memory.english.statements import describe_match
from memory.models import ForgetRequest, Observation
from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.scopes import may, scope_of
from proxy.api import endpoint
from proxy.api.endpoint import OpenOutput, Tool
from proxy.api.memories import OnBehalfOf, PersonIn
from proxy.api.visibility import sees_words_of
from proxy.errors import DatabaseAway, NotFound
from proxy.explanation import run_in_server
from proxy.prompts.dry_run import TEXT_PATH, write_prompt
from proxy.prompts.search import describe_given

LISTED_MAX: Final = 20  # statements that were kept out, and requests to forget


class TextIn(OnBehalfOf):
    text: str = Field(examples=["Restart kvasir tonight, please."], description="The first message of a chat.")
    role: Literal["user", "assistant", "system", "tool"] = "user"


class Reasons(OpenOutput):
    concepts: list[dict[str, str]] = Field(description="Why each salient concept is in or out.")
    notes: list[dict[str, Any]] = Field(description="The same of each value of the project, memory and episode.")
    search: str = Field(description="What came of the search.")
    search_ms: float | None
    restrictions: Mapping[Any, str] = Field(description="What is switched off for the caller's prompts, and why.")
    block: str = Field(description="Byte for byte what the prompt gets.")

    def lines(self) -> Iterator[str]:
        yield self.block or "Nothing is added."
        for what, why in self.restrictions.items():
            yield f"{what}: {why}"


class RecollectionOut(Reasons):
    style: str
    cues: list[dict[str, Any]] = Field(description="What the text states.")


class RequestOut(Reasons):
    request: str
    agent: str
    person: str = Field(description="For whom the agent asked; empty if it named nobody.")
    at: str
    page: str = Field("", description="Its page in the admin, for operators.")
    refused: list[str] = Field([], description="What a quota kept out.")
    set_aside: list[dict[str, Any]] = []

    def lines(self) -> Iterator[str]:
        yield f"Request {self.request} of {self.agent}, {self.at}"
        yield from super().lines()
        yield from (f"{one['concept']}: {one['why']}" for one in self.concepts)
        yield from (f"{one['kind']} {one['id']}: {one['why']}" for one in self.notes)
        yield from (f"Not stored, over a quota: {one}" for one in self.refused)
        yield from (f"Set aside: {one['about']}" for one in self.set_aside)


@endpoint.post(
    "/recollect",
    tool=Tool(
        "recall",
        "What a new chat that begins with a text would be given from memory: facts, memories and earlier messages.",
    ),
)
async def recollect(caller: Caller, given: TextIn) -> RecollectionOut:
    """Show what a new chat that begins with a text would get, and why.

    Nothing is stored or counted."""
    scope = scope_of(runtime.current().cache, caller, {"user": given.user}, given.project)
    asking = replace(caller, person=scope.speaker.person, project=scope.project)
    run = await run_in_server(TEXT_PATH, write_prompt(given.text, given.role), asking)
    told = describe_given(run.lookup, run.plan.placed if run.plan is not None else None)
    told["notes"] = [note | {"text": one.line} for note, one in zip(told["notes"], run.notes, strict=True)]
    return RecollectionOut(
        **told,
        block=run.block,
        style=run.recollection.style,
        concepts=list_reasons(run.recollection.reasons),
        cues=[describe_match(triple) for lesson in run.lessons for triple in lesson.message.read.triples],
        restrictions=run.restrictions,
    )


@endpoint.get(
    "/why/{request_id}",
    errors=[404],
    tool=Tool("why", "What an earlier request of this agent was given from memory, and why."),
)
async def get_why(
    caller: Caller,
    request_id: Annotated[str, Field(description="The X-Festinger-Request header of an answer.")],
    given: PersonIn,
) -> RequestOut:
    """Show what a request got, and why.

    The recollection of a real request, by the id in its answer's ``X-Festinger-Request`` header, for 7 days. Only
    operators are told of other agents' and other persons' requests."""
    try:
        event = await runtime.current().events.find(request_id)
    except DataError:
        event = None  # Postgres does not accept the text, so it is no id
    except (Error, TimeoutError) as error:
        raise DatabaseAway from error
    if event is None or not _is_told(caller, event, given.user):
        raise NotFound(f"no request {request_id!r} of yours is known; events are kept for 7 days")
    event["concepts"] = list_reasons(event.pop("reasons"))
    event["at"] = datetime.fromtimestamp(event["at"], UTC).isoformat(timespec="milliseconds")
    if may(caller, "operator"):
        event["page"] = reverse("admin:proxy_recollectionevent_change", args=[event["request"]])
    return RequestOut(**event, **await sync_to_async(_list_kept_out)(event["request"]))


def _list_kept_out(request_id: str) -> dict[str, Any]:
    """Return what a quota kept out of a request, which is taken when it is said again, and what it set aside."""
    refused = Observation.objects.filter(
        state=Observation.State.DONE, outcome=Observation.Outcome.OVER_QUOTA, request=request_id
    )
    asked = ForgetRequest.objects.filter(request=request_id, undone_at=None, row_count__gt=0)
    try:
        return {
            "refused": [str(row) for row in refused.order_by("id")[:LISTED_MAX]],
            "set_aside": [{"about": str(row), "rows": row.row_count} for row in asked.order_by("id")[:LISTED_MAX]],
        }
    except DatabaseError:  # the rest is known in memory
        return {}


def _is_told(caller: Caller, event: Mapping[str, Any], user: str) -> bool:
    if may(caller, "operator"):
        return True
    is_own = event["person"] == caller.person_in({"user": user})
    return is_own and sees_words_of(caller, [event["agent"]])


def list_reasons(reasons: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"concept": word, "why": why} for word, why in sorted(reasons.items())]
