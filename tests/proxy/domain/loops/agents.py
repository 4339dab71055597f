"""How agents write their conversations: what they send as one request, in the wire format that each of them uses."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from proxy.domain.formats.anthropic_messages import AnthropicMessages
from proxy.domain.formats.base import Part
from proxy.domain.formats.ollama import OllamaChat, OllamaGenerate
from proxy.domain.formats.openai_chat import OpenAIChat
from proxy.domain.formats.openai_responses import OpenAIResponses

CHAT = OllamaChat()
CHAT_COMPLETIONS = OpenAIChat()
GENERATE = OllamaGenerate()
MESSAGES = AnthropicMessages()
RESPONSES = OpenAIResponses()

FORMATS = {form.name: form for form in (CHAT, CHAT_COMPLETIONS, GENERATE, MESSAGES, RESPONSES)}


def parts_of(wire: str, payload: dict[str, Any]) -> Sequence[Part]:
    prompt = FORMATS[wire].read(payload)
    assert prompt is not None
    return prompt.parts


@dataclass
class Chat:
    """Plain messages, as any chat client sends them."""

    wire = "chat_completions"
    system: str = "You are a helpful assistant."
    said: list[dict[str, Any]] = field(default_factory=list)

    def user(self, text: str) -> Self:
        self.said.append({"role": "user", "content": text})
        return self

    def model(self, text: str) -> Self:
        self.said.append({"role": "assistant", "content": text})
        return self

    def notice(self, text: str) -> Self:
        self.said.append({"role": "system", "content": text})
        return self

    @property
    def payload(self) -> dict[str, Any]:
        return {"model": "llama3", "messages": [{"role": "system", "content": self.system}, *self.said]}


class Native(Chat):
    """The same through Ollama's own ``/api/chat``."""

    wire = "chat"

    def call(self, name: str, arguments: Any, text: str = "") -> Self:
        calls = [{"function": {"name": name, "arguments": arguments}}]
        self.said.append({"role": "assistant", "content": text, "tool_calls": calls})
        return self

    def result(self, text: str) -> Self:
        self.said.append({"role": "tool", "content": text})
        return self


@dataclass
class OpenAI(Chat):
    """Tool calls of OpenAI's: arguments as JSON in a string, ids made up by the server."""

    calls: int = 0

    def call(self, name: str, arguments: Any, text: str | None = None) -> Self:
        return self.call_all((name, arguments), text=text)

    def call_all(self, *calls: tuple[str, Any], text: str | None = None) -> Self:
        made = []
        for name, arguments in calls:
            self.calls += 1
            given = arguments if isinstance(arguments, str) else json.dumps(arguments)
            function = {"name": name, "arguments": given}
            made.append({"id": f"call_{self.calls:024x}", "type": "function", "function": function})
        self.said.append({"role": "assistant", "content": text, "tool_calls": made})
        return self

    def result(self, text: str) -> Self:
        self.said.append({"role": "tool", "tool_call_id": f"call_{self.calls:024x}", "content": text})
        return self


@dataclass
class Claude:
    """Anthropic's: calls and their results are blocks of the messages."""

    wire = "messages"
    said: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0

    def user(self, text: str) -> Self:
        self.said.append({"role": "user", "content": [{"type": "text", "text": text}]})
        return self

    def model(self, text: str) -> Self:
        self.said.append({"role": "assistant", "content": [{"type": "text", "text": text}]})
        return self

    def call(self, name: str, arguments: dict[str, Any], text: str = "") -> Self:
        self.calls += 1
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        blocks.append({"type": "tool_use", "id": f"toolu_{self.calls:024x}", "name": name, "input": arguments})
        self.said.append({"role": "assistant", "content": blocks})
        return self

    def result(self, text: str, *, reminder: str = "", is_error: bool = False) -> Self:
        identity = f"toolu_{self.calls:024x}"
        result: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": identity,
            "content": [{"type": "text", "text": text}],
        }
        if is_error:
            result["is_error"] = True
        blocks = [result, {"type": "text", "text": reminder}] if reminder else [result]
        self.said.append({"role": "user", "content": blocks})
        return self

    @property
    def payload(self) -> dict[str, Any]:
        return {"model": "claude", "max_tokens": 1024, "system": "You are Claude Code.", "messages": self.said}


@dataclass
class Items:
    """OpenAI's Responses: each call and each result is an item of its own."""

    wire = "responses"
    said: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0

    def user(self, text: str) -> Self:
        self.said.append({"role": "user", "content": [{"type": "input_text", "text": text}]})
        return self

    def model(self, text: str) -> Self:
        said = [{"type": "output_text", "text": text}]
        self.said.append({"type": "message", "role": "assistant", "content": said})
        return self

    def call(self, name: str, arguments: Any) -> Self:
        self.calls += 1
        self.said.append({"type": "reasoning", "id": f"rs_{self.calls:032x}", "summary": []})
        call = {"type": "function_call", "call_id": f"call_{self.calls:024x}", "name": name}
        self.said.append({**call, "arguments": json.dumps(arguments)})
        return self

    def result(self, text: str) -> Self:
        self.said.append({"type": "function_call_output", "call_id": f"call_{self.calls:024x}", "output": text})
        return self

    @property
    def payload(self) -> dict[str, Any]:
        return {"model": "gpt-oss", "instructions": "You are Codex.", "input": self.said}


