"""Decides who says each part of a request, and the strongest voice that it may have."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from memory.attribution.client_names import GROUP
from memory.attribution.doubts import asks_for_made_up, is_about_work, is_fiction
from memory.attribution.envelopes import (
    EXAMPLES_END,
    is_delegated,
    is_envelope,
    is_person_envelope,
    read_sender,
    remove_client_parts,
)
from memory.attribution.parts import announces_paste
from memory.attribution.pasted import is_text_task
from memory.types import Message
from memory.voice import Voice, weaker_of
from proxy.access.persons import clean_person
from proxy.formats.base import Part, Payload, Prompt
from proxy.formats.flattened import FlattenedPrompt
from proxy.loops.calls import read_calls
from proxy.speakers.programs import is_record_task
from proxy.speakers.relayed import RelayedAnswers

Names = Literal["people", "assistants", "ignored"]  # who users with a name are
PERSONS: Final = frozenset({"user", "human", "user_proxy", "userproxy"})  # beside these, all other names are agents'
OPERATORS_MAX: Final = 2_000  # characters of a system text: longer ones are written by clients, with files in them
ANSWERS: Final = frozenset({"response"})  # tools with which an agent ends its turn


def find_messages(
    prompt: Prompt, payload: Payload, relayed: RelayedAnswers, names: Names = "people", person: str = ""
) -> Iterator[Message]:
    """Yield the prompt's parts as messages, each with its speaker and voice. ``person``: whom the request names."""
    parts = prompt.parts
    speakers = _Speakers(prompt, payload, relayed, names)
    examples_end = max((index for index, part in enumerate(parts) if part.text.startswith(EXAMPLES_END)), default=0)
    is_answered, is_flattened = False, isinstance(prompt, FlattenedPrompt)
    for index, part in enumerate(parts):
        if index < examples_end or (is_flattened and not speakers.is_own(index)):
            message = Message(part.role, part.text, Voice.QUOTED)
        elif part.role == "user":
            message = _give_to(speakers.read_user(index), person)
        elif part.role == "system":
            is_clients = len(part.text) > OPERATORS_MAX
            voice = Voice.QUOTED if is_answered else Voice.NOBODYS if is_clients else Voice.SHARED
            message = Message(part.role, part.text, voice)
        else:
            message = Message(part.role, part.text)
            is_answered = is_answered or part.role == "assistant"
        yield message


def _give_to(message: Message, person: str) -> Message:
    """Return the user's message as its person's: of the request, else whom a bridge names, else of its name. What a
    known person says is for them alone."""
    if message.role != "user" or message.is_quoted:
        return message
    person = person or clean_person(read_sender(message.text).person) or message.person
    return message._replace(person=person, voice=weaker_of(Voice.UNSURE, message.voice)) if person else message


def find_audience(messages: Sequence[Message], person: str) -> str:
    """Return the person to whom something may be recalled: GROUP if the request has the words of several, or a bridge
    says that it comes from a group; else the one who spoke last, or whom the request names."""
    of_users = [message for message in reversed(messages) if message.role == "user"]
    last = of_users[0] if of_users else None
    if len({message.person for message in of_users if message.person}) > 1:
        return GROUP
    if last is not None and read_sender(last.text).is_group:
        return GROUP
    return person or (last.person if last is not None else "")


