"""Removes what clients today add to a user's message beside what the person typed. Nobody has said it: it teaches
nothing, and is neither stored nor searched for."""

import re
from typing import Final

# From begin to end, or to the end of the message if there is no end.
_PARTS: Final = (
    ("# AGENTS.md instructions for ", "</INSTRUCTIONS>"),  # Codex
    ("<INSTRUCTIONS>", "</INSTRUCTIONS>"),
    ("<user_instructions>", "</user_instructions>"),
    ("<environment_context>", "</environment_context>"),
    ("# *SEARCH/REPLACE block* Rules:", ""),  # aider
    ("### Task:\nRespond to the user query using the provided context", "</context>"),  # Open WebUI, with documents
    ("<attached_files>", "</attached_files>"),
    ("\n\nThis is the expected criteria for your final answer:", ""),  # crewAI
    ("\n\nUse the following references from the knowledge base if it helps:\n<references>", "</references>"),  # Agno
    ("For context: below is a transcript of what another agent did", ""),  # Google's ADK
    ("\n--- Content from referenced files ---", ""),  # Qwen Code
    ("The conversation history before this point was compacted into the following summary:", "</summary>"),  # pi
    ("\nYou have been provided with these additional arguments, that you can access", ""),  # smolagents
    ("\n\nOther agents available for collaboration:", ""),  # Strands
    ("\n\nReturn the correct JSON response within a ```json codeblock", ""),  # Instructor
)
_PART: Final = re.compile(
    "|".join(re.escape(begin) + (f".*?(?:{re.escape(end)}|\\Z)" if end else ".*") for begin, end in _PARTS), re.DOTALL
)
# Prefixes of a request: crewAI, smolagents, Strands.
_BEFORE: Final = re.compile(r"\s*(?:Current Task: |New task:\n|Context:\nUser Request: )")
# Beginnings of messages that are entirely the client's.
EXAMPLES_END: Final = "I switched to a new code base."  # aider: the turns before it are examples
_WHOLE: Final = (
    EXAMPLES_END,
    "I have *added these files to the chat*",
    "Here are summaries of some files present in my git repository",
    "I committed the changes with git hash",
    "Generate a title for this conversation:",  # opencode, which sends the conversation in a message of its own
    "This is the Qwen Code. We are setting up the context for our chat.",
    "Managed memory directory: `",  # Qwen Code
    "First, reason in your scratchpad. Then, generate the <state_snapshot>",
    "Correct your JSON ONLY RESPONSE, based on the following errors:",  # Instructor
    "Call id: call_",  # smolagents
    "Now proceed and carry out this plan.",
    "You're a helpful agent named",
    "Below I will present you a request. Before we begin addressing the request",  # AutoGen's Magentic-One
    "Fantastic. To address this request we have assembled the following team:",
    "Recall we are working on the following request:",
    "We are working to address the following user request:",
    "We are working on the following task:",
)
# Open WebUI: the first precedes what a program asks about a chat, the second precedes the chat.
_TASK, _HISTORY = "### Task:\n", "<chat_history>"
_SYSTEM: Final = re.compile(r"<(system[\w-]{0,40})>")


def remove_client_parts(text: str) -> str:
    """Return the part of a user's message that a person typed. Linear in its length."""
    if before := _BEFORE.match(text):
        text = text[before.end() :]
    opening = text.lstrip()
    if opening.startswith(_WHOLE) or (opening.startswith(_TASK) and _HISTORY in opening):
        return ""
    text = _PART.sub("\n", text)
    return _remove_system(text) if "<system" in text else text


def _remove_system(text: str) -> str:
    """Leave out Claude Code's ``<system-reminder>`` and similar elements."""
    kept, at, unclosed = [], 0, set()
    for tag in _SYSTEM.finditer(text):
        if tag.start() < at or tag[1] in unclosed:
            continue
        end = text.find(f"</{tag[1]}>", tag.end())
        if end < 0:
            unclosed.add(tag[1])
            continue
        kept.append(text[at : tag.start()])
        at = end + len(tag[1]) + len("</>")
    return "\n".join([*kept, text[at:]]) if kept else text
