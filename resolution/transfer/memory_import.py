"""Imports a file's projects, project state, memories and episodes, in portions. All functions run inside the caller's
transaction."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from django.db.models import Max
from django.utils import timezone

from memory.db.connections import chunks
from memory.graph.placement import Differences
from memory.memories import import_rows, project_state, slots, store
from memory.memories.comparing import find_rivals
from memory.memories.explicit import categorise
from memory.memories.import_rows import EpisodeCopy
from memory.memories.scope import Scope, Speaker
from memory.memories.store import Change
from memory.models import Memory, Project
from memory.models.state import VALUE_CHARACTERS
from memory.secrets.redaction import mask_secrets
from resolution.conflicts.detection import detect_memory, detect_state
from resolution.conflicts.memories import close_moot_conflicts, open_between
from resolution.transfer.lines import EpisodeLine, MemoryLine, ProjectLine, StateLine
from resolution.transfer.report import Report

LINES_AT_ONCE: Final = 1_000
OUTCOMES: Final = {"queue": "disputed", "keep": "kept", "take": "taken"}  # for memories that contradict one here

NumberedMemory = tuple[int, MemoryLine]


class MemoryImport:
    """The import of projects, project state, memories and episodes. ``by`` is the importer as the history names them;
    ``report`` counts the outcomes."""

    def __init__(self, by: Change, differences: Differences, report: Report) -> None:
        self._by = by
        self._differences: Differences = differences
        self._report = report
        self._projects = {project.slug: project for project in Project.objects.all()}
        self._last = 0  # the newest memory from before the import

    def add_projects(self, lines: Iterable[ProjectLine]) -> None:
        for line in lines:
            known = self._projects.get(line.project)
            if known is None:
                self._projects[line.project] = Project.objects.create(
                    slug=line.project, name=line.name, description=line.description, is_open=line.is_open
                )
                self._report.new_projects.append(line.project)
            elif (known.name, known.description, known.is_open) != (line.name, line.description, line.is_open):
                self._report.other_projects.append(line.project)

    def add_states(self, lines: Iterable[StateLine]) -> None:
        """Add the values. A category and key has one value: if another is here, it is replaced only if all differences
        are taken."""
        for line in lines:
            project, value = self._projects[line.project], " ".join(mask_secrets(line.value).split())[:VALUE_CHARACTERS]
            standing = project_state.lock_standing(project, line.category, line.key)
            is_same = standing is not None and standing.value == value
            outcome = "same" if is_same else "new" if standing is None else OUTCOMES[self._differences]
            self._report.states["kept" if outcome == "disputed" else outcome] += 1
            if outcome not in ("new", "taken"):
                continue
            written = project_state.write(
                project, line.category, line.key, value,
                actor=line.set_by or self._by.actor, reason=line.reason, set_at=line.set_at,
            )  # fmt: skip
            detect_state(written.row)

    def add_episodes(self, lines: Iterable[EpisodeLine]) -> None:
        for portion in chunks(lines, LINES_AT_ONCE):
            said = {bytes.fromhex(line.id): line for line in portion}
            left_out = import_rows.leave_out_episodes(said)
            new = {digest: line for digest, line in said.items() if digest not in left_out}
            self._report.episodes += Counter(new=len(new)) + Counter(left_out.values())
            import_rows.add_episodes(
                [
                    EpisodeCopy(
                        digest, bytes.fromhex(line.conversation),
                        Scope(Speaker(line.agent, line.person), self._find_project(line.project)),
                        line.role, line.said, line.said_at,
                    )
                    for digest, line in new.items()
                ]
            )  # fmt: skip

    def add_memories(self, lines: Iterable[NumberedMemory]) -> None:
        self._last = Memory.objects.aggregate(last=Max("pk"))["last"] or 0
        for portion in chunks(lines, LINES_AT_ONCE):
            self._add(portion)

    def _add(self, portion: Sequence[NumberedMemory]) -> None:
        memories = [self._compose(line) for _, line in portion]
        same = import_rows.find_same(memories, self._last) if self._last else set()
        added: list[tuple[Memory, list[Memory]]] = []
        for at, ((number, _), memory) in enumerate(zip(portion, memories, strict=True)):
            if at in same:
                self._report.add_memory(number, memory, "same")
                continue
            rivals = self._find_rivals(memory)
            outcome = OUTCOMES[self._differences] if rivals else "new"
            self._report.add_memory(number, memory, outcome, rivals[0] if rivals else None)
            if outcome != "kept":
                added.append((memory, rivals))
        import_rows.add([memory for memory, _ in added], self._by)
        for memory, rivals in added:
            self._settle_with(memory, rivals)

    def _settle_with(self, memory: Memory, rivals: Sequence[Memory]) -> None:
        """Replace or dispute the older memories that contradict the new one."""
        for rival in rivals:
            if self._differences == "take":
                store.supersede(rival, memory, self._by)
            else:
                older, newer = sorted((rival, memory), key=lambda one: (one.said_at, one.pk))
                store.dispute(older, newer, self._by)
        if rivals and self._differences == "take":
            close_moot_conflicts([rival.pk for rival in rivals])
        elif rivals:
            open_between(memory, rivals)
        if memory.status == Memory.Status.ACTIVE and memory.slot and memory.project_id is not None:
            detect_memory(memory)

    def _compose(self, line: MemoryLine) -> Memory:
        category = line.category or Memory.Category(categorise(line.text))
        found = slots.find_slots(line.text, category)
        said_at = line.said_at or line.last_updated or self._by.at
        return Memory(
            text=line.text,
            category=category,
            project_id=self._find_project(line.project),
            agent=line.agent,
            person=line.person,
            slot=found.slot if line.slot is None else line.slot,
            other_slot=found.other if line.slot is None else line.other_slot,
            slot_version=slots.VERSION if line.slot is None else line.slot_version,
            confidence=line.confidence,
            status=line.status,
            source=Memory.Source.IMPORTED,
            channel=line.channel,
            conversation=bytes.fromhex(line.conversation) or None,
            evidence_count=line.evidence_count,
            said_at=said_at,
            last_updated=line.last_updated or Change("", line.channel, said_at).evident_at,
            archived_at=None if line.holds else line.archived_at or timezone.now(),
        )

    def _find_project(self, slug: str | None) -> int | None:
        return self._projects[slug].pk if slug is not None else None

    def _find_rivals(self, memory: Memory) -> list[Memory]:
        """Find rivals among the memories from before the import. Memories of one file are not compared with each
        other."""
        if not self._last or memory.status != Memory.Status.ACTIVE:
            return []
        return [rival for rival in find_rivals(memory) if rival.pk <= self._last]
