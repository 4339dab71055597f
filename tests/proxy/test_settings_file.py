"""config.yaml on a disk: found, watched, refused, remembered."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import watchfiles

from proxy.config_file import watcher
from proxy.config_file.parser import RulesMistakes
from proxy.config_file.watcher import FILE_MAX_BYTES, LastGood, SettingsFile, read_at
from proxy.domain.config_schema import Rules
from tests.waiting import eventually, eventually_here

WITHIN_S = 5


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "etc"
    folder.mkdir()
    return folder / "config.yaml"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "GONE_S", 0.3)
    monkeypatch.setattr(watcher, "STEP_MS", 20)
    monkeypatch.setattr(watcher, "LOOK_MS", 60_000)  # only by notifications, unless a test says otherwise


@pytest.fixture
def only_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """No notifications are to be had."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(watcher, "awatch", refuse)
    monkeypatch.setattr(watcher, "LOOK_MS", 50)


def conversations(number: int) -> str:
    return f"limits: {{conversations: {number}}}\n"


def opened(file: Path, overrides: dict[str, object] | None = None) -> SettingsFile:
    copy = file.parent.parent / "last_good.yaml"
    return SettingsFile(file, LastGood(copy, file), overrides or {})


def in_place(file: Path, text: str) -> None:
    file.write_text(text)


def remove(file: Path) -> None:
    file.unlink()


def replace(file: Path, text: str) -> None:
    """As editors do."""
    new = file.with_name("new")
    new.write_text(text)
    new.replace(file)


@asynccontextmanager
async def watched(found: SettingsFile) -> AsyncIterator[SettingsFile]:
    task = asyncio.create_task(found.run())
    await asyncio.sleep(0.1)  # until it watches
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def follow(file: Path, change: Callable[[SettingsFile], Awaitable[None]], **overrides: object) -> SettingsFile:
    async def run() -> SettingsFile:
        async with watched(opened(file, overrides)) as found:
            await change(found)
        return found

    return asyncio.run(run())


async def until(found: SettingsFile, number: int) -> None:
    assert await eventually_here(lambda: found.rules.limits.conversations == number, within_s=WITHIN_S)


# --- at the start ---


def test_without_a_file_all_is_as_it_comes(file: Path) -> None:
    found = opened(file)

    assert (found.rules, found.error, found.is_there) == (Rules(), "", False)
    assert found.loaded_at is not None


def test_the_file_is_read_at_once(file: Path) -> None:
    file.write_text(conversations(500))

    found = opened(file)

    assert (found.rules.limits.conversations, found.is_there) == (500, True)
    assert found.loaded_at == pytest.approx(time.time(), abs=5)


def test_the_environment_wins_and_says_over_what(file: Path) -> None:
    file.write_text("upstream: {url: http://file, connect_timeout_s: 3}")

    found = opened(file, {"upstream.url": "http://env", "limits.max_body_bytes": 5000})

    assert (found.rules.upstream.url, found.rules.upstream.connect_timeout_s) == ("http://env", 3)
    assert found.rules.limits.max_body_bytes == 5000
    assert found.overridden == ["upstream.url"]


def no_access(file: Path) -> None:
    file.symlink_to(file.parent / "loop")
    (file.parent / "loop").symlink_to(file)


UNREADABLE: list[tuple[Callable[[Path], object], str]] = [
    (Path.mkdir, "is a folder"),
    (os.mkfifo, "is no file"),
    (no_access, "cannot be read (Too many levels of symbolic links)"),
    (lambda file: file.write_bytes(b"a: \xff"), "is not UTF-8: byte 4 cannot be read"),
    (lambda file: file.write_bytes("a: ä".encode("utf-16")), "is not UTF-8: byte 1 cannot be read"),
    (lambda file: file.write_bytes(b"#" * (FILE_MAX_BYTES + 1)), "is over 256 KiB"),
]


@pytest.mark.parametrize(("make", "told"), UNREADABLE)
def test_what_cannot_be_read_is_a_mistake(file: Path, make: Callable[[Path], object], told: str) -> None:
    make(file)

    found = opened(file)

    assert (found.mistakes, found.rules, found.loaded_at) == ([told], Rules(), None)


def test_the_largest_file_is_read(file: Path) -> None:
    file.write_bytes(b"#" * FILE_MAX_BYTES)

    assert opened(file).error == ""


def test_a_process_that_starts_on_a_broken_file_goes_on_with_what_was_good_last(file: Path) -> None:
    file.write_text(conversations(500))
    opened(file)
    file.write_text("broken")

    found = opened(file, {"upstream.url": "http://env"})

    assert found.rules == Rules().with_value("limits.conversations", 500).with_value("upstream.url", "http://env")
    assert found.error.startswith("the file: takes the keys upstream, limits, loops, not 'broken'")
    assert found.loaded_at is None


