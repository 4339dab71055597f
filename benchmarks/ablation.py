"""``make ablation``: takes one form, word list, pattern or predicate after the other away from the readers of English,
and prints its witnesses: which labelled sentences are read otherwise without it.

A *form* is a row of ``memory.english.forms``, a *list* a file of ``memory.english.lexicon`` that the readers load, a
*pattern* a regular expression of a reader, a *predicate* a function of one that answers yes or no, and then always
answers no. *lost*: labelled statements that are no longer read; *wrong*: what is read without a label; *mended*:
mistakes that are no longer made; *tests*: with ``--tests``, for what has no witness otherwise, the tests that fail.
What has neither a witness nor a clause of the specification is not needed.
"""

import argparse
import contextlib
import dis
import importlib
import inspect
import io
import multiprocessing
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, NamedTuple, Protocol

import orjson

READERS: Final = (
    "memory.english.noun_phrases", "memory.english.doubt", "memory.english.clauses", "memory.english.changes",
    "memory.english.statements", "memory.english.claims", "memory.english.opposites", "memory.english.stems",
    "memory.english.telling", "memory.english.refusals",
    "memory.memories.consolidation", "memory.memories.explicit", "memory.memories.slots", "resolution.detective.tiers",
    *(f"memory.attribution.{name}" for name in (
        "client_names", "doubts", "envelopes", "forget_requests", "parts", "pasted", "prose", "quotations", "templates"
    )),
    *(f"memory.secrets.{name}" for name in ("known", "labels", "redaction", "shapes", "wording")),
)  # fmt: skip
FORMS: Final = "memory.english.forms"
LEXICON: Final = "memory.english.lexicon"
IMPORTED: Final = (*READERS, "benchmarks.cues", "benchmarks.conversations", "benchmarks.stories")
OURS: Final = ("memory.", "resolution.", "benchmarks.", "tests.")
TESTS: Final = (
    *(f"tests/memory/{room}" for room in ("attribution", "english", "recall", "secrets")),
    *(f"tests/memory/graph/test_{name}.py" for name in ("fact_syntax", "judging")), "tests/memory/test_askable.py",
    *(f"tests/memory/memories/test_{name}.py" for name in ("consolidation_rules", "episodes", "explicit", "slots")),
    "tests/resolution/test_stories.py", "tests/proxy/speakers",
)  # fmt: skip
RULED: Final = (
    *(f"attribution.test_{name}" for name in ("attribution", "client_names", "envelopes", "forget_requests")),
    *(f"english.test_{name}" for name in (
        "claims", "cues", "evidence", "excerpts", "formatting", "names", "refusals", "tokens",
    )),
    *(f"memories.test_{name}" for name in ("consolidation_rules", "episodes", "explicit", "slots")),
    "graph.test_fact_syntax", "search.test_ranking", "secrets.test_secrets",
)  # fmt: skip
NEVER: Final = re.compile("(?!)")
SAID: Final = "gnommoweb is a worm"  # in texts that are handed over

Mistakes = dict[str, Counter[str]]  # by kind: `lost` and `wrong`


class Base(NamedTuple):
    """The finds of one measure with every part; ``modules``: those of the readers whose code it runs."""

    mistakes: Mistakes
    modules: frozenset[str]


class Part(NamedTuple):
    """``at``: of a tuple of forms, which of them."""

    kind: str
    module: str
    name: str
    at: int | None = None

    @property
    def title(self) -> str:
        where = f"{self.module.removeprefix('memory.english.').removeprefix('memory.')}.{self.name}"
        return where if self.at is None or self.module == FORMS else f"{where}[{self.at}]"


class Witnesses(NamedTuple):
    lost: int
    wrong: int
    mended: int
    failed_tests: int | None = None  # None: not asked


