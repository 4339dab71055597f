"""Trains the adapter of the built-in encoder: ``python -m training.train``, half an hour on two cores.

Needs the group training of pyproject.toml. The result is the same for the same machine and seed.
"""

import argparse
import hashlib
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import optax

from memory.english.telling import split_sentences
from memory.memories.episodes import SHORT_MAX
from memory.search.encoder.adapter import FILE
from memory.search.encoder.weights import read_published
from memory.search.encoder.word_pieces import WordPieces
from training import heads
from training.conversations import DEVELOPMENT, Person, read_people
from training.model import adapted_names, encode, encode_all, merge, pad

RUN_CHARACTERS: Final = 120
TEXT_PIECES, QUERY_PIECES = 64, 40  # the beginning of what is longer; of a long message, a run of sentences


@dataclass
class Settings:
    rank: int = 16
    rate: float = 5e-4
    epochs: int = 4
    batch: int = 32
    beside: int = 16  # requests that need nothing in a batch, each with a near text
    temperature: float = 0.05
    hard: int = 1  # hard negatives of each request
    apart: float = 0.25
    near: float = 0.45
    soft: float = 0.05
    weight_apart: float = 0.1
    weight_near: float = 0.1
    seed: int = 1


@dataclass
class Store:
    """Holds a text for each of a person's messages, as the product embeds it, and its runs of sentences."""

    texts: list[str]
    runs: list[list[str]]
    rows: dict[str, int]
    pieces: list[list[int]] = field(default_factory=list)
    run_pieces: list[list[list[int]]] = field(default_factory=list)
    vectors: Any = None


@dataclass
class Pair:
    query: list[int]
    texts: list[list[int]]  # those it needs, any
    hard: list[list[int]]
    own: frozenset[int]  # the rows of what it needs, and of what is about the same
    person: str


@dataclass
class Beside:
    query: list[int]
    near: list[list[int]]


def split_runs(text: str, characters: int = RUN_CHARACTERS) -> list[str]:
    """Return the runs of whole sentences of a text that is longer than one of them."""
    if len(text) <= 2 * characters:
        return []
    runs, run = [], ""
    for sentence in split_sentences(text):
        if run and len(run) + len(sentence) > characters:
            runs.append(run)
            run = ""
        run = f"{run} {sentence}".strip()
    return [*runs, run] if run else runs


def make_store(person: Person, word_pieces: WordPieces) -> Store:
    store, before, chat = Store([], [], {}), "", 0
    for message in person.messages:
        if message.role != "user":
            continue
        if message.chat != chat:
            before, chat = "", message.chat
        text = f"{before}\n{message.text}".strip() if len(message.text) < SHORT_MAX else message.text
        store.rows[message.key] = len(store.texts)
        store.texts.append(text)
        store.runs.append(split_runs(message.text))
        before = message.text
    store.pieces = [word_pieces.encode_text(text) for text in store.texts]
    store.run_pieces = [[word_pieces.encode_text(run) for run in runs] for runs in store.runs]
    return store


def make_examples(
    people: Sequence[Person], word_pieces: WordPieces, tensors: Any, most: int = 12
) -> tuple[list[Pair], list[Beside]]:
    """Return the requests with what they need and what is near in the same store by ``tensors``, and those that need
    nothing with what is near."""
    pairs, beside = [], []
    for person in people:
        store = make_store(person, word_pieces)
        store.vectors = encode_all(tensors, store.pieces)
        queries = [word_pieces.encode_query(request.text) for request in person.requests]
        flat = encode_all(tensors, [run for runs in store.run_pieces for run in runs])
        ends = np.cumsum([len(runs) for runs in store.run_pieces])
        run_vectors = np.split(flat, ends[:-1])
        asked_vectors = encode_all(tensors, queries)
        for request, query, asked in zip(person.requests, queries, asked_vectors, strict=True):
            order = np.argsort(-(store.vectors @ asked))
            if not request.evidence:
                beside.append(Beside(query, [store.pieces[at] for at in order[:most]]))
                continue
            needed = [store.rows[key] for key in request.evidence]
            # What is outdated is about the same: no likeness can tell it from what is true now.
            about = {*needed, *(store.rows[key] for key in request.outdated)}
            hard = [store.pieces[at] for at in order if at not in about][:most]
            for at in needed:
                told = [store.pieces[at]]
                if runs := store.run_pieces[at]:
                    best = runs[int(np.argmax(run_vectors[at] @ asked))]
                    told = [*told, best] if len(store.pieces[at]) <= TEXT_PIECES else [best]
                pairs.append(Pair(query, told, hard, frozenset(about), person.name))
    return pairs, beside


