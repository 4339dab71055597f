"""The detective's run: reads the stories in which something has changed, finds what they leave open, and asks people
about it. If the process dies, the conflicts it opened stay, and the next run reads again."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.db.models import F
from django.utils import timezone

from memory import llm
from memory.llm.client import Use
from memory.memories import comparing
from memory.memories.consolidation import NEAR
from memory.models import LanguageModel, LlmCall, Project
from memory.search.vectors import schema
from resolution.detective import opening, prompt, tiers
from resolution.detective.changes import ByStory, find_changes
from resolution.detective.prompt import Finding
from resolution.detective.reading import read_story
from resolution.detective.story import StoryBatch, StoryLine, StoryRow, split_batches
from resolution.models import Run
from resolution.nightly.resolver_prompt import ModelQuestion
from resolution.nightly.runs import AbortRun, AlreadyRunning, Job, ask, find_model, note_progress, run_now

DELAY: Final = timedelta(minutes=10)  # after the last change
NIGHT: Final = timedelta(days=1)
DELAYS_MAX: Final = 6  # after so many delays it reads even while somebody is still writing
QUESTIONS_MAX: Final = 20  # per story and run: a model that sees confusion everywhere must not flood the conflicts desk
SETTING: Final[Use] = "detective_model_id"
SHARED: Final = "what belongs to no project"


@dataclass(slots=True)
class StoryResult:
    """The result of reading a story. ``findings`` are those that nobody was asked about before, and ``failures`` are
    the errors in words."""

    lines: int
    batches: int
    findings: list[Finding]
    failures: list[str] = field(default_factory=list)


def run_after_changes(now: datetime | None = None) -> Run | None:
    """Run some minutes after the last change since the last run. Returns None if nothing has changed, somebody is still
    writing, or another run is in progress."""
    now = now or timezone.now()
    # Runs by hand read one project only. Where only the model failed, the night asks again.
    ended = (Run.Status.DONE, Run.Status.SKIPPED, Run.Status.FAILED)
    runs = Run.objects.filter(trigger=Run.Trigger.DETECT, actor="", status__in=ended)
    runs = runs.exclude(status=Run.Status.FAILED, conflicts_seen__lt=F("conflicts_total"))
    last = runs.order_by("-started_at").values_list("started_at", flat=True).first()
    found = find_changes(last or now - NIGHT)
    if not found.times or (now - max(found.times) < DELAY and now - min(found.times) < DELAYS_MAX * DELAY):
        return None
    with suppress(AlreadyRunning):
        job = partial(read_stories, stories=found.rows, seed=f"{max(found.times)}", now=now)
        return run_now(Run.Trigger.DETECT, "", job)
    return None


def read_changes_of_a_day(run: Run) -> str:
    """Read everything that changed within a day once more, together, including what could not be asked about."""
    now = timezone.now()
    return read_stories(run, find_changes(now - NIGHT).rows, seed=f"{now:%Y-%m-%d}", now=now)


def make_job(project: Project | None) -> Job:
    """Return the job that reads the whole story of one project, or of everything that belongs to none."""
    now = timezone.now()
    stories = {project.pk if project is not None else None: find_changed(project, now)}
    return partial(read_stories, stories=stories, seed=now.isoformat(), now=now)


def preview(project: Project | None) -> StoryResult:
    """Return what would be asked. The model is called for real, and its calls count."""
    now = timezone.now()
    return read(project, find_changed(project, now), find_model(SETTING), now=now, seed=now.isoformat())


def find_changed(project: Project | None, now: datetime) -> set[StoryRow]:
    return find_changes(now - NIGHT).rows.get(project.pk if project is not None else None, set())


def read_stories(run: Run, stories: ByStory, *, seed: str, now: datetime) -> str:
    """Read each story, open conflicts about what it leaves open, and return the errors in words. Raises AbortRun."""
    counts: Counter[str] = Counter()
    model, lack = find_model(SETTING), llm.missing(SETTING)
    notes = [lack] if lack else []
    note_progress(run, conflicts_total=len(stories))
    projects = Project.objects.in_bulk([key for key in stories if key is not None])
    for key, changed in sorted(stories.items(), key=lambda story: story[0] or 0):
        project = projects.get(key) if key is not None else None
        if key is not None and project is None:
            continue  # deleted meanwhile
        found = read(project, changed, model, now=now, seed=seed, run=run)
        for finding in found.findings[:QUESTIONS_MAX]:
            if opening.open_for(finding, project) is not None:
                counts[f"asked_{finding.tier}"] += 1
        counts += Counter(lines=found.lines, batches=found.batches, failed=len(found.failures))
        notes += [f"{project or SHARED}: {failure}" for failure in found.failures]
        note_progress(run, conflicts_seen=run.conflicts_seen + 1, counts=dict(counts))
    if lack and stories and not counts.keys() - {"lines", "batches"}:
        raise AbortRun(Run.Status.SKIPPED, lack)
    return "\n".join(notes)


def read(
    project: Project | None,
    changed: set[StoryRow],
    model: LanguageModel | None,
    *,
    now: datetime,
    seed: str,
    run: Run | None = None,
) -> StoryResult:
    """Read a story as of ``now``, with the rules and, if one is given, a language model."""
    lines = read_story(project, changed, now=now, seed=f"{seed} {project or ''}")
    told = tiers.find_all(lines, find_near(lines))
    findings, failures, batches = told.findings, list[str](), list[StoryBatch]()
    if model is not None and len(lines) > 1:
        batches = split_batches(lines, told.doubts)
        for number, batch in enumerate(batches, start=1):
            about = f"{project or SHARED}, batch {number} of {len(batches)}"
            found, mistakes = ask_about(batch, model, run, about)
            findings += found
            failures += [f"Batch {number}: {mistake}" for mistake in mistakes]
    return StoryResult(len(lines), len(batches), opening.drop_known(findings), failures)


def find_near(lines: Iterable[StoryLine]) -> list[tuple[StoryLine, StoryLine]]:
    """Return the pairs of memories in the story that are close in meaning; none without vectors."""
    memories = {line.row.id: line for line in lines if line.row.kind == "memory" and line.is_active}
    if len(memories) < 2 or not schema.has_tables():
        return []
    pairs = comparing.find_near_pairs(list(memories), NEAR)
    return [(memories[one], memories[other]) for one, other in pairs]


def ask_about(
    batch: StoryBatch, model: LanguageModel, run: Run | None, about: str
) -> tuple[list[Finding], Sequence[str]]:
    """Return the model's findings in the order of the story, and the errors in words."""
    question = ModelQuestion(prompt.SYSTEM, prompt.build_prompt(batch), prompt.SCHEMA)
    try:
        found, mistakes = ask(
            run, model, LlmCall.Purpose.DETECT, about, question,
            partial(prompt.read_findings, batch=batch), is_strict=True,
        )  # fmt: skip
    except llm.LlmError as error:
        return [], [str(error)]
    return found, [f"{mistake}." for mistake in mistakes]
