"""Concludes new memories from what people said.

Messages of one speaker in one project that are about the same thing go to a language model together, never with those
of other speakers. A conclusion has the channel *explained*: it becomes active if nothing contradicts it, else a
candidate.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from django.utils import timezone

from memory import llm
from memory.channels import EXPLAINED_TRUST, Channel
from memory.db.connections import fetch_rows
from memory.db.transactions import run_transaction
from memory.english.excerpts import says_something
from memory.english.opposites import find_opposition
from memory.memories import comparing, store
from memory.memories.comparing import find_rivals
from memory.memories.consolidation import KNOWN_NEAR, says_same
from memory.memories.episodes import cut_out
from memory.memories.scope import Scope, Speaker
from memory.memories.slots import find_slots
from memory.memories.store import Change, Draft, Status, lock_places
from memory.models import (
    Agent,
    Config,
    Embedder,
    Episode,
    ExtractionMark,
    LanguageModel,
    LlmCall,
    Memory,
    MemoryLineage,
    PendingEmbedding,
    Source,
    TextKind,
)
from memory.search.ranking import asks_only
from memory.search.vectors import embedders
from memory.settings.registry import Tuning
from memory.timing import describe_time
from resolution.actors import Actor
from resolution.conflicts.change_log import recording
from resolution.conflicts.detection import detect_memory
from resolution.models import Decision, Run
from resolution.nightly.extraction_prompt import Conclusion, build_question, read_conclusions
from resolution.nightly.inventory import connect
from resolution.nightly.runs import ask

ACTOR: Final = "consolidation"
RELATED: Final = 6.4  # deviations above noise at which messages count as about the same thing
CALLS_MAX: Final = 10  # in one night, each about what one person said in a project
NEW_AGE: Final = timedelta(days=7)  # older messages are skipped, even if no run has reached them
NEW_MAX: Final = 300  # messages of one speaker, newest first
EARLIER_MAX: Final = 2_000  # messages that the new ones are compared with
GROUP_MAX: Final = 12  # messages, newest first
WORDS_MAX: Final = 600  # characters of one message
PROMPT_MAX: Final = 12_000  # characters of all messages in one prompt
KNOWN_MAX: Final = 30  # known memories in the prompt, newest first
EMBEDDING_S: Final = 10.0

# Speakers who were read longest ago come first, those never read before all others.
DUE: Final = """
    SELECT episode.agent, episode.person, episode.project_id, coalesce(max(mark.episode), 0)
    FROM episode LEFT JOIN extraction_mark mark ON mark.agent = episode.agent AND mark.person = episode.person
        AND mark.project_id IS NOT DISTINCT FROM episode.project_id
    WHERE episode.said_at > %(since)s AND episode.role = 'user' AND episode.id > coalesce(mark.episode, 0)
    GROUP BY episode.agent, episode.person, episode.project_id
    ORDER BY max(mark.at) NULLS FIRST, max(episode.id) DESC
"""


class DueSpeaker(NamedTuple):
    """A speaker in a project who said something new since the message ``after``."""

    scope: Scope
    after: int


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message as the prompt shows it."""

    episode: Episode
    words: str


MessageGroups = list[list[ShownMessage]]


