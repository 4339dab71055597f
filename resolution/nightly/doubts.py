"""Asks a language model about pairs of memories that no rule decides, an owner's possible contradictions in one call,
their possible duplicates in another."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Final

from memory.memories import store
from memory.memories.store import Action
from memory.models import LanguageModel, LlmCall, Memory, MemoryHistory
from memory.timing import describe_time
from resolution.conflicts.memories import drop_kept
from resolution.models import Run
from resolution.nightly.inventory import Owner, find_memories, owner_of
from resolution.nightly.memory_prompt import PairVerdict, build_question, read_verdicts
from resolution.nightly.runs import ask

PAIRS_MAX: Final = 40  # per call; the others wait for the next night
CALLS_MAX: Final = 10  # per night, each about one owner's memories
COLLECTED_MAX: Final = 2_000  # pairs per night

MemoryPair = tuple[Memory, Memory]


class Doubts:
    """The undecided pairs of one night. Pairs that a model has decided to keep apart are skipped, unless one memory was
    edited or put back since."""

    def __init__(self) -> None:
        self.opposed: list[MemoryPair] = []
        self.alike: list[MemoryPair] = []
        self._kept = find_kept()

    def add(self, pair: MemoryPair, *, is_opposed: bool) -> None:
        one, other = pair
        doubted = self.opposed if is_opposed else self.alike
        is_disputed = any(each.is_disputed for each in pair)  # then they wait for a person
        if not is_disputed and other.pk not in self._kept[one.pk] and len(doubted) < COLLECTED_MAX:
            doubted.append(pair)


def find_kept() -> defaultdict[int, dict[int, bool]]:
    """Return, for each memory, those that were kept beside it, and whether a model proposes to merge the two."""
    history = MemoryHistory.objects.filter(action__in=(Action.KEEP, Action.EDIT, Action.UNDO)).order_by("id")
    names = ("memory_id", "action", "after__beside", "after__proposal")
    kept: defaultdict[int, dict[int, bool]] = defaultdict(dict)
    for memory, action, beside, proposal in history.values_list(*names).iterator():
        if action == Action.KEEP:
            kept[memory][beside] = proposal is not None
        else:
            for other in kept.pop(memory, ()):
                kept[other].pop(memory, None)
    return kept


def find_proposed() -> dict[int, list[int]]:
    """Return, for each memory, those that a model proposes to merge with it, as far as both are still active."""
    proposed = {key: [other for other, is_open in beside.items() if is_open] for key, beside in find_kept().items()}
    active = set(find_memories().filter(pk__in=proposed, is_disputed=False).values_list("pk", flat=True))
    found = {key: [other for other in beside if other in active] for key, beside in proposed.items() if key in active}
    return {key: beside for key, beside in found.items() if beside}


def find_open(pairs: Sequence[MemoryPair]) -> list[MemoryPair]:
    """Return the pairs whose memories are both still active and undisputed, except those that people decided to
    keep."""
    keys = {each.pk for pair in pairs for each in pair}
    holding = set(find_memories().filter(pk__in=keys, is_disputed=False).values_list("pk", flat=True))
    return [(one, other) for one, other in pairs if holding.issuperset((one.pk, other.pk)) and drop_kept(one, [other])]


def split_by_owner(pairs: Sequence[MemoryPair]) -> list[list[MemoryPair]]:
    """Return the pairs that are asked about in this night, by the owner of their memories."""
    owned: dict[Owner, list[MemoryPair]] = defaultdict(list)
    for pair in pairs:
        owned[owner_of(pair[0])].append(pair)
    return [each[:PAIRS_MAX] for each in owned.values()][:CALLS_MAX]


def ask_about(pairs: Sequence[MemoryPair], run: Run, model: LanguageModel) -> dict[int, PairVerdict]:
    """Return the model's verdicts by the index of the pair. Raises LlmError, RunLost."""
    question = build_question([(quote(one, run), quote(other, run)) for one, other in pairs])
    read = partial(read_verdicts, count=len(pairs))
    return ask(run, model, LlmCall.Purpose.COMPARE, f"{len(pairs)} pairs of memories", question, read)


def quote(memory: Memory, run: Run) -> dict[str, object]:
    sure = round(store.current_confidence(memory, run.started_at), 2)
    said_at = describe_time(memory.said_at)
    return {"words": memory.text, "sure": sure, "channel": memory.channel, "said_at": said_at}
