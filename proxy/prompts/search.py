"""Searches memories and episodes for a new user message in a prompt.

The search runs beside the rest of the enrichment, and has a deadline: later results are left out. While the model
answers, the last two messages are searched together, for the next turn.
"""

import asyncio
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Protocol
from unicodedata import normalize

from memory.attribution.parts import own_words
from memory.cache.state import Cache
from memory.english.claims import corrects
from memory.english.doubt import SpeechAct
from memory.english.excerpts import CUT, find_content_words, make_harmless, says_something
from memory.english.statements import find_cues
from memory.learning.reader import unwrap_readable
from memory.memories import slots
from memory.memories.episodes import SHORT_MAX
from memory.memories.scope import Scope
from memory.recall.block import NOTHING, ShownNote, show_note
from memory.recall.facts import find_asked_facts
from memory.recall.mentions import MaybeReading
from memory.recall.notes import NOTHING_BESIDE, Beside, write_time
from memory.search.found import Found
from memory.search.ranking import ForPrompt, asks_for_list
from memory.search.searcher import LOAD_MS, UNHURRIED_MS
from memory.secrets.redaction import mask_secrets
from memory.types import NAMES, Message, NoteKey, TripleIds
from proxy.formats.prefixes import digest_words, link_after
from proxy.prompts.blocks import RESEND_S, Blocks
from proxy.prompts.placement import MessageNotes, Placed

logger = logging.getLogger(__name__)

DEADLINE_MS: Final = 40  # most searches take 5; on a busy machine, later results are left out
TEXT_MAX: Final = 2_000  # characters of a message that are searched for: its beginning and its end
# For this long, a searched message that comes again counts as resent, not as asked once more: for the last message of a
# prompt, if nothing was found, and for a message whose answer has begun.
RESENT_S: Final = 10.0
NOT_FOUND_S: Final = 1.0  # shorter, because people ask again once somebody has told Festinger
SEARCHED_MAX: Final = 50_000  # searched messages that are remembered
WAITING_MAX: Final = 64  # searches for next turns, one at a time
COMPARED_MAX: Final = 400_000  # characters of a prompt that are checked for the words of notes
CORRECTIONS_MAX: Final = 20  # short messages of users, the last ones, that are checked for another value of a note
CORRECTION_MAX: Final = 600  # characters: a longer one states more than one thing

_CLAUSES: Final = re.compile(r"[,;]\s+|(?<=[.!?])\s+|\n+")
STANDS: Final = "is in this prompt"
UNFIT: Final = "an operator wants it in no such prompt"
CORRECTED: Final = "this prompt states another value"
FOUND, LATE, FAILED = "found", "no answer in time", "failed"
NOTHING_FOUND, NOTHING_ASKED, RESENT = "nothing found", "nothing to search for", "searched before"
SWITCHED_OFF = "off in the settings (recall_current)"


class RelatedFinder(Protocol):
    async def find_related(
        self,
        scope: Scope,
        texts: Sequence[str],
        conversation: bytes,
        *,
        deadline_ms: int,
        before: float,
        is_counted: bool,
    ) -> ForPrompt | None:
        """Return None if there is no result in time."""

    def told_at(self, scope: Scope, conversation: bytes) -> float: ...