class Labelled(NamedTuple):
    """The sentences that the parts are measured by. ``near``: for each story the pairs of its lines that are near in
    meaning, which no part changes."""

    folder: Path | None
    words: frozenset[str]
    near: dict[str, list[tuple[int, int]]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("--labelled", type=Path, metavar="FOLDER", help="of more JSONL files like those of the tests")
    parser.add_argument("--only", default="", metavar="TEXT", help="parts that have it in their name")
    parser.add_argument("--tests", action="store_true", help="run the tests for what has no witness otherwise")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    from benchmarks.cues import read_common_words

    labelled = Labelled(arguments.labelled, read_common_words(), run_apart(find_near))
    parts = [part for part in list_parts() if arguments.only in part.title]  # imports what the forked ones then have
    base = run_apart(partial(read_base, labelled))
    missed, wrong = (sum(each.mistakes[kind].total() for each in base.values()) for kind in ("lost", "wrong"))
    print(f"as it is: {missed} statements missed, {wrong} wrong; {len(parts)} parts")
    print(f"{'kind':10} {'part':64} {'lost':>5} {'wrong':>5} {'mended':>6} {'tests':>5}", flush=True)
    without = []
    with multiprocessing.get_context("fork").Pool(arguments.jobs, maxtasksperchild=1) as pool:
        ablate_one = partial(ablate, labelled=labelled, base=base, with_tests=arguments.tests)
        for part, seen in zip(parts, pool.imap(ablate_one, parts), strict=True):
            tests = "" if seen.failed_tests is None else seen.failed_tests
            row = f"{part.kind:10} {part.title:64} {seen.lost:5} {seen.wrong:5} {seen.mended:6} {tests:>5}"
            print(row, flush=True)
            if not (seen.lost or seen.wrong or seen.failed_tests):
                without.append(row)
    print(f"without a witness: {len(without)} of {len(parts)}", *without, sep="\n")


def run_apart(task: Any) -> Any:
    """Call it in a process of its own, which may import and change what it likes."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(task)


# --- the parts ---


def list_parts() -> list[Part]:
    _forget_modules()
    lexicon: Any = importlib.import_module(LEXICON)
    read, loaded = lexicon.read_file, set[str]()

    def note(name: str) -> list[str]:
        loaded.add(name)
        return read(name)

    lexicon.read_file = note
    _import_readers()
    lists = [Part("list", LEXICON, name) for name in sorted(loaded)]
    forms = importlib.import_module(FORMS).FORMS
    rows = [Part("form", FORMS, f"{form.verb.name}: {form.phrases}", at) for at, form in enumerate(forms)]
    return [*rows, *lists, *(part for name in READERS for part in _list_rules(importlib.import_module(name)))]


def _list_rules(module: ModuleType) -> Iterator[Part]:
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern) and f"\n{name}: Final = " in inspect.getsource(module):
            yield Part("pattern", module.__name__, name)
        elif isinstance(value, tuple) and value and all(isinstance(one, re.Pattern | FunctionType) for one in value):
            yield from (Part("form", module.__name__, name, at) for at in range(len(value)))
        elif isinstance(value, type) and (value.__module__ != module.__name__ or Protocol in value.__bases__):
            continue
        elif isinstance(value, type):
            yield from (Part("predicate", module.__name__, f"{name}.{method}") for method in _list_predicates(value))
    yield from (Part("predicate", module.__name__, name) for name in _list_predicates(module))


def _list_predicates(of: Any) -> list[str]:
    return [
        name
        for name, value in vars(of).items()
        if callable(value)
        and inspect.isfunction(made := inspect.unwrap(value))
        and made.__module__ == (of.__module__ if isinstance(of, type) else of.__name__)
        and made.__annotations__.get("return") is bool
        and any(one.opname == "LOAD_FAST" for one in dis.get_instructions(made))  # else it always answers the same
    ]


def take_away(part: Part) -> frozenset[str]:
    """Go on without it, and return the modules that had it; none: any may. What a list is made into when a module is
    imported is made anew."""
    if part.kind == "list":
        _forget_modules()
        lexicon: Any = importlib.import_module(LEXICON)
        read = lexicon.read_file
        lexicon.read_file = lambda name: [f"{NEVER.pattern}/{NEVER.pattern}"] if name == part.name else read(name)
        _import_readers()
        return frozenset()
    module = importlib.import_module(part.module)
    if part.module == FORMS:
        form, find = module.FORMS[part.at or 0], module.find_forms
        return _replace(find, lambda text: [cue for cue in find(text) if cue.form is not form])
    if part.at is not None:
        forms = getattr(module, part.name)
        return _replace(forms, forms[: part.at] + forms[part.at + 1 :])
    if part.kind == "pattern":
        return _replace(getattr(module, part.name), NEVER)
    owner, _, method = part.name.rpartition(".")
    if not owner:
        return _replace(getattr(module, part.name), _never)
    setattr(getattr(module, owner), method, _never)
    return frozenset((part.module,))


def _never(*_: object, **__: object) -> bool:
    return False


def _forget_modules() -> None:
    for name in [name for name in sys.modules if name.startswith(OURS) and name != __name__]:
        del sys.modules[name]


def _import_readers() -> None:
    for name in IMPORTED:
        importlib.import_module(name)


def _replace(old: object, new: object) -> frozenset[str]:
    """Wherever a module has it, by whichever name; return these modules."""
    had = set[str]()
    for module in [module for name, module in sys.modules.items() if name.startswith(OURS)]:
        for name in [name for name, value in vars(module).items() if value is old]:
            setattr(module, name, new)
            had.add(module.__name__)
    return frozenset(had)


# --- reading ---


def ablate(part: Part, *, labelled: Labelled, base: dict[str, Base], with_tests: bool) -> Witnesses:
    """Read without the part what a module that has it reads."""
    found = Counter[str]()
    try:
        had = take_away(part)
        for name, measure in MEASURES.items():
            mistakes, modules = base[name]
            if had and had.isdisjoint(modules):
                continue
            now = measure(labelled)
            for kind in ("lost", "wrong"):
                found[kind] += (now[kind] - mistakes[kind]).total()
                found["mended"] += (mistakes[kind] - now[kind]).total()
    except Exception as error:  # what the others cannot do without at all
        print(f"{part.title}: {error!r}", file=sys.stderr)
        return Witnesses(sum(each.mistakes["lost"].total() for each in base.values()), 0, 0)
    failed = count_failed_tests() if with_tests and not found["lost"] + found["wrong"] else None
    return Witnesses(found["lost"], found["wrong"], found["mended"], failed)


def read_base(labelled: Labelled) -> dict[str, Base]:
    base = {}
    for name, measure in MEASURES.items():
        modules = set[str]()
        sys.setprofile(lambda frame, *_, modules=modules: modules.add(frame.f_globals.get("__name__", "")))
        found = measure(labelled)
        sys.setprofile(None)
        base[name] = Base(found, frozenset(modules))
    return base


def read_statements(labelled: Labelled) -> Mistakes:
    from benchmarks import conversations, cues

    cues.read_common_words = lambda: labelled.words  # type: ignore[assignment]
    found: Mistakes = {"lost": Counter(), "wrong": Counter()}
    files = [cues.STATEMENTS, *cues.OWN, *(sorted(labelled.folder.glob("*.jsonl")) if labelled.folder else ())]
    for file in files:
        for mistake in cues.measure(file)["mistakes"]:
            found["lost"].update(f"{mistake['text']}: {one}" for one in mistake["missed"])
            found["wrong"].update(f"{mistake['text']}: {one}" for one in mistake["wrong"])
    chats = conversations.measure(sorted(conversations.CONVERSATIONS.glob("*.txt")))
    found["lost"].update(chats.missed)
    found["wrong"].update([*chats.wrong, *chats.stale])
    return found


def read_rooms(_: Labelled) -> Mistakes:
    """Read what is labelled in the rooms of attribution, secrets and memories; of each text only whether it is read as
    labelled counts."""
    from memory.attribution.envelopes import read_sender
    from memory.attribution.forget_requests import find_requests
    from memory.attribution.parts import find_voices, voice_of
    from memory.english.telling import keep_statements
    from memory.learning.reader import unwrap_message
    from memory.memories.explicit import categorise, read_memories
    from memory.secrets.redaction import mask_secrets
    from memory.types import Message
    from memory.voice import SPEAKER_ONLY, Voice
    from tests.planted import HANDED_OVER, IN_A_MESSAGE, IN_THE_SYSTEM_TEXT, PERHAPS_HANDED_OVER, TAUGHT

    found: Mistakes = {"lost": Counter(), "wrong": Counter()}

    def note(room: str, text: str, is_right: bool) -> None:
        found["lost"][f"{room}: {text}"] += not is_right

    def voice_in(text: str, says: str) -> Voice:
        start = text.index(says)
        return voice_of(find_voices(text), start, start + len(says))

    for row in _read_rows("secrets/data/secrets.jsonl"):
        note("secrets", row["text"], mask_secrets(row["text"]) == row.get("masked", row["text"]))
    for row in _read_rows("attribution/data/attribution.jsonl"):
        note("voices", row["text"], voice_in(row["text"], row["says"]) == row["voice"])
    for text in (each.replace("{}", SAID) for each in HANDED_OVER):
        note("handed over", text, voice_in(text, SAID) is Voice.QUOTED)
    for text in (each.replace("{}", SAID) for each in PERHAPS_HANDED_OVER):
        note("perhaps handed over", text, voice_in(text, SAID) in SPEAKER_ONLY)
    for one in (*IN_A_MESSAGE, *IN_THE_SYSTEM_TEXT):
        text = one.requests[0][-1 if one in IN_A_MESSAGE else 0][1].replace("{}", SAID)
        note("planted", text, voice_in(text, SAID) is not Voice.SHARED)
    for one in TAUGHT:
        text = next(said for role, said in one.requests[-1][::-1] if "{}" in said and role != "assistant")
        note("taught", text, voice_in(text.replace("{}", SAID), SAID) is not Voice.QUOTED)
    for row in _read_rows("../everyday/attacks.jsonl"):
        text = row["messages"][-1]["content"] if row.get("messages") else row.get("prompt", "")
        if (start := text.lower().find(row["private"].lower())) >= 0:
            voice = voice_of(find_voices(text), start, start + len(row["private"]))
            note("attacks", text, voice is not Voice.SHARED)
    for name in ("forget_requests", "orders"):
        for row in _read_rows(f"attribution/data/{name}.jsonl"):
            effects = [one.effect for one in find_requests(row["text"])]
            note(name, row["text"], effects == ([row["effect"]] if "effect" in row else []))
    for row in _read_rows("attribution/data/envelopes.jsonl"):
        said, sender = unwrap_message(Message(row["role"], row["text"])), read_sender(row["text"])
        got = (said.role, said.text.strip(), sender.person, sender.is_group)
        note("envelopes", row["text"], got == (row["role"], row["typed"], row["person"], row["is_group"]))
    for row in _read_rows("../everyday/rows.jsonl"):
        if row["class"] == "requests":  # a message that is never given says nothing, one that is given says something
            for request, is_given in _read_given(row["steps"]):
                note("requests", request, bool(keep_statements(request)) is is_given)
    for row in _read_rows("memories/data/explicit.jsonl"):
        found_memories = read_memories(row["text"], in_project=row.get("in_project", False))
        memories = [[one.text, categorise(one.text)] for one in found_memories]
        note("memories", row["text"], memories == row["memories"])
    return found


def _read_given(steps: list[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    """Yield each text that was said and is later expected or forbidden in a block, and whether it is expected."""
    for said in (step["say"] for step in steps if "say" in step):
        for key, is_given in (("block_has", True), ("block_lacks", False)):
            if any(part in said for step in steps for part in step.get(key, ())):
                yield said, is_given


def read_evidence(_: Labelled) -> Mistakes:
    """Read the messages of the persons that the encoder is trained on and measured with: those that a later request
    needs, and the sentences of a profile, say something; what nobody needs is counted if it does."""
    from benchmarks.finding import FOLDER
    from memory.english.telling import keep_statements, tells
    from training.conversations import FOLDER as TRAINED
    from training.conversations import read_people

    found: Mistakes = {"lost": Counter(), "wrong": Counter()}
    for person in (one for folder in (TRAINED, *sorted(FOLDER.iterdir())) for one in read_people(folder)):
        needed = {key for request in person.requests for key in (*request.evidence, *request.outdated)}
        for message in (one for one in person.messages if one.role == "user"):
            is_told = bool(keep_statements(message.text))
            if is_told != (message.key in needed):
                found["wrong" if is_told else "lost"][f"{person.name} {message.key}"] += 1
        for _label, key, sentence in person.sentences:
            found["lost"][f"{person.name} {key} {sentence}"] += not tells(sentence)
    return found


def read_rules(_: Labelled) -> Mistakes:
    """Check the rows of each ``data/rules.jsonl`` beside the tests, as the tests do that need nothing but a row."""
    from tests.memory import labelled as module

    found: Mistakes = {"lost": Counter(), "wrong": Counter()}
    checks: list[tuple[str, Callable[..., None], list[dict[str, Any]]]] = []

    def note(test_file: str, rule: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        rows = module.read_rows(test_file, rule)

        def decorate(test: Callable[..., None]) -> Callable[..., None]:
            if inspect.signature(test).parameters.keys() == rows[0].keys():
                checks.append((rule, test, rows))
            return test

        return decorate

    module.labelled = note  # type: ignore[assignment]
    for name in RULED:
        importlib.import_module(f"tests.memory.{name}")
    for rule, test, rows in checks:
        for row in rows:
            try:
                test(**row)
            except Exception:
                found["lost"][f"{rule}: {row}"] += 1
    return found


def _read_rows(file: str) -> list[dict[str, Any]]:
    path = Path(__file__).parents[1] / "tests" / "memory" / file
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def read_stories(labelled: Labelled) -> Mistakes:
    from benchmarks import stories
    from resolution.detective import tiers

    found: Mistakes = {"lost": Counter(), "wrong": Counter()}
    for file in (stories.OWN, stories.KEPT_OUT):
        for story in stories.read_stories(file):
            lines = {line.row.id: line for line in story.lines}
            near = [(lines[one], lines[other]) for one, other in labelled.near[f"{file.stem} {story.name}"]]
            is_flagged = bool(tiers.find_all(story.lines, near).findings)
            if is_flagged != story.is_to_flag:
                found["wrong" if is_flagged else "lost"][f"{file.stem} {story.name}"] += 1
    return found


MEASURES: Final[dict[str, Callable[[Labelled], Mistakes]]] = {
    "statements": read_statements, "stories": read_stories, "rooms": read_rooms, "evidence": read_evidence,
    "rules": read_rules,
}  # fmt: skip


def find_near() -> dict[str, list[tuple[int, int]]]:
    from benchmarks import stories

    return {
        f"{file.stem} {story.name}": [(one.row.id, other.row.id) for one, other in stories.find_near(story.lines)]
        for file in (stories.OWN, stories.KEPT_OUT)
        for story in stories.read_stories(file)
    }


def count_failed_tests() -> int:
    """Run the tests whose data are sentences until one fails, and return how many did."""
    import pytest

    class Failures:
        count = 0

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            self.count += report.failed

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.unbounded")
    for name in [name for name in sys.modules if name.startswith("tests.")]:
        del sys.modules[name]  # `read_rules` has changed how their rows are read
    failures = Failures()
    # Without the project's own options and fixtures; pytest would warn of modules that were imported before.
    options = ["--override-ini=addopts=", "--override-ini=filterwarnings=", "--noconftest", "--exitfirst"]
    options += [
        "-m",
        "not django_db and not slow",
        *(f"-pno:{name}" for name in ("xdist", "langsmith_plugin", "cacheprovider")),
    ]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        pytest.main([*options, *TESTS], plugins=[failures])
    return failures.count


if __name__ == "__main__":
    main()