def test_without_a_copy_it_starts_with_defaults(file: Path) -> None:
    file.write_text("broken")

    assert opened(file).rules == Rules()


def test_a_copy_is_of_one_file_and_may_be_of_another_version(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    LastGood(copy, file).keep(conversations(500).encode())

    assert LastGood(copy, file).rules().limits.conversations == 500
    assert LastGood(copy, tmp_path / "other").rules() == Rules()
    LastGood(copy, file).keep(b"unheard_of: 5")
    assert LastGood(copy, file).rules() == Rules()


def test_a_copy_is_for_its_owner_and_gone_with_its_file(file: Path, tmp_path: Path) -> None:
    copy = LastGood(tmp_path / "copy", file)

    copy.keep(b"upstream: {url: http://u:sesame@gpu}")
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600
    copy.keep(None)

    assert {path.name for path in tmp_path.iterdir()} == {"etc"}


def test_a_home_that_cannot_be_written_stops_nothing(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_text(conversations(500))

    found = SettingsFile(file, LastGood(file / "no folder", file), {})

    assert found.rules.limits.conversations == 500
    assert "config.not_kept" in caplog.messages


# --- while it runs ---


@pytest.mark.parametrize("write", [in_place, replace])
def test_a_change_is_followed_and_told(file: Path, write: Callable[[Path, str], None]) -> None:
    file.write_text(conversations(500))
    told: list[Rules] = []

    async def change(found: SettingsFile) -> None:
        found.subscribe(told.append)
        write(file, conversations(600))
        await until(found, 600)
        write(file, conversations(700))
        await until(found, 700)

    follow(file, change)

    assert [rules.limits.conversations for rules in told] == [600, 700]


def test_a_file_that_appears_is_read_and_one_that_vanishes_means_defaults(file: Path) -> None:
    async def change(found: SettingsFile) -> None:
        replace(file, conversations(600))
        await until(found, 600)
        remove(file)
        await until(found, Rules().limits.conversations)

    found = follow(file, change)

    assert (found.error, found.is_there) == ("", False)


def test_a_file_that_is_gone_for_a_moment_changes_nothing(file: Path) -> None:
    """Editors move the old one away before they write the new one; a shell empties it first."""
    file.write_text(conversations(500))
    told: list[Rules] = []

    async def change(found: SettingsFile) -> None:
        found.subscribe(told.append)
        remove(file)
        await asyncio.sleep(0.2)
        in_place(file, "")
        await asyncio.sleep(0.2)
        in_place(file, conversations(500))
        await asyncio.sleep(1)
        in_place(file, conversations(600))
        await until(found, 600)

    follow(file, change)

    assert [rules.limits.conversations for rules in told] == [600]


def test_a_file_that_is_still_being_written_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "SETTLED_S", 0.4)
    told: list[Rules] = []

    async def change(found: SettingsFile) -> None:
        found.subscribe(told.append)
        with file.open("w", buffering=1) as writing:
            for key, value in {"upstream": "{url: gpu}", "limits": "{conversations: 600}", "loops": "{}"}.items():
                writing.write(f"{key}: {value}\n")
                await asyncio.sleep(0.06)
        await until(found, 600)

    follow(file, change)

    assert len(told) == 1


def test_a_broken_file_changes_nothing_and_is_told_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_text(conversations(500))
    broken = "limits: {conversations: many}\nupstream: {url: http://gpu}"

    async def change(found: SettingsFile) -> None:
        before, loaded = found.rules, found.loaded_at
        replace(file, broken)
        assert await eventually_here(lambda: found.error, within_s=WITHIN_S)
        os.utime(file)
        replace(file, broken)
        await asyncio.sleep(0.5)
        assert (found.rules, found.loaded_at) == (before, loaded)

    found = follow(file, change)

    assert found.mistakes == ["limits.conversations: takes a whole number from 100 to 1000000, not 'many'"]
    assert caplog.messages.count("config.refused") == 1


def test_repaired_it_is_followed_again(file: Path) -> None:
    file.write_text(conversations(500))

    async def change(found: SettingsFile) -> None:
        replace(file, "[")
        assert await eventually_here(lambda: found.error, within_s=WITHIN_S)
        replace(file, conversations(500))
        assert await eventually_here(lambda: not found.error, within_s=WITHIN_S)

    found = follow(file, change)

    assert found.rules.limits.conversations == 500


def test_a_change_that_the_environment_wins_over_is_told_to_nobody(file: Path) -> None:
    told: list[Rules] = []

    async def change(found: SettingsFile) -> None:
        found.subscribe(told.append)
        replace(file, "upstream: {url: http://file}")
        assert await eventually_here(lambda: found.overridden, within_s=WITHIN_S)

    found = follow(file, change, **{"upstream.url": "http://env"})

    assert (told, found.rules.upstream.url) == ([], "http://env")


def test_a_mounted_folder_that_is_exchanged_is_noticed(file: Path) -> None:
    """As Kubernetes does it: the file is a link into a folder that is a link."""
    for name, number in (("..1", 500), ("..2", 600)):
        (file.parent / name).mkdir()
        (file.parent / name / "config.yaml").write_text(conversations(number))
    (file.parent / "..data").symlink_to("..1")
    file.symlink_to("..data/config.yaml")

    async def change(found: SettingsFile) -> None:
        assert found.rules.limits.conversations == 500
        (file.parent / "..next").symlink_to("..2")
        (file.parent / "..next").replace(file.parent / "..data")
        await until(found, 600)

    follow(file, change)


def test_what_a_link_leads_to_is_looked_at_now_and_then(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "LOOK_MS", 200)
    (tmp_path / "real.yaml").write_text(conversations(500))
    file.symlink_to(tmp_path / "real.yaml")

    async def change(found: SettingsFile) -> None:
        in_place(tmp_path / "real.yaml", conversations(600))
        await until(found, 600)

    follow(file, change)


@pytest.mark.usefixtures("only_looking")
def test_without_notifications_it_is_looked_at(file: Path) -> None:
    async def change(found: SettingsFile) -> None:
        in_place(file, conversations(600))
        await until(found, 600)

    follow(file, change)


def test_a_folder_that_is_not_there_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "LOOK_MS", 50)
    file = tmp_path / "later" / "config.yaml"

    async def change(found: SettingsFile) -> None:
        file.parent.mkdir()
        in_place(file, conversations(600))
        await until(found, 600)

    follow(file, change)


