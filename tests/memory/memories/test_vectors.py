"""How texts get their vectors, and what happens where that fails."""

import threading
from collections.abc import Callable

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from memory.llm.errors import Misconfigured
from memory.models import Embedder, LanguageModel, LlmCall, Memory, PendingEmbedding
from memory.search.service import search
from memory.search.vectors import embedders, queue, schema
from tests.memory.memories.said import ANN, remembered, said
from tests.standin import StandIn

pytestmark = pytest.mark.django_db

CAT = "My cat sleeps on the couch."


def embedded(table: str) -> dict[int, int]:
    """Each one's embedder."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, embedder_id FROM {table}_vector")
        return dict(cursor.fetchall())


def test_without_the_extension_only_words_count_and_nothing_piles_up(set_embedder) -> None:
    set_embedder("builtin")
    said(CAT)

    assert queue.embed_due() == 0
    assert not PendingEmbedding.objects.exists()
    assert [each.text for each in search(ANN, "cats")] == [CAT]


@pytest.mark.parametrize(("version", "is_usable"), [("", False), ("0.7.4", False), ("0.8.0", True), ("1.0", True)])
def test_an_extension_that_is_too_old_is_not_used(version: str, is_usable: bool) -> None:
    assert schema.is_new_enough(version) is is_usable


def test_what_means_the_same_is_found_without_a_common_word(vectors, set_embedder) -> None:
    set_embedder("builtin")
    cat, memory = said(CAT), remembered("The user drives an electric car.")
    said("The invoices of March are late.")

    assert queue.embed_due() == 3
    assert not PendingEmbedding.objects.exists()
    assert search(ANN, "kitten napping on a sofa", types="episodes")[0].id == cat.pk
    assert search(ANN, "which vehicle?", types="memories")[0].id == memory.pk
    assert Memory.objects.get().embedded_at is not None


def test_a_memory_with_another_text_is_embedded_again(vectors, set_embedder) -> None:
    set_embedder("builtin")
    memory = remembered("The user likes tea.")
    queue.embed_due()

    Memory.objects.filter(pk=memory.pk).update(text="The user plays the cello.")

    assert queue.embed_due() == 1
    assert search(ANN, "musical instrument", types="memories")[0].similarity > 0.2


def test_another_embedder_embeds_everything_anew_and_none_nothing(vectors, set_embedder) -> None:
    set_embedder("builtin")
    said(CAT)
    queue.embed_due()
    with StandIn() as server:
        model = LanguageModel.objects.create(
            provider="ollama", model_name="embedder", base_url=server.url, input_price=1, output_price=1
        )
        set_embedder(f"model:{model.pk}")

        assert queue.embed_due() == 1
        assert search(ANN, "My cat naps on the couch.")[0].text == CAT
    [embedder] = Embedder.objects.all()  # the other has no vector left
    assert set(embedded("episode").values()) == {embedder.pk}
    # The text and a query; questions and messages to calibrate it.
    assert LlmCall.objects.filter(purpose="embed", cost__gt=0).count() == 4
    assert 0 < embedder.noise_deviation < 1

    set_embedder("none")
    said("Something else.")

    assert queue.embed_due() == 0
    assert search(ANN, "kitten napping on a sofa") == []


def test_a_model_that_is_missing_is_complained_of_and_words_go_on(vectors, set_embedder) -> None:
    said(CAT)
    with StandIn() as server:
        model = LanguageModel.objects.create(provider="ollama", model_name="nobody", base_url=server.url)
        set_embedder(f"model:{model.pk}")

        assert queue.embed_due() == 0
    embedder = Embedder.objects.get(is_current=True)
    assert "nobody" in embedder.last_error
    [waiting] = PendingEmbedding.objects.all()
    assert (waiting.attempts, waiting.next_attempt_at <= timezone.now()) == (0, True)
    assert [each.text for each in search(ANN, "cats")] == [CAT]


def test_vectors_of_other_dimensions_wait_until_someone_wants_all_anew(vectors, set_embedder) -> None:
    set_embedder("builtin")
    said(CAT)
    queue.embed_due()
    Embedder.objects.update(dimensions=128)
    said("The dog barks.")

    assert queue.embed_due() == 0
    assert "384 dimensions now, not 128" in Embedder.objects.get().last_error

    queue.embed_anew()

    assert queue.embed_due() == 2
    assert Embedder.objects.get().last_error == ""


@pytest.fixture
def refusing(vectors, set_embedder, monkeypatch) -> None:
    """An embedder that refuses some texts."""
    set_embedder("builtin")
    embed = embedders.embed

    def refuse(name, texts, timeout_s):
        if any("refused" in text for text in texts):
            raise Misconfigured("the input is too long")
        return embed(name, texts, timeout_s)

    monkeypatch.setattr(embedders, "embed", refuse)


@pytest.mark.parametrize("texts", [
    [CAT, "This one is refused.", "The dog barks."],
    [CAT, "The dog barks.", "These are refused.", "This is refused, too."],
    ["This one is refused."],
])  # fmt: skip
def test_texts_that_are_refused_hold_up_no_others(refusing: None, texts: list[str]) -> None:
    kept = [said(text).pk for text in texts if "refused" not in text]
    refused = [said(text).pk for text in texts if "refused" in text]

    assert queue.embed_due() == len(kept)
    assert queue.embed_due() == 0

    assert sorted(embedded("episode")) == sorted(kept)
    waiting = PendingEmbedding.objects.order_by("row").values_list("row", "attempts", "last_error")
    assert list(waiting) == [(row, 1, "the input is too long") for row in refused]
    assert Embedder.objects.get().last_error == ""


def test_a_text_that_is_refused_again_is_put_off_for_longer(refusing: None) -> None:
    said("This one is refused.")
    delays = []

    for _ in range(5):
        PendingEmbedding.objects.update(next_attempt_at=timezone.now())
        queue.embed_due()
        delays.append(round((PendingEmbedding.objects.get().next_attempt_at - timezone.now()).total_seconds() / 60))

    assert delays == [1, 10, 100, 1000, 1000]


@pytest.fixture
def embed_after(vectors, set_embedder, monkeypatch) -> Callable[[Callable[[], object]], int]:
    """Embeds what is due, where something happens before the first answer; returns how many."""
    set_embedder("builtin")
    embed = embedders.embed

    def embed_due(happen: Callable[[], object]) -> int:
        def answer(*arguments):
            monkeypatch.setattr(embedders, "embed", embed)
            vectors = embed(*arguments)
            happen()
            return vectors

        monkeypatch.setattr(embedders, "embed", answer)
        return queue.embed_due()

    return embed_due


def test_a_text_that_is_deleted_while_it_is_embedded_holds_up_no_other(embed_after) -> None:
    cat, dog = said(CAT), said("The dog barks.")

    embed_after(dog.delete)

    assert list(embedded("episode")) == [cat.pk]
    assert not PendingEmbedding.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_text_that_another_process_is_deleting_is_waited_for_and_holds_up_no_other(
    drop_vectors, embed_after, dsn: str
) -> None:
    said("The invoices of March are late.")
    queue.embed_due()  # makes the index, which waits for the other process, too
    cat, dog = said(CAT), said("The dog barks.")
    with psycopg.connect(dsn) as other:

        def begin_to_delete() -> None:
            other.execute("DELETE FROM episode WHERE id = %s", [dog.pk])
            threading.Timer(0.3, other.commit).start()

        assert embed_after(begin_to_delete) == 2

    assert cat.pk in embedded("episode")
    assert dog.pk not in embedded("episode")
    assert not PendingEmbedding.objects.exists()


def test_a_text_that_is_changed_while_it_is_embedded_comes_again(embed_after) -> None:
    memory = remembered("The user likes tea.")

    assert embed_after(lambda: Memory.objects.filter(pk=memory.pk).update(text="The user plays the cello.")) == 2

    assert search(ANN, "musical instrument", types="memories")[0].similarity > 0.2


def test_only_the_newest_episodes_keep_their_vectors(vectors, set_embedder, monkeypatch) -> None:
    set_embedder("builtin")
    episodes = [said(f"The dog barks {at} times.") for at in range(4)]
    queue.embed_due()
    monkeypatch.setattr(queue, "oldest_embedded", lambda: episodes[1].pk)

    assert queue.prune_vectors() == 2
    assert set(embedded("episode")) == {episode.pk for episode in episodes[2:]}
