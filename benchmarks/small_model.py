"""``make bench-model``: what a model of 135 million parameters answers to 200 pieces of labelled evidence, how much of
it is right, and what is in force without a person, which must be nothing.

The model is behind the stand-in for Ollama, ``format`` as a grammar, and FESTINGER_MODEL chooses it for everything. The
evidence is ``small_model.txt``, and the stories of memories alone in ``stories_kept_out.txt`` and ``stories.txt``.
"""

import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import httpx
import uvicorn

from benchmarks.client import HOST, BenchmarkBroken
from benchmarks.database import fresh, prepared_home, set_up_django
from benchmarks.figures import Figures, Rows
from benchmarks.peers.installed import PYTHON
from benchmarks.servers import running
from benchmarks.stories import KEPT_OUT, OWN, Story, read_stories
from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from standin.app import StandInOllama
from standin.behaviours import MODELS
from standin.completion import Lines
from standin.incoming import Request
from standin.speech import Chunk
from standin.wire import Reply, Stream

MODEL: Final = "smollm2:135m"
SMOLLM: Final = Path(__file__).with_name("peers") / "smollm.py"
EVIDENCE: Final = Path(__file__).with_suffix(".txt")
# As Ollama has them by default, but for the tokens: what it has not said by then it says again and again.
OPTIONS: Final = {"temperature": 0, "repeat_penalty": 1.1, "max_tokens": 200}
NAMES: Final = ("kvelra", "ostrix", "brumdal", "tivoxa", "pelqua")
PLACES: Final = ("billing", "camp", "harbour", "choir", "school")
STORIES: Final = 30
UNBOUNDED: Final = {"llm_daily_calls": "1000000", "llm_timeout_s": "600"}

Told = list[tuple[str, str, list[str]]]  # the label, the word, and what was said


# --- the model ---


class SmallModel(StandInOllama):
    """The stand-in with one model, which a server of llama.cpp runs."""

    def __init__(self, llama: str) -> None:
        super().__init__()
        self.shelf.models = {MODEL: MODELS["llama3"]}
        self.llama = httpx.AsyncClient(base_url=llama, timeout=None)

    async def handle(self, request: Request) -> Reply | Stream:
        if request.path != "/api/chat":
            return await super().handle(request)
        asked = request.json()
        form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": asked["format"]}}
        body = {"messages": asked["messages"], "response_format": form, **OPTIONS}
        answer = (await self.llama.post("/v1/chat/completions", json=body)).raise_for_status().json()
        [said], used = answer["choices"], answer["usage"]
        numbers = {"prompt_eval_count": used["prompt_tokens"], "eval_count": used["completion_tokens"]}
        end = {"done": True, "done_reason": said["finish_reason"], **numbers}
        return Lines(asked["model"]).whole(Chunk(said["message"]["content"], end=end))


@contextmanager
def small_model(home: Path) -> Iterator[str]:
    """Yield the address of the stand-in with the model."""
    llama, port = scratch_instance.free_port(), scratch_instance.free_port()
    served = [sys.executable, "-m", "benchmarks.small_model", "serve", str(port), f"http://{HOST}:{llama}"]
    with (
        running("smollm", home, llama, "", [str(PYTHON), str(SMOLLM), str(llama)]),
        running("small-model", home, port, "", served) as server,
    ):
        yield server.url


# --- the evidence ---


def read_evidence(kind: str, words: Sequence[str], limit: int) -> Told:
    """Return the pieces of a kind, each with every word in place of its {n} or {s}."""
    _, _, rest = EVIDENCE.read_text(encoding="utf-8").partition(f"# {kind}: ")
    lines = [line.partition(": ") for line in rest.partition("\n\n")[0].splitlines()[1:]]
    return [
        (label, f"{word}{at}", said.replace("{n}", f"{word}{at}").replace("{s}", f"the {word}").split(" | "))
        for word in words
        for at, (label, _, said) in enumerate(lines)
    ][:limit]


def read_memory_stories() -> list[Story]:
    stories = [*read_stories(KEPT_OUT), *read_stories(OWN)]
    return [story for story in stories if all(line.row.kind == "memory" and not line.owner for line in story.lines)][
        :STORIES
    ]


# --- in a process with Django and the database ---


def answer_all(names: Sequence[str]) -> Iterator[tuple[str, dict[str, float], Counter[str]]]:
    """Yield for each use its figures, and the reasons of what was refused."""
    from memory.models import LlmCall

    before = 0
    for name in names:
        pieces, ask, proposed = USES[name]()
        held = read_what_holds()
        ask()
        changed = held.symmetric_difference(read_what_holds())
        calls = LlmCall.objects.filter(pk__gt=before)
        results = Counter(calls.values_list("result", flat=True))
        errors = calls.exclude(error="").values_list("error", flat=True)
        verdicts = proposed()
        yield name, {
            "pieces": pieces,
            "calls": calls.count(),
            "answers": results["answered"],
            "refused": results["refused"],
            "failed": results["failed"],
            "proposed": len(verdicts),
            "right": sum(verdicts),
            "precision %": 100 * sum(verdicts) / max(len(verdicts), 1),
            "in force": len(changed),
        }, Counter(error.partition(":")[0] for error in errors)  # fmt: skip
        before = LlmCall.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        assert not changed, f"in force without a person: {changed}"