class Extraction:
    """The extraction of one night. ``notes`` say what prevented parts of it."""

    def __init__(self, run: Run, model: LanguageModel) -> None:
        self.run = run
        self.model = model
        self.proposes = llm.only_proposes(model)
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []

    def work(self, on_progress: Callable[[], None]) -> None:
        tuning = Config.tuning()
        ExtractionMark.objects.filter(at__lt=timezone.now() - timedelta(days=tuning.episode_days)).delete()
        calls = 0
        for due in find_due(tuning):
            if calls == CALLS_MAX:
                break
            groups = choose_groups(due)
            if not groups:
                mark(due, newest_of(due))
                continue
            calls += 1
            try:
                self.extract(due, groups)
            except (llm.Unreadable, llm.Refused) as error:
                self.notes.append(f"Nothing was concluded from what {due.scope.speaker.agent} said: {error}")
            except llm.LlmError as error:  # the next call would fail, too
                self.notes.append(f"What was said waits for the next night: {error}")
                break
            finally:
                on_progress()

    def extract(self, due: DueSpeaker, groups: MessageGroups) -> None:
        """Ask the model about the groups and store its conclusions. Raises LlmError, RunLost."""
        newest = newest_of(due)
        shown = [each for group in groups for each in group]
        known = Memory.objects.filter(**own_rows(due), status__in=(Status.ACTIVE, Status.CANDIDATE)).order_by("-id")
        said = [[(describe_time(each.episode.said_at), each.words) for each in group] for group in groups]
        question = build_question(said, list(known.values_list("text", flat=True)[:KNOWN_MAX]))
        concluded, rejected = ask(
            self.run,
            self.model,
            LlmCall.Purpose.EXTRACT,
            f"{len(shown)} messages of {due.scope.speaker.agent}",
            question,
            partial(read_conclusions, said=[each.words for each in shown]),
        )
        vectors = embed([each.text for each in concluded])
        outcomes = run_transaction(lambda: self.take_in(due, shown, concluded, vectors))
        self.counts.update(outcomes)
        if rejected:
            self.counts["rejected"] += len(rejected)
        mark(due, newest)

    def take_in(
        self,
        due: DueSpeaker,
        shown: Sequence[ShownMessage],
        concluded: Sequence[Conclusion],
        vectors: Sequence[Sequence[float]],
    ) -> Counter[str]:
        """Store the conclusions and return the counts of what they became. Stores nothing if a message was forgotten
        meanwhile: its words may be in the answer."""
        outcomes: Counter[str] = Counter()
        drafts = [
            Draft(
                each.text,
                each.category,
                due.scope,
                each.confidence * EXPLAINED_TRUST,
                Memory.Source.EXTRACTED,
                find_slots(each.text, each.category),
            )
            for each in concluded
        ]
        lock_places(drafts)
        asked = Episode.objects.filter(pk__in=[each.episode.pk for each in shown]).order_by("pk")
        if len(asked.select_for_update().values_list("pk")) < len(shown):
            return outcomes
        for draft, each, vector in zip(drafts, concluded, vectors, strict=True):
            evidence = [shown[index].episode for index in each.evidence]
            newest = max(evidence, key=lambda episode: episode.said_at)
            conversations = {bytes(episode.conversation) for episode in evidence}
            by = Change(
                ACTOR,
                Channel.EXPLAINED,
                newest.said_at,
                conversation=conversations.pop() if len(conversations) == 1 else b"",
                reason=f"{self.model} concluded it",
                run=self.run.pk,
            )
            status = judge(draft, by, vector)
            if status == Status.ACTIVE and self.proposes:
                status = Status.CANDIDATE
            if status is not None:
                actor = Actor(ACTOR, Source.FESTINGER, self.run)
                with recording(Decision.Kind.CONSOLIDATE, actor, by.reason) as decision:
                    made = store.create(draft, by, status, evidence=[episode.pk for episode in evidence])
                    decision.arguments = {"memory": made.pk}
                if status == Status.ACTIVE:
                    detect_memory(made)
                outcomes["extracted" if status == Status.ACTIVE else "candidates"] += 1
        return outcomes


# --- selecting messages ---


def find_due(tuning: Tuning) -> Iterator[DueSpeaker]:
    """Yield the speakers with new messages whose episodes are currently kept."""
    kept = dict(Agent.objects.exclude(episodes=Agent.Episodes.DEFAULT).values_list("name", "episodes"))
    is_on = tuning.episodes in ("on", "all")
    rows = fetch_rows(DUE, {"since": timezone.now() - NEW_AGE})
    for agent, person, project, after in rows:
        if kept[agent] == Agent.Episodes.ON if agent in kept else is_on:
            yield DueSpeaker(Scope(Speaker(agent, person), project), after)