@dataclass(slots=True)
class SearchRun:
    """The search for one prompt. ``message`` is the key of its last user message, ``before`` of the one before;
    ``outcome`` says why nothing was searched, or the result."""

    scope: Scope
    conversation: bytes
    message: bytes
    before: bytes = b""
    texts: tuple[str, ...] = ()  # the texts to search for; empty if there are none
    said: str = ""  # the message, as it came
    text_before: str = ""  # the message before it
    outcome: str = ""
    is_new: bool = False
    at: float = 0.0  # when the prompt came, in seconds since the epoch
    started: float = 0.0
    ms: float | None = None
    task: asyncio.Task[ForPrompt | None] | None = None
    found: list[ShownNote] = field(default_factory=list)
    alike: dict[NoteKey, dict[str, Any]] = field(default_factory=dict)  # likeness and floor of each
    beside: Beside = NOTHING_BESIDE
    facts: tuple[TripleIds, ...] = ()
    reasons: dict[NoteKey, str] = field(default_factory=dict)
    behind: bytes = b""  # identifies the prompt's beginning: its model, and the first message

    @property
    def asked(self) -> tuple[Scope, bytes, bytes]:
        """The key under which a search is remembered: who asked what, and where."""
        return self.scope, self.behind, self.message

    def place_of(self, message: bytes, *, is_late: bool = False) -> bytes:
        """Return under what the notes for a message of this conversation are kept: those that it was given, or those
        found too late for it, while the model answered."""
        scope = "\0".join((*self.scope.speaker, str(self.scope.project), "late" if is_late else ""))
        return link_after(digest_words(scope), self.behind + message)


def describe_given(lookup: SearchRun | None, placed: Placed | None) -> dict[str, Any]:
    """Describe for ``/why``, in the order found, which state of the project, memories and episodes were injected or
    not, by kind and id, and why; with likeness and floor if the search chose by them, or that it is of the profile."""
    told, alike = (lookup.reasons, lookup.alike) if lookup is not None else ({}, {})
    told = told | (placed.recollection.notes if placed is not None else {})
    block = placed.recollection.block if placed is not None else NOTHING
    alike = {note.key: {"is_profile": True} for note in block.notes if note.is_profile} | alike
    notes = [{"kind": key.kind, "id": key.id, "why": why} | alike.get(key, {}) for key, why in told.items()]
    search, took = (lookup.outcome, lookup.ms) if lookup is not None else ("", None)
    return {"search": search, "search_ms": took, "notes": notes}


def tell_how(note: Mapping[str, Any]) -> str:
    """Tell how a note that ``describe_given`` describes was found: ``likeness 0.61, floor 0.48`` or ``profile``; "" if
    it came with another one."""
    if "likeness" in note:
        return f"likeness {note['likeness']:.2f}, floor {note['floor']:.2f}"
    return "profile" if note.get("is_profile") else ""


