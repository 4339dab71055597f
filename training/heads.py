"""Fits the heads: linear classifiers on the trained encoder's vectors, for requests that need something said before,
and for sentences that are a standing instruction or tell who the person is."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from memory.english.telling import split_sentences
from training.conversations import Person

SENTENCES: Final = Path(__file__).with_name("sentences.tsv")
LABELS: Final = ("preference", "identity")
NEEDS: Final = "needs"
PRECISION: Final = 0.9  # of sentences over the threshold, of persons that the head has not seen
FOLDS: Final = 5
L2: Final = {NEEDS: 1e-3, "preference": 3e-4, "identity": 3e-4}
STEPS, RATE, SCALE = 800, 2.0, 4.0


def read_sentences() -> list[tuple[str, str]]:
    """Return labels and sentences of nobody in particular."""
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    return [(label, sentence) for label, _, sentence in (line.partition("\t") for line in lines)]


def label_sentences(person: Person) -> Iterator[tuple[str, str]]:
    """Yield the labels and sentences of a person's messages; ``neither`` for those without a label."""
    by_key = {message.key: message.text for message in person.messages if message.key}
    labelled: dict[str, list[tuple[str, str]]] = {}
    for label, key, sentence in person.sentences:
        labelled.setdefault(key, []).append((label, sentence))
        yield label, sentence
    for key, text in by_key.items():
        told = [sentence for _, sentence in labelled.get(key, ())]
        for sentence in split_sentences(text):
            is_part = any(sentence in each or each in sentence for each in told)
            if not is_part and len(sentence.split()) > 2 and not sentence.endswith("?"):
                yield "neither", sentence


def fit(vectors: Any, labels: Any, l2: float) -> tuple[Any, float]:
    """Fit a logistic regression; return the weights of a vector and the bias."""
    weights, bias = np.zeros(vectors.shape[1]), 0.0
    scaled = vectors * SCALE
    for _ in range(STEPS):
        errors = 1 / (1 + np.exp(-(scaled @ weights + bias))) - labels
        weights -= RATE * (scaled.T @ errors / len(labels) + l2 * weights)
        bias -= RATE * float(errors.mean())
    return weights * SCALE, bias


def fit_needs(vectors: Any, is_needed: Sequence[bool]) -> tuple[Any, float]:
    return fit(vectors, np.array(is_needed, dtype=float), L2[NEEDS])


def fit_profile(vectors: Any, labels: Sequence[str], owners: Sequence[str], label: str) -> tuple[Any, float, float]:
    """Return the weights, the bias less the threshold, and the share of the label's sentences that are over it. The
    threshold is chosen on persons that were left out."""
    truth = np.array([each == label for each in labels], dtype=float)
    scores, people = np.zeros(len(truth)), sorted(set(owners))
    for fold in range(FOLDS):
        out = np.array([people.index(owner) % FOLDS == fold for owner in owners])
        weights, bias = fit(vectors[~out], truth[~out], L2[label])
        scores[out] = vectors[out] @ weights + bias
    threshold, recall = choose_threshold(scores, truth, PRECISION)
    weights, bias = fit(vectors, truth, L2[label])
    return weights, bias - threshold, recall


def choose_threshold(scores: Any, truth: Any, precision: float) -> tuple[float, float]:
    """Return the lowest score from which on so many are right, and the recall there."""
    order = np.argsort(-scores)
    right = np.cumsum(truth[order])
    good = np.flatnonzero(right / np.arange(1, len(order) + 1) >= precision)
    last = int(good[-1]) if len(good) else 0
    return float(scores[order[last]]), float(right[last] / truth.sum())


def auc(scores: Any, truth: Any) -> float:
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores)] = np.arange(len(scores))
    positive = truth.astype(bool)
    count = positive.sum()
    return float((ranks[positive].sum() - count * (count - 1) / 2) / (count * (len(truth) - count)))