def train(tensors: Any, pairs: list[Pair], beside: list[Beside], settings: Settings) -> dict[str, tuple[Any, Any]]:
    chance = random.Random(settings.seed)
    fixed = {name: jnp.asarray(value) for name, value in tensors.items()}
    names = adapted_names(fixed)
    keys = jax.random.split(jax.random.PRNGKey(settings.seed), len(names))
    adapter: Any = {
        name: (
            jax.random.normal(key, (settings.rank, fixed[name].shape[1])) / np.sqrt(fixed[name].shape[1]),
            jnp.zeros((fixed[name].shape[0], settings.rank)),
        )
        for name, key in zip(names, keys, strict=True)
    }

    def loss(adapter: Any, query: Any, text: Any, other: Any, near: Any, same: Any) -> Any:
        merged = merge(fixed, adapter)
        asked, told, besides, nearest = (encode(merged, *each) for each in (query, text, other, near))
        likeness = jnp.where(same, -1e9, asked @ told.T / settings.temperature)
        rows = jnp.arange(len(asked))
        contrast = -jax.nn.log_softmax(likeness, -1)[rows, rows].mean()
        # What needs nothing is like nothing, and what is needed is clearly alike.
        apart = jax.nn.softplus(((besides * nearest).sum(-1) - settings.apart) / settings.soft).mean()
        close = jax.nn.softplus((settings.near - (asked * told[: len(asked)]).sum(-1)) / settings.soft).mean()
        return contrast + settings.weight_apart * apart + settings.weight_near * close

    steps = settings.epochs * (len(pairs) // settings.batch)
    rate = optax.warmup_cosine_decay_schedule(0, settings.rate, max(5, steps // 10), steps + 1)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.01))
    state = optimiser.init(adapter)

    @jax.jit
    def step(adapter: Any, state: Any, *batch: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(adapter, *batch)
        update, state = optimiser.update(gradient, state, adapter)
        return optax.apply_updates(adapter, update), state, value

    started = time.monotonic()
    for epoch in range(settings.epochs):
        values = []
        for batch in make_batches(pairs, beside, settings, chance):
            adapter, state, value = step(adapter, state, *batch)
            values.append(float(value))
            if len(values) % 20 == 0:
                print(
                    f"  {len(values)} steps: loss {np.mean(values[-20:]):.3f}, {time.monotonic() - started:.0f} s",
                    flush=True,
                )
        print(f"epoch {epoch + 1}: loss {np.mean(values):.3f}, {time.monotonic() - started:.0f} s", flush=True)
    return {name: (np.asarray(a, np.float16), np.asarray(b, np.float16)) for name, (a, b) in adapter.items()}


def make_batches(
    pairs: list[Pair], beside: list[Beside], settings: Settings, chance: random.Random
) -> Iterator[tuple[Any, ...]]:
    """Yield what a step learns from. The pairs of a batch are of one person or two: what others of the same person need
    is what is hardest to tell apart."""
    size = settings.batch
    chance.shuffle(pairs)
    names = sorted({pair.person for pair in pairs})
    chance.shuffle(names)
    pairs = sorted(pairs, key=lambda pair: names.index(pair.person))
    batches = [pairs[start : start + size] for start in range(0, len(pairs) - size + 1, size)]
    chance.shuffle(batches)
    for some in batches:
        texts = [chance.choice(pair.texts) for pair in some]
        hard = [chance.choice(pair.hard) for pair in some for _ in range(settings.hard)]
        # A text that another request of the batch needs as well is no negative.
        same = np.zeros((size, size + len(hard)), bool)
        for row, pair in enumerate(some):
            for column, other in enumerate(some):
                same[row, column] = row != column and pair.person == other.person and not pair.own.isdisjoint(other.own)
        none = chance.sample(beside, settings.beside)
        near = [chance.choice(each.near) for each in none]
        yield (
            pad([pair.query for pair in some], QUERY_PIECES, QUERY_PIECES),
            pad([*texts, *hard], TEXT_PIECES, TEXT_PIECES),
            pad([each.query for each in none], QUERY_PIECES, QUERY_PIECES),
            pad(near, TEXT_PIECES, TEXT_PIECES),
            same,
        )


def fit_heads(people: Sequence[Person], tensors: Any, word_pieces: WordPieces) -> dict[str, Any]:
    """Fit the heads on the trained encoder's vectors; return their arrays, and print what they reach."""
    requests = [(person.name, request) for person in people for request in person.requests]
    vectors = encode_all(tensors, [word_pieces.encode_query(request.text) for _, request in requests])
    needs = np.array([bool(request.evidence) for _, request in requests])
    is_new = np.array([name in DEVELOPMENT for name, _ in requests])
    weights, bias = heads.fit_needs(vectors[~is_new], needs[~is_new])
    print(f"needs: AUC {heads.auc(vectors[is_new] @ weights, needs[is_new]):.3f} on persons left out", flush=True)
    found = {heads.NEEDS: (weights, bias)}
    told = [(person.name, *each) for person in people for each in heads.label_sentences(person)]
    told += [(f"nobody {number % 50}", *each) for number, each in enumerate(heads.read_sentences())]
    owners, labels, texts = map(list, zip(*told, strict=True))
    vectors = encode_all(tensors, [word_pieces.encode_text(text) for text in texts])
    for label in heads.LABELS:
        weights, bias, recall = heads.fit_profile(vectors, labels, owners, label)
        print(f"{label}: recall {recall:.2f} at precision {heads.PRECISION} on persons left out", flush=True)
        found[label] = weights, bias
    return {
        "heads": np.array(list(found)),
        "head_weights": np.array([weights for weights, _ in found.values()], np.float32),
        "head_biases": np.array([bias for _, bias in found.values()], np.float32),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, default=FILE)
    parser.add_argument("--heads-of", type=Path, help="fit only the heads, of the adapter in this file")
    for name, value in vars(Settings()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    arguments = vars(parser.parse_args())
    target, fitted = arguments.pop("target"), arguments.pop("heads_of")
    people, published = read_people(), read_published()
    word_pieces = WordPieces(published.vocabulary)
    if fitted is None:
        learnt = [person for person in people if person.name not in DEVELOPMENT]
        pairs, beside = make_examples(learnt, word_pieces, published.tensors)
        print(f"{len(learnt)} persons, {len(pairs)} pairs, {len(beside)} requests that need nothing", flush=True)
        adapter = train(published.tensors, pairs, beside, Settings(**arguments))
    else:
        with np.load(fitted) as arrays:
            names = [name[:-2] for name in arrays if name.endswith(".a")]
            adapter = {name: (arrays[f"{name}.a"], arrays[f"{name}.b"]) for name in names}
    merged = merge(published.tensors, {name: (np.float32(a), np.float32(b)) for name, (a, b) in adapter.items()})
    arrays = fit_heads(people, merged, word_pieces)
    arrays |= {f"{name}.{part}": each for name, pair in adapter.items() for part, each in zip("ab", pair, strict=True)}
    np.savez_compressed(target, **arrays)
    print(f"{target}: {target.stat().st_size:,} bytes, sha256 {hashlib.sha256(target.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
