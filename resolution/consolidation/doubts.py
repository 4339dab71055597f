"""Asks a language model about pairs of memories that no rule decides: one call for possible contradictions, another for
possible duplicates."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from memory import llm
from memory.domain.timing import describe_time
from memory.models import LanguageModel, LlmCall, Memory, MemoryHistory
from memory.semantic import store
from memory.semantic.domain.consolidation import LASTING_CHANNELS
from memory.semantic.store import Action
from resolution.consolidation.inventory import find_memories
from resolution.domain.memory_prompt import PairVerdict, QuotedMemory, build_question, read_verdicts
from resolution.layers.memories import drop_settled
from resolution.models import Run
from resolution.resolver import run_records

PAIRS_MAX: Final = 40  # per call; the others wait for the next night
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
        # Disputed memories wait for a person, and no model may remove what people wrote on purpose.
        is_for_people = any(each.is_disputed for each in pair) or all(each.channel in LASTING_CHANNELS for each in pair)
        if not is_for_people and other.pk not in self._kept[one.pk] and len(doubted) < COLLECTED_MAX:
            doubted.append(pair)


def find_kept() -> defaultdict[int, set[int]]:
    """Return, for each memory, those that a model decided to keep beside it."""
    history = MemoryHistory.objects.filter(action__in=(Action.KEEP, Action.EDIT, Action.UNDO)).order_by("id")
    kept: defaultdict[int, set[int]] = defaultdict(set)
    for memory, action, beside in history.values_list("memory_id", "action", "after__beside").iterator():
        if action == Action.KEEP:
            kept[memory].add(beside)
        else:
            for other in kept.pop(memory, ()):
                kept[other].discard(memory)
    return kept


def find_open(pairs: Sequence[MemoryPair]) -> list[MemoryPair]:
    """Return the pairs whose memories are both still active and undisputed, except those that people decided to
    keep."""
    keys = {each.pk for pair in pairs for each in pair}
    holding = set(find_memories().filter(pk__in=keys, is_disputed=False).values_list("pk", flat=True))
    return [
        (one, other) for one, other in pairs if holding.issuperset((one.pk, other.pk)) and drop_settled(one, [other])
    ]


def ask(pairs: Sequence[MemoryPair], run: Run, model: LanguageModel) -> dict[int, PairVerdict]:
    """Return the model's verdicts by the index of the pair. Raises LlmError, VerdictMistake."""
    question = build_question([(quote(one, run), quote(other, run)) for one, other in pairs])
    subject = run_records.subject(run, f"{len(pairs)} pairs of memories")
    answer = llm.ask(
        model,
        LlmCall.Purpose.COMPARE,
        subject,
        system=question.system,
        prompt=question.prompt,
        schema=question.schema,
    )
    return read_verdicts(answer.data, len(pairs))


def quote(memory: Memory, run: Run) -> QuotedMemory:
    sure = store.current_confidence(memory, run.started_at)
    return QuotedMemory(memory.text, sure, memory.channel, describe_time(memory.said_at))