def own_rows(due: DueSpeaker) -> dict[str, Any]:
    """Return the filter for the speaker's rows in the project."""
    return {**due.scope.speaker._asdict(), "project_id": due.scope.project}


def messages_of(due: DueSpeaker) -> Any:
    rows = Episode.objects.filter(**own_rows(due), role=Episode.Role.USER)
    return rows.defer("lexemes").order_by("-id")


def newest_of(due: DueSpeaker) -> int:
    """Return the newest message that can be read now: the one before the first that still waits for its vector."""
    new = messages_of(due).filter(pk__gt=due.after)
    waiting = PendingEmbedding.objects.filter(kind=TextKind.EPISODE, attempts__lte=1, row__in=new.values("pk"))
    first = waiting.order_by("row").values_list("row", flat=True).first()
    newest: int = new.values_list("pk", flat=True).first() or due.after
    return newest if first is None else first - 1


def mark(due: DueSpeaker, episode: int) -> None:
    ExtractionMark.objects.update_or_create(**own_rows(due), defaults={"episode": episode, "at": timezone.now()})


def choose_groups(due: DueSpeaker) -> MessageGroups:
    """Return groups of related messages, largest first, as many as fit into one prompt. Each group has at least one new
    message that no memory is based on."""
    rows = {episode.pk: episode for episode in messages_of(due)[:EARLIER_MAX]}
    words = {key: read_own_words(episode) for key, episode in rows.items()}
    told = [key for key in rows if words[key]]
    behind = MemoryLineage.objects.filter(kind=MemoryLineage.Kind.EPISODE, row__in=told)
    remembered = set(behind.values_list("row", flat=True))
    new = [key for key in told if key > due.after and key not in remembered][:NEW_MAX]
    near = comparing.find_near_episodes(comparing.load_vectors("episode", new), told, RELATED)
    groups = [sorted(group, reverse=True)[:GROUP_MAX] for group in connect(pair for pair in near if len({*pair}) == 2)]
    chosen: MessageGroups = []
    room = PROMPT_MAX
    for group in sorted(groups, key=lambda group: (-len(group), -group[0])):
        room -= sum(len(words[key]) for key in group)
        if room < 0:
            break
        chosen.append([ShownMessage(rows[key], words[key]) for key in reversed(group)])
    return chosen


def read_own_words(episode: Episode) -> str:
    """Return the speaker's own words, or "" if the message has none or only asks."""
    words = " ".join(cut_out(episode.text, episode.quoted).split())[:WORDS_MAX]
    return words if says_something(words) and not asks_only(words) else ""


# --- storing conclusions ---


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return the texts' vectors; empty ones if there is no current embedder. Raises LlmError."""
    current = Embedder.objects.filter(is_current=True).first()
    if not texts or current is None:
        return [[] for _ in texts]
    return embedders.embed(current.name, texts, EMBEDDING_S)


def judge(draft: Draft, by: Change, vector: Sequence[float]) -> Memory.Status | None:
    """Return the status that the draft should get: active, or candidate if something contradicts it. None if the same
    is already known or was taken back, even in other words."""
    if store.find_same(draft.scope, draft.text):
        return None
    seen = store.visible_to(draft.scope)
    near = seen.filter(pk__in=comparing.find_near_memories(seen, vector, KNOWN_NEAR) if any(vector) else [])
    is_opposed = False
    for memory in near.defer("lexemes"):
        if says_same(draft.text, memory.text) or find_opposition(draft.text, memory.text) is None:
            return None
        is_opposed |= memory.status == Status.ACTIVE
    is_opposed |= bool(find_rivals(store.compose(draft, by)))
    return Status.CANDIDATE if is_opposed else Status.ACTIVE
