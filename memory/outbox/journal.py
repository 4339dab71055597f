"""Files for what cannot be written to Postgres now: lines of bytes, one file per process, in a folder that the
processes of a home share.

Whoever holds a file's lock has it: the process that writes it, or one that replays it. The kernel takes the lock from
a process that dies, so what a killed one leaves behind is replayed by the others, or by the next. Everything here
blocks: it is called in a thread.
"""

import fcntl
import os
import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate, islice, takewhile
from pathlib import Path
from typing import BinaryIO

LIMIT_BYTES = 64_000_000  # of all files in the folder
SUFFIX = ".jsonl"
BLOCK_BYTES = 1_000_000


class Journal:
    """One process's own file, made when it is needed, and a look at those of the others."""

    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._file: BinaryIO | None = None
        self._writing = threading.Lock()
        self._counting = threading.Lock()
        self._counted: dict[Path, tuple[int, int]] = {}  # by file: bytes that were looked at, lines in them

    def append(self, lines: Sequence[bytes]) -> int:
        """Writes the first of the lines, as many as find room, and returns how many. They are on the disk then.

        Raises OSError; nothing is written then, or may be written again."""
        with self._writing:
            room = self._limit_bytes - sum(size for _, size in self._files())
            fitting = sum(1 for _ in takewhile(lambda end: end <= room, accumulate(len(line) + 1 for line in lines)))
            if fitting:
                self._write(b"".join(line + b"\n" for line in lines[:fitting]))
            return fitting

    def seal(self) -> None:
        """Lets go of the own file, so that it can be replayed. What is appended later goes to a new one."""
        with self._writing:
            if self._file is not None:
                self._file.close()
                self._file = None

    def files(self) -> list[Path]:
        """All files in the folder, also those that somebody holds, the oldest first."""
        return [path for path, _ in sorted(self._files(), key=lambda found: found[0].name)]

    def count(self) -> int:
        """How many lines there are in all files. Only what came since the last time is read."""
        with self._counting:
            self._counted = {path: self._count(path, size) for path, size in self._files()}
            return sum(lines for _, lines in self._counted.values())

    def _write(self, data: bytes) -> None:
        if self._file is None:
            self._file = self._new_file()
        end = os.fstat(self._file.fileno()).st_size
        try:
            write_whole(self._file.fileno(), data)
            os.fsync(self._file.fileno())
        except OSError:
            try:
                os.ftruncate(self._file.fileno(), end)  # what comes next must not hang on to half a line
            except OSError:
                self._file.close()
                self._file = None
            raise

    def _new_file(self) -> BinaryIO:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            # The time comes first, so that files are replayed in the order in which they were begun.
            name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}{SUFFIX}"
            descriptor = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            file = os.fdopen(descriptor, "ab", buffering=0)
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                sync_folder(self._folder)
                return file
            file.close()  # somebody else was faster, found nothing in it and removed it

    def _files(self) -> list[tuple[Path, int]]:
        """Each with its size in bytes."""
        found = []
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.name.endswith(SUFFIX):
                        found.append((Path(entry.path), entry.stat().st_size))
        return found

    def _count(self, path: Path, size: int) -> tuple[int, int]:
        seen, lines = self._counted.get(path, (0, 0))
        if size < seen:
            seen = lines = 0
        with suppress(OSError), path.open("rb") as file:
            file.seek(seen)
            while block := file.read(BLOCK_BYTES):
                seen += len(block)
                lines += block.count(b"\n")
        return seen, lines


def claim(path: Path) -> BinaryIO | None:
    """The file, to be read, with its lock until it is closed; None where somebody else has it, or had it.

    Raises OSError."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_nlink:
            return file
    except BlockingIOError:
        pass
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def next_lines(file: BinaryIO, count: int) -> list[bytes]:
    """That many lines, with their ends: what has none was torn by the death of its writer. None are left: empty."""
    return list(islice(file, count))


def write_whole(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """So that a new file's name is on the disk, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
