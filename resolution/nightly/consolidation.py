"""The consolidation run: new memories, evidence, contradictions, merges, decay.

A language model, if one is chosen, concludes new memories and decides what rules do not. Each change is its own
transaction, so a run that is stopped has done what it counts.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from django.utils import timezone

from memory import llm
from memory.channels import STRONGEST_FIRST, Channel
from memory.db.transactions import dry_run, run_transaction
from memory.english.opposites import Opposition, find_opposition
from memory.english.phrases import format_count
from memory.memories import comparing, merging, store
from memory.memories import consolidation as rules
from memory.memories.comparing import find_contradiction
from memory.memories.store import Change
from memory.models import Embedder, LanguageModel, Memory, MemoryHistory, Source
from memory.search.vectors import queue, schema
from resolution.actors import Actor
from resolution.conflicts.change_log import recording
from resolution.conflicts.memories import close_moot_conflicts, drop_kept, open_between
from resolution.conflicts.opening import MemberKind, close_moot_of
from resolution.memories import reading
from resolution.models import Conflict, Decision, Run
from resolution.nightly import doubts, extraction, inventory
from resolution.nightly.doubts import Doubts, MemoryPair
from resolution.nightly.memory_prompt import PairVerdict
from resolution.nightly.runs import find_model, note_progress

logger = logging.getLogger(__name__)

ACTOR: Final = "consolidation"
STEP: Final = 100  # memories fetched at a time

SIGNS: Final = {
    Opposition.NEGATION: "one denies what the other says",
    Opposition.ANTONYM: "one says the opposite",
    Opposition.NUMBER: "another number",
    Opposition.NAME: "another value",
}
NO_TEXTS: Final[Mapping[int, str]] = {}


def consolidate_memories(run: Run) -> str:
    reading.read_due()
    queue.embed_due()
    consolidation = ConsolidationRun(run, find_model("consolidate_model_id"))
    consolidation.work()
    return "\n".join(filter(None, dict.fromkeys([explain_missing_vectors(), *consolidation.notes])))


def preview() -> tuple[Counter[str], list[MemoryHistory]]:
    """Return the counts and changes of a run without a language model, which is rolled back."""
    with dry_run():
        run = Run.objects.create(trigger=Run.Trigger.CONSOLIDATE, mode="")
        ConsolidationRun(run).work()
        changes = list(MemoryHistory.objects.filter(run=run.pk).select_related("memory").order_by("id"))
    return Counter(run.counts), changes


def explain_missing_vectors() -> str:
    """Return the reason why texts cannot be compared by meaning, or "" if they can."""
    lack = schema.find_lack()
    if not lack and not Embedder.objects.filter(is_current=True, noise_deviation__isnull=False).exists():
        lack = "There is no calibrated embedder"
    return lack and f"{lack}: only memories with almost the same words were compared, and nothing was concluded."


class ConsolidationRun:
    """One run over all active memories. Memories that an operator has put back are left alone until they change again.
    ``notes`` say what prevented parts of the run."""

    def __init__(self, run: Run, model: LanguageModel | None = None) -> None:
        self.run = run
        self.model = model
        self.proposes = model is not None and llm.only_proposes(model)
        self.notes: list[str] = []
        self.doubts = Doubts()
        self.counts: Counter[str] = Counter()
        self.now = timezone.now()
        self.by = Change(ACTOR, Channel.OPERATOR, self.now, run=run.pk)
        self.actor = Actor(ACTOR, Source.FESTINGER, run)
        self.is_comparing = not explain_missing_vectors()

    def work(self) -> None:
        if self.model is not None and self.is_comparing:
            self.extract(self.model)
        total = inventory.find_memories().count()
        note_progress(self.run, conflicts_total=total)
        if self.is_comparing:
            for project in set(inventory.find_memories().order_by().values_list("project_id", flat=True)):
                self.add_evidence(project)
        for group in inventory.find_groups():
            self.compare(group)
            self.note(len(group))
        for pairs in (self.doubts.opposed, self.doubts.alike):
            self.decide_doubts(doubts.find_open(pairs))
        for memory in inventory.find_memories().iterator(STEP):
            if self.has_faded(memory):
                self.change([memory.pk], self.deprecate)
        self.note(0)

    def note(self, seen: int) -> None:
        note_progress(self.run, conflicts_seen=self.run.conflicts_seen + seen, counts=dict(self.counts))

    def extract(self, model: LanguageModel) -> None:
        """Conclude new memories from what people said, one speaker at a time."""
        extracting = extraction.Extraction(self.run, model)
        extracting.work(lambda: self.note(0))
        self.counts.update(extracting.counts)
        self.notes += extracting.notes
        queue.embed_due()

    # --- evidence ---

    def add_evidence(self, project: int | None) -> None:
        memories = {memory.pk: memory for memory in inventory.find_memories().filter(project=project)}
        vectors = comparing.load_vectors("memory", list(memories))
        since = min(memory.last_updated for memory in memories.values())
        found: dict[int, dict[int, datetime]] = defaultdict(dict)
        for episodes in inventory.in_chunks(inventory.find_own_words(project, since)):
            near = comparing.find_near_episodes(vectors, list(episodes), rules.EVIDENCE_NEAR)
            pairs = [
                (memories[key], episodes[said])
                for key, said in near
                if inventory.is_support(memories[key], episodes[said])
            ]
            given = inventory.find_given(pairs)
            # A conversation that was given any memory it supports only echoes it, even if in other words.
            echoes = {episode.pk for memory, episode in pairs if (memory.pk, bytes(episode.conversation)) in given}
            for memory, episode in pairs:
                if episode.pk not in echoes:
                    found[memory.pk][episode.pk] = episode.said_at
        for key, said in found.items():
            self.change([key], partial(self.support, said))
            self.note(0)

    def support(self, said: dict[int, datetime], memory: Memory) -> None:
        merging.support(memory, said, self.because(f"{format_count(len(said), 'message')} said it again"))
        self.counts["supported"] += 1

    # --- contradictions and merges ---

    def compare(self, group: dict[int, Memory]) -> None:
        """Compare memories that could be duplicates: those of one project and category and, if personal, of one
        speaker."""
        if self.is_comparing:
            pairs = comparing.find_near_pairs(list(group), rules.NEAR)
        else:
            pairs = inventory.find_same_words(group.values())
        same: list[tuple[int, int]] = []
        for one, other in pairs:
            first, second = group[one], group[other]
            if (sign := find_contradiction(first, second)) is not None:
                by = self.because(f"{SIGNS[sign]}: memories {one} and {other}")
                self.change([one, other], partial(self.dispute, by, Conflict.Tier.OPPOSITION))
            elif rules.says_same(first.text, second.text):
                same.append((one, other))
                if max(self.sureness_of(first), self.sureness_of(second)) <= rules.MERGE_LEAST:
                    self.doubts.add((first, second), is_opposed=False)
            else:
                is_opposed = find_opposition(first.text, second.text) is not None
                self.doubts.add((first, second), is_opposed=is_opposed)
        for cluster in inventory.connect(same):
            self.change(cluster, self.merge)

    def sureness_of(self, memory: Memory) -> float:
        return store.current_confidence(memory, self.now)

    def dispute(self, by: Change, tier: Conflict.Tier, one: Memory, other: Memory) -> None:
        if (one.is_disputed and other.is_disputed) or not drop_kept(one, [other]):
            return
        older, newer = sorted((one, other), key=lambda memory: (memory.said_at, memory.pk))
        store.dispute(older, newer, by)
        open_between(newer, [older], tier)
        self.counts["disputed_by_model" if tier == Conflict.Tier.MODEL else "disputed"] += 1

    def merge(self, *memories: Memory) -> None:
        sure = {memory.pk: self.sureness_of(memory) for memory in memories}
        order = sorted(
            memories, key=lambda each: (-sure[each.pk], STRONGEST_FIRST.index(Channel(each.channel)), each.pk)
        )
        winner, *others = [memory for memory in order if not memory.is_disputed] or order
        losers = [each for each in others if rules.says_same(winner.text, each.text) and not each.is_disputed]
        if losers and sure[winner.pk] > rules.MERGE_LEAST:
            same = ", ".join(str(each.pk) for each in (winner, *losers))
            self.unite(winner, losers, self.because(f"the same in other forms: memories {same}"))
            self.counts["merged"] += len(losers)

    def unite(self, winner: Memory, losers: Sequence[Memory], by: Change) -> None:
        merging.merge(winner, losers, by)
        close_moot_of(MemberKind.MEMORY, [loser.pk for loser in losers])

    # --- pairs that no rule decides ---

    def decide_doubts(self, pairs: Sequence[MemoryPair]) -> None:
        """Ask the model about the pairs, in one call for each owner. Where that fails, nothing changes."""
        undecided = len(pairs)
        if pairs and self.model is None:
            self.notes.append(llm.missing("consolidate_model_id"))
        elif self.model is not None:
            for asked in doubts.split_by_owner(pairs):
                try:
                    verdicts = doubts.ask_about(asked, self.run, self.model)
                except llm.LlmError as error:
                    self.notes.append(f"{format_count(len(asked), 'pair stays', 'pairs stay')} undecided: {error}")
                    if not isinstance(error, llm.Unreadable | llm.Refused):  # the next call would fail, too
                        break
                else:
                    self.carry_out(asked, verdicts)
                    undecided -= len(verdicts)
        if undecided:
            self.counts["undecided"] += undecided
        self.note(0)

    def carry_out(self, asked: Sequence[MemoryPair], verdicts: Mapping[int, PairVerdict]) -> None:
        for at, verdict in verdicts.items():
            by, pair = self.by_model(verdict), asked[at]
            if verdict is PairVerdict.CONTRADICTION:
                self.change_pair(pair, partial(self.dispute, by, Conflict.Tier.MODEL))
            elif verdict is PairVerdict.KEEP_BOTH:
                self.change_pair(pair, partial(self.keep_apart, by))
        same = [asked[at] for at, verdict in verdicts.items() if verdict is PairVerdict.MERGE]
        texts = {each.pk: each.text for pair in same for each in pair}
        judged = {frozenset((one.pk, other.pk)) for one, other in same}
        for cluster in inventory.connect([(one.pk, other.pk) for one, other in same]):
            self.change(cluster, partial(self.merge_judged, judged), texts)

    def change_pair(self, pair: MemoryPair, work: Callable[..., None]) -> None:
        self.change([each.pk for each in pair], work, {each.pk: each.text for each in pair})

    def keep_apart(self, by: Change, one: Memory, other: Memory) -> None:
        store.keep_beside(one, other, by)
        self.counts["apart"] += 1

    def merge_judged(self, judged: set[frozenset[int]], *memories: Memory) -> None:
        """Merge the memories into the one from the strongest channel with the highest confidence. Only those merge that
        the model judged to say the same as that one and that a model concluded; the others are proposed to people."""
        order = sorted(
            (memory for memory in memories if not memory.is_disputed),
            key=lambda each: (STRONGEST_FIRST.index(Channel(each.channel)), -self.sureness_of(each), each.pk),
        )
        winner, *others = order or memories
        same = [each for each in others if frozenset((winner.pk, each.pk)) in judged] if order else []
        by = self.by_model(PairVerdict.MERGE)
        if losers := [each for each in same if rules.fades(each.channel) and not self.proposes]:
            self.unite(winner, losers, by)
            self.counts["merged_by_model"] += len(losers)
        for each in same:
            if each not in losers:
                store.keep_beside(winner, each, by, is_proposal=True)
                self.counts["proposed"] += 1

    def by_model(self, verdict: PairVerdict) -> Change:
        return self.because(f"{self.model} decided {verdict}")

    def because(self, reason: str) -> Change:
        return replace(self.by, reason=reason)

    # --- decay ---

    def has_faded(self, memory: Memory) -> bool:
        """True if the confidence has decayed below the limit. Disputed memories never fade: they wait for a person."""
        may_fade = rules.fades(memory.channel) and not memory.is_disputed
        return may_fade and self.sureness_of(memory) < rules.DEPRECATED_BELOW

    def deprecate(self, memory: Memory) -> None:
        if not self.has_faded(memory):  # it may have changed since it was read
            return
        reason = f"{self.sureness_of(memory):.0%} sure by now, and nobody has said it"
        store.deprecate(memory, self.because(reason))
        close_moot_conflicts([memory.pk])
        self.counts["deprecated"] += 1

    def change(self, keys: Sequence[int], work: Callable[..., None], texts: Mapping[int, str] = NO_TEXTS) -> None:
        """Run ``work`` on the memories if all are still active and still have their ``texts``. Locks them in order of
        their ids, as all writers do."""

        def do() -> None:
            rows = list(inventory.find_memories().filter(pk__in=keys).select_for_update(of=("self",)).order_by("pk"))
            if len(rows) == len(keys) and all(texts.get(row.pk, row.text) == row.text for row in rows):
                with recording(Decision.Kind.CONSOLIDATE, self.actor, "", arguments={"memory": keys[0]}):
                    work(*rows)

        run_transaction(do)
