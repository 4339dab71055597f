"""How texts get their vectors, and what happens where that fails."""

import pytest
from django.db import connection

from memory.llm.errors import Misconfigured
from memory.models import Embedder, LanguageModel, LlmCall, Memory, PendingEmbedding
from memory.search.service import search
from memory.semantic.vectors import embedders, queue, schema
from tests.memory.semantic.said import ANN, remembered, said
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
    assert schema.Extension(installed=version).is_usable is is_usable


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
    # Two texts, and three batches to calibrate it.
    assert LlmCall.objects.filter(purpose="embed", cost__gt=0).count() == 5
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
    assert PendingEmbedding.objects.get().attempts == 0
    assert queue.is_resting(embedder)
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


def test_one_text_that_is_refused_holds_up_no_other(vectors, set_embedder, monkeypatch) -> None:
    set_embedder("builtin")
    said(CAT)
    bad = said("This one is refused.")
    said("The dog barks.")
    embed = embedders.embed

    def refuse(setting, texts, timeout_s):
        if any("refused" in text for text in texts):
            raise Misconfigured("the input is too long")
        return embed(setting, texts, timeout_s)

    monkeypatch.setattr(embedders, "embed", refuse)

    queue.embed_due()

    assert [waiting.row for waiting in PendingEmbedding.objects.all()] == [bad.pk]
    assert len(embedded("episode")) == 2
    assert Embedder.objects.get().last_error == ""


def test_only_the_newest_episodes_keep_their_vectors(vectors, set_embedder, monkeypatch) -> None:
    set_embedder("builtin")
    episodes = [said(f"The dog barks {at} times.") for at in range(4)]
    queue.embed_due()
    monkeypatch.setattr(queue, "oldest_embedded", lambda: episodes[1].pk)

    assert queue.prune_vectors() == 2
    assert set(embedded("episode")) == {episode.pk for episode in episodes[2:]}
