"""Recognises the prompts that programs send on their own account, to name a conversation, to tag it, to offer follow-up
questions, or to digest it: to a summary, to notes, to a query. Nobody has said what is in them: it was all said before,
in the conversation itself."""

import re
from collections.abc import Iterator
from typing import Final, Literal

from memory.domain.language.english import helper_tasks as english
from proxy.domain.formats.base import Payload, Prompt

HelperTask = Literal["title", "tags", "follow-up questions", "digest"]

HELPER_MAX: Final = 2_000  # characters of the prompt, less the history in it: an agent's own are longer
SENTENCE_MAX: Final = 500  # characters
# Where a person may ask the same: in a conversation, or without its history beside the request.
CONSTRAINTS_OF_PERSONS_MIN: Final = 2

_HISTORY: Final = re.compile(rf"<({english.HISTORY_TAGS})>", re.IGNORECASE)
_BLOCK: Final = re.compile(
    rf"<({english.HISTORY_TAGS})\b[^>\n]{{0,99}}>.*?(?:</\1>|\Z)|^(```|~~~|---|===|\"{{3}})[^\n]*\n.*?(?:^\2[^\n]*|\Z)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_LINE_MARKS: Final = re.compile(r"^[ \t>*•–—-]*(?:[0-9]+[.)][ \t]+)?|\*\*|^[ \t]*</?\w+>[ \t]*$", re.MULTILINE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?:])\s+|\n")
_HEADING: Final = re.compile(r"#|\W*[\w ]{1,40}:$|\W*$")
_FRAME: Final = re.compile(rf"(?:{english.FRAMES})\b")
_READING_FRAME: Final = re.compile(rf"(?:{english.READING_FRAMES})\b.*\b{english.CONVERSATION}")
_INTRODUCES: Final = re.compile(rf".{{0,80}}?\b{english.CONVERSATION}.{{0,30}}:$|.{{0,20}}\bquery:$|{english.TURN}")
_WANTED: Final = "|".join(
    f"(?P<{name}>{wording})"
    for name, wording in (
        ("named", english.TITLE_OF_CONVERSATION),
        ("title", english.TITLE),
        ("tags", english.TAGS),
        ("follow_ups", english.FOLLOW_UPS),
    )
)
_REQUEST: Final = re.compile(
    rf"(?:{english.LEADS})(?P<name>{english.NAME_IT})\b"
    rf"|(?P<before>(?:{english.LEADS})(?:{english.VERBS}))(?:[^\w.]+(?:{english.QUALITIES})\b)*"
    rf"[^\w.]+(?:{_WANTED})\b(?P<rest>.*)"
)
_OF_CONVERSATION: Final = re.compile(
    rf"(?:[^\w.]+(?:{english.LINKS}|[0-9][\w-]*)\b)*[^\w.]+(?:{english.CONVERSATION}|{english.ASKED_NEXT})"
    rf"|.*\b{english.ASKED_NEXT}"
)
_RECEIVES_RECORD: Final = re.compile(english.RECEIVES_RECORD)
_DIGESTS: Final = re.compile(english.DIGESTS)
_CONVERSATION: Final = re.compile(rf"\b{english.CONVERSATION}")
_TURN: Final = re.compile(english.TURN, re.MULTILINE)
_TRANSCRIPT: Final = re.compile(r"\s*user:.{1,1000}?\n\s*assistant:", re.IGNORECASE | re.DOTALL)
_CONSTRAINTS: Final = tuple(re.compile(wording) for wording in english.CONSTRAINTS)
_BESIDES: Final = re.compile(english.BESIDES)
_SMART: Final = str.maketrans("‘’“”", "''\"\"")


