"""Writes files whole or not at all."""

import os
from pathlib import Path


def replace_file(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file in the place of the one of this name, if there is one. It is on the disk (fsync) when this returns.
    For one writer at a time. Raises OSError: then nothing has changed."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
