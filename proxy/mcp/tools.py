"""The tools, with their arguments and descriptions. They can do what the HTTP endpoints can, with the same rights. The
request's token and headers, never the model that calls them, decide whom they speak for."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.serializers.json import DjangoJSONEncoder
from django.db import Error as DatabaseError
from django.db import connections
from ninja import Field
from pydantic import BaseModel, ConfigDict, ValidationError

from memory.domain.fact_syntax import FactMistake
from memory.models.semantic import MEMORY_CHARACTERS
from memory.search.request import QUERY_CHARACTERS, Types
from proxy.access.caller import Caller
from proxy.access.scopes import require, require_own_name
from proxy.api.changes import apply_for
from proxy.api.conflicts import ConflictQuery, Kind, list_for
from proxy.api.decisions import decide_whole, decided_out
from proxy.api.facts import STATUS as FACT_STATUS
from proxy.api.facts import describe_outcome, teach
from proxy.api.memories import (
    SEARCH_TYPES,
    SLUG_MAX,
    Asked,
    Category,
    MemoryIn,
    SearchIn,
    forget_for,
    remember_for,
    search_for,
)
from proxy.api.project_state import StateQuery, list_state
from proxy.api.routes import TextIn, recollect_text, tell_why
from proxy.errors import ProxyError, map_database_error
from resolution.actors import Actor
from resolution.decisions import undo
from resolution.domain.verdicts import NAME_MAX, REASON_MAX, ConflictAction

TEXT_MAX: Final = 20_000  # characters of a text to recall for
STATES_MAX: Final = 200
NAMED_MAX: Final = 80  # characters of an argument that is unknown
ERROR_FROM: Final = 400  # HTTP statuses


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ProjectArguments(Arguments):
    project: str = Field("", max_length=SLUG_MAX, description="The project's slug; else the one of this agent.")


class SearchArguments(ProjectArguments):
    query: str = Field(min_length=1, max_length=QUERY_CHARACTERS, description="What to look for, in natural language.")
    search_type: Types = Field("both", description=SEARCH_TYPES)
    limit: int = Field(5, ge=1, le=20, description="How many results at most.")


class RememberArguments(ProjectArguments):
    text: str = Field(
        max_length=10 * MEMORY_CHARACTERS, description=f"One sentence of at most {MEMORY_CHARACTERS} characters."
    )
    category: Category | None = Field(None, description="Without one, what the words show.")


class FactArguments(Arguments):
    fact: str = Field(
        max_length=1000, description="`<concept> -isa|-ispart <parent> [in context of <dimension>]`, or in plain words."
    )


class ForgetArguments(ProjectArguments):
    text: str = Field(max_length=1000, description="A sentence, or a fact as `iknowthat` takes it, or a name.")


class TextArguments(ProjectArguments):
    text: str = Field(max_length=TEXT_MAX, description="The first message of a chat.")


class StateArguments(ProjectArguments):
    category: str = Field("", max_length=SLUG_MAX, description="Such as decision or requirement; else all.")


class ConflictArguments(Arguments):
    limit: int = Field(10, ge=1, le=50, description="How many conflicts at most.")
    kind: Kind | None = Field(None, description="Only those of this kind; without it all.")
    project: str | None = Field(None, max_length=SLUG_MAX, description="Only those of this project.")
    touches: str | None = Field(
        None, max_length=NAME_MAX, description="Only those about this name, or with this member, as in memory:5."
    )


class DecisionArguments(Arguments):
    conflict_id: int = Field(ge=1, description="The `id` of the conflict.")
    action: ConflictAction = Field(
        description="supersede_others: the winner holds, the others no longer; no_action: all stay as they are;"
        " dismiss: it is no conflict; yes, no: the answer to its question."
    )
    winner_member_id: int | str | None = Field(
        None, description="supersede_others: the `id` of the member that is right; `memory:5` where two have the same."
    )
    reason: str = Field("", max_length=REASON_MAX, description="Why, as the user has said it.")


class UndoArguments(Arguments):
    decision_id: int = Field(ge=1, description="The `id` of the decision.")
    reason: str = Field("", max_length=REASON_MAX)


class WhyArguments(Arguments):
    request_id: str = Field(max_length=64, description="The X-Festinger-Request header of an answer.")


class ToolError(Exception):
    """Ends the call with this result, which the calling model sees as an error."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(str(told.get("error")))
        self.told = told


async def search_memory(caller: Caller, given: SearchArguments) -> dict[str, Any]:
    return await search_for(caller, SearchIn(**given.model_dump()))


async def remember(caller: Caller, given: RememberArguments) -> dict[str, Any]:
    return _tell(*await remember_for(caller, MemoryIn(**given.model_dump())))


async def iknowthat(caller: Caller, given: FactArguments) -> dict[str, Any]:
    outcome = await teach(caller, given.fact)
    return _tell(FACT_STATUS[outcome.status], describe_outcome(outcome))


async def forget(caller: Caller, given: ForgetArguments) -> dict[str, Any]:
    return _tell(*await forget_for(caller, given.text, Asked(project=given.project, user="")))


