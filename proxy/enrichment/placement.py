"""Places recollections in a prompt, and decides which blocks stay in it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memory.cache.state import Cache
from memory.domain.recall.notes import ShownNote
from memory.domain.recall.rendering import NOTHING, Block, join_blocks
from memory.domain.types import TripleIds
from memory.recall.mentions import Mentions
from memory.recall.notes import GIVEN, NOTHING_BESIDE, Beside
from memory.recall.questions import Asking
from memory.recall.recollect import Recollection, recollect, still_holds
from memory.recall.states import ProjectPrompt
from proxy.domain.formats.base import GAP, Edit, Part, Prompt
from proxy.domain.prefixes import Spot, Thread
from proxy.enrichment.conversations import Conversation, Conversations
from proxy.upstream.modelfiles import Modelfiles

NO_PLACE = "no place for it in this prompt"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Search results for the last user message in a prompt.

    ``message`` identifies it within its conversation, ``before`` the one before it. ``is_short``: the message only
    makes sense after that one. ``found`` and ``facts`` are the results of its search just now, the best first.
    """

    message: bytes
    before: bytes = b""
    is_short: bool = False
    found: tuple[ShownNote, ...] = ()
    facts: tuple[TripleIds, ...] = ()
    beside: Beside = NOTHING_BESIDE


@dataclass(slots=True)
class Standing:
    """The blocks that stay in a prompt. If the top is no longer true (``is_stale``), no block stays."""

    top: Block = NOTHING
    blocks: dict[Spot, Block] = field(default_factory=dict)  # the blocks below the top, in order
    removed: list[Spot] = field(default_factory=list)  # the spots of blocks that are no longer true
    is_stale: bool = False
    lost: list[ShownNote] = field(default_factory=list)  # the notes of removed blocks


@dataclass(frozen=True, slots=True)
class Placed:
    """The edit of a prompt. ``is_shown`` is False if there was no place for the recollection."""

    edit: Edit
    recollection: Recollection
    is_shown: bool

    @property
    def text(self) -> str:
        """All blocks of the prompt, in order."""
        if not (self.edit.heads or self.edit.tails):
            return self.edit.top
        blocks = {Spot(index, is_end=False): block for index, block in self.edit.heads.items()}
        blocks |= {Spot(index, is_end=True): block for index, block in self.edit.tails.items()}
        return GAP.join(block for block in (self.edit.top, *(blocks[spot] for spot in sorted(blocks))) if block)


