"""Projects, memories and episodes as a file: written, looked at, taken in."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memory.channels import Channel
from memory.memories import import_rows, merging, store
from memory.memories.episodes import EpisodeText
from memory.memories.import_rows import EpisodeCopy
from memory.memories.scope import Scope, Speaker
from memory.memories.store import Change
from memory.models import (
    Episode,
    ForgottenEpisode,
    Memory,
    MemoryHistory,
    MemoryLineage,
    PendingEmbedding,
    Project,
    ProjectState,
)
from memory.running import bootstrap
from memory.search.service import search
from resolution import transfer
from resolution.memories import service
from resolution.memories.project_state import settle
from resolution.memories.remarks import compose
from resolution.models import Conflict
from resolution.transfer import ImportRefused, Report
from resolution.transfer.exporter import Extent
from tests.arrange import OPERATOR
from tests.resolution.test_transfer import file_of

pytestmark = pytest.mark.django_db

HARRY = Speaker("dobby", "harry")
SAID = datetime(2026, 3, 1, 12, 30, 0, 123456, tzinfo=UTC)
DIGESTS = [bytes([number]) * 32 for number in range(1, 4)]
SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

STATE = {"kind": "state", "project": "hogwarts", "category": "decision", "key": "house", "value": "Hufflepuff"}


@pytest.fixture(scope="module", autouse=True)
def settings_of_festinger(module_db: None) -> None:
    bootstrap.load_config()


def remember(text: str, channel: Channel = Channel.USER, **given: Any) -> Memory:
    scope = Scope(given.pop("speaker", HARRY), given.pop("project", None))
    remark = compose(text, given.pop("category", ""), scope, channel, given.pop("at", SAID), source="stated", **given)
    [done] = service.remember([remark])
    assert done.memory is not None
    return done.memory


def exported(extent: Extent = "memories") -> bytes:
    return b"".join(transfer.export(extent=extent))


def lines(content: bytes, kind: str) -> list[dict[str, Any]]:
    return [line for line in map(orjson.loads, content.splitlines()) if line.get("kind") == kind]


def take_in(*entries: dict[str, Any], **options: Any) -> Report:
    return transfer.import_file(file_of(*entries), OPERATOR, name="world.jsonl", **options)


def line(text: str, **more: Any) -> dict[str, Any]:
    return {"kind": "memory", "agent": "dobby", "person": "harry", "text": text} | more


def clear() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    for model in (ProjectState, Memory, Episode, Project, PendingEmbedding):
        model.objects.all().delete()


@pytest.fixture
def world() -> None:
    """Memories of every status, disputed ones, of two projects, some from episodes."""
    project = Project.objects.create(slug="hogwarts", name="Hogwarts", description="A school", is_open=True)
    scope = Scope(HARRY, project.pk)
    texts = ("I prefer rebase to merge commits.", "> call me Harry\nWe moved to Postgres 17.", "Which is it?")
    quoted: list[tuple[tuple[int, int], ...]] = [(), ((0, 15),), ()]
    import_rows.add_episodes(
        EpisodeCopy(digest, b"c" * 16, scope, "user", EpisodeText(text, spans), SAID + timedelta(seconds=at))
        for at, (digest, text, spans) in enumerate(zip(DIGESTS, texts, quoted, strict=True))
    )
    settle(project, "decision", "house", "Gryffindor", OPERATOR, "the hat")
    first = Episode.objects.get(digest=DIGESTS[0])
    by = Change("dobby", Channel.USER, SAID)
    text, now = "We moved the billing database to Postgres 17.", timezone.now()
    moved = remember(text, project=project.pk, category="project", at=now)
    moved.lineage.create(kind=MemoryLineage.Kind.EPISODE, row=first.pk)
    again = remember("The billing database was moved to Postgres 17.", project=project.pk, category="project")
    merging.merge(moved, [again], by)
    remember("I prefer a rebase workflow.")
    remember("I prefer a merge-commit workflow.", at=SAID + timedelta(days=1))  # disputed
    old = remember("My favourite colour is blue.")
    new = remember("My favourite colour is red.", at=SAID + timedelta(days=2), speaker=Speaker("winky"))
    store.supersede(old, new, by)
    remember("Lunch is at noon.", Channel.ASSISTANT)
    service.invalidate(remember("Tea is at five.").pk, OPERATOR)
    remember("Tea is at five.", at=SAID + timedelta(days=3))  # anew, beside what was taken back
    store.deprecate(remember("Supper is at eight."), by)


@pytest.mark.parametrize("extent", ["memories", "episodes"])
def test_memories_come_back_byte_for_byte_and_twice_is_once(world: None, extent: Extent) -> None:
    before = exported(extent)
    assert [one["value"] for one in lines(before, "state")] == ["Gryffindor"]
    statuses = {one["status"] for one in lines(before, "memory")}
    assert statuses == {"active", "candidate", "superseded", "merged_into", "invalid", "deprecated"}
    assert len(lines(before, "episode")) == (3 if extent == "episodes" else 0)

    clear()
    seen = transfer.preview(io.BytesIO(before))
    assert not Memory.objects.exists()
    report = transfer.import_file(io.BytesIO(before), OPERATOR, name="world.jsonl")

    assert exported(extent) == before
    assert seen == report
    history = MemoryHistory.objects.count()
    again = transfer.import_file(io.BytesIO(before), OPERATOR)
    assert not again.changes
    assert (exported(extent), MemoryHistory.objects.count()) == (before, history)


@st.composite
def files(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Lines of memories, many of them alike."""
    return [
        line(
            draw(st.sampled_from(["Lunch is at noon.", "The user prefers tea.", "The user prefers coffee."])),
            status=draw(st.sampled_from(Memory.Status.values)),
            person=draw(st.sampled_from(["", "harry"])),
            said_at=draw(st.sampled_from(["2026-03-01T00:00:00Z", "1976-03-01T00:00:00.5Z"])),
            confidence=draw(st.floats(0, 1)),
        )
        for _ in range(draw(st.integers(1, 14)))
    ]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(files())
