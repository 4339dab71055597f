"""Removes a secret from the journals."""

from pathlib import Path
from typing import BinaryIO, NamedTuple

import orjson

from memory.db.files import replace_file
from memory.learning.journal import Journal, claim
from memory.secrets.known import KnownSecret


class RedactedJournals(NamedTuple):
    """``lines`` that contained the secret, and ``in_use``: files that a process is writing or replaying."""

    lines: int
    in_use: int


def redact_journals(folder: Path, secret: KnownSecret, *, is_trial: bool = False) -> RedactedJournals:
    """Replace the secret by a mark in the files that no process holds. ``is_trial``: only count.

    Raises OSError."""
    lines = in_use = 0
    for path in Journal(folder).files():
        file = claim(path)
        if file is None:
            in_use += path.exists()
            continue
        with file:
            lines += _redact_file(path, file, secret, is_trial=is_trial)
    return RedactedJournals(lines, in_use)


def _redact_file(path: Path, file: BinaryIO, secret: KnownSecret, *, is_trial: bool) -> int:
    old = file.readlines()
    new = [_redact_line(line, secret) for line in old]
    changed = sum(before != after for before, after in zip(old, new, strict=True))
    if changed and not is_trial:
        # A process that waits for the old file's lock sees that it is gone.
        replace_file(path, b"".join(new), 0o600)
    return changed


def _redact_line(line: bytes, secret: KnownSecret) -> bytes:
    """Redact a line; a torn line is covered as plain text."""
    text = line.decode(errors="replace")
    try:
        said = orjson.loads(text)
    except ValueError:
        return secret.cover(text, {}).encode() if secret.is_in(text) else line
    covered = secret.cover(said, {})
    return line if covered == said else orjson.dumps(covered) + b"\n"
