"""The run of the consolidation: new evidence, then contradictions, then merges, then what has faded. No language model
is asked. Each change is a transaction of its own, so that a run that is stopped has done what it counts."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from memory.db.locks import try_job_lock
from memory.db.transactions import run_transaction
from memory.domain.channels import STRONGEST_FIRST, Channel
from memory.models import Embedder, Episode, GivenNote, Memory, MemoryHistory, MemoryLineage
from memory.semantic import nearness, store, uniting
from memory.semantic.domain import consolidation as rules
from memory.semantic.domain.scope import PERSONAL
from memory.semantic.domain.slots import Slots
from memory.semantic.store import Change, Status
from memory.semantic.vectors import queue, schema
from resolution.models import Run
from resolution.remembering import reading
from resolution.resolver import run_records

logger = logging.getLogger(__name__)

ACTOR: Final = "consolidation"
EPISODES: Final = 2_000  # that are compared at a time
STEP: Final = 100  # memories between two signs of life

Progress = Callable[[Run], None]
Owner = tuple[object, ...]


class Rehearsed(Exception):
    """Everything was done only to be seen."""


def consolidate(actor: str = "", *, on_progress: Progress | None = None) -> Run | None:
    """None where another consolidation is under way."""
    with try_job_lock("consolidation") as is_alone:
        if not is_alone:
            return None
        # Whoever carried out another has lost the lock, and so is gone.
        Run.objects.filter(status=Run.Status.RUNNING, trigger=Run.Trigger.CONSOLIDATE).update(
            status=Run.Status.FAILED, note=run_records.DIED, ended_at=timezone.now()
        )
        reading.read_due()
        queue.embed_due()
        run = Run.objects.create(trigger=Run.Trigger.CONSOLIDATE, actor=actor[: run_records.ACTOR_MAX], mode="")
        try:
            with run_records.keep_alive(run):
                Night(run, on_progress).work()
        except Exception as error:
            run_records.close(run, Run.Status.FAILED, f"{type(error).__name__}; what it had done until then stays.")
            raise
        run_records.close(run, Run.Status.DONE, describe_lack())
        return run


def rehearse() -> tuple[Counter[str], list[MemoryHistory]]:
    """What a run would do: how many of each, and the changes. It is done in a transaction that is taken back."""
    try:
        with transaction.atomic():
            run = Run.objects.create(trigger=Run.Trigger.CONSOLIDATE, mode="")
            Night(run).work()
            changes = list(MemoryHistory.objects.filter(run=run.pk).select_related("memory").order_by("id"))
            raise Rehearsed
    except Rehearsed:
        return Counter(run.counts), changes


def describe_lack() -> str:
    """What kept texts from being compared by their meaning; empty where nothing did."""
    if not schema.has_tables():
        lack = schema.describe_lack(schema.find_extension())
    elif not Embedder.objects.filter(is_current=True, dimensions__isnull=False).exists():
        lack = "There is no embedder"
    else:
        return ""
    return f"{lack}: no evidence was looked for, and only memories with almost the same words were merged."


class Night:
    """One run over all memories that hold. What an operator has undone is left alone until it changes again."""

    def __init__(self, run: Run, on_progress: Progress | None = None) -> None:
        self.run = run
        self.on_progress = on_progress
        self.counts: Counter[str] = Counter()
        self.now = timezone.now()
        self.by = Change(ACTOR, Channel.OPERATOR, self.now, run=run.pk)
        self.is_comparing = not describe_lack()

    def work(self) -> None:
        total = find_memories().count()
        run_records.note_progress(self.run, conflicts_total=total)
        if self.is_comparing:
            for project in set(find_memories().order_by().values_list("project_id", flat=True)):
                self.add_evidence(project)
        for group in find_groups():
            self.look_at(group)
            self.note(len(group))
        for memory in find_memories().iterator(STEP):
            if store.current_confidence(memory, self.now) < rules.DEPRECATED_BELOW:
                self.change([memory.pk], self.deprecate)
        self.note(0)

    def note(self, seen: int) -> None:
        seen += self.run.conflicts_seen
        run_records.note_progress(self.run, conflicts_seen=seen, counts=dict(self.counts))
        if self.on_progress is not None:
            self.on_progress(self.run)

    # --- evidence ---

    def add_evidence(self, project: int | None) -> None:
        memories = {memory.pk: memory for memory in find_memories().filter(project=project)}
        vectors = nearness.load_vectors("memory", list(memories))
        since = min(memory.last_updated for memory in memories.values())
        found: dict[int, dict[int, datetime]] = defaultdict(dict)
        for episodes in in_chunks(find_own_words(project, since)):
            near = nearness.find_near_episodes(vectors, list(episodes), rules.EVIDENCE_COSINE)
            pairs = [(memories[key], episodes[said]) for key, said in near if is_support(memories[key], episodes[said])]
            given = find_given(pairs)
            # What was given there under other words would be an echo all the same.
            echoes = {episode.pk for memory, episode in pairs if (memory.pk, bytes(episode.conversation)) in given}
            for memory, episode in pairs:
                if episode.pk not in echoes:
                    found[memory.pk][episode.pk] = episode.said_at
        for key, said in found.items():
            self.change([key], partial(self.support, said))
            self.note(0)

    def support(self, said: dict[int, datetime], memory: Memory) -> None:
        uniting.support(memory, said, self.by)
        self.counts["supported"] += 1

    # --- contradictions and merges ---

    def look_at(self, group: dict[int, Memory]) -> None:
        """At memories that may say the same: of one project, category and, where it concerns a person, speaker."""
        if self.is_comparing:
            pairs = list(nearness.find_near_pairs(list(group), rules.NEAR_COSINE))
        else:
            pairs = find_same_words(group.values())
        same: list[tuple[int, int]] = []
        for one, other in pairs:
            first, second = group[one], group[other]
            if contradict(first, second):
                self.change([one, other], self.dispute)
            elif rules.says_same(first.text, second.text):
                same.append((one, other))
        for cluster in connect(same):
            self.change(cluster, self.merge)

    def dispute(self, one: Memory, other: Memory) -> None:
        if one.is_disputed and other.is_disputed:
            return
        older, newer = sorted((one, other), key=lambda memory: (memory.said_at, memory.pk))
        store.dispute(older, newer, self.by)
        self.counts["disputed"] += 1

    def merge(self, *memories: Memory) -> None:
        sure = {memory.pk: store.current_confidence(memory, self.now) for memory in memories}
        order = sorted(
            memories, key=lambda each: (-sure[each.pk], STRONGEST_FIRST.index(Channel(each.channel)), each.pk)
        )
        winner, *others = [memory for memory in order if not memory.is_disputed] or order
        losers = [each for each in others if rules.says_same(winner.text, each.text) and not each.is_disputed]
        if losers and sure[winner.pk] > rules.MERGE_LEAST:
            uniting.merge(winner, losers, self.by)
            self.counts["merged"] += len(losers)

    # --- what has faded ---

    def deprecate(self, memory: Memory) -> None:
        store.deprecate(memory, self.by)
        self.counts["deprecated"] += 1

    def change(self, keys: Sequence[int], work: Callable[..., None]) -> None:
        """Does it where all of them still hold, in the order of their ids, which all writers lock them in."""

        def do() -> None:
            rows = list(find_memories().filter(pk__in=keys).select_for_update(of=("self",)).order_by("pk"))
            if len(rows) == len(keys):
                work(*rows)

        run_transaction(do)


# --- what there is ---


def find_memories() -> QuerySet[Memory]:
    """Those that hold, but for what an operator has put back last."""
    last = MemoryHistory.objects.filter(memory=OuterRef("pk")).order_by("-id").values("action")[:1]
    rows = Memory.objects.filter(status=Status.ACTIVE).alias(last=Subquery(last)).defer("lexemes")
    return rows.filter(Q(last=None) | ~Q(last=MemoryHistory.Action.UNDO))


def find_groups() -> Iterator[dict[int, Memory]]:
    groups: dict[Owner, dict[int, Memory]] = defaultdict(dict)
    for memory in find_memories().order_by("pk").iterator():
        groups[owner_of(memory)][memory.pk] = memory
    yield from groups.values()


def owner_of(memory: Memory) -> Owner:
    speaker = (memory.agent, memory.person) if memory.category in PERSONAL else ()
    return (memory.project_id, memory.category, *speaker)


def find_own_words(project: int | None, since: datetime) -> Iterator[Episode]:
    """What users have said themselves: a message that quotes others is left out whole, for it is embedded whole."""
    rows = Episode.objects.filter(project=project, role=Episode.Role.USER, said_at__gt=since, quoted=[])
    yield from rows.defer("lexemes").order_by("pk").iterator(EPISODES)


def in_chunks(episodes: Iterable[Episode]) -> Iterator[dict[int, Episode]]:
    chunk: dict[int, Episode] = {}
    for episode in episodes:
        chunk[episode.pk] = episode
        if len(chunk) == EPISODES:
            yield chunk
            chunk = {}
    if chunk:
        yield chunk


def is_support(memory: Memory, episode: Episode) -> bool:
    is_own = (memory.agent, memory.person) == (episode.agent, episode.person)
    if episode.said_at <= memory.last_updated or not (is_own or memory.category not in PERSONAL):
        return False
    return rules.supports(memory.text, episode.text)


def find_given(pairs: Sequence[tuple[Memory, Episode]]) -> set[tuple[int, bytes]]:
    """Which memory was given to which conversation: there it would only be its own echo."""
    rows = GivenNote.objects.filter(
        kind=MemoryLineage.Kind.MEMORY,
        row__in={memory.pk for memory, _ in pairs},
        conversation__in={bytes(episode.conversation) for _, episode in pairs},
    )
    return {(key, bytes(conversation)) for key, conversation in rows.values_list("row", "conversation")}


def find_same_words(memories: Iterable[Memory]) -> list[tuple[int, int]]:
    """Pairs of memories whose words are the same by the rules: each with the first of them."""
    first: dict[tuple[str, ...], int] = {}
    pairs = []
    for memory in memories:
        words = tuple(word.base or word.form for word in rules.read_words(memory.text))
        if (earlier := first.setdefault(words, memory.pk)) != memory.pk:
            pairs.append((earlier, memory.pk))
    return pairs


def contradict(one: Memory, other: Memory) -> bool:
    found = [Slots(each.slot, each.other_slot) for each in (one, other)]
    return rules.find_contradiction(one.text, other.text, one.category, found) is not None


def connect(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The connected components of a graph with these edges."""
    of: dict[int, list[int]] = {}
    for one, other in pairs:
        joined = of.get(one, [one])
        if (beside := of.get(other, [other])) is not joined:
            joined += beside
        of |= dict.fromkeys(joined, joined)
    return list({id(component): component for component in of.values()}.values())
