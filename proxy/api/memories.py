"""The endpoints with which agents store, retract and search memories, and operators decide about them."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal, TypeVar

from asgiref.sync import sync_to_async
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from ninja import Field

from memory.attribution.forget_requests import Effect, Topic, TopicKind, find_requests, read_topic
from memory.channels import Channel
from memory.graph.statement import PERSON_MAX
from memory.learning.reader import is_word
from memory.learning.setting_aside import make_order, set_aside
from memory.learning.setting_aside import run as run_plan
from memory.memories.scope import Scope, Speaker
from memory.memories.store import current_confidence, visible_to
from memory.models import Episode, Memory
from memory.models.semantic import MEMORY_CHARACTERS
from memory.search.found import QUERY_CHARACTERS, Types, answer_search
from memory.search.service import search
from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.persons import clean_person
from proxy.access.scopes import may, scope_of
from proxy.api import endpoint
from proxy.api.changes import ReasonIn, act_as
from proxy.api.endpoint import Input, Output, Page, PageQuery, Tool, make_page
from proxy.api.facts import STATUS as FACT_STATUS
from proxy.api.facts import attribute, channel_of, describe_outcome, respond
from proxy.api.serializers import Dated, Disputable, Fact, FactOutcome, OrNone, OutcomeOut, SlugOrNone, with_conflicts
from proxy.errors import BadValue, NotFound, Refused
from resolution.intake import forgetting
from resolution.intake.candidates import find_standing
from resolution.intake.place import CURRENT, Outcome
from resolution.memories import service
from resolution.memories.graduation import graduate
from resolution.memories.remarks import Remark, RemarkMistake, compose
from resolution.memories.service import Remembered
from resolution.memories.setting_aside import ASKED, settle_requests

Category = Literal["identity", "preference", "project", "episodic", "other"]
SLUG_MAX = 64
NOWHERE: Final = Scope(Speaker("", ""), None)  # a placeholder until the scope is known
# HTTP status by what became of a remark.
STATUS = {
    "created": 201, "promoted": 201, "confirmed": 200, "outdated": 200, "retracted": 200, "candidate": 202,
    "dismissed": 409, "over_quota": 429,
}  # fmt: skip
# What became of a request to forget, by HTTP status.
FORGOTTEN = {200: "retracted", 202: "conflict", 404: "unknown", 429: "over_quota"}

RELATION: Final = re.compile(r"(?<!\S)-is(?:a|part)(?!\S)", re.IGNORECASE)


class PersonIn(Input):
    user: str = Field("", max_length=PERSON_MAX, description="The person for whom the agent speaks.")


class OnBehalfOf(PersonIn):
    project: str = Field(
        "", max_length=SLUG_MAX, description="Its slug; else that of X-Festinger-Project or the token."
    )


class MemoryIn(OnBehalfOf):
    text: str = Field(
        max_length=10 * MEMORY_CHARACTERS,
        examples=["I prefer rebase to merge commits."],
        description=f"One sentence of at most {MEMORY_CHARACTERS} characters.",
    )
    category: Category | None = Field(None, description="Without one, what the words show.")


class ForgetIn(OnBehalfOf):
    fact: str = Field(
        max_length=1000,
        examples=[
            "gnommoweb",
            "my badge number",
            "everything about Halvard Ruud",
            "that the gate code room is upstairs",
        ],
        description="A name, `my X`, `everything about X` or `that S`, with or without `forget` before it; or one fact:"
        " `<concept> -isa|-ispart <parent> [in context of <dimension>]`, without a dimension found in any.",
    )


class GraduationIn(Input):
    concept: str = Field(max_length=200, examples=["billing"])
    dimension: str = Field(max_length=200, examples=["database"])
    parent: str = Field("", max_length=200, description="Without one, what the memory says of its slot.")
    is_isa: bool | None = Field(None, description="Without one, as is usual in the dimension.")


class SearchIn(OnBehalfOf):
    query: str = Field(
        min_length=1,
        max_length=QUERY_CHARACTERS,
        examples=["which version is our billing database?"],
        description="What to look for, in natural language.",
    )
    search_type: Types = Field(
        "both",
        description="memories: what is remembered; episodes: what was said; facts: of the graph, and memories; both:"
        " all.",
    )
    limit: int = Field(5, ge=1, le=20, description="How many results at most.")


class MemoryQuery(PageQuery, OnBehalfOf):
    status: Literal["active", "candidate", "deprecated", "merged_into", "superseded", "invalid", "all"] = "active"
    category: Category | None = None
    text: str = Field("", max_length=MEMORY_CHARACTERS, description="Only those with these words in them.")
    disputed: bool | None = None


class MemoryOut(Disputable):
    text: str
    category: str
    project: SlugOrNone
    status: str
    confidence: float
    slot: OrNone = Field(description="What there can be one of.")
    is_disputed: bool
    agent: str
    user: OrNone = Field(validation_alias="person")
    channel: str
    source: str
    evidence_count: int
    said_at: Dated
    last_updated: datetime
    superseded_by: int | None = Field(validation_alias="superseded_by_id")
    merged_into: int | None = Field(validation_alias="merged_into_id")


class Origin(Output):
    kind: str
    id: int
    at: datetime
    text: str | None = Field(description="Of an episode; null for whoever may not read it.")


class Change(Output):
    action: str
    before: Any
    after: Any
    actor: str
    channel: str
    reason: OrNone
    at: datetime


class MemoryDetails(MemoryOut):
    lineage: list[Origin] = Field([], validation_alias="origins")
    history: list[Change] = Field([], validation_alias="changes")


class WrittenMemory(MemoryOut):
    result: str = Field("", description="What became of the call.")
    conflict_id: int | None = None
    superseded: list[int] = Field([], validation_alias="replaced", description="Memories whose place it has taken.")
    disputed_by: list[int] = []

    def lines(self) -> Iterator[str]:
        yield f"Memory {self.id} ({self.result}): {self.text}"
        if self.superseded:
            yield f"It supersedes memory {', '.join(map(str, self.superseded))}."
        if self.conflict_id is not None:
            yield f"Conflict {self.conflict_id} is open: people decide."


class ForgottenItem(OutcomeOut):
    """A fact, a memory or an episode, with what became of it."""

    fact: Fact | None = None
    memory: dict[str, Any] = {}
    episode: dict[str, Any] = {}

    def lines(self) -> Iterator[str]:
        conflict = f" Conflict {self.conflict_id} is open: people decide." if self.conflict_id is not None else ""
        what = (self.memory or self.episode).get("text") or self.existing or self.fact
        yield f"{'Forgotten' if self.status == 'retired' else 'Kept'}: {what}{conflict}"


class Forgotten(Output):
    status: str = Field(description="`retired`, or `conflict` where some of it stays until people decide.")
    items: list[ForgottenItem]

    def lines(self) -> Iterator[str]:
        for item in self.items:
            yield from item.lines()


class ForgottenMemory(Forgotten):
    result: str
    id: int | None = None
    text: str = ""


class GraduatedMemory(OutcomeOut, WrittenMemory):
    fact: Fact | None = None


class FoundItem(Output):
    kind: str
    id: int
    text: str
    confidence: float
    timestamp: str | None
    agent: str
    score: float
    said_by: str
    disputed: bool = False
    weak: bool = Field(False, description="It may well have nothing to do with the query.")

    def lines(self) -> Iterator[str]:
        marks = "".join(f" ({mark})" for mark in ("disputed", "weak") if getattr(self, mark))
        said = f"{(self.timestamp or 'earlier')[:10]} {self.said_by}"
        yield f"{said if self.kind == 'episode' else f'{self.kind} {self.id}'}: {self.text}{marks}"


@endpoint.post(
    "/memory",
    writes=True,
    statuses=[201, 200, 202],
    errors=[404, 409, 429],
    tool=Tool(
        "remember",
        "Remember a sentence for later conversations: a preference, a decision, something about the user or the"
        " project. 'Remember that I now prefer X' replaces what it changes.",
    ),
)
async def post_memory(caller: Caller, given: MemoryIn) -> tuple[int, WrittenMemory | ForgottenMemory]:
    """Create a memory.

    Have a sentence remembered, as it is written but for `remember that` before it. `I now prefer ...` takes the
    place of what it changes; `forget that ...` is the same as `/forget`.

    201: new. 200: known already (`result` says what became of it). 202: it waits, or is to be forgotten and is
    somebody else's. 404: there is nothing to take back. 422: it cannot be remembered. 429: too much for this hour."""
    if any(one.topic is not None for one in find_requests(given.text)):
        status, content = await sync_to_async(_forget)(caller, given.text, given)
        memory: dict[str, Any] = next((item["memory"] for item in content.get("items", ()) if "memory" in item), {})
        return respond(ForgottenMemory, status, content | memory | {"result": FORGOTTEN[status]})
    current = runtime.current()
    # In a thread: reading 5,000 characters takes some ms. Before the project is made: a refused text makes none.
    remark = await sync_to_async(_compose)(given.text, NOWHERE, channel_of(caller), given.category or "")
    await current.projects.make_for_write(caller, given.project)
    scope = scope_of(current.cache, caller, {"user": given.user}, given.project)

    def remember() -> WrittenMemory:
        return describe_remembered(service.remember([replace(remark, scope=scope)], is_metered=True)[0])

    told = await sync_to_async(remember)()
    return STATUS[told.result], told