def find_helper_task(prompt: Prompt, payload: Payload) -> HelperTask | None:
    """What a program asks for with this prompt; None for all others."""
    parts = prompt.parts
    if payload.get("tools") or payload.get("functions"):
        return None
    if any(part.role == "tool" or part.calls or part.has_media for part in parts):
        return None
    # What one message brings to a system text that asks for this and nothing else may be of any length.
    if [part.role for part in parts if part.role != "system"] == ["user"]:
        asked = "\n".join(part.text for part in parts if part.role == "system")
        if len(asked) < HELPER_MAX and (task := _find_digest(asked) or _find_request(asked)) is not None:
            return task
        # A chat, turn by turn, and how a program wants what is to be made of it.
        is_chat = any(_TRANSCRIPT.match(part.text, 0, HELPER_MAX) for part in parts if part.role == "user")
        if is_chat and _is_for_program(asked.casefold(), may_be_person=False):
            return "digest"
    texts: list[str] = []
    room = HELPER_MAX
    for part in parts:
        texts.append(_leave_out_history(part.text))
        room -= len(texts[-1])
        if room <= 0:
            return None
    said = [(part.role, text) for part, text in zip(parts, texts, strict=True) if part.role != "system"]
    system = "\n".join(text for part, text in zip(parts, texts, strict=True) if part.role == "system")
    if (task := _find_request(system)) is not None:
        return task
    if not said or said[-1][0] != "user":
        return None
    return _find_request(said[-1][1], may_be_person=True, is_alone=len(said) == 1)


def _find_digest(system: str) -> HelperTask | None:
    system = system.casefold()
    record = _RECEIVES_RECORD.search(system)
    if record is None or _DIGESTS.search(system, record.end()) is None:
        return None
    return "digest" if "plain text" in system or _is_for_program(system, may_be_person=False) else None


def _leave_out_history(text: str) -> str:
    """The text less what stands between the tags of a history; the tags stay."""
    opening = _HISTORY.search(text, 0, HELPER_MAX)
    closing = text.rfind(f"</{opening[1]}>") if opening is not None else -1
    return text if opening is None or closing < opening.end() else text[: opening.end()] + text[closing:]


def _find_request(text: str, *, may_be_person: bool = False, is_alone: bool = True) -> HelperTask | None:
    """What the text asks for, where it is made for that and nothing else."""
    text = text.casefold()
    if not any(word in text for word in english.MENTIONED):
        return None
    text = text.translate(_SMART)
    is_about_conversation = any(block[1] for block in _BLOCK.finditer(text))
    if is_alone and (is_about_conversation or _TURN.search(text)):
        may_be_person = False
    instruction = _BLOCK.sub("\n", text)
    is_after_data = False
    for sentence in _split(instruction):
        request = _REQUEST.match(sentence)
        if request is None:
            is_after_data = is_after_data or _INTRODUCES.match(sentence) is not None
            is_reading = _READING_FRAME.match(sentence) is not None
            if not (is_reading or is_after_data or _FRAME.match(sentence)):
                return None
            is_about_conversation = is_about_conversation or is_reading
            continue
        is_about_conversation = (
            is_about_conversation
            or bool(request["name"] or request["named"])
            or _CONVERSATION.search(request["before"] or "") is not None
            or _OF_CONVERSATION.match(request["rest"] or "") is not None
        )
        if not is_about_conversation:
            if _FRAME.match(sentence):  # who the model is to be: what it is to do may follow
                continue
            return None
        return _name_task(request) if _is_for_program(instruction, may_be_person=may_be_person) else None
    return None


def _split(instruction: str) -> Iterator[str]:
    """The sentences, less headings; up to one that is too long for an instruction."""
    for sentence in _SENTENCE_END.split(_LINE_MARKS.sub("", instruction)):
        sentence = " ".join(sentence.split())
        if len(sentence) > SENTENCE_MAX:
            return
        if sentence and not (_HEADING.match(sentence) and _INTRODUCES.match(sentence) is None):
            yield sentence


def _is_for_program(instruction: str, *, may_be_person: bool) -> bool:
    """Whether the answer has to have the form that a program needs."""
    met = [constraint.search(instruction) is not None for constraint in _CONSTRAINTS]
    is_strict = sum(met) >= CONSTRAINTS_OF_PERSONS_MIN and any(met[:2]) if may_be_person else any(met)
    return is_strict and _BESIDES.search(instruction) is None


def _name_task(request: re.Match[str]) -> HelperTask:
    if request["follow_ups"]:
        return "follow-up questions"
    return "tags" if request["tags"] else "title"