class PromptSearch:
    """Runs the searches of prompts. ``searcher`` is None to search nothing. A prompt waits ``deadline_ms``.
    ``is_counted``: they count among the searches for prompts."""

    def __init__(
        self,
        cache: Cache,
        blocks: Blocks,
        searcher: RelatedFinder | None,
        *,
        deadline_ms: int = DEADLINE_MS,
        is_counted: bool = True,
    ) -> None:
        self._deadline_ms = deadline_ms
        self._is_counted = is_counted
        self._cache = cache
        self._blocks = blocks
        self._searcher = searcher
        self._searched: dict[tuple[Scope, bytes, bytes], float] = {}  # when, the oldest first
        self._running: dict[tuple[Scope, bytes, bytes], asyncio.Task[ForPrompt | None]] = {}  # for prompts at once
        self._one = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()  # the event loop keeps only weak references to tasks

    def told_at(self, scope: Scope | None, conversation: bytes) -> float:
        """Return when the speaker last told something in another conversation, as far as that can be found by now, in
        seconds since the epoch; else 0."""
        if self._searcher is None or scope is None:
            return 0.0
        return self._searcher.told_at(scope, conversation)

    async def begin(
        self,
        messages: Sequence[Message],
        readings: Sequence[MaybeReading],
        digests: Sequence[bytes],
        scope: Scope,
        conversation: bytes,
        model: str,
        *,
        now: float,
        is_resent: bool = False,
    ) -> SearchRun | None:
        """Start to search for the last user message, if it is new, and return while the search runs; None if there is
        no such message, or nothing may be injected for anybody. ``now``: when the prompt came; ``is_resent``: it gets
        what it got before."""
        if self._searcher is None:
            return None
        users = find_last_of_users(messages, readings)
        if not users:
            return None
        last = users[0]
        said = [self._unwrap(messages[index], digests[index]) for index in users]
        before = said[1][0] if len(said) > 1 else b""
        # A conversation is known by its opening: a new one that begins like an earlier one contains nothing of it.
        is_opening = len(users) == 1 and not any(message.role == "assistant" for message in messages)
        shown = b"" if is_opening else conversation
        lookup = SearchRun(
            scope, conversation, said[0][0], before, said=said[0][1], at=now, started=time.perf_counter()
        )
        lookup.text_before = said[1][1] if len(said) > 1 else ""
        # A model gets the same notes as another: two may be asked side by side.
        lookup.behind = b"\0".join((digests[0], conversation, model.encode("utf-8", "surrogatepass")))
        if is_resent or not self._is_new(lookup, messages[last + 1 :]):
            lookup.outcome = RESENT
            return lookup
        lookup.is_new = True
        own = find_own_words(lookup.said)
        if says_something(own) or asks_for_list(own):
            context = find_own_words(lookup.text_before) if len(own) < SHORT_MAX else ""
            lookup.texts = (context, own) if context else (own,)
        if self._cache.tuning.recall_current == "off":
            lookup.outcome = SWITCHED_OFF
        elif not (lookup.texts or is_opening):
            lookup.outcome = NOTHING_ASKED
        else:  # without a text, for the profile
            lookup.task = self._running.get(lookup.asked)
            if lookup.task is None:
                search = self._searcher.find_related(
                    scope,
                    lookup.texts,
                    shown,
                    deadline_ms=self._deadline_ms,
                    before=lookup.at,
                    is_counted=self._is_counted,
                )
                lookup.task = self._running[lookup.asked] = asyncio.ensure_future(search)
                lookup.task.add_done_callback(lambda _: self._running.pop(lookup.asked, None))
                await asyncio.sleep(0)  # lets it begin
        return lookup

    async def finish(self, lookup: SearchRun | None, messages: Sequence[Message]) -> MessageNotes | None:
        """Wait for the search until its deadline; return what to place, or None: the notes found just now, else those
        that the same message got in an earlier prompt; then those found while the model answered the message before, if
        this one continues it."""
        if lookup is None:
            return None
        found: Sequence[ShownNote] = ()
        if lookup.task is not None:
            lookup.facts = find_asked_facts(self._cache, "\n".join(lookup.texts))
            related = await self._await(lookup, lookup.task)
            if related is not None:
                lookup.found = show(related.lines, lookup.texts, lookup.scope)
                lookup.alike = {
                    NoteKey(line.kind, line.id): {"likeness": round(line.similarity, 2), "floor": round(line.floor, 2)}
                    for line in related.lines
                    if line.kind != "fact" and line.floor is not None
                }
                profile = show(related.profile, (), lookup.scope)
                changes = show(related.changes, lookup.texts, lookup.scope)
                found = self._compare(lookup, messages)
                lookup.reasons |= {NoteKey(each.kind, each.id): UNFIT for each in related.unfit if each.kind != "fact"}
                stated = find_stated([*profile, *changes], messages)
                self._leave_out_corrected(lookup, profile, messages)
                stated |= {key for key, why in lookup.reasons.items() if why == CORRECTED}
                categories = [each.category for each in related.profile]
                lookup.beside = Beside(
                    list(zip(profile, categories, strict=True)), changes, frozenset(stated), related.is_list
                )
        if lookup.outcome not in (FOUND, NOTHING_FOUND):
            found = self._blocks.notes_at(lookup.place_of(lookup.message))
        is_short = len(lookup.said) < SHORT_MAX
        late = self._blocks.notes_at(lookup.place_of(lookup.before, is_late=True)) if is_short else ()
        notes = self._leave_out_corrected(lookup, (*found, *late), messages)
        return MessageNotes(notes, lookup.facts, lookup.beside)

    def note(self, lookup: SearchRun, given: tuple[ShownNote, ...], now: float) -> None:
        """Note that the message was searched for, and the notes that it was given. Some clients rebuild the message
        that has the block while the model works on it: then it gets the same notes again."""
        if lookup.is_new:
            is_missing = lookup.task is not None and lookup.outcome not in ("", FOUND)
            searched = lookup.started - RESENT_S + NOT_FOUND_S if is_missing else lookup.started
            self._searched.pop(lookup.asked, None)
            self._searched[lookup.asked] = searched
            if len(self._searched) > SEARCHED_MAX:
                del self._searched[next(iter(self._searched))]
        if given:
            place = lookup.place_of(lookup.message)
            kept = () if lookup.is_new else self._blocks.notes_at(place)
            self._blocks.keep_notes(place, (*kept, *(note for note in given if note not in kept)), now)

    def prefetch_next_turn(self, lookup: SearchRun | None) -> None:
        """Start a search for the next turn, while the model answers this one."""
        if lookup is None or not lookup.is_new or len(self._tasks) == WAITING_MAX:
            return
        is_searched = not lookup.text_before or len(lookup.texts) > 1
        if not is_searched or lookup.outcome not in (FOUND, NOTHING_FOUND):  # else it would find the same again
            task = asyncio.create_task(self._prefetch(lookup))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    # --- the search ---

    async def _await(self, lookup: SearchRun, task: asyncio.Task[ForPrompt | None]) -> ForPrompt | None:
        left = (LOAD_MS + self._deadline_ms) / 1000 - (time.perf_counter() - lookup.started)
        await asyncio.wait({task}, timeout=max(left, 0))
        lookup.ms = round((time.perf_counter() - lookup.started) * 1000, 3)
        if not task.done():
            task.add_done_callback(lambda late: late.cancelled() or late.exception())
            lookup.outcome = LATE
            return None
        if (error := task.exception()) is not None:
            logger.error("search.failed", exc_info=error)
            lookup.outcome = FAILED
            return None
        related = task.result()
        if related is None:
            lookup.outcome = LATE
        else:
            lookup.outcome = FOUND if related.lines else NOTHING_FOUND
        return related

    def _compare(self, lookup: SearchRun, messages: Sequence[Message]) -> list[ShownNote]:
        """Leave out the notes whose words are already in the prompt."""
        lookup.reasons |= dict.fromkeys(find_stated(lookup.found, messages), STANDS)
        return [note for note in lookup.found if note.key not in lookup.reasons]

    def _leave_out_corrected(
        self, lookup: SearchRun, notes: Sequence[ShownNote], messages: Sequence[Message]
    ) -> tuple[ShownNote, ...]:
        """Leave out the notes whose slot a user gives another value in the prompt, or takes back."""
        said = [message.text for message in messages if message.role == "user" and len(message.text) <= CORRECTION_MAX]
        read = cache(self._read_values)  # each text once
        for text in said[-CORRECTIONS_MAX:] if notes else ():
            clauses, values = _CLAUSES.split(text), read(text)
            for note in notes:
                held = read(note.text) if values else {}
                is_other = any(values[slot] != held[slot] for slot in values.keys() & held.keys())
                if is_other or any(
                    corrects(clause, note.text) or prefers_other(clause, note.text) for clause in clauses
                ):
                    lookup.reasons[note.key] = CORRECTED
        return tuple(note for note in notes if lookup.reasons.get(note.key) != CORRECTED)

    def _read_values(self, text: str) -> dict[tuple[str, str], tuple[str, bool]]:
        """Return what the text states of slots that hold one fact: the parent, and whether that is taken back."""
        cache, values = self._cache, dict[tuple[str, str], tuple[str, bool]]()
        for match in find_cues(text, vocabulary=cache):
            concept, parent, dim = map(cache.canonical, (match.subject, match.parent, match.dimension))
            if not (match.is_hedged or cache.keeps_all(dim) or dim == NAMES):
                values[concept, dim] = parent, match.kind is SpeechAct.RETRACTS
        return values

    async def _prefetch(self, lookup: SearchRun) -> None:
        assert self._searcher is not None
        context = find_own_words(lookup.text_before)
        texts = [*lookup.texts]
        if len(texts) < 2 and says_something(context):
            texts.insert(0, context)
        if not texts:
            return
        try:
            async with self._one:
                related = await self._searcher.find_related(
                    lookup.scope,
                    texts,
                    lookup.conversation,
                    deadline_ms=UNHURRIED_MS,
                    before=lookup.at,
                    is_counted=self._is_counted,
                )
        except Exception:
            logger.exception("search.failed")
            return
        if related is None:
            return
        notes = tuple(show(related.lines, texts, lookup.scope))
        self._blocks.keep_notes(lookup.place_of(lookup.message, is_late=True), notes, time.time())

    # --- whose message it is ---

    def _is_new(self, lookup: SearchRun, following: Sequence[Message]) -> bool:
        """True if nobody has answered the message yet, and this process has not searched for it lately, or the speaker
        has told something since. Later, more may be known."""
        if any(message.role not in ("assistant", "system") for message in following):
            return False
        before = self._searched.get(lookup.asked)
        is_continued = any(message.role == "assistant" for message in following)
        if before is None or (ago := lookup.started - before) >= (RESEND_S if is_continued else RESENT_S):
            return True
        return not is_continued and self.told_at(lookup.scope, lookup.conversation) > lookup.at - ago

    def _unwrap(self, message: Message, digest: bytes) -> tuple[bytes, str]:
        """Return the key of a user's message, and its text.

        What an agent's framework adds after an envelope changes from prompt to prompt, so it counts for neither.
        """
        said = unwrap_readable(self._cache, message)
        is_whole = len(said.text) == len(message.text)
        return (digest if is_whole else link_after(b"", said.text.encode("utf-8", "surrogatepass"))), said.text


