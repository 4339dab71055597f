"""Decides which blocks stay in a prompt, and where a new one goes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from memory.recall.block import NOTHING, Block, ShownNote, join_blocks
from memory.recall.mentions import Mentions
from memory.recall.notes import GIVEN, NOTHING_BESIDE, Beside
from memory.recall.recollect import ProjectPrompt, Recollection, list_current, recollect, still_holds
from memory.recall.speakers_graph import SpeakersGraph
from memory.types import TripleIds
from proxy.formats.base import GAP, Edit, Part, join_texts
from proxy.formats.prefixes import PrefixDigests
from proxy.prompts.blocks import RESEND_S, Blocks, Version

NO_PLACE = "no place for it in this prompt"


@dataclass(frozen=True, slots=True)
class MessageNotes:
    """Notes for the last user message of a prompt, the best first; ``facts``: those that its search has found."""

    found: tuple[ShownNote, ...] = ()
    facts: tuple[TripleIds, ...] = ()
    beside: Beside = NOTHING_BESIDE


@dataclass(slots=True)
class KeptBlocks:
    """The blocks that a prompt has had before and that still hold, by the index of the part that each follows.

    - ``invalid``: the blocks that are no longer current, with their places; ``lost``: their notes.
    - ``is_resent``: the prompt was sent before, a short time ago, and gets what it got then.
    - ``version``: what stands at the spot for a new block.
    """

    blocks: dict[int, Block] = field(default_factory=dict)
    invalid: list[tuple[bytes, Version]] = field(default_factory=list)
    lost: list[ShownNote] = field(default_factory=list)
    is_resent: bool = False
    version: Version | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """The edit of a prompt. ``is_shown`` is False if there was no place for the recollection; ``version`` is what
    stands where the model answers, to which its answer belongs, and ``is_new`` if it was not there before."""

    edit: Edit
    recollection: Recollection
    is_shown: bool
    version: Version | None = None
    is_new: bool = False

    @property
    def text(self) -> str:
        """All blocks of the prompt, in order."""
        tails = self.edit.tails
        return GAP.join(block for block in (self.edit.top, *(tails[index] for index in sorted(tails))) if block)


def find_kept(
    graph: SpeakersGraph,
    blocks: Blocks,
    prefixes: PrefixDigests,
    now: float,
    told_at: Callable[[], float] = lambda: 0.0,
) -> KeptBlocks:
    """Find the blocks that the prompt has had before. ``told_at`` returns when the speaker last told something
    elsewhere: what ends at a place is asked once more since then."""
    kept, is_cut = KeptBlocks(), False
    for index, part in enumerate(prefixes.prompt.parts):
        version = blocks.find(prefixes, index) if part.takes_block else None
        if version is None:
            continue
        if index == prefixes.spot:
            if now - version.at > RESEND_S or version.at < told_at():
                continue  # somebody begins anew from here
            kept.version = version
        if not version.block:
            continue
        # Without a block, everything after it has to be evaluated again in any case: so all later blocks go, too.
        is_cut = is_cut or not still_holds(graph, version.block, now)
        if is_cut:
            kept.lost += version.block.notes
            kept.invalid.append((prefixes.links[index], version))
        else:
            kept.blocks[index] = version.block
    # What follows a place that got nothing may have been evaluated: such a place stays as it is. At the end of a prompt
    # something may be put there, if by now there is something.
    if kept.version is not None and not is_cut:
        has_more = prefixes.spot != len(prefixes.links) - 1
        kept.is_resent = has_more or bool(kept.version.block)
    return kept


def place(
    graph: SpeakersGraph,
    prefixes: PrefixDigests,
    kept: KeptBlocks,
    mentions: Mentions,
    now: float,
    *,
    why_not_ask: str = "",
    wanted: MessageNotes | None = None,
    project: int | None = None,
    warning: str = "",
) -> Placed:
    """Recall for a prompt, and place the new block among those that are there already.

    With ``why_not_ask``, no questions are asked. ``project`` is the one whose state is injected. ``warning`` is a text
    that goes to the end of the block.
    """
    prompt, tuning = prefixes.prompt, graph.cache.tuning
    if kept.is_resent:
        nothing = Recollection(style=tuning.recollection_style)
        return Placed(_edit(kept.blocks), nothing, is_shown=False, version=kept.version)
    wants_top = tuning.recollection_placement == "system" or not any(part.takes_block for part in prompt.parts)
    is_at_top = prompt.takes_top and wants_top
    shown = join_blocks(kept.blocks.values(), GAP)
    wanted = wanted or MessageNotes()
    recollection = recollect(
        graph,
        mentions,
        now,
        # A placed line whose slot this very prompt disputes is followed by a line that says so.
        replace(shown, facts=list_current(graph, shown.facts, now)),
        why_not_ask=why_not_ask,
        found=(*wanted.found, *kept.lost),
        beside=wanted.beside,
        linked=wanted.facts,
        within=ProjectPrompt(project, _find_last_said(prompt.parts)),
    )
    block = NOTHING if is_at_top else recollection.block
    if warning:
        block = replace(block, text=join_texts(block.text, warning))
    is_new = prefixes.spot is not None and bool(block or kept.version is None)
    blocks = kept.blocks | {prefixes.spot: block} if prefixes.spot is not None and block else kept.blocks
    edit = replace(_edit(blocks), top=recollection.block.text if is_at_top else "")
    is_shown = is_at_top or prefixes.spot is not None
    return Placed(
        edit,
        recollection if is_shown else _leave_out(recollection),
        is_shown,
        Version.of(block, now) if is_new else kept.version,
        is_new,
    )


def remember_placed(blocks: Blocks, prefixes: PrefixDigests, kept: KeptBlocks, placed: Placed | None) -> None:
    """Remember where the new block stands, and drop those that are no longer current."""
    for link, version in kept.invalid:
        blocks.remove(link, version)
    if placed is not None and placed.is_new and placed.version is not None:
        blocks.begin(prefixes.place, placed.version)


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