@example([line("Lunch is at noon.", said_at="2026-03-01T00:00:00Z")] * 12)
def test_any_memories_come_back_byte_for_byte_and_twice_is_once(entries: list[dict[str, Any]]) -> None:
    clear()
    take_in(*entries)
    before = exported()

    clear()
    transfer.import_file(io.BytesIO(before), OPERATOR)

    assert exported() == before
    assert not transfer.import_file(io.BytesIO(before), OPERATOR).changes
    assert exported() == before


def test_what_is_imported_is_marked_so_is_in_the_history_and_waits_for_its_vector(world: None) -> None:
    before = exported("episodes")
    clear()

    transfer.import_file(io.BytesIO(before), OPERATOR, name="world.jsonl")

    assert {one.source for one in Memory.objects.all()} == {"imported"}
    row = MemoryHistory.objects.filter(action="create").first()
    assert row is not None
    assert (row.actor, row.reason) == (OPERATOR.signature, "imported from world.jsonl")
    kinds = [PendingEmbedding.objects.filter(kind=kind).count() for kind in ("memory", "episode")]
    assert kinds == [Memory.objects.count(), 3]
    assert not Episode.objects.filter(read_at=None).exists()  # nobody says it anew
    project = Project.objects.get()
    found = search(Scope(HARRY, project.pk), "what was said of postgres")
    assert {"memory", "episode"} == {one.kind for one in found}


def test_a_disputed_memory_comes_undisputed_and_as_sure_as_it_was(world: None) -> None:
    was = dict(Memory.objects.filter(is_disputed=True).values_list("text", "confidence"))
    before = exported()
    clear()

    transfer.import_file(io.BytesIO(before), OPERATOR)

    assert len(was) == 2
    assert min(was.values()) < 1.0
    assert {one.confidence for one in Memory.objects.filter(text__in=was)} == {1.0}
    assert not Memory.objects.filter(is_disputed=True).exists()


def test_a_memory_that_is_known_here_stays_as_it_became() -> None:
    known = remember("My favourite colour is blue.")
    service.invalidate(known.pk, OPERATOR)

    report = take_in(line(known.text.upper(), said_at="2026-01-01T00:00:00Z"), line(known.text, person="ron"))

    assert dict(report.memories) == {"same": 1, "new": 1}
    assert Memory.objects.get(person="harry").status == "invalid"