def read_what_holds() -> set[tuple[Any, ...]]:
    """Read all that a prompt can be given: facts, names, and memories with their texts."""
    from memory.models import Edge, Memory, ProjectState

    facts = Edge.objects.values_list("concept__token", "parent__token", "dim__token", "is_isa")
    memories = Memory.objects.filter(status=Memory.Status.ACTIVE).values_list("pk", "text")
    return {*facts, *memories, *ProjectState.objects.values_list("pk", "value")}


Use = tuple[int, Callable[[], object], Callable[[], list[bool]]]  # pieces; asks about them; which proposals are right


def explain() -> Use:
    from django.utils import timezone

    from memory.models import Evidence, Observation, Soas
    from resolution.models import Candidate
    from resolution.observations import explain_due

    told = read_evidence("names", NAMES, 44)
    labels = {}
    for at, (label, name, [said]) in enumerate(told):
        labels[name] = label.split()
        concept, _ = Soas.objects.get_or_create(token=name)
        Evidence.objects.create(concept=concept, sentence=said, role="user", agent="ann")
        Observation.objects.create(
            kind="concept", concept=name, digest=at.to_bytes(32), role="user", agent="ann", said_at=timezone.now()
        )

    def judge() -> list[bool]:
        return [
            any(label in candidate.parent for label in labels.get(candidate.concept, ()))
            for candidate in Candidate.objects.all()
        ]

    return len(told), lambda: explain_due(7_200), judge


def decide() -> Use:
    from django.utils import timezone

    from memory.graph.store import Attribution
    from memory.models import Source
    from memory.types import Triple
    from resolution.intake.place import assert_fact
    from resolution.models import Claim, Run

    told = read_evidence("conflicts", NAMES, 40)
    labels = {}
    for label, name, [known, new, said] in told:
        for agent, fact, words, days in (("ann", known, "", 2), ("bob", new, said, 1)):
            relation, parent, dimension = fact.split()
            at = timezone.now() - timedelta(days=days)
            by = Attribution(agent, Source.INFERRED, 0.8, at, words, role="user")
            outcome = assert_fact(Triple(f"{name}-c", parent, dimension, relation == "isa"), by)
        if outcome.claim is not None:
            labels[outcome.claim.pk] = label

    def judge() -> list[bool]:
        proposed = Claim.objects.filter(status=Claim.Status.PROPOSED).values_list("pk", "proposal__decision")
        return [decision == labels[key] for key, decision in proposed]

    return len(labels), lambda: run(Run.Trigger.SCHEDULE), judge