def _compose(text: str, scope: Scope, channel: Channel, category: str = "") -> Remark:
    """Raises BadValue."""
    source = Memory.Source.OPERATOR if channel == Channel.OPERATOR else Memory.Source.WRITTEN
    try:
        return compose(text, category, scope, channel, timezone.now(), source=source)
    except RemarkMistake as mistake:
        raise BadValue(str(mistake)) from mistake


@endpoint.post(
    "/forget",
    writes=True,
    statuses=[200, 202],
    errors=[404, 429],
    tool=Tool(
        "forget",
        "Forget what this user said: about a name, 'my X', 'everything about X' or 'that S'; messages, memories and"
        " facts. The result lists it. A fact that somebody else has taught stays until people decide.",
    ),
)
def post_forget(caller: Caller, given: ForgetIn) -> tuple[int, Forgotten]:
    """Forget what this speaker said.

    Set aside what this speaker said about a name, "my X", "everything about X" or "that S" (messages with the
    answers to them, memories, candidates), and retract the facts. It is recalled no more; an operator can undo that
    for 30 days. In gutask's syntax, `<concept> -isa|-ispart <parent>`, retract that fact alone.

    `status` is `retired` (200) where all of `items` went; `conflict` (202) where an operator or another agent has
    stated one of them: then people decide, and it stays until they do. 404: nothing like it is known; `existing` is
    what stands in its place. 429: too much for this hour."""
    return respond(Forgotten, *_forget(caller, given.fact, given))


