"""Files for what Postgres cannot take now: lines of bytes, one file for each process, in a folder that the processes of
a home share.

A file belongs to the process that holds its lock, to write or to replay it. Everything here blocks: call it in a
thread."""

import fcntl
import os
import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from itertools import accumulate, islice, takewhile
from pathlib import Path
from typing import BinaryIO

LIMIT_BYTES = 64_000_000  # of all files in the folder
SUFFIX = ".jsonl"
BLOCK_BYTES = 1_000_000


class Journal:
    """This process's own file, created on demand, and a view of all the others."""

    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._file: BinaryIO | None = None
        self._writing = threading.Lock()
        self._counting = threading.Lock()
        self._counted: dict[Path, tuple[int, int]] = {}  # by file: bytes that were read, lines in them

    def append(self, lines: Sequence[bytes]) -> int:
        """Write as many of the lines as there is room for, in order, and return how many. They are on the disk (fsync)
        when it returns. Raises OSError: then all of them may be written again."""
        with self._writing:
            room = self._limit_bytes - sum(size for _, size in self._files())
            fitting = sum(1 for _ in takewhile(lambda end: end <= room, accumulate(len(line) + 1 for line in lines)))
            if fitting:
                self._write(b"".join(line + b"\n" for line in lines[:fitting]))
            return fitting

    def seal(self) -> None:
        """Close this process's own file, so that it can be replayed. Later lines go to a new one."""
        with self._writing:
            if self._file is not None:
                self._file.close()
                self._file = None

    def files(self) -> list[Path]:
        """Return all files in the folder, including locked ones, the oldest first."""
        return [path for path, _ in sorted(self._files(), key=lambda found: found[0].name)]

    def count(self) -> int:
        """Count the lines in all files. Reads only what came since the last call."""
        with self._counting:
            self._counted = {path: self._count(path, size) for path, size in self._files()}
            return sum(lines for _, lines in self._counted.values())

    def _write(self, data: bytes) -> None:
        if self._file is None:
            self._file = self._new_file()
        end = os.fstat(self._file.fileno()).st_size
        try:
            write_whole(self._file.fileno(), data)
            os.fsync(self._file.fileno())  # "kept" means that it survives a power cut
        except OSError:
            try:
                os.ftruncate(self._file.fileno(), end)  # the next line must not be glued to half of this one
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
                # The name has to be on the disk, too: syncing the file alone does not write the folder's entry.
                folder = os.open(self._folder, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
                return file
            file.close()  # another process locked it first, found it empty and removed it

    def _files(self) -> list[tuple[Path, int]]:
        """Return each file with its size in bytes."""
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
    """Open the file for reading, and hold its lock until it is closed; None if another process has it, or had it.
    Raises OSError."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    with ExitStack() as closing, suppress(BlockingIOError):
        closing.enter_context(file)
        # The kernel releases the lock of a process that dies, so that others can replay its file.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_nlink:  # otherwise another process has just replayed and removed it
            closing.pop_all()
            return file
    return None


def next_lines(file: BinaryIO, count: int) -> list[bytes]:
    """Return at most ``count`` lines, with their ends; a line without one was torn when its writer died. Empty at the
    end."""
    return list(islice(file, count))


def write_whole(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)  # a write may take only part of it, on a full disk for example
    while rest:
        rest = rest[os.write(descriptor, rest) :]