class BlockPlacer:
    """Recalls for a prompt, and places the new block among those that are already there."""

    def __init__(self, cache: Cache, conversations: Conversations, modelfiles: Modelfiles) -> None:
        self._cache = cache
        self._conversations = conversations
        self._modelfiles = modelfiles

    def place(
        self,
        thread: Thread,
        mentions: Mentions,
        now: float,
        *,
        why_not_ask: str = "",
        wanted: Wanted | None = None,
        project: int | None = None,
    ) -> Placed:
        """Decide what to put into the prompt, and record it with the conversation.

        With ``why_not_ask``, no questions are asked. ``project`` is the one whose state is injected.
        """
        within = ProjectPrompt(project, _find_last_said(thread.prompt.parts))
        placement = self._cache.tuning.recollection_placement
        if placement == "system":
            return self._place_at_top(thread, mentions, now, why_not_ask, wanted, within)
        # Blocks stay where they were first put, byte for byte, so that the upstream's prompt cache stays valid.
        conversation = self._conversations.resume(thread, now)
        spots = find_spots(thread.prompt.parts, placement)
        may_use_top = placement == "append_only" or not spots
        has_own_top = conversation is not None and bool(conversation.top)
        system = self._modelfile_of(thread.prompt) if may_use_top or has_own_top else None
        standing = self._select_standing(conversation, thread, system, now)
        shown = join_blocks((standing.top, *standing.blocks.values()), GAP)
        model, asking = thread.prompt.model, _asking(conversation, why_not_ask)
        found = _gather_notes(conversation, wanted, standing.lost)
        facts = wanted.facts if wanted is not None else ()
        beside = wanted.beside if wanted is not None else NOTHING_BESIDE
        recollection = recollect(
            self._cache, mentions, now, shown,
            model=model, asking=asking, found=found, beside=beside, linked=facts, within=within, speaker=thread.holder,
        )  # fmt: skip
        block, changed = recollection.block, dict.fromkeys(standing.removed, NOTHING)
        begins = conversation is None or standing.is_stale
        # Only a conversation that begins, or begins anew, gets its block at the top: later the model would have to
        # evaluate everything after it again.
        goes_to_top = bool(block) and begins and may_use_top and (thread.prompt.has_system or system is not None)
        spot = None
        if block and not goes_to_top:
            spot = next((spot for spot in spots if begins or _is_open(spot, thread, conversation, standing)), None)
        if conversation is None or standing.is_stale:
            standing.top = block if goes_to_top else NOTHING
            conversation = self._conversations.begin(thread, standing.top, system, now)
        if spot is not None:
            changed[spot] = standing.blocks[spot] = join_blocks((standing.blocks.get(spot, NOTHING), block), GAP)
        conversation.passed = frozenset(thread.place_of(spot) for spot in spots)
        edit = self._keep_standing(conversation, thread, standing, changed, now)
        if not (goes_to_top or spot is not None):
            return _leave_out(edit, recollection)
        self._keep_notes(conversation, wanted, recollection.block.notes, now)
        return Placed(edit, recollection, is_shown=True)

    def put_back(self, thread: Thread, now: float) -> Edit:
        """Put back the existing blocks, and nothing new, into a prompt of which only the beginning was read."""
        conversation = self._conversations.resume(thread, now)
        if conversation is None or self._cache.tuning.recollection_placement == "system":
            return Edit()
        system = self._modelfile_of(thread.prompt) if conversation.top else None
        standing = self._select_standing(conversation, thread, system, now)
        if standing.is_stale:
            conversation = self._conversations.begin(thread, NOTHING, system, now)
        return self._keep_standing(conversation, thread, standing, dict.fromkeys(standing.removed, NOTHING), now)

    def _modelfile_of(self, prompt: Prompt) -> str | None:
        """Return the Modelfile's SYSTEM if a block at the top has to come after it; None if there is a system text, or
        while the SYSTEM is not known."""
        return None if prompt.has_system else self._modelfiles.system_of(prompt.model)

    def _keep_standing(
        self, conversation: Conversation, thread: Thread, standing: Standing, changed: Mapping[Spot, Block], now: float
    ) -> Edit:
        """Record the changed blocks below the top, and return the edit with all that stay."""
        for spot, change in changed.items():
            self._conversations.put(conversation, thread.place_of(spot), change, now)
        tails = {spot.part: block.text for spot, block in standing.blocks.items() if spot.is_end}
        heads = {spot.part: block.text for spot, block in standing.blocks.items() if not spot.is_end}
        return Edit(standing.top.text, conversation.system or "", tails, heads=heads)

    def _keep_notes(
        self, conversation: Conversation, wanted: Wanted | None, given: tuple[ShownNote, ...], now: float
    ) -> None:
        """Keep the notes with the user's message. Some clients rebuild the message that has the block while the model
        works on it: then it gets the same notes again."""
        if wanted is not None and given:
            kept = conversation.notes_at(wanted.message)
            more = tuple(note for note in given if note not in kept)
            self._conversations.keep_notes(conversation.key, wanted.message, (*kept, *more), now)

    def _place_at_top(
        self,
        thread: Thread,
        mentions: Mentions,
        now: float,
        why_not_ask: str,
        wanted: Wanted | None,
        within: ProjectPrompt,
    ) -> Placed:
        """Place one block, made anew each time, at the top; at the end if the prompt has no top for it."""
        system = self._modelfile_of(thread.prompt)
        has_top = thread.prompt.has_system or system is not None
        conversation = self._conversations.resume(thread, now)
        before = conversation.top if conversation is not None else NOTHING
        model, asking = thread.prompt.model, _asking(conversation, why_not_ask)
        found = _gather_notes(conversation, wanted, before.notes)
        facts = wanted.facts if wanted is not None else ()
        beside = wanted.beside if wanted is not None else NOTHING_BESIDE
        recollection = recollect(
            self._cache, mentions, now,
            model=model, stood=before.facts, asking=asking, found=found, beside=beside, linked=facts, within=within,
            speaker=thread.holder,
        )  # fmt: skip
        text, last = recollection.block.text, len(thread.prompt.parts) - 1
        if not text or not (has_top or thread.prompt.parts[last].takes_block):
            return _leave_out(Edit(), recollection)
        # No block stays in place here to show what was asked: without this record only the back-off would count, and a
        # conversation that outlasts it would be asked again. Nor is there a block to show which lines were injected.
        block = recollection.block
        said = Block(facts=block.facts, questions=before.questions + block.questions, notes=block.notes)
        if said != before:
            self._conversations.begin(thread, said, None, now)
        edit = Edit(text, system or "") if has_top else Edit(tails={last: text})
        return Placed(edit, recollection, is_shown=True)

    def _select_standing(
        self, conversation: Conversation | None, thread: Thread, system: str | None, now: float
    ) -> Standing:
        """Return the blocks that are still true, up to the first that is not."""
        if conversation is None:
            return Standing()
        parts = thread.prompt.parts
        blocks = {
            spot: block
            for spot, block in conversation.use_blocks(thread).items()
            if parts[spot.part].takes_block and (spot.is_end or parts[spot.part].takes_head)
        }
        # The Modelfile's SYSTEM comes before the top: if it has changed, the whole prompt is new to the model.
        is_other_system = bool(conversation.top) and system is not None and system != conversation.system
        if is_other_system or not still_holds(self._cache, conversation.top, now, thread.holder):
            return Standing(is_stale=True, lost=_notes_of([conversation.top, *blocks.values()]))
        kept: dict[Spot, Block] = {}
        for spot, block in blocks.items():
            if not still_holds(self._cache, block, now, thread.holder):
                # Without it, everything after it has to be evaluated again in any case: so all later blocks go, too.
                removed = [other for other in blocks if other >= spot]
                return Standing(conversation.top, kept, removed, lost=_notes_of(blocks[other] for other in removed))
            kept[spot] = block
        return Standing(conversation.top, kept)