def _forget(caller: Caller, text: str, given: OnBehalfOf) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the content of the answer. Raises NotAllowed, FactMistake."""
    cache = runtime.current().cache
    scope = scope_of(cache, caller, {"user": given.user}, given.project)
    topic = None if RELATION.search(text) else read_topic(text, partial(is_word, cache))
    said = topic.text if topic is not None and topic.kind is TopicKind.WORDS else text
    wanted = forgetting.read_facts(said, cache) if topic is None or topic.kind is TopicKind.WORDS else []
    asked = ASKED if channel_of(caller) is not Channel.OPERATOR else "An operator asked to forget it."
    by = attribute(caller, said if topic is None else asked, scope.speaker)
    outcomes = [outcome for one in wanted for outcome in forgetting.forget(one, by)]
    return _describe_forgotten(said, outcomes, _set_aside(scope, topic) if topic is not None else ())


def _set_aside(scope: Scope, topic: Topic) -> Sequence[tuple[str, int, str]]:
    """Set aside what the speaker said about the topic; return kind, id and text of the messages and memories."""
    order = make_order(scope.speaker, Effect.ABOUT, topic, time.time())
    with transaction.atomic(), connection.cursor() as cursor:
        rows = run_plan(set_aside(order), cursor)
        if not rows.texts and not rows.others:
            transaction.set_rollback(True)
    settle_requests()
    return rows.texts


def _describe_forgotten(
    said: str, outcomes: Sequence[Outcome], texts: Sequence[tuple[str, int, str]]
) -> tuple[int, dict[str, Any]]:
    found = [outcome for outcome in outcomes if outcome.status not in ("needless", "invalid")]
    items = [describe_outcome(outcome) for outcome in found]
    items += [{"status": "retired", kind: {"id": key, "text": text}} for kind, key, text in texts]
    if not items:
        existing = next(iter(find_standing({outcome.fact for outcome in outcomes}).values()), None)
        if existing is None:
            return 404, {"error": f"Nothing like it is known: {said}"}
        return 404, {"error": f"Another fact stands: {existing}.", "existing": asdict(existing)}
    excess = next((item for item in items if item["status"] == "over_quota"), None)
    if excess is not None:
        return 429, {**excess, "items": items}
    is_done = all(item["status"] == "retired" for item in items)
    return 200 if is_done else 202, {"status": "retired" if is_done else "conflict", "items": items}


@endpoint.post(
    "/search_memory",
    tool=Tool(
        "search_memory",
        "Search what was said in earlier conversations, what is remembered of the user and the project, and facts. Use"
        " it before you say that you do not know something the user may have told before. Items marked weak may well"
        " have nothing to do with the query.",
    ),
)
def search_memory(caller: Caller, given: SearchIn) -> Page[FoundItem]:
    """Search conversations, memories and facts.

    The results that this speaker may see, the best first, in at most 400 tokens; empty if nothing belongs to the
    query. `kind` is `fact`, `memory` or `episode`; `weak` marks those that may well have nothing to do with the query.
    `said_by` tells whose words they are: a model's (`assistant`) and quoted ones are given only here."""
    scope = scope_of(runtime.current().cache, caller, {"user": given.user}, given.project)
    found = search(scope, given.query, types=given.search_type, limit=given.limit)
    return Page[FoundItem](**answer_search(given.query, found))