def exchange(folder: Path) -> None:
    folder.rename(folder.with_name("old"))
    folder.mkdir()


def test_the_folder_may_be_exchanged(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "LOOK_MS", 200)

    async def change(found: SettingsFile) -> None:
        exchange(file.parent)
        in_place(file, conversations(600))
        await until(found, 600)

    follow(file, change)


def test_it_stops_without_waiting_for_the_next_look_and_leaves_no_thread(file: Path) -> None:
    assert watcher.LOOK_MS == 60_000
    before = set(threading.enumerate())

    async def run() -> set[threading.Thread]:
        task = asyncio.create_task(opened(file).run())
        started = await eventually_here(lambda: set(threading.enumerate()) - before, within_s=WITHIN_S)
        assert started
        task.cancel()
        async with asyncio.timeout(WITHIN_S):
            await asyncio.gather(task, return_exceptions=True)
        return started

    started = asyncio.run(run())
    assert eventually(lambda: started.isdisjoint(threading.enumerate()), within_s=WITHIN_S)


def test_the_watcher_is_of_the_kind_that_is_notified() -> None:
    """Where the tests run: with polling, which watchfiles may choose by itself, the rest would say little."""
    assert not watchfiles.main._default_force_polling(None)


# --- for the others ---


def test_the_upstream_for_processes_that_watch_nothing(file: Path, tmp_path: Path, settings) -> None:
    settings.CONFIG_FILE, settings.HOME, settings.FESTINGER_UPSTREAM = file, tmp_path, ""
    assert watcher.upstream_url() == "http://127.0.0.1:11434"
    file.write_text("upstream: {url: http://gpu}")
    assert watcher.upstream_url() == "http://gpu"
    SettingsFile.from_settings()
    file.write_text("upstream: {url: 5}")
    assert watcher.upstream_url() == "http://gpu"
    settings.FESTINGER_UPSTREAM = "http://env"
    assert watcher.upstream_url() == "http://env"


def test_from_settings_the_environment_is_taken_along(file: Path, tmp_path: Path, settings) -> None:
    settings.CONFIG_FILE, settings.HOME = file, tmp_path
    settings.FESTINGER_UPSTREAM, settings.FESTINGER_MAX_BODY_BYTES = "", 2048
    file.write_text("limits: {max_body_bytes: 4096}\nupstream: {url: http://gpu}")

    found = SettingsFile.from_settings()

    assert (found.rules.limits.max_body_bytes, found.rules.upstream.url) == (2048, "http://gpu")
    assert found.overridden == ["limits.max_body_bytes"]


def test_a_found_file_says_what_is_wrong(file: Path) -> None:
    file.write_text("loop: 5")

    with pytest.raises(RulesMistakes, match="did you mean loops"):
        read_at(file).rules()