@dataclass
class AgentZero:
    """Agent Zero behind LiteLLM: everything in one prompt, what stands between two replies in one section, and at the
    end an ``[EXTRAS]`` part that is rebuilt for each request."""

    wire = "generate"
    sections: list[tuple[str, str]] = field(default_factory=list)
    extras: dict[str, Any] | None = None

    def _add(self, header: str, text: str) -> Self:
        if self.sections and self.sections[-1][0] == header:
            text = f"{self.sections.pop()[1]}\n{text}"
        self.sections.append((header, text))
        return self

    def _envelope(self, **content: Any) -> Self:
        return self._add("User", json.dumps(content, ensure_ascii=False))

    def user(self, text: str) -> Self:
        return self._envelope(user_message=text, attachments=[])

    def reply(self, text: str) -> Self:
        """What the model writes, as it is."""
        return self._add("Assistant", text)

    def call(self, name: str, arguments: dict[str, Any], *thoughts: str, indent: int | None = 4) -> Self:
        said = {"thoughts": list(thoughts), "headline": (thoughts or ("Working",))[0], "tool_name": name}
        return self.reply(json.dumps({**said, "tool_args": arguments}, ensure_ascii=False, indent=indent))

    def run(self, code: str, *thoughts: str, runtime: str = "terminal") -> Self:
        arguments = {"runtime": runtime, "session": 0, "reset": False, "code": code}
        return self.call("code_execution_tool", arguments, *thoughts)

    def result(self, text: str, name: str = "code_execution_tool") -> Self:
        return self._envelope(tool_name=name, tool_result=text)

    def warn(self, text: str) -> Self:
        return self._envelope(system_warning=text)

    def same_again(self) -> Self:
        return self.warn("You have sent the same message again. You have to do something else!")

    def misformatted(self) -> Self:
        return self.warn(
            "You have misformatted your message. Follow system prompt instructions on JSON message formatting "
            "precisely."
        )

    @property
    def payload(self) -> dict[str, Any]:
        sections = [("System", "# Your role\n\nYou are agent zero, an autonomous JSON AI agent."), *self.sections]
        if self.extras is not None:
            header, text = sections.pop()
            sections.append((header, f"{text}\n[EXTRAS]\n{json.dumps(self.extras)}"))
        prompt = "".join(f"### {header}:\n{text}\n\n" for header, text in sections)
        return {"model": "llama3", "prompt": prompt, "stream": True, "options": {}}


@dataclass
class Scratchpad:
    """LangChain's ReAct agent: the whole run in the one message."""

    wire = "generate"
    question: str = ""
    run: str = ""

    def step(self, thought: str, action: str, given: str, observation: str) -> Self:
        self.run += f" {thought}\nAction: {action}\nAction Input: {given}\nObservation: {observation}\nThought:"
        return self

    @property
    def payload(self) -> dict[str, Any]:
        prompt = (
            "Answer the following questions as best you can. You have access to the following tools:\n\n"
            "search: looks things up.\n\nUse the following format:\n\nQuestion: the input question you must answer\n"
            "Thought: you should always think about what to do\nAction: the action to take, should be one of [search]\n"
            "Action Input: the input to the action\nObservation: the result of the action\n"
            "... (this Thought/Action/Action Input/Observation can repeat N times)\nThought: I now know the final "
            "answer\n"
            "Final Answer: the final answer to the original input question\n\nBegin!\n\n"
        )
        return {"model": "llama3", "prompt": f"{prompt}Question: {self.question}\nThought:{self.run}", "stream": False}


def react(thought: str, action: str, given: str) -> str:
    """One step of an agent that writes ReAct in messages."""
    return f"Thought: {thought}\nAction: {action}\nAction Input: {given}"


def tagged(name: str, arguments: dict[str, Any], before: str = "") -> str:
    """A call as Qwen's and Hermes' templates have it."""
    return f"{before}\n<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def cline(name: str, before: str = "", **arguments: str) -> str:
    inner = "\n".join(f"<{key}>{value}</{key}>" for key, value in arguments.items())
    return f"<thinking>\n{before}\n</thinking>\n\n<{name}>\n{inner}\n</{name}>"


def environment(minute: int, cost: str) -> str:
    """What Cline and Roo put after each message."""
    return (
        "\n\n<environment_details>\n# VSCode Visible Files\nsrc/app.ts\n\n# Current Time\n"
        f"1/5/2026, 10:{minute:02} AM (Europe/Vienna, UTC+1:00)\n\n# Current Cost\n${cost}\n</environment_details>"
    )


CONTINUE = (
    "Please continue working on the task on whatever approach you think is suitable.\n"
    "If you think you have solved the task, please first send your answer to user through message and then finish the "
    "interaction.\nIMPORTANT: YOU SHOULD NEVER ASK FOR HUMAN HELP.\n"
)  # OpenHands' answer to a monologue
NO_TOOL = (
    "[ERROR] You did not use a tool in your previous response! Please retry with a tool use.\n\n"
    "# Reminder: Instructions for Tool Use\n\nTool uses are formatted using XML-style tags."
)  # Cline's
