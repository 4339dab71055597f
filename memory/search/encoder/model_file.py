"""The encoder's file in the home: built once from the published weights, and checked against its digest at every
load."""

import fcntl
import hashlib
import logging
import subprocess
import sys
from pathlib import Path
from typing import Final

from memory.db.files import replace_file
from memory.search.encoder import EncoderUnavailable, adapter

logger = logging.getLogger(__name__)

FOLDER: Final = "encoder"  # in the home
PUBLISHED: Final = "minilm-384-int8.onnx"
ADAPTED: Final = f"minilm-384-int8-{adapter.DIGEST[:8]}.onnx"
SUFFIX: Final = ".sha256"  # of the file with a model's digest
SOURCES: Final = Path(__file__).resolve().parents[3]
MAKING_MAX_S: Final = 120.0  # it takes two seconds; on a busy machine, a minute


def find_model(home: Path, name: str = ADAPTED) -> Path:
    """Return the unchanged file of this name; build it first if it does not exist, which blocks for seconds.

    Raises EncoderUnavailable if it cannot be built, or was changed."""
    model, digest = home / FOLDER / name, home / FOLDER / (name + SUFFIX)
    if not (model.exists() and digest.exists()):
        make_in_subprocess(home, name)
    try:
        with model.open("rb") as content:
            is_as_made = hashlib.file_digest(content, "sha256").hexdigest() == digest.read_text().strip()
    except OSError as error:
        raise EncoderUnavailable(f"{error.filename}: cannot be read ({error.strerror})") from error
    if not is_as_made:
        raise EncoderUnavailable(
            f"{model} was changed after it was made: its sha256 is not the one in {digest.name}."
            " The command embed --rebuild makes it anew."
        )
    return model


def remove_models(home: Path) -> None:
    """Remove the files, also of earlier adapters; the next process that needs one builds it anew."""
    for file in (home / FOLDER).glob("*.onnx*"):
        file.unlink(missing_ok=True)


def make_in_subprocess(home: Path, name: str) -> None:
    """Build the file in a process of its own, since that takes some 670 MB, much of which a process would keep."""
    try:
        made = subprocess.run(
            [sys.executable, "-m", __name__, str(home), name],
            cwd=SOURCES,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MAKING_MAX_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EncoderUnavailable(f"The built-in embedder cannot be made: {error}") from error
    if made.returncode:
        lines = made.stderr.strip().splitlines() or [f"status {made.returncode}"]
        raise EncoderUnavailable(lines[-1])
    logger.info("encoder.made", extra={"file": str(home / FOLDER / name)})


def make_model(home: Path, name: str = ADAPTED) -> None:
    """Build the file unless another process does it first. Raises EncoderUnavailable, OSError."""
    folder = home / FOLDER
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / name).exists() and (folder / (name + SUFFIX)).exists():
            return
        content = build(is_adapted=name == ADAPTED)
        # The digest first: a file without one would be built again, one with an older digest be refused.
        replace_file(folder / (name + SUFFIX), hashlib.sha256(content).hexdigest().encode())
        replace_file(folder / name, content)


def build(*, is_adapted: bool) -> bytes:
    # Imported here, not above: processes that only read the file do without.
    from memory.search.encoder.graph import build_graph, quantize
    from memory.search.encoder.weights import read_published

    published = read_published()
    tensors = adapter.merge(published.tensors) if is_adapted else published.tensors
    return quantize(build_graph(tensors, published.vocabulary))


if __name__ == "__main__":
    try:
        make_model(Path(sys.argv[1]), sys.argv[2])
    except (EncoderUnavailable, OSError) as mistake:
        sys.exit(str(mistake))
