"""Measures the built-in embedder: its speed, its memory, and what its 8-bit weights cost in quality.

``python -m benchmarks.encoding`` measures it in a process of its own, in the home of FESTINGER_HOME; prints JSON.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import psutil

from benchmarks.client import BenchmarkBroken
from benchmarks.figures import Figures, Rows
from benchmarks.plan import Plan
from benchmarks.retrieval_weeks import read_weeks
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

if TYPE_CHECKING:
    from memory.search.encoder.encoder import Encoder

FIRST = 5  # messages among which the evidence of a question is looked for
WORD = "river "  # one word piece
QUERIES = (9, 27, 62)  # word pieces, with the marks at both ends
WORDS_300 = 300 * WORD  # of which the first 256 are read
COST = "the built-in embedder on one core, memory of its process"
QUALITY = "its 8-bit weights beside full precision: questions of benchmarks/retrieval_weeks.txt by vectors alone"
AIMS = {"query of 62 pieces": "CPU ms <= 4"}


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    command = [sys.executable, "-m", "benchmarks.encoding", str(plan.rounds)]
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
    done = subprocess.run(command, cwd=homes.PROJECT, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise BenchmarkBroken(done.stderr.decode(errors="replace")[-2_000:])
    cost, quality = json.loads(done.stdout)
    yield Figures("encoding", COST, cost, AIMS)
    yield Figures("encoding quality", QUALITY, quality)


def main() -> None:
    """In a process of its own, which has Django."""
    import django

    django.setup()
    cost, encoder = measure_cost(int(sys.argv[1]))
    print(json.dumps([cost, measure_quality(encoder)]))


def measure_cost(rounds: int) -> tuple[Rows, "Encoder"]:
    from django.conf import settings

    from memory.search.encoder.model_file import find_model, remove_models

    remove_models(settings.HOME)
    start = time.perf_counter()
    find_model(settings.HOME)
    made_s = time.perf_counter() - start
    before = take_megabytes()
    start = time.perf_counter()

    from memory.search.encoder.encoder import Encoder

    encoder = Encoder(find_model(settings.HOME))
    rows = {"made, once": {"s": made_s}, "loaded": {"s": time.perf_counter() - start, "MB": take_megabytes() - before}}
    for pieces in QUERIES:
        rows[f"query of {pieces} pieces"] = {"CPU ms": take_ms(encoder, (pieces - 2) * WORD, 5 * rounds)}
    rows["text of 300 words"] = {"CPU ms": take_ms(encoder, WORDS_300, rounds), "MB": take_megabytes() - before}
    return rows, encoder


def take_megabytes() -> float:
    return float(psutil.Process().memory_info().rss) / 1e6


def take_ms(encoder: "Encoder", text: str, rounds: int) -> float:
    """Return the median of this thread's processor time: what else the machine does counts little."""
    each = []
    for _ in range(rounds):
        start = time.thread_time()
        encoder.encode_texts([text])
        each.append((time.thread_time() - start) * 1000)
    return median(each)


def measure_quality(encoder: "Encoder") -> Rows:
    from memory.search.encoder.encoder import Encoder
    from memory.search.encoder.graph import build_graph
    from memory.search.encoder.weights import read_published
    from memory.search.vectors.embedders import measure_noise

    published = read_published()
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(build_graph(published.tensors, published.vocabulary).SerializeToString())
        file.flush()
        precise = Encoder(Path(file.name))
    rows = {}
    for name, each in (("8 bits", encoder), ("full precision", precise)):
        noise = measure_noise(each.encode_texts)
        first = find_first(each)
        found = [evidence <= set(places[:FIRST]) for evidence, places in first]
        rows[name] = {
            f"all among {FIRST} %": 100 * sum(found) / len(found),
            "noise mean": noise.mean,
            "noise deviation": noise.deviation,
        }
    likenesses, agreement = compare(encoder, precise)
    rows["8 bits"] |= {"cosine with full": likenesses[0], "least": likenesses[1], f"same {FIRST} %": 100 * agreement}
    return rows


def find_first(encoder: "Encoder") -> list[tuple[set[int], Sequence[int]]]:
    """Return for each question the places of its evidence among the user's messages, and the messages by likeness."""
    found = []
    for talk in read_weeks():
        lines = [line for line in talk.lines if line.role == "user"]
        vectors = np.array(encoder.encode_texts([line.text for line in lines]))
        for asked in talk.asked:
            evidence = {at for at, line in enumerate(lines) if set(line.facts) & set(asked.evidence)}
            order = np.argsort(-(vectors @ np.array(encoder.encode_query(asked.text))), kind="stable")
            found.append((evidence, order.tolist()))
    return found


def compare(encoder: "Encoder", precise: "Encoder") -> tuple[tuple[float, float], float]:
    """Mean and least cosine between both vectors of a message; the share of the FIRST messages of a question that are
    the same."""
    texts = [line.text for talk in read_weeks() for line in talk.lines]
    cosines = (np.array(encoder.encode_texts(texts)) * np.array(precise.encode_texts(texts))).sum(axis=1)
    pairs = zip(find_first(encoder), find_first(precise), strict=True)
    shared = [len(set(one[:FIRST]) & set(other[:FIRST])) / FIRST for (_, one), (_, other) in pairs]
    return (float(cosines.mean()), float(cosines.min())), sum(shared) / len(shared)


if __name__ == "__main__":
    main()
