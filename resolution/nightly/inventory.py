"""Selects what a consolidation compares: active memories grouped by owner, and the messages since."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from django.db.models import OuterRef, Q, QuerySet, Subquery

from memory.memories import consolidation as rules
from memory.memories.store import Status
from memory.models import Episode, GivenNote, Memory, MemoryHistory, MemoryLineage

EPISODES: Final = 2_000  # compared at a time

Owner = tuple[object, ...]


def find_memories() -> QuerySet[Memory]:
    """Return the active memories, except those whose last change was an operator's undo."""
    last = MemoryHistory.objects.filter(memory=OuterRef("pk")).order_by("-id").values("action")[:1]
    rows = Memory.objects.filter(status=Status.ACTIVE).alias(last=Subquery(last)).defer("lexemes")
    return rows.filter(Q(last=None) | ~Q(last=MemoryHistory.Action.UNDO))


def find_groups() -> Iterator[dict[int, Memory]]:
    groups: dict[Owner, dict[int, Memory]] = defaultdict(dict)
    for memory in find_memories().order_by("pk").iterator():
        groups[memory.project_id, memory.category, *owner_of(memory)][memory.pk] = memory
    yield from groups.values()


def owner_of(memory: Memory) -> Owner:
    """Return the speaker whose own memory it is; () if it is shared."""
    return (memory.agent, memory.person) if memory.is_personal else ()


def find_own_words(project: int | None, since: datetime) -> Iterator[Episode]:
    """Yield messages that contain only the users' own words. A message with quotes is skipped entirely, because its
    vector covers the quotes, too."""
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
    if episode.said_at <= memory.last_updated or (memory.is_personal and not is_own):
        return False
    return rules.supports(memory.text, episode.text)


def find_given(pairs: Sequence[tuple[Memory, Episode]]) -> set[tuple[int, bytes]]:
    """Return which memories were injected into which conversations: repeating one there is an echo, no evidence."""
    rows = GivenNote.objects.filter(
        kind=MemoryLineage.Kind.MEMORY,
        row__in={memory.pk for memory, _ in pairs},
        conversation__in={bytes(episode.conversation) for _, episode in pairs},
    )
    return {(key, bytes(conversation)) for key, conversation in rows.values_list("row", "conversation")}


def find_same_words(memories: Iterable[Memory]) -> list[tuple[int, int]]:
    """Return pairs of memories whose words have the same base forms; each is paired with the first of its kind."""
    first: dict[tuple[str, ...], int] = {}
    pairs = []
    for memory in memories:
        words = rules.read_words(memory.text)
        if (earlier := first.setdefault(words, memory.pk)) != memory.pk:
            pairs.append((earlier, memory.pk))
    return pairs


def connect(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components of a graph with these edges."""
    of: dict[int, list[int]] = {}
    for one, other in pairs:
        joined = of.get(one, [one])
        if (beside := of.get(other, [other])) is not joined:
            joined += beside
        of |= dict.fromkeys(joined, joined)
    return list({id(component): component for component in of.values()}.values())
