"""Where recollections go in a prompt, and which blocks stay in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memory.cache.state import Cache
from memory.domain.recall.rendering import NOTHING, Block, join_blocks
from memory.recall.mentions import Mentions
from memory.recall.recollect import Recollection, recollect, still_holds
from proxy.domain.formats.base import GAP, Edit
from proxy.domain.prefixes import Thread
from proxy.enrichment.conversations import Conversation, Conversations
from proxy.upstream.modelfiles import Modelfiles

NO_PLACE = "no place for it in this prompt"


@dataclass(slots=True)
class Standing:
    """The blocks that stay in a prompt. Where the top does not hold any more (``is_stale``), none of them do."""

    top: Block = NOTHING
    tails: dict[int, Block] = field(default_factory=dict)  # by the index of the part at whose end they stand
    removed: list[int] = field(default_factory=list)  # parts whose blocks do not hold any more
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """What is put into a prompt. ``is_shown``: whether the recollection is in it, for it may have found no place."""

    edit: Edit
    recollection: Recollection
    is_shown: bool

    @property
    def text(self) -> str:
        """All blocks of the prompt, as they follow each other."""
        tails = self.edit.tails
        return GAP.join(block for block in (self.edit.top, *(tails[index] for index in sorted(tails))) if block)


class BlockPlacer:
    """Recalls for a prompt, and finds a place for what is new between the blocks that stand there."""

    def __init__(self, cache: Cache, conversations: Conversations, modelfiles: Modelfiles) -> None:
        self._cache = cache
        self._conversations = conversations
        self._modelfiles = modelfiles

    def place(self, thread: Thread, mentions: Mentions, now: float) -> Placed:
        """Decides what is put into the prompt, and records it with the conversation."""
        prompt, last = thread.prompt, len(thread.prompt.parts) - 1
        system = None if prompt.has_system else self._modelfiles.system_of(prompt.model)
        has_top = prompt.has_system or system is not None
        if self._cache.tuning.recollection_placement == "system":
            return self._place_at_top(thread, mentions, system, has_top, now)
        # Blocks stay where they were first put, byte for byte, so that the upstream's prompt cache stays valid.
        conversation = self._conversations.resume(thread, now)
        standing = self._select_standing(conversation, thread, system, now)
        shown = join_blocks((standing.top, *standing.tails.values()), GAP)
        recollection = recollect(self._cache, mentions, now, shown)
        block, changed = recollection.block, dict.fromkeys(standing.removed, NOTHING)
        # Only a conversation that begins, or begins anew, gets its block at the top: later the model would have to
        # evaluate all that follows once more.
        goes_to_top = bool(block) and has_top and (conversation is None or standing.is_stale)
        goes_to_end = bool(block) and not goes_to_top and prompt.parts[last].takes_block
        if conversation is None or standing.is_stale:
            standing.top = block if goes_to_top else NOTHING
            conversation = self._conversations.begin(thread, standing.top, system, now)
        if goes_to_end:
            changed[last] = standing.tails[last] = join_blocks((standing.tails.get(last, NOTHING), block), GAP)
        edit = self._keep_standing(conversation, thread, standing, changed, now)
        return (
            Placed(edit, recollection, is_shown=True) if goes_to_top or goes_to_end else _leave_out(edit, recollection)
        )

    def put_back(self, thread: Thread, now: float) -> Edit:
        """Of a prompt of which only the beginning was read: the blocks that stand there, and nothing new."""
        conversation = self._conversations.resume(thread, now)
        if conversation is None or self._cache.tuning.recollection_placement == "system":
            return Edit()
        system = None if thread.prompt.has_system else self._modelfiles.system_of(thread.prompt.model)
        standing = self._select_standing(conversation, thread, system, now)
        if standing.is_stale:
            conversation = self._conversations.begin(thread, NOTHING, system, now)
        return self._keep_standing(conversation, thread, standing, dict.fromkeys(standing.removed, NOTHING), now)

    def _keep_standing(
        self, conversation: Conversation, thread: Thread, standing: Standing, changed: Mapping[int, Block], now: float
    ) -> Edit:
        """Records the tails that have changed, by the index of their part."""
        for index, change in changed.items():
            self._conversations.put(conversation, thread.links[index], change, now)
        tails = {index: tail.text for index, tail in standing.tails.items()}
        return Edit(standing.top.text, conversation.system or "", tails)

    def _place_at_top(
        self, thread: Thread, mentions: Mentions, system: str | None, has_top: bool, now: float
    ) -> Placed:
        """One block, made anew each time; at the end where there is no top to put it."""
        conversation = self._conversations.resume(thread, now)
        asked_before = conversation.top.questions if conversation is not None else ()
        recollection = recollect(self._cache, mentions, now, Block(questions=asked_before))
        text, last = recollection.block.text, len(thread.prompt.parts) - 1
        if not text or not (has_top or thread.prompt.parts[last].takes_block):
            return _leave_out(Edit(), recollection)
        if recollection.asked:
            # No block stays here that would show what was asked: without this the back-off alone would decide, and a
            # conversation that is longer than it would be asked again.
            questions = asked_before + recollection.block.questions
            self._conversations.begin(thread, Block(questions=questions), None, now)
        edit = Edit(text, system or "") if has_top else Edit(tails={last: text})
        return Placed(edit, recollection, is_shown=True)

    def _select_standing(
        self, conversation: Conversation | None, thread: Thread, system: str | None, now: float
    ) -> Standing:
        """The blocks that still hold, up to the first that does not."""
        if conversation is None:
            return Standing()
        parts = thread.prompt.parts
        tails = {at: block for at, block in conversation.use_tails(thread.links).items() if parts[at].takes_block}
        # The Modelfile's SYSTEM stands before the top: where that has changed, the whole prompt is new to the model.
        is_other_system = bool(conversation.top) and system is not None and system != conversation.system
        if is_other_system or not still_holds(self._cache, conversation.top, now):
            return Standing(is_stale=True)
        kept: dict[int, Block] = {}
        for index, block in tails.items():
            if not still_holds(self._cache, block, now):
                # Without it, whatever follows has to be evaluated again in any case: so all later ones go as well.
                return Standing(conversation.top, kept, [other for other in tails if other >= index])
            kept[index] = block
        return Standing(conversation.top, kept)


def _leave_out(edit: Edit, recollection: Recollection) -> Placed:
    """Nothing of the recollection is in the prompt, if there is any; the reasons say so."""
    chosen = ("recalled", "asked")
    reasons = {word: NO_PLACE if reason in chosen else reason for word, reason in recollection.reasons.items()}
    return Placed(edit, Recollection(reasons=reasons), is_shown=False)