def _tell(status: int, told: dict[str, Any]) -> dict[str, Any]:
    """Raises ToolError."""
    if status >= ERROR_FROM:
        raise ToolError(told)
    return told


async def recall(caller: Caller, given: TextArguments) -> dict[str, Any]:
    return await recollect_text(caller, TextIn(**given.model_dump()))


async def project_state(caller: Caller, given: StateArguments) -> dict[str, Any]:
    return await list_state(caller, StateQuery.model_validate(given.model_dump() | {"limit": STATES_MAX}))


async def conflicts(caller: Caller, given: ConflictArguments) -> dict[str, Any]:
    return await list_for(caller, ConflictQuery.model_validate({"status": "open"} | given.model_dump()))


async def decide_conflict(caller: Caller, given: DecisionArguments) -> dict[str, Any]:
    def decide(actor: Actor) -> dict[str, Any]:
        return decide_whole(given.conflict_id, actor, given.action, given.reason, winner=given.winner_member_id)

    return await apply_for(caller, decide)


async def undo_decision(caller: Caller, given: UndoArguments) -> dict[str, Any]:
    return await apply_for(caller, lambda actor: decided_out([undo.undo(given.decision_id, actor, given.reason)]))


async def why(caller: Caller, given: WhyArguments) -> dict[str, Any]:
    return await tell_why(caller, given.request_id)


@dataclass(frozen=True, slots=True)
class Tool:
    run: Callable[[Caller, Any], Awaitable[dict[str, Any]]]
    arguments: type[Arguments]
    description: str
    changes: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        return self.arguments.model_json_schema()


TOOLS: Final[dict[str, Tool]] = {
    "search_memory": Tool(
        search_memory,
        SearchArguments,
        "Search what was said in earlier conversations, what is remembered of the user and the project, and facts. Use"
        " it before you say that you do not know something the user may have told before. Items marked weak may well"
        " have nothing to do with the query.",
    ),
    "remember": Tool(
        remember,
        RememberArguments,
        "Remember a sentence for later conversations: a preference, a decision, something about the user or the"
        " project. 'Remember that I now prefer X' replaces what it changes.",
        changes=True,
    ),
    "forget": Tool(
        forget,
        ForgetArguments,
        "Forget what this user said: about a name, 'my X', 'everything about X' or 'that S'; messages, memories and"
        " facts. The result lists it. A fact that somebody else has taught stays until people decide.",
        changes=True,
    ),
    "iknowthat": Tool(
        iknowthat,
        FactArguments,
        "Teach a fact about a name of this project, such as 'gnommoweb -isa repo' or 'kvasir runs on tyr'."
        " A contradiction is not stored, but answered with what is known.",
        changes=True,
    ),
    "recall": Tool(
        recall,
        TextArguments,
        "What a new chat that begins with a text would be given from memory: facts, memories and earlier messages.",
    ),
    "project_state": Tool(
        project_state,
        StateArguments,
        "What the operators have settled for this project: decisions, requirements and the like, by category and key."
        " It holds against anything else that was said.",
    ),
    "conflicts": Tool(
        conflicts,
        ConflictArguments,
        "What contradicts each other and waits for a"
        " decision: facts, memories, values of projects, with who said what.",
    ),
    "decide_conflict": Tool(
        decide_conflict,
        DecisionArguments,
        "Decide a conflict, for operators only. People decide: call it only with what the user has said about this very"
        " conflict, never with your own judgement.",
        changes=True,
    ),
    "undo_decision": Tool(
        undo_decision, UndoArguments, "Take a decision about a conflict back, for operators only.", changes=True
    ),
    "why": Tool(why, WhyArguments, "What an earlier request of this agent was given from memory, and why."),
}


async def call(caller: Caller, tool: Tool, arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the tool's result, and True if that is an error."""
    # A thread of its own, like each of Django's requests: a call that waits for the database does not block others.
    async with ThreadSensitiveContext():
        try:
            require_own_name(caller)
            require(caller, "agent")
            if unknown := arguments.keys() - tool.arguments.model_fields.keys():
                # Not left to the pydantic model, which would report each of them, and there may be 100,000.
                return {"error": f"{min(unknown)[:NAMED_MAX]}: there is no such argument"}, True
            return as_json(await tool.run(caller, tool.arguments.model_validate(arguments))), False
        except ToolError as error:
            return as_json(error.told), True
        except ValidationError as error:
            mistakes = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            return {"error": "; ".join(mistakes)}, True
        except FactMistake as mistake:
            return {"error": str(mistake), "position": mistake.position, "hint": mistake.hint}, True
        except DatabaseError as error:
            return {"error": str(map_database_error(error))}, True
        except ProxyError as error:
            return {"error": str(error)}, True
        finally:
            await sync_to_async(connections.close_all)()


def as_json(told: dict[str, Any]) -> dict[str, Any]:
    """Convert times to strings."""
    plain: dict[str, Any] = json.loads(json.dumps(told, cls=DjangoJSONEncoder))
    return plain
