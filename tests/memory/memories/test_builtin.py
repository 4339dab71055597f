"""The built-in embedder in a process, in the database, and where it cannot be used."""

import asyncio
import json
import shutil
import threading
from collections.abc import Sequence
from math import inf
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memory.cache.state import Cache
from memory.db.connections import fetch_rows
from memory.memories import comparing
from memory.memories.consolidation import NEAR
from memory.models import Embedder, PendingEmbedding
from memory.search.encoder import EncoderUnavailable, model_file, weights
from memory.search.encoder.encoder import DIMENSIONS
from memory.search.encoder.model_file import FOLDER
from memory.search.loading import Space
from memory.search.searcher import Searcher
from memory.search.service import search
from memory.search.vectors import builtin, queue, schema
from memory.search.vectors.embedders import BUILTIN, BUILTIN_NOISE, CONDITION, measure_noise, read_condition
from tests.memory.memories.said import ANN, said
from tests.memory.memories.test_consolidation_rules import PAIRS
from tests.waiting import eventually, eventually_here

NAME = builtin.current_name()
NOISE = BUILTIN_NOISE[NAME]
CAT = "My cat sleeps on the couch."
LOADED_S = 120  # on a busy machine, where the file has to be made


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has not needed it yet."""
    monkeypatch.setattr(builtin, "loaded", {})
    monkeypatch.setattr(builtin, "next_tries", {})


def tell_health() -> str | None:
    """The error in the part about the search."""
    [(row,)] = fetch_rows(f"SELECT row_to_json(found)::text FROM ({CONDITION}) AS found")
    error: str | None = read_condition(json.loads(row), BUILTIN).as_json()["error"]
    return error


# --- what is near ---


def measure_nearness(one: str, other: str) -> float:
    """Return the deviations above noise."""
    vectors = builtin.embed([one, other])
    return (sum(map(float.__mul__, *vectors)) - NOISE.mean) / NOISE.deviation


@pytest.mark.parametrize(
    "pair",
    [("User is a backend developer", "User works in frontend"), ("User likes coffee", "User drinks coffee daily")],
    ids=" / ".join,
)
def test_memories_that_a_model_should_weigh_are_near(pair: tuple[str, str]) -> None:
    assert measure_nearness(*pair) >= NEAR


def test_most_paraphrases_are_near() -> None:
    paraphrases = [pair["texts"] for pair in PAIRS if pair["kind"] == "paraphrase"]
    assert sum(measure_nearness(*pair) >= NEAR for pair in paraphrases) >= 15


def test_where_no_embedder_is_calibrated_nothing_is_near(db: None) -> None:
    assert comparing.find_least(NEAR) == inf


# --- in a process ---


def test_a_server_searches_without_it_until_it_is_loaded_and_then_off_its_event_loop(
    dsn: str, unloaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    embed_query = builtin.embed_query

    def record(text: str, name: str = "") -> list[float]:
        threads.append(threading.get_ident())
        return embed_query(text, name)

    async def ask_twice() -> list[tuple[int, Sequence[float]] | None]:
        searcher = Searcher(dsn, Cache())
        await searcher.indexes.read_alone()
        assert await searcher.indexes.wait_for(ANN, LOADED_S) is not None
        searcher.indexes.spaces = [Space(1, NAME, DIMENSIONS, NOISE, is_current=True)]
        made = []
        for _ in range(2):
            found = await searcher.find_related(ANN, [CAT], b"", deadline_ms=LOADED_S * 1_000)
            assert found is not None
            made.append(searcher.cached_vector(CAT))
            assert await eventually_here(builtin.is_loaded, within_s=LOADED_S)
        searcher.indexes.close()
        return made

    monkeypatch.setattr(builtin, "embed_query", record)

    assert asyncio.run(ask_twice()) == [None, (1, embed_query(CAT))]
    assert threads
    assert threading.get_ident() not in threads


def test_what_failed_in_the_background_is_not_tried_again_at_once(
    unloaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Path] = []

    def fail(home: Path, name: str) -> None:
        tries.append(home)
        raise EncoderUnavailable("It is gone.")

    monkeypatch.setattr(model_file, "find_model", fail)

    builtin.load_in_background()
    assert eventually(lambda: tries, within_s=LOADED_S)
    builtin.load_in_background()

    assert not eventually(lambda: len(tries) > 1, within_s=0.2)


# --- in the database ---


@pytest.mark.django_db
def test_texts_of_an_earlier_embedder_are_embedded_anew(vectors, set_embedder) -> None:
    set_embedder("builtin")
    cat = said(CAT)
    earlier = Embedder.objects.create(name="builtin wordllama 256", dimensions=256, is_current=True)
    schema.add_index(earlier)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO episode_vector VALUES (%s, %s, array_fill(0.0625::real, ARRAY[256])::vector::halfvec)",
            [cat.pk, earlier.pk],
        )
    PendingEmbedding.objects.all().delete()

    assert queue.embed_due() == 1

    [embedder] = Embedder.objects.all()  # the earlier one has no vector left
    assert (embedder.name, embedder.dimensions) == (NAME, 384)
    assert search(ANN, "kitten napping on a sofa", types="episodes")[0].id == cat.pk


@pytest.mark.django_db
def test_its_noise_is_known_from_the_start_and_as_measured(vectors, set_embedder) -> None:
    set_embedder("builtin")
    queue.embed_due()

    embedder = Embedder.objects.get()

    assert (embedder.noise_mean, embedder.noise_deviation) == NOISE
    assert measure_noise(builtin.embed) == pytest.approx(NOISE, abs=0.002)


@pytest.mark.django_db
def test_a_command_measures_the_noise(vectors, set_embedder, capsys) -> None:
    set_embedder("builtin")
    queue.embed_due()
    Embedder.objects.update(noise_mean=None, noise_deviation=None)

    call_command("calibrate_embedder")

    # In 8 bits, processors differ in the third digit.
    measured = Embedder.objects.get()
    assert measured.noise_mean == pytest.approx(NOISE.mean, abs=0.002)
    assert measured.noise_deviation == pytest.approx(NOISE.deviation, abs=0.002)
    told = f"{NAME}: mean {measured.noise_mean:.3f}, deviation {measured.noise_deviation:.3f}\n"
    assert capsys.readouterr().out == told


@pytest.mark.django_db
def test_without_an_embedder_there_is_no_noise_to_measure(vectors, set_embedder) -> None:
    set_embedder("none")

    with pytest.raises(CommandError, match="There is no embedder"):
        call_command("calibrate_embedder")


# --- where it cannot be used ---


@pytest.mark.django_db
def test_without_its_weights_words_go_on_and_health_tells_why(
    vectors, set_embedder, unloaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack(home: Path, name: str) -> None:
        raise EncoderUnavailable(weights.MISSING)

    monkeypatch.setattr(model_file, "find_model", lack)
    set_embedder("builtin")
    said(CAT)

    assert queue.embed_due() == 0

    assert tell_health() == weights.MISSING
    assert [each.text for each in search(ANN, "cats")] == [CAT]


@pytest.fixture
def own_file(tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The encoder's file of a home of its own, to which it is copied instead of being made."""
    made = model_file.find_model(settings.HOME)

    def copy(home: Path, name: str) -> None:
        shutil.copytree(made.parent, home / FOLDER, dirs_exist_ok=True)

    monkeypatch.setattr(model_file, "make_in_subprocess", copy)
    settings.HOME = tmp_path
    return tmp_path / FOLDER / builtin.FILES[NAME]


@pytest.mark.django_db
def test_a_changed_file_is_told_by_health_until_it_is_made_anew(
    vectors, set_embedder, unloaded: None, own_file: Path
) -> None:
    builtin.load()
    builtin.loaded.clear()
    own_file.write_bytes(own_file.read_bytes()[:-1] + b"?")
    set_embedder("builtin")
    said(CAT)

    assert queue.embed_due() == 0
    assert f"{own_file} was changed" in (tell_health() or "")

    call_command("embed", "--rebuild")

    assert tell_health() is None
    assert search(ANN, "kitten napping on a sofa", types="episodes")[0].text == CAT
