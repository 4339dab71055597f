"""Where recollections go in a prompt, and what stands in it already."""

from dataclasses import dataclass, field

from memory.cache.state import Cache
from memory.domain.recall.rendering import Lines, read_block, together
from memory.recall.mentions import Mentions
from memory.recall.recollect import Recollection, holds, recollect
from proxy.domain.formats.base import GAP, Edit, after
from proxy.domain.prefixes import Thread
from proxy.enrichment.conversations import Conversation, Conversations
from proxy.upstream.modelfiles import Modelfiles

NO_PLACE = "no place for it in this prompt"


@dataclass(slots=True)
class Standing:
    """The blocks that stay: the one at the top, and by the index of a part those at their ends. ``taken_out`` are the
    parts whose blocks do not hold any more; so does the top where ``is_stale``."""

    top: str = ""
    tails: dict[int, str] = field(default_factory=dict)
    taken_out: list[int] = field(default_factory=list)
    is_stale: bool = False

    def lines(self) -> Lines:
        return together(read_block(block) for block in (self.top, *self.tails.values()) if block)


@dataclass(frozen=True, slots=True)
class Placed:
    """``is_said``: whether the recollection is in the prompt, for it may have found no place."""

    edit: Edit
    recollection: Recollection
    is_said: bool

    @property
    def text(self) -> str:
        """All blocks of the prompt, as they follow each other."""
        tails = self.edit.tails
        return GAP.join(block for block in (self.edit.top, *(tails[index] for index in sorted(tails))) if block)


class Placement:
    def __init__(self, cache: Cache, conversations: Conversations, modelfiles: Modelfiles) -> None:
        self._cache = cache
        self._conversations = conversations
        self._modelfiles = modelfiles

    def place(self, thread: Thread, mentions: Mentions, now: float) -> Placed:
        """What is put into the prompt, and what of it is new."""
        prompt = thread.prompt
        system = None if prompt.has_system else self._modelfiles.system_of(prompt.model)
        has_top = prompt.has_system or system is not None
        if self._cache.tuning.recollection_placement == "system":
            return self._at_the_top(thread, mentions, system, has_top, now)
        conversation = self._conversations.find(thread, now)
        stays = self._still_standing(conversation, thread, system, now)
        recollection = recollect(self._cache, mentions, now, stays.lines())
        block, last = recollection.block, len(prompt.parts) - 1
        if conversation is None or stays.is_stale:
            at_top = bool(block) and has_top
            stays.top = block if at_top else ""
            conversation = self._conversations.begin(thread, stays.top, system, now)
        else:
            at_top = False
        changed = dict.fromkeys(stays.taken_out, "")
        at_end = bool(block) and not at_top and prompt.parts[last].takes_block
        if at_end:
            changed[last] = stays.tails[last] = after(stays.tails.get(last, ""), block)
        for index, text in changed.items():
            self._conversations.put(conversation, thread.links[index], text, now)
        edit = Edit(stays.top, conversation.system or "", stays.tails)
        return Placed(edit, recollection, is_said=True) if at_top or at_end else unsaid(edit, recollection)

    def _at_the_top(self, thread: Thread, mentions: Mentions, system: str | None, has_top: bool, now: float) -> Placed:
        """One block, made anew each time; at the end where the top is not to be had."""
        recollection = recollect(self._cache, mentions, now)
        block, last = recollection.block, len(thread.prompt.parts) - 1
        if block and has_top:
            return Placed(Edit(block, system or ""), recollection, is_said=True)
        if block and thread.prompt.parts[last].takes_block:
            return Placed(Edit(tails={last: block}), recollection, is_said=True)
        return unsaid(Edit(), recollection)

    def _still_standing(
        self, conversation: Conversation | None, thread: Thread, system: str | None, now: float
    ) -> Standing:
        """The blocks that hold. From the first that does not, all are taken out: what follows it would have to be
        evaluated again in any case."""
        if conversation is None:
            return Standing()
        parts = thread.prompt.parts
        tails = {at: block for at, block in conversation.standing(thread.links).items() if parts[at].takes_block}
        is_other_model = bool(conversation.top) and system is not None and system != conversation.system
        if is_other_model or not self._holds(conversation.top, now):
            return Standing(is_stale=True)
        kept: dict[int, str] = {}
        for index, block in tails.items():
            if not self._holds(block, now):
                return Standing(conversation.top, kept, [other for other in tails if other >= index])
            kept[index] = block
        return Standing(conversation.top, kept)

    def _holds(self, block: str, now: float) -> bool:
        return not block or holds(self._cache, read_block(block), now)


def unsaid(edit: Edit, recollection: Recollection) -> Placed:
    """Nothing of the recollection is in the prompt, if there is any."""
    chosen = ("recalled", "asked")
    reasons = {word: NO_PLACE if reason in chosen else reason for word, reason in recollection.reasons.items()}
    return Placed(edit, Recollection(reasons=reasons), is_said=False)