class _Speakers:
    """Finds the speakers of one request's user messages."""

    def __init__(self, prompt: Prompt, payload: Payload, relayed: RelayedAnswers, names: Names) -> None:
        self._parts = prompt.parts
        self._before = prompt.before if isinstance(prompt, FlattenedPrompt) else 0
        self._relayed = relayed
        self._names = names
        self._first = next((index for index, part in enumerate(self._parts) if part.role == "user"), -1)
        # In a flattened prompt, a section without an envelope is a text from anywhere: it may contain all after it.
        others = enumerate(self._parts[self._first + 1 :], self._first + 1)
        is_raw = (index for index, part in others if part.role == "user" and not is_envelope(part.text))
        self._raw = next(is_raw, len(self._parts))
        self._voice = self._find_strongest_voice()
        self._agents: set[str] = set()
        if any(part.name for part in self._parts):
            named = {part.name for part in self._parts if part.role == "user"}
            persons = {name for name in named if name.casefold() in PERSONS}
            self._agents = {part.name for part in self._parts if part.role == "assistant"} | _list_tools(payload)
            self._agents |= named - persons if persons or names == "assistants" else set()

    def read_user(self, index: int) -> Message:
        part = self._parts[index]
        if self._is_forged(index):
            return Message("user", part.text, Voice.QUOTED)
        is_last = index == len(self._parts) - 1 > self._first
        if is_delegated(part.text) or self._is_written(index) or (is_last and is_record_task(part.text)):
            return Message("user", part.text, Voice.NOBODYS)
        if part.name and self._names != "ignored" and part.name.casefold() not in PERSONS:
            if part.name in self._agents:
                return Message("assistant", part.text)
            return Message("user", part.text, weaker_of(Voice.UNSURE, self._voice), clean_person(part.name))
        return Message("user", part.text, weaker_of(self._voice, self._after(index)))

    def _find_strongest_voice(self) -> Voice:
        """Return the voice that a system text leaves to the messages: one that sets up a story, or asks for texts."""
        systems = [part.text for part in self._parts[: max(self._first, 1)] if part.role == "system"]
        opening = systems + [part.text for part in self._parts[self._first : self._first + 1] if self._first >= 0]
        if any(map(is_fiction, opening)):
            return Voice.FICTION
        is_unsure = any(map(is_text_task, systems[:1])) or any(map(is_about_work, opening))
        return Voice.UNSURE if is_unsure else Voice.SHARED

    def _after(self, index: int) -> Voice:
        """Return the voice of a message by the one before it."""
        before = self._parts[index - 1] if index else None
        if before is None or before.role != "assistant":
            return Voice.SHARED
        earlier = self._parts[index - 2].text if index > 1 else ""
        return Voice.UNSURE if announces_paste(earlier) or asks_for_made_up(earlier) else Voice.SHARED

    def _is_written(self, index: int) -> bool:
        """True if a model has just written this text elsewhere, and a program passes it on as a user's message."""
        if not self._relayed.has_news:
            return False
        text = remove_client_parts(self._parts[index].text).strip()
        return self._relayed.has_just_written(text) and not any(
            text in part.text for part in self._parts[:index] if part.role == "assistant"
        )

    def _is_forged(self, index: int) -> bool:
        """True if the message has an agent's envelope of a person's words where no person can have spoken: a page that
        a tool returned may contain such an envelope."""
        if index == self._first or not is_person_envelope(self._parts[index].text):
            return False
        before = self._parts[index - 1]
        return (
            not is_person_envelope(self._parts[self._first].text) or before.role != "assistant" or _calls_tool(before)
        )

    def is_own(self, index: int) -> bool:
        """True if a section of a flattened prompt was certainly said by its role: some clients write tools' results as
        users', and any text can contain a header."""
        part = self._parts[index]
        if part.role == "system":
            return index <= self._before  # only at the very beginning
        if part.role != "user" or index == self._first:
            return True
        if index < self._raw and is_person_envelope(part.text):
            return True
        before = self._parts[index - 1]
        return before.role == "assistant" and before.text in self._relayed and not _calls_tool(before)


def _calls_tool(part: Part) -> bool:
    return bool(part.calls) or any(call.name not in ANSWERS for call in read_calls(part.text).calls)


def _list_tools(payload: Payload) -> set[str]:
    tools = payload.get("tools")
    known = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    functions = [tool["function"] if isinstance(tool.get("function"), dict) else tool for tool in known]
    return {name for function in functions if isinstance(name := function.get("name"), str)}
