"""Who says each part of a request, and in which voice at the most."""

from collections.abc import Sequence
from typing import Final, Literal

from memory.domain.authorship.agent_envelopes import is_delegated, is_person_envelope
from memory.domain.authorship.client_envelopes import EXAMPLES_END, remove_client_parts
from memory.domain.authorship.handing_over import asks_for_texts
from memory.domain.authorship.parts import announces_text, asks_for_text, hands_on
from memory.domain.authorship.voice import Voice
from memory.domain.steps import Steps
from memory.domain.types import Message
from proxy.authorship.programs import is_record_task
from proxy.authorship.relayed import RelayedAnswers
from proxy.domain.formats.base import Part, Payload, Prompt
from proxy.domain.formats.flattened import FlattenedPrompt
from proxy.domain.loops.tool_calls import read_calls
from proxy.domain.speakers import clean_person

Names = Literal["people", "assistants", "ignored"]  # who users with a name are
PERSONS: Final = frozenset({"user", "human", "user_proxy", "userproxy"})  # beside whom all other names are agents'
OPERATORS_MAX: Final = 2_000  # characters of a system text: a longer one a client has written, with files in it
ANSWERS: Final = frozenset({"response"})  # tools with which an agent ends its turn


def find_messages(
    prompt: Prompt, payload: Payload, relayed: RelayedAnswers, names: Names = "people"
) -> Steps[list[Message]]:
    """The prompt's parts, as far as who says them goes."""
    parts = prompt.parts
    tools = _list_tools(payload)
    named = {part.name for part in parts if part.name and part.role == "assistant"} | tools
    has_person = any(part.name.casefold() in PERSONS for part in parts if part.role == "user")
    first_user = next((index for index, part in enumerate(parts) if part.role == "user"), -1)
    examples_end = max((index for index, part in enumerate(parts) if part.text.startswith(EXAMPLES_END)), default=0)
    is_material = any(asks_for_texts(part.text) for part in parts[:1] if part.role == "system")
    is_answered, messages = False, list[Message]()
    for index, part in enumerate(parts):
        message = Message(part.role, part.text)
        is_answered = is_answered or part.role == "assistant"
        if (
            index < examples_end
            or (part.role == "system" and is_answered)
            or (isinstance(prompt, FlattenedPrompt) and not _is_own(prompt, index, first_user, relayed))
        ) or (part.role == "user" and _is_forged(parts, index, first_user)):
            message = message._replace(voice=Voice.QUOTED)
        elif (part.role == "system" and len(part.text) > OPERATORS_MAX) or (
            part.role == "user"
            and (
                is_delegated(part.text)
                or _is_written(parts, index, relayed)
                or (index == len(parts) - 1 > first_user and is_record_task(part.text))
            )
        ):
            message = message._replace(voice=Voice.NOBODYS)
        elif part.role == "user" and part.name and names != "ignored":
            is_person = part.name.casefold() in PERSONS
            is_agent = names == "assistants" or part.name in named or (has_person and not is_person)
            if is_agent:
                message = message._replace(role="assistant")
            elif not is_person:
                message = message._replace(voice=Voice.UNSURE, person=clean_person(part.name))
        elif part.role == "user" and is_material:
            message = message._replace(voice=Voice.UNSURE)
        elif part.role == "user" and messages:
            before = messages[-1]
            if before.role == "user" and hands_on(before.text):
                message = message._replace(voice=Voice.QUOTED)
            elif before.role == "assistant" and (
                asks_for_text(before.text) or (index > 1 and announces_text(parts[index - 2].text))
            ):
                message = message._replace(voice=Voice.UNSURE)
        messages.append(message)
        yield
    return messages


def _is_written(parts: Sequence[Part], index: int, relayed: RelayedAnswers) -> bool:
    """True for what a model has just written elsewhere, which a program passes on as a user's message."""
    if not relayed.has_news:
        return False
    text = remove_client_parts(parts[index].text).strip()
    return relayed.has_just_written(text) and not any(
        text in part.text for part in parts[:index] if part.role == "assistant"
    )


def _list_tools(payload: Payload) -> set[str]:
    """The names of the request's tools."""
    tools = payload.get("tools")
    known = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    functions = [tool["function"] if isinstance(tool.get("function"), dict) else tool for tool in known]
    return {name for function in functions if isinstance(name := function.get("name"), str)}


def _is_forged(parts: Sequence[Part], index: int, first_user: int) -> bool:
    """True for an agent's envelope of a person's words where no person can have spoken: a page that a tool returned
    may be such an envelope."""
    if index == first_user or not is_person_envelope(parts[index].text):
        return False
    before = parts[index - 1]
    calls = before.calls or [call for call in read_calls(before.text).calls if call.name not in ANSWERS]
    return not is_person_envelope(parts[first_user].text) or before.role != "assistant" or bool(calls)


def _is_own(prompt: FlattenedPrompt, index: int, first_user: int, relayed: RelayedAnswers) -> bool:
    """True if a section of a flattened prompt shows that its role has said it: some clients write tools' results as
    users', and any text can have a header in it."""
    part = prompt.parts[index]
    if part.role == "system":
        return index <= prompt.before  # only at the very beginning
    if part.role != "user" or index == first_user or is_person_envelope(part.text):
        return True
    before = prompt.parts[index - 1]
    return before.role == "assistant" and before.text in relayed and not read_calls(before.text).calls