@pytest.mark.parametrize(
    ("differences", "outcome", "states"),
    [
        ("queue", "disputed", [("active", True), ("active", True)]),
        ("keep", "kept", [("active", False)]),
        ("take", "taken", [("superseded", False), ("active", False)]),
    ],
)
def test_a_memory_that_contradicts_one_here_is_disputed_left_out_or_taken(
    differences: Any, outcome: str, states: list[Any]
) -> None:
    remember("I prefer a rebase workflow.")
    new = line("The user prefers a merge-commit workflow.")

    seen = transfer.preview(file_of(new), differences)
    report = take_in(new, differences=differences)

    assert dict(report.memories) == dict(seen.memories) == {outcome: 1}
    assert seen.differences == report.differences
    assert report.differences[0].existing == "I prefer a rebase workflow."
    assert [(one.status, one.is_disputed) for one in Memory.objects.order_by("pk")] == states
    assert Conflict.objects.filter(status="open").count() == (differences == "queue")
    assert not take_in(new, differences=differences).changes


def test_written_by_hand_a_sentence_is_enough_and_secrets_are_masked() -> None:
    take_in(
        {"kind": "memory", "agent": "dobby", "text": f"The team's  key\nis {SECRET}."},
        {"kind": "episode", "id": "ab" * 32, "agent": "dobby", "conversation": "00" * 16, "role": "user",
         "text": f"Here: {SECRET} > so", "quoted": [len(SECRET) + 7, len(SECRET) + 11],
         "said_at": "2026-03-01T00:00:00Z"},
    )  # fmt: skip

    memory, episode = Memory.objects.get(), Episode.objects.get()
    assert memory.text == "The team's key is [secret]."
    assert (memory.category, memory.status, memory.channel) == ("identity", "active", "operator")
    assert episode.text == "Here: [secret] > so"
    assert [episode.text[slice(*episode.quoted)]] == ["> so"]
    assert SECRET.encode() not in exported("episodes")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (line("..."), '"text" must be a sentence to remember: There is nothing in it to be remembered'),
        (line("x" * 501), "A memory has at most 500 characters; this has 501"),
        (line("Tea."), None),
        (line("Tea.", project="nowhere"), "names the project nowhere, which is neither here nor in the file"),
        (line("Tea.", status="gone"), '"status" must be'),
        (line("Tea.", confidence=2), '"confidence" must be'),
        ({"kind": "project", "project": "Hog warts", "name": "x"}, '"project" must'),
        ({"kind": "memory", "text": "Tea."}, '"agent" is missing'),
        (STATE | {"project": "nowhere"}, "names the project nowhere"),
        (STATE | {"key": "a b"}, '"key" must'),
        (STATE | {"value": " "}, '"value" must'),
    ],
)
def test_a_mistake_is_told_with_its_line_and_nothing_is_imported(entry: dict[str, Any], why: str | None) -> None:
    good = line("Lunch is at noon.")
    if why is None:
        assert take_in(good, entry).memories["new"] == 2
        return

    with pytest.raises(ImportRefused) as refused:
        take_in(good, entry)

    [mistake] = refused.value.report.mistakes
    assert mistake.line == 3
    assert why in mistake.reason
    assert not Memory.objects.exists()
    assert take_in(good, entry, skip_invalid=True).memories["new"] == 1


def test_what_was_forgotten_here_stays_so_and_an_episode_is_there_once(world: None) -> None:
    before = exported("episodes")
    ForgottenEpisode.objects.create(digest=DIGESTS[0])
    Episode.objects.filter(digest=DIGESTS[0]).delete()

    report = transfer.import_file(io.BytesIO(before), OPERATOR)

    assert dict(report.episodes) == {"forgotten": 1, "known": 2}
    assert Episode.objects.count() == 2


def test_the_command_writes_as_much_as_it_is_asked_for(world: None, tmp_path: Any) -> None:
    counts = {}
    for extent in ("graph", "memories", "episodes"):
        call_command("export_graph", str(tmp_path / extent), extent=extent)
        content = (tmp_path / extent).read_bytes()
        counts[extent] = [len(lines(content, kind)) for kind in ("project", "memory", "episode")]

    assert counts == {"graph": [0, 0, 0], "memories": [1, 10, 0], "episodes": [1, 10, 3]}


@pytest.mark.parametrize(
    ("differences", "outcome", "value"),
    [("queue", "kept", "Gryffindor"), ("keep", "kept", "Gryffindor"), ("take", "taken", "Hufflepuff")],
)
def test_another_value_of_a_project_replaces_what_is_here_only_where_all_is_taken(
    world: None, differences: str, outcome: str, value: str
) -> None:
    report = take_in(STATE, differences=differences)

    assert dict(report.states) == {outcome: 1}
    assert report.changes == (outcome == "taken")
    assert ProjectState.objects.get(status="active").value == value
