"""The files in which messages wait while Postgres is away."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.learning.journal import Journal, claim, next_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "journal"


@pytest.fixture(autouse=True)
def sealed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test leaves a file open."""
    real, made = Journal, list[Journal]()

    def make(folder: Path, **more: int) -> Journal:
        made.append(real(folder, **more))
        return made[-1]

    with monkeypatch.context() as patch:
        patch.setitem(globals(), "Journal", make)
        yield
    for journal in made:
        journal.seal()


def lines(count: int, start: int = 0) -> list[bytes]:
    return [b"line %d" % number for number in range(start, start + count)]


def read(path: Path) -> list[bytes]:
    file = claim(path)
    assert file is not None
    with file:
        return next_lines(file, 1_000)


def test_what_is_appended_can_be_replayed_when_it_is_sealed(folder: Path) -> None:
    journal = Journal(folder)
    assert (journal.append(lines(2)), journal.append(lines(2, start=2))) == (2, 2)
    [path] = journal.files()
    held = claim(path)

    journal.seal()

    assert held is None
    assert read(path) == [line + b"\n" for line in lines(4)]


def test_only_the_owner_can_read_it(folder: Path) -> None:
    Journal(folder).append(lines(1))

    assert [path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())] == [0o700, 0o600]


def test_what_comes_after_a_seal_goes_to_a_file_of_its_own_after_the_others(folder: Path) -> None:
    journal = Journal(folder)
    for number in range(3):
        journal.append(lines(1, start=number))
        journal.seal()

    assert [read(path) for path in journal.files()] == [[line + b"\n"] for line in lines(3)]


def test_a_file_is_replayed_by_one_and_gone_for_the_other(folder: Path) -> None:
    journal = Journal(folder)
    journal.append(lines(1))
    journal.seal()
    [path] = journal.files()

    with claim(path) as one:  # type: ignore[union-attr]
        assert one is not None
        assert claim(path) is None
        path.unlink()
    assert claim(path) is None


def test_a_file_that_was_removed_while_it_was_opened_is_not_replayed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(folder)
    journal.append(lines(1))
    journal.seal()
    [path] = journal.files()
    monkeypatch.setattr("fcntl.flock", lambda *_: path.unlink())  # the other was done between the two steps

    assert claim(path) is None


def test_a_new_file_that_somebody_took_for_a_left_one_is_made_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def removed_first(file: object, how: int) -> None:
        [path] = folder.iterdir()
        path.unlink()
        monkeypatch.undo()

    monkeypatch.setattr("fcntl.flock", removed_first)
    journal = Journal(folder)

    assert journal.append(lines(1)) == 1
    assert journal.count() == 1


def test_a_killed_process_leaves_its_file_to_the_others(folder: Path) -> None:
    writer = "import sys; from pathlib import Path; from memory.learning.journal import Journal;"
    writer += " j = Journal(Path(sys.argv[1]));"
    writer += "j.append([b'line 0']); print('written', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", writer, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=os.getcwd()
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        [path] = Journal(folder).files()
        held = claim(path)
        process.kill()
        process.wait()

    assert held is None
    assert read(path) == [b"line 0\n"]


def test_the_files_together_are_bounded(folder: Path) -> None:
    one, other = Journal(folder, limit_bytes=70), Journal(folder, limit_bytes=70)  # a line is 7 bytes

    assert (one.append(lines(5)), other.append(lines(9)), one.append(lines(1))) == (5, 5, 0)
    assert one.count() == 10


def test_lines_are_counted_over_all_files_as_they_come_and_go(folder: Path) -> None:
    one, other = Journal(folder), Journal(folder)
    counts = [one.count()]
    one.append(lines(3))
    counts.append(one.count())
    other.append(lines(4))
    one.append(lines(1))
    counts.append(one.count())
    one.files()[0].unlink()
    counts.append(one.count())

    assert counts == [0, 3, 8, 4]


def test_a_write_that_breaks_off_leaves_no_half_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: memoryview) -> int:
        monkeypatch.undo()
        os.write(descriptor, data[:10])
        raise OSError(28, "No space left on device")

    journal = Journal(folder)
    journal.append(lines(1))
    monkeypatch.setattr("memory.learning.journal.write_whole", full)

    with pytest.raises(OSError, match="No space left"):
        journal.append(lines(3, start=1))
    journal.append(lines(1, start=4))
    journal.seal()

    [path] = journal.files()
    assert read(path) == [b"line 0\n", b"line 4\n"]


def test_threads_that_append_and_seal_at_once_lose_nothing(folder: Path) -> None:
    journal = Journal(folder)
    go_on = threading.Event()

    def seal() -> None:
        while not go_on.is_set():
            journal.seal()

    sealing = threading.Thread(target=seal)
    sealing.start()
    for number in range(100):
        journal.append(lines(1, start=number))
    go_on.set()
    sealing.join()
    journal.seal()

    assert sorted(line for path in journal.files() for line in read(path)) == sorted(
        line + b"\n" for line in lines(100)
    )