@endpoint.get("/memory")
def list_memories(caller: Caller, given: MemoryQuery) -> Page[MemoryOut]:
    """List memories.

    A memory about a person is for whoever said it, the others are for the whole project; operators see
    everything, or what `user` has said."""
    rows = find_visible(caller, given).order_by("-id").select_related("project")
    rows = rows.filter(status=given.status) if given.status != "all" else rows
    rows = rows.filter(category=given.category) if given.category else rows
    rows = rows.filter(text__icontains=given.text.strip()) if given.text.strip() else rows
    rows = rows.filter(is_disputed=given.disputed) if given.disputed is not None else rows
    return make_page(Page[MemoryOut], rows, given, lambda page: memories_out(MemoryOut, page))


@endpoint.get("/memory/{memory_id}")
def get_memory(caller: Caller, memory_id: int, given: OnBehalfOf) -> MemoryDetails:
    """Read a memory, its origins and its history.

    `lineage` are the episodes and memories that it was derived from, or that support it; the words of an episode are
    for operators and for whoever said them."""
    row = find_visible(caller, given).select_related("project").filter(pk=memory_id).first()
    if row is None:
        raise NotFound(f"no memory {memory_id} of yours is known")
    [told] = memories_out(MemoryDetails, [row])
    told.lineage = list_origins(row, caller, given)
    told.history = [Change.model_validate(change) for change in row.history.order_by("id")]
    return told


@endpoint.post("/memory/{memory_id}/promote", scope="operator", writes=True)
def promote_memory(caller: Caller, memory_id: int, given: Input) -> WrittenMemory:
    """Promote a candidate to an active memory."""
    return describe_remembered(service.promote(memory_id, act_as(caller)))


