"""Places recollections in a prompt, and decides which blocks stay in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memory.cache.state import Cache
from memory.domain.recall.notes import ShownNote
from memory.domain.recall.rendering import NOTHING, Block, join_blocks
from memory.domain.types import TripleIds
from memory.recall.mentions import Mentions
from memory.recall.notes import GIVEN, NOTHING_BESIDE, Beside
from memory.recall.recollect import Recollection, list_current, recollect, still_holds
from memory.recall.stated import NOTHING_STATED, Stated
from memory.recall.states import ProjectPrompt
from proxy.domain.formats.base import GAP, Edit, Part, join_texts
from proxy.domain.prefixes import Thread
from proxy.enrichment.blocks import RESEND_S, Blocks, Version

NO_PLACE = "no place for it in this prompt"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Notes for the last user message of a prompt, the best first; ``facts``: those that its search has found."""

    found: tuple[ShownNote, ...] = ()
    facts: tuple[TripleIds, ...] = ()
    beside: Beside = NOTHING_BESIDE


@dataclass(slots=True)
class Standing:
    """The blocks that a prompt has had before and that still hold, by the index of the part that each follows.

    - ``lost``: the notes of blocks that hold no more.
    - ``is_resent``: the prompt was sent before, a short time ago, and gets what it got then.
    - ``version``: what stands at the spot for a new block.
    """

    blocks: dict[int, Block] = field(default_factory=dict)
    lost: list[ShownNote] = field(default_factory=list)
    is_resent: bool = False
    version: Version | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """The edit of a prompt. ``is_shown`` is False if there was no place for the recollection; ``version`` is what
    stands where the model answers, to which its answer belongs."""

    edit: Edit
    recollection: Recollection
    is_shown: bool
    version: Version | None = None

    @property
    def text(self) -> str:
        """All blocks of the prompt, in order."""
        tails = self.edit.tails
        return GAP.join(block for block in (self.edit.top, *(tails[index] for index in sorted(tails))) if block)


class BlockPlacer:
    """Recalls for a prompt, and places the new block among those that are already there."""

    def __init__(self, cache: Cache, blocks: Blocks) -> None:
        self._cache = cache
        self._blocks = blocks

    def find_standing(self, thread: Thread, now: float) -> Standing:
        """Find the blocks that the prompt has had before. Removes those that hold no more."""
        standing, is_cut = Standing(), False
        for index, part in enumerate(thread.prompt.parts):
            version = self._blocks.find(thread, index) if part.takes_block else None
            if version is None:
                continue
            if index == thread.spot:
                if now - version.at > RESEND_S:
                    continue  # somebody begins anew from here
                standing.version = version
            if not version.block:
                continue
            # Without a block, everything after it has to be evaluated again in any case: so all later blocks go, too.
            is_cut = is_cut or not still_holds(self._cache, version.block, now, thread.holder)
            if is_cut:
                standing.lost += version.block.notes
                self._blocks.remove(thread.links[index], version)
            else:
                standing.blocks[index] = version.block
        # What follows a place that got nothing may have been evaluated: such a place stays as it is. At the end of a
        # prompt something may be put there, if by now there is something.
        if standing.version is not None and not is_cut:
            has_more = thread.spot != len(thread.links) - 1
            standing.is_resent = has_more or bool(standing.version.block)
        return standing

    def place(
        self,
        thread: Thread,
        standing: Standing,
        mentions: Mentions,
        now: float,
        *,
        why_not_ask: str = "",
        wanted: Wanted | None = None,
        project: int | None = None,
        warning: str = "",
        stated: Stated = NOTHING_STATED,
    ) -> Placed:
        """Decide what to put into the prompt, and remember it.

        With ``why_not_ask``, no questions are asked. ``project`` is the one whose state is injected. ``warning`` is a
        text that goes to the end of the block. ``stated`` is what the prompt states itself.
        """
        prompt = thread.prompt
        if standing.is_resent:
            return Placed(_edit(standing.blocks), self._nothing(thread), is_shown=False, version=standing.version)
        wants_top = self._cache.tuning.recollection_placement == "system" or not any(
            part.takes_block for part in prompt.parts
        )
        is_at_top = prompt.takes_top and wants_top
        shown = join_blocks(standing.blocks.values(), GAP)
        wanted = wanted or Wanted()
        recollection = recollect(
            self._cache,
            mentions,
            now,
            # A placed line whose slot this very prompt disputes is followed by a line that says so.
            replace(shown, facts=list_current(self._cache, shown.facts, now, thread.holder, stated)),
            why_not_ask=why_not_ask,
            found=(*wanted.found, *standing.lost),
            beside=wanted.beside,
            linked=wanted.facts,
            within=ProjectPrompt(project, _find_last_said(prompt.parts)),
            speaker=thread.holder,
            stated=stated,
        )
        block = NOTHING if is_at_top else recollection.block
        if warning:
            block = replace(block, text=join_texts(block.text, warning))
        version = standing.version
        if thread.spot is not None and (block or version is None):
            version = self._blocks.begin(thread.place, block, now)
        if thread.spot is not None and block:
            standing.blocks[thread.spot] = block
        edit = replace(_edit(standing.blocks), top=recollection.block.text if is_at_top else "")
        is_shown = is_at_top or thread.spot is not None
        return Placed(edit, recollection if is_shown else _leave_out(recollection), is_shown, version)

    def _nothing(self, thread: Thread) -> Recollection:
        return Recollection(style=self._cache.tuning.recollection_style)


def _edit(blocks: dict[int, Block]) -> Edit:
    return Edit(tails={index: block.text for index, block in blocks.items()})


def _find_last_said(parts: Sequence[Part]) -> str:
    return next((part.text for part in reversed(parts) if part.role == "user" and part.text), "")


def _leave_out(recollection: Recollection) -> Recollection:
    """Return the recollection without its block, and say so in the reasons."""
    chosen = ("recalled", "asked")
    reasons = {word: NO_PLACE if reason in chosen else reason for word, reason in recollection.reasons.items()}
    notes = {key: NO_PLACE if reason == GIVEN else reason for key, reason in recollection.notes.items()}
    return Recollection(style=recollection.style, reasons=reasons, notes=notes)