def _find_last_said(parts: Sequence[Part]) -> str:
    return next((part.text for part in reversed(parts) if part.role == "user" and part.text), "")


def _asking(conversation: Conversation | None, why_not_ask: str) -> Asking:
    return Asking(why_not_ask, frozenset(conversation.asked if conversation is not None else ()))


def _gather_notes(
    conversation: Conversation | None, wanted: Wanted | None, lost: Sequence[ShownNote]
) -> tuple[ShownNote, ...]:
    """Return the notes that may be shown: those just found; those that the same message got in an earlier prompt; those
    found while the model answered the message before, if this one continues it; and those of removed blocks."""
    if wanted is None or conversation is None:
        return (*(wanted.found if wanted is not None else ()), *lost)
    late = conversation.notes_at(after(wanted.before)) if wanted.is_short else ()
    return (*wanted.found, *conversation.notes_at(wanted.message), *late, *lost)


def after(message: bytes) -> bytes:
    """Return the key of the notes that were found while the model answered that message."""
    return message[::-1]


def _notes_of(blocks: Iterable[Block]) -> list[ShownNote]:
    return [note for block in blocks for note in block.notes]


def find_spots(parts: Sequence[Part], placement: str) -> list[Spot]:
    """Return the spots for a new block in the message that the model answers, the best first; none if it takes no
    block."""
    index = len(parts) - 1
    if placement != "append_only":
        # Skip an answer that the client has begun, and trailing system texts.
        while index > 0 and parts[index].role == "assistant":
            index -= 1
        while index > 0 and parts[index].role == "system":
            index -= 1
    if not parts[index].takes_block:
        return []
    has_head = placement == "head_of_last" and parts[index].takes_head
    return [Spot(index, is_end=False), Spot(index, is_end=True)] if has_head else [Spot(index, is_end=True)]


def _is_open(spot: Spot, thread: Thread, conversation: Conversation | None, standing: Standing) -> bool:
    """True if a block there keeps, as far as is known, all of this prompt that the model has evaluated."""
    if spot == (len(thread.links) - 1, True) or any(removed <= spot for removed in standing.removed):
        return True
    place = thread.place_of(spot)
    return conversation is None or (place not in conversation.blocks and place not in conversation.passed)


def _leave_out(edit: Edit, recollection: Recollection) -> Placed:
    """Return the edit without the recollection, and say so in the reasons."""
    chosen = ("recalled", "asked")
    reasons = {word: NO_PLACE if reason in chosen else reason for word, reason in recollection.reasons.items()}
    notes = {key: NO_PLACE if reason == GIVEN else reason for key, reason in recollection.notes.items()}
    return Placed(edit, Recollection(style=recollection.style, reasons=reasons, notes=notes), is_shown=False)