@endpoint.post("/memory/{memory_id}/invalidate", scope="operator", writes=True)
def invalidate_memory(caller: Caller, memory_id: int, given: ReasonIn) -> WrittenMemory:
    """Retire a memory.

    It is no longer given to prompts; its history stays."""
    return describe_remembered(service.invalidate(memory_id, act_as(caller), given.reason))


@endpoint.post("/memory/{memory_id}/restore", scope="operator", writes=True)
def restore_memory(caller: Caller, memory_id: int, given: ReasonIn) -> WrittenMemory:
    """Restore a memory that was retired or replaced."""
    return describe_remembered(service.restore(memory_id, act_as(caller), given.reason))


@endpoint.post("/memory/{memory_id}/graduate", scope="operator", writes=True, statuses=[201, 202])
def graduate_memory(caller: Caller, memory_id: int, given: GraduationIn) -> tuple[int, GraduatedMemory]:
    """Make a fact of a memory.

    201: the fact stands (`fact`), and the memory is `superseded`; with a `conflict_id` where it contradicts another
    layer. 202: another fact stands in its place: the conflict is for people, and the memory holds until then."""
    done = graduate(memory_id, act_as(caller), **given.model_dump())
    stands = done.outcome.status in CURRENT
    outcome, content = done.outcome, describe_outcome(done.outcome)
    status, fact = respond(FactOutcome, 201 if stands else FACT_STATUS[outcome.status], content)
    [told] = memories_out(GraduatedMemory, [done.memory])
    told.result, told.conflict_id = "graduated" if stands else outcome.status, fact.conflict_id
    return status, told.model_copy(update={name: getattr(fact, name) for name in content.keys() - {"status"}})


def find_visible(caller: Caller, given: OnBehalfOf) -> QuerySet[Memory]:
    """Return the memories that the caller may see; of those that operators see, the ones of the person and the project
    that they name. Raises NotAllowed."""
    scope = scope_of(runtime.current().cache, caller, {"user": given.user}, given.project)
    if not may(caller, "operator"):
        return visible_to(scope)
    rows = Memory.objects.filter(project=scope.project) if given.project else Memory.objects.all()
    return rows.filter(person=clean_person(given.user)) if given.user else rows


Serialized = TypeVar("Serialized", bound=MemoryOut)


def memories_out(out: type[Serialized], rows: Sequence[Memory]) -> list[Serialized]:
    items = with_conflicts("memory", out, rows)
    for item, row in zip(items, rows, strict=True):
        item.confidence = round(current_confidence(row, timezone.now()), 4)
    return items


def describe_remembered(outcome: Remembered) -> WrittenMemory:
    """Serialize the memory; ``result`` says what became of the remark. Raises Refused."""
    if outcome.memory is None:
        content: dict[str, Any] = {"result": outcome.status, "error": "It was taken back before."}
        if outcome.excess is not None:
            content |= {"error": str(outcome.excess), "setting": outcome.excess.setting}
            content["retry_after_s"] = outcome.excess.retry_after_s
        raise Refused(STATUS[outcome.status], content)
    [told] = memories_out(WrittenMemory, [outcome.memory])
    told.result, told.conflict_id = outcome.status, outcome.conflict_id
    told.superseded = [memory.pk for memory in outcome.superseded]
    told.disputed_by = [memory.pk for memory in outcome.disputed]
    return told


def list_origins(memory: Memory, caller: Caller, given: OnBehalfOf) -> list[Origin]:
    lineage = list(memory.lineage.order_by("id"))
    episodes = Episode.objects.filter(pk__in=[row.row for row in lineage if row.kind == "episode"])
    if not may(caller, "operator"):
        speaker = scope_of(runtime.current().cache, caller, {"user": given.user}, given.project).speaker
        episodes = episodes.filter(agent=speaker.agent, person=speaker.person)
    texts = dict(episodes.values_list("pk", "text"))
    return [
        Origin(kind=row.kind, id=row.row, at=row.at, text=texts.get(row.row) if row.kind == "episode" else None)
        for row in lineage
    ]
