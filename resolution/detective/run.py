"""The detective's run: reads the stories in which something has changed, finds what they leave open, and asks people
about it. If the process dies, the conflicts it opened stay, and the next run reads again."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from django.utils import timezone

from memory import llm
from memory.memories import comparing
from memory.memories.consolidation import NEAR
from memory.models import Config, LanguageModel, LlmCall, Project
from memory.search.vectors import schema
from resolution.detective import opening, prompt, tiers
from resolution.detective.changes import ByStory, find_changes
from resolution.detective.prompt import Finding
from resolution.detective.reading import read_story
from resolution.detective.story import StoryBatch, StoryLine, StoryRow, split_batches
from resolution.models import Run
from resolution.nightly import run_records

DELAY: Final = timedelta(minutes=10)  # after the last change
NIGHT: Final = timedelta(days=1)
DELAYS_MAX: Final = 6  # after so many delays it reads even while somebody is still writing
QUESTIONS_MAX: Final = 20  # per story and run: a model that sees confusion everywhere must not flood the conflicts desk
SETTING: Final = "detective_model_id"
SHARED: Final = "what belongs to no project"


@dataclass(slots=True)
class StoryResult:
    """The result of reading a story. ``findings`` are those that nobody was asked about before, ``lack`` is the reason
    why no model read it, and ``failures`` are the errors in words."""

    lines: int
    batches: int
    findings: list[Finding]
    lack: str = ""
    failures: list[str] = field(default_factory=list)


def run_after_changes(now: datetime | None = None) -> Run | None:
    """Run some minutes after the last change since the last run. Returns None if nothing has changed or somebody is
    still writing."""
    now = now or timezone.now()
    # Runs by hand read one project only.
    runs = Run.objects.filter(trigger=Run.Trigger.DETECT, actor="", status__in=(Run.Status.DONE, Run.Status.SKIPPED))
    last = runs.order_by("-started_at").values_list("started_at", flat=True).first()
    found = find_changes(last or now - NIGHT)
    if not found.times or (now - max(found.times) < DELAY and now - min(found.times) < DELAYS_MAX * DELAY):
        return None
    return carry_out(found.rows, seed=f"{max(found.times)}", now=now)


def run_nightly(now: datetime | None = None) -> Run | None:
    """Read everything that changed within a day once more, together, including what could not be asked about."""
    now = now or timezone.now()
    return carry_out(find_changes(now - NIGHT).rows, seed=f"{now:%Y-%m-%d}", now=now)


def run_for_project(project: Project | None, actor: str) -> Run | None:
    """Read the whole story of one project, or of everything that belongs to none."""
    now = timezone.now()
    return carry_out(_changed_lately(project, now), seed=now.isoformat(), now=now, actor=actor or "command")


def rehearse(project: Project | None) -> StoryResult:
    """Return what would be asked. The model is called for real, and its calls count."""
    now = timezone.now()
    [changed] = _changed_lately(project, now).values()
    return Detective(now, now.isoformat(), "rehearsal, ").read(project, changed)


def _changed_lately(project: Project | None, now: datetime) -> ByStory:
    key = project.pk if project is not None else None
    return {key: find_changes(now - NIGHT).rows.get(key, set())}


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
        tuning = Config.tuning()
        self.lack = llm.missing(SETTING, tuning)
        self.model: LanguageModel | None = None if self.lack else llm.find_chosen(SETTING, tuning)

    def read(self, project: Project | None, changed: set[StoryRow]) -> StoryResult:
        lines = read_story(project, changed, now=self.now, seed=f"{self.seed} {project or ''}")
        told = tiers.find_all(lines, find_near(lines))
        findings, failures, batches = told.findings, list[str](), list[StoryBatch]()
        if self.model is not None and len(lines) > 1:
            batches = split_batches(lines, told.doubts)
            for number, batch in enumerate(batches, start=1):
                subject = f"{self.subject}{project or SHARED}, batch {number} of {len(batches)}"
                found, mistakes = ask_about(batch, self.model, subject)
                findings += found
                failures += [f"Batch {number}: {mistake}" for mistake in mistakes]
        return StoryResult(len(lines), len(batches), opening.drop_known(findings), self.lack, failures)


def find_near(lines: Iterable[StoryLine]) -> list[tuple[StoryLine, StoryLine]]:
    """Return the pairs of memories in the story that are close in meaning; none without vectors."""
    memories = {line.row.id: line for line in lines if line.row.kind == "memory" and line.is_active}
    if len(memories) < 2 or not schema.has_tables():
        return []
    pairs = comparing.find_near_pairs(list(memories), NEAR)
    return [(memories[one], memories[other]) for one, other in pairs]


def ask_about(batch: StoryBatch, model: LanguageModel, subject: str) -> tuple[list[Finding], Sequence[str]]:
    """Return the model's findings in the order of the story, and the errors in words."""
    try:
        answer = llm.ask(
            model, LlmCall.Purpose.DETECT, subject,
            system=prompt.SYSTEM, prompt=prompt.build_prompt(batch), schema=prompt.SCHEMA, is_strict=True,
        )  # fmt: skip
    except llm.LlmError as error:
        return [], [str(error)]
    found, mistakes = prompt.read_findings(answer.data, batch)
    return found, [f"{mistake}." for mistake in mistakes]