def find_stated(notes: Sequence[ShownNote], messages: Sequence[Message]) -> set[NoteKey]:
    """Return the keys of the notes whose words are in the prompt already."""
    left, found, room = list(notes), set[NoteKey](), COMPARED_MAX
    for message in reversed(messages):
        if not left or (room := room - len(message.text)) < 0:
            break
        text = message.text.casefold()
        if message is messages[-1] and len(text) <= TEXT_MAX:  # also as it would be stored, and shown
            text += f"\n{make_harmless(normalize('NFC', mask_secrets(message.text))).casefold()}"
        shown = ((note.key, normalize("NFC", note.text.strip(f"{CUT} ")).casefold()) for note in left)
        found |= {key for key, line in shown if line in text}
        left = [note for note in left if note.key not in found]
    return found


def prefers_other(newer: str, older: str) -> bool:
    """True if two texts state preferences that exclude each other."""
    one, other = (slots.find_slots(text, "preference") for text in (newer, older))
    return slots.share_slot(one, other) and slots.contradicts(newer, older, "preference")


def find_last_of_users(messages: Sequence[Message], readings: Sequence[MaybeReading]) -> list[int]:
    """Return the indexes of the last two user messages, the last one first."""
    found: list[int] = []
    for index in range(len(messages) - 1, -1, -1):
        reading, message = readings[index], messages[index]
        role = message.role if reading is None else reading.role
        if role == "user" and message.text and not message.is_quoted:
            found.append(index)
            if len(found) == 2:
                break
    return found


def find_own_words(text: str) -> str:
    """Return the part of a user's message that is searched for, without quotations."""
    if len(text) > 2 * TEXT_MAX:
        text = f"{text[:TEXT_MAX]}\n{text[-TEXT_MAX:]}"
    own = own_words(text).strip()
    return own if len(own) <= TEXT_MAX else f"{own[: TEXT_MAX // 2]}\n{own[-TEXT_MAX // 2 :]}"


def show(related: Sequence[Found], texts: Sequence[str], scope: Scope) -> list[ShownNote]:
    """Return the memories and episodes as lines of a block, the best first."""
    words = find_content_words(" ".join(texts))
    shown = (
        show_note(
            each.kind,
            each.id,
            each.text,
            said_at=write_time(each.said_at),
            is_disputed=each.is_disputed,
            owner=scope.number_owner(each.category) if each.kind == "memory" else 0,
            wanted=words,
        )
        for each in related
        if each.kind != "fact"
    )
    return [note for note in shown if note is not None]
