"""The detective's run: reads the stories in which something has changed, finds what they leave open, and asks people
about it. If the process dies, the conflicts it opened stay, and the next run reads again."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from django.db import connection
from django.utils import timezone

from memory import llm
from memory.memories import comparing
from memory.memories.consolidation import NEAR
from memory.models import Config, LanguageModel, LlmCall, Project
from memory.search.vectors import schema
from resolution.detective import changes, opening
from resolution.detective.changes import ByStory
from resolution.detective.reading import read_story
from resolution.domain import detective_prompt, tiers
from resolution.domain.detective_prompt import Finding
from resolution.domain.story import StoryBatch, StoryLine, StoryRow, split_batches
from resolution.models import Run
from resolution.resolver import run_records

logger = logging.getLogger(__name__)

DELAY: Final = timedelta(minutes=10)  # after the last change
NIGHT: Final = timedelta(days=1)
BATCHES_AT_ONCE: Final = 4  # concurrent calls of the model
DELAYS_MAX: Final = 6  # after so many delays it reads even while somebody is still writing
QUESTIONS_MAX: Final = 20  # per story and run: a model that sees confusion everywhere must not flood the conflicts desk
SETTING: Final = "detective_model_id"
SHARED: Final = "what belongs to no project"


@dataclass(slots=True)
class Read:
    """The result of reading a story. ``findings`` are those that nobody was asked about before, ``lack`` is the reason
    why no model read it, and ``failures`` are the errors in words."""

    lines: int
    batches: int
    findings: list[Finding]
    lack: str = ""
    failures: list[str] = field(default_factory=list)


def read_again(now: datetime | None = None) -> Run | None:
    """Run some minutes after the last change. Returns None if nothing has changed or somebody is still writing."""
    now = now or timezone.now()
    found = changes.find_changes()
    if found.first is None or found.last is None:
        return None
    if now - found.last < DELAY and now - found.first < DELAYS_MAX * DELAY:
        return None
    run = carry_out(found.rows, seed=f"{sorted(found.marks.items())}", now=now)
    if run is not None:
        changes.set_marks(found.marks)
    return run


def read_at_night(now: datetime | None = None) -> Run | None:
    """Read everything that changed within a day once more, together, including what could not be asked about."""
    now = now or timezone.now()
    return carry_out(changes.find_changes_since(now - NIGHT), seed=f"{now:%Y-%m-%d}", now=now)


def read_now(project: Project | None, actor: str = "") -> Run | None:
    """Read the whole story of one project, or of everything that belongs to none."""
    now = timezone.now()
    found = changes.find_changes_since(now - NIGHT)
    key = project.pk if project is not None else None
    return carry_out({key: found.get(key, set())}, seed=now.isoformat(), now=now, actor=actor)


def rehearse(project: Project | None) -> Read:
    """Return what would be asked. The model is called for real, and its calls count."""
    now = timezone.now()
    changed = changes.find_changes_since(now - NIGHT).get(project.pk if project is not None else None, set())
    return Detective(now, now.isoformat(), "rehearsal, ").read(project, changed)


def carry_out(stories: ByStory, *, seed: str, now: datetime, actor: str = "") -> Run | None:
    """Run the detective. Returns None if another run is in progress or there is nothing to read."""
    if not stories:
        return None

    def read_stories(run: Run) -> str:
        detective = Detective(now, seed, run_records.subject(run, ""))
        notes = work(run, detective, stories)
        run_records.note_progress(run, **run_records.sum_cost(run))
        if detective.lack and not run.counts.keys() - {"lines", "batches"}:
            raise run_records.RunSkipped(detective.lack)
        return "\n".join([*filter(None, [detective.lack]), *notes])

    with run_records.hold_alone("detective", Run.Trigger.DETECT) as is_alone:
        return run_records.carry_out(Run.Trigger.DETECT, actor, read_stories, done="asked") if is_alone else None


def work(run: Run, detective: "Detective", stories: ByStory) -> list[str]:
    """Read each story, open conflicts about what it leaves open, and return the errors in words."""
    counts: Counter[str] = Counter()
    notes: list[str] = []
    model = str(detective.model or "")
    run_records.note_progress(run, model_name=model, conflicts_total=len(stories))
    projects: Mapping[int, Project] = Project.objects.in_bulk([key for key in stories if key is not None])
    for key, changed in sorted(stories.items(), key=lambda story: story[0] or 0):
        project = projects.get(key) if key is not None else None
        if key is not None and project is None:
            continue  # deleted meanwhile
        read = detective.read(project, changed)
        for finding in read.findings[:QUESTIONS_MAX]:
            if opening.open_for(finding, project) is not None:
                counts[f"asked_{finding.tier}"] += 1
        counts += Counter(lines=read.lines, batches=read.batches, failed=len(read.failures))
        notes += [f"{project or SHARED}: {failure}" for failure in read.failures]
        run_records.note_progress(run, conflicts_seen=run.conflicts_seen + 1, counts=dict(counts))
    return notes


class Detective:
    """A reader of stories as of a point in time, with the rules and, if one is chosen, a language model."""

    def __init__(self, now: datetime, seed: str, subject: str) -> None:
        self.now = now
        self.seed = seed
        self.subject = subject
        self.tuning = Config.tuning()
        self.model: LanguageModel | None = None
        self.lack = llm.missing(SETTING, self.tuning)
        if not self.lack:
            self.model = llm.find_chosen(SETTING, self.tuning)

    def read(self, project: Project | None, changed: set[StoryRow]) -> Read:
        lines = read_story(project, changed, now=self.now, seed=f"{self.seed} {project or ''}")
        told = tiers.find_all(lines, find_near(lines))
        findings = told.findings
        batches = split_batches(lines, told.doubts) if len(lines) > 1 else []
        read = Read(len(lines), len(batches) if self.model is not None else 0, findings, self.lack)
        if self.model is not None and batches:
            found, read.failures = ask_about(batches, self.model, f"{self.subject}{project or SHARED}")
            read.findings = [*findings, *found]
        read.findings = opening.drop_known(read.findings)
        return read


def find_near(lines: list[StoryLine]) -> list[tuple[StoryLine, StoryLine]]:
    """Return the pairs of memories in the story that are close in meaning; none without vectors."""
    memories = {line.row.id: line for line in lines if line.row.kind == "memory" and line.is_active}
    if len(memories) < 2 or not schema.has_tables():
        return []
    pairs = comparing.find_near_pairs(list(memories), NEAR)
    return [(memories[one], memories[other]) for one, other in pairs]


def ask_about(batches: Sequence[StoryBatch], model: LanguageModel, subject: str) -> tuple[list[Finding], list[str]]:
    """Return the model's findings in the order of the story, and the errors in words. A failed batch does not stop the
    others."""

    def ask(number: int) -> tuple[list[Finding], list[str]]:
        name = f"{subject}, batch {number + 1} of {len(batches)}"
        batch = batches[number]
        try:
            answer = llm.ask(
                model, LlmCall.Purpose.DETECT, name,
                system=detective_prompt.SYSTEM, prompt=detective_prompt.build_prompt(batch),
                schema=detective_prompt.SCHEMA, is_strict=True,
            )  # fmt: skip
        except llm.LlmError as error:
            return [], [f"Batch {number + 1}: {error}"]
        found, mistakes = detective_prompt.read_findings(answer.data, batch)
        return found, [f"Batch {number + 1}: {mistake}." for mistake in mistakes]

    def ask_in_thread(number: int) -> tuple[list[Finding], list[str]]:
        try:
            return ask(number)
        finally:
            connection.close()  # this thread's

    if len(batches) == 1:
        return ask(0)
    with ThreadPoolExecutor(BATCHES_AT_ONCE, thread_name_prefix="detective") as pool:
        answers = list(pool.map(ask_in_thread, range(len(batches))))
    return [each for found, _ in answers for each in found], [each for _, why in answers for each in why]
