"""What Festinger is compared with: where it is installed, how each is started, and why one cannot be."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import orjson

from benchmarks.client import HOST, BenchmarkBroken
from benchmarks.servers import Server, running
from festinger_site import home as homes
from festinger_site.launcher import scratch_instance

VENV: Final = homes.PROJECT / ".venv-peers"
PYTHON: Final = VENV / "bin" / "python"
GATEWAY: Final = VENV / "node" / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"
ENGRAM_STORE: Final = Path(__file__).with_name("engram_store.py")
NOT_INSTALLED: Final = "not installed (make bench-peers installs it)"
PROBE_S: Final = 60
# Orma's own embedding model is downloaded at first use: nobody is to wait for that in vain.
OFFLINE: Final = {"HF_HUB_OFFLINE": "1"}
ORMA_PROBE: Final = (
    "from orma.config import OrmaConfig as C; from orma.embed import FastEmbedder as E;"
    " E(C().embedding_model, C().embedding_dim).embed(['probe'])"
)
ORMA_MODEL: Final = "its embedding model (BAAI/bge-small-en-v1.5) is not on this machine, and is not downloaded here"
DIRECTLY: Final = {"NO_PROXY": HOST, "no_proxy": HOST}


def find_lack_of_engram() -> str:
    """Why it cannot be measured; empty where it can."""
    return "" if (VENV / "bin" / "engram").exists() else NOT_INSTALLED


def find_lack_of_litellm() -> str:
    return "" if (VENV / "bin" / "litellm").exists() else NOT_INSTALLED


def find_lack_of_portkey() -> str:
    if shutil.which("node") is None:
        return "there is no node on this machine"
    return "" if GATEWAY.exists() else NOT_INSTALLED


def find_lack_of_orma() -> str:
    if not (VENV / "bin" / "orma").exists():
        return NOT_INSTALLED
    try:
        probe = subprocess.run(
            [PYTHON, "-c", ORMA_PROBE], env=os.environ | OFFLINE, capture_output=True, timeout=PROBE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return ORMA_MODEL
    return ORMA_MODEL if probe.returncode else ""


# --- starting ---


def upstream(home: Path) -> AbstractContextManager[Server]:
    port = scratch_instance.free_port()
    command = [sys.executable, "-m", "benchmarks.peers.upstream", str(port)]
    return running("upstream", home, port, "", command)


def engram(home: Path, mock: Server, database: Path) -> AbstractContextManager[Server]:
    """Without its two models: words alone, and the summaries that it makes then. Where they would be answers nobody."""
    port = scratch_instance.free_port()
    nobody = f"http://{HOST}:{scratch_instance.free_port()}"
    wiring = {"ENGRAM_PORT": str(port), "ENGRAM_UPSTREAM": mock.url, "ENGRAM_SERVICES": nobody}
    command = [str(VENV / "bin" / "engram"), "up"]
    return running("engram", home, port, "", command, ENGRAM_DB=str(database), **wiring, **DIRECTLY)


def work_on_engrams_store(database: Path, **work: object) -> None:
    """As engram_store.py has it. Raises BenchmarkBroken."""
    nobody = f"http://{HOST}:{scratch_instance.free_port()}"
    done = subprocess.run(
        [PYTHON, ENGRAM_STORE],
        input=orjson.dumps({"database": str(database), **work}),
        env=os.environ | {"ENGRAM_SERVICES": nobody},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise BenchmarkBroken(done.stderr.decode(errors="replace")[-2_000:])


def orma(home: Path, mock: Server, folder: Path) -> AbstractContextManager[Server]:
    """Without its nightly model: what was said is found as it was said."""
    port = scratch_instance.free_port()
    words = [f"--upstream={mock.url}/v1", f"--port={port}", f"--host={HOST}", "--sleep-poll=0"]
    command = [str(VENV / "bin" / "orma"), "proxy", *words]
    return running("orma", home, port, "", command, ORMA_DIR=str(folder), **OFFLINE, **DIRECTLY)


@contextmanager
def litellm(home: Path, mock: Server) -> Iterator[Server]:
    port = scratch_instance.free_port()
    settings = home / "litellm.json"  # which is YAML
    parameters = {"model": "openai/mock", "api_base": f"{mock.url}/v1", "api_key": "none"}
    settings.write_bytes(orjson.dumps({"model_list": [{"model_name": "mock", "litellm_params": parameters}]}))
    words = [f"--config={settings}", f"--host={HOST}", f"--port={port}", "--telemetry=False"]
    command = [str(VENV / "bin" / "litellm"), *words]
    with running("litellm", home, port, "", command, LITELLM_LOCAL_MODEL_COST_MAP="True", **DIRECTLY) as server:
        yield server


def portkey(home: Path, mock: Server) -> AbstractContextManager[Server]:
    port = scratch_instance.free_port()
    return running("portkey", home, port, "", ["node", str(GATEWAY), f"--port={port}", "--headless"], **DIRECTLY)


def portkeys_headers(mock: Server) -> str:
    """Whole lines, each with its end."""
    return f"x-portkey-provider: ollama\r\nx-portkey-custom-host: {mock.url}\r\n"