def compare() -> Use:
    from memory.models import MemoryHistory
    from memory.search.vectors import queue
    from resolution.models import Conflict, ConflictMember, Run

    told = read_evidence("pairs", PLACES, 60)
    labels = {}
    for at, (label, _, pair) in enumerate(told):
        for text in pair:
            labels[remember(text, "episodic", f"agent-{at}").pk] = label
    queue.embed_due()

    def ask() -> None:
        for _ in range(-(-len(told) // 10)):  # owners that are asked about in a night
            run(Run.Trigger.CONSOLIDATE)

    def judge() -> list[bool]:
        kept = MemoryHistory.objects.filter(action=MemoryHistory.Action.KEEP, after__has_key="proposal")
        merges = {min(pair) for pair in kept.values_list("memory", "after__beside")}
        disputed = ConflictMember.objects.filter(conflict__tier=Conflict.Tier.MODEL, kind="memory")
        clashes = {min(ids) for _, ids in group_ids(disputed.values_list("conflict", "object_id"))}
        right = [labels[key] == "MERGE" for key in merges if key in labels]
        return right + [labels[key] == "CONTRADICTION" for key in clashes if key in labels]

    return len(told), ask, judge


def conclude() -> Use:
    from django.contrib.postgres.search import SearchVector
    from django.db.models import Value
    from django.utils import timezone

    from memory.models import Episode, Memory
    from memory.search.vectors import queue
    from resolution.memories.reading import due, read_due
    from resolution.models import Run

    told = read_evidence("told", PLACES, 30)
    labels = {}
    for at, (label, _, messages) in enumerate(told):
        labels[f"teller-{at}"] = label
        for number, text in enumerate(messages):
            key = f"{at} {number}".encode()
            Episode.objects.create(
                digest=key.ljust(32), conversation=key.ljust(16), agent=f"teller-{at}", person="", role="user",
                text=text, lexemes=SearchVector(Value(text), config="english", weight="A"),
                said_at=timezone.now() - timedelta(hours=20 - number),
            )  # fmt: skip
    while due().exists():
        read_due()  # what they say of themselves is remembered in their own words, by a rule
    queue.embed_due()

    def ask() -> None:
        for _ in range(-(-len(told) // 10)):  # speakers that are read in a night
            run(Run.Trigger.CONSOLIDATE)

    def judge() -> list[bool]:
        concluded = Memory.objects.filter(source=Memory.Source.EXTRACTED)
        return [labels[memory.agent] in memory.text.lower() for memory in concluded]

    return len(told), ask, judge


def detect() -> Use:
    from memory.models import Project
    from memory.search.vectors import queue
    from resolution.models import Conflict, Run

    labels = {}
    for at, story in enumerate(stories := read_memory_stories()):
        project = Project.objects.create(slug=f"story-{at}", name=story.name)
        labels[project.slug] = story.is_to_flag
        for number, line in enumerate(story.lines):
            remember(
                line.text, "project", line.speaker, project.pk, days=80 - 20 * number, conversation=line.conversation
            )
    queue.embed_due()

    def judge() -> list[bool]:
        found = Conflict.objects.filter(project__in=labels, slot_kind="narrative")
        found = found.exclude(tier__in=("numbers", "opposition", "reversal"))  # the rules'
        return [labels[slug] for slug in found.values_list("project", flat=True).distinct()]

    return len(stories), lambda: run(Run.Trigger.DETECT), judge


def remember(
    text: str, category: str, agent: str, project: int | None = None, days: float = 1, conversation: bytes = b""
) -> Any:
    from django.utils import timezone

    from memory.channels import Channel
    from memory.memories import store
    from memory.memories.scope import Scope, Speaker
    from memory.memories.slots import find_slots
    from memory.models import Memory

    draft = store.Draft(
        text, category, Scope(Speaker(agent), project), 0.8, Memory.Source.STATED, find_slots(text, category)
    )
    at = timezone.now() - timedelta(days=days)
    return store.create(draft, store.Change(agent, Channel.USER, at, conversation.ljust(16) if conversation else b""))


def run(trigger: str) -> None:
    from resolution.nightly.jobs import JOBS
    from resolution.nightly.runs import run_now

    done = run_now(trigger, "", JOBS[trigger])
    print(f"{trigger}: {done.status} {done.counts} {done.note}", file=sys.stderr, flush=True)


def group_ids(rows: Any) -> Iterator[tuple[int, list[int]]]:
    for key, group in groupby(sorted(rows), lambda row: row[0]):
        yield key, [number for _, number in group]


USES: Final[dict[str, Callable[[], Use]]] = {
    "explanations": explain, "conflicts": decide, "pairs": compare, "told": conclude, "stories": detect
}  # fmt: skip


# --- the command ---


def main() -> None:
    match sys.argv[1:]:
        case ["serve", port, llama]:
            listener = socket.create_server((HOST, int(port)))
            config = uvicorn.Config(SmallModel(llama), lifespan="off", log_level="error")
            uvicorn.Server(config).run(sockets=[listener])
        case ["inside", *names]:
            inside(names)
        case names:
            with prepared_home() as home, small_model(home) as upstream:
                environment = scratch_instance.environment(home, 1, upstream)
                environment |= {"DATABASE_URL": fresh(home), "FESTINGER_MODEL": MODEL, "FESTINGER_LOG_LEVEL": "ERROR"}
                for words in (
                    ["-m", "django", "bootstrap", "--settings=festinger_site.settings"],
                    ["-m", "benchmarks.small_model", "inside", *(names or USES)],
                ):
                    done = subprocess.run([sys.executable, *words], cwd=homes.ROOT, env=environment, check=False)
                    if done.returncode:
                        raise BenchmarkBroken(f"{' '.join(words)} failed")


def inside(names: Sequence[str]) -> None:
    set_up_django()
    from memory.llm import USES as MODEL_USES
    from memory.models import Config, LanguageModel
    from memory.search.vectors import schema

    for key, value in UNBOUNDED.items():
        Config.objects.filter(key=key).update(value=value)
    model = LanguageModel.objects.get()
    assert set(Config.objects.filter(key__in=MODEL_USES).values_list("value", flat=True)) == {str(model.pk)}
    assert not schema.make_tables(), schema.find_lack()
    rows: Rows = {}
    for name, row, reasons in answer_all(names):
        rows[name] = row
        print(Figures("small model", MODEL, rows).as_table(), f"refused: {dict(reasons)}", sep="\n", flush=True)


if __name__ == "__main__":
    main()
