"""Reads ``config.yaml`` at the start, watches it while a server runs, and accepts or refuses it as a whole.

The last valid version is kept in the home: a process that starts while the file is broken uses the same as the others.
"""

import asyncio
import logging
import os
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from watchfiles import awatch

from proxy.config_file.parser import RulesMistakes, read
from proxy.domain.config_schema import Rules, values

logger = logging.getLogger(__name__)

FILE_MAX_BYTES = 256 * 1024  # a second of parsing
LAST_GOOD = "config.last_good.yaml"
# In the environment, these take precedence.
VARIABLES = {"upstream.url": "FESTINGER_UPSTREAM", "limits.max_body_bytes": "FESTINGER_MAX_BODY_BYTES"}

STEP_MS = 100  # how often the watching thread checks for notifications
LOOK_MS = 2_000  # the file is checked this often in any case: a link may lead to where there are no notifications
SETTLED_S = 0.1  # a file unchanged for this long is completely written
GONE_S = 1.0  # the same for a file that is empty or absent: an editor may be about to write it


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a path: ``content`` is None if nothing is there; ``mistake`` says why it cannot be read."""

    content: bytes | None = None
    mistake: str = ""

    def rules(self) -> Rules:
        """Return the rules, with defaults for what is not set. Raises RulesMistakes."""
        if self.mistake:
            raise RulesMistakes(self.mistake)
        try:
            return read((self.content or b"").decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise RulesMistakes(f"is not UTF-8: byte {error.start + 1} cannot be read") from None


def read_at(file: Path) -> FileContent:
    try:
        # Checked before it is opened: opening a pipe would block.
        if not stat.S_ISREG(mode := file.stat().st_mode):
            return FileContent(mistake="is a folder" if stat.S_ISDIR(mode) else "is no file")
        with file.open("rb") as stream:
            content = stream.read(FILE_MAX_BYTES + 1)
    except FileNotFoundError:
        return FileContent()
    except OSError as error:
        return FileContent(mistake=f"cannot be read ({error.strerror})")
    return (
        FileContent(content)
        if len(content) <= FILE_MAX_BYTES
        else FileContent(mistake=f"is over {FILE_MAX_BYTES // 1024} KiB")
    )


class LastGood:
    """A copy of the last valid version of a file; its first line has the file's path."""

    def __init__(self, copy: Path, file: Path) -> None:
        self._copy = copy
        self._heading = f"# {file}, as it could last be used. Written by Festinger.\n".encode()

    def rules(self) -> Rules:
        """Return the rules of the copy, or defaults if there is none."""
        found = read_at(self._copy)
        # The heading names the file: a home may have been used with another one before.
        if found.content is None or not found.content.startswith(self._heading):
            return Rules()
        try:
            return FileContent(found.content.removeprefix(self._heading)).rules()
        except RulesMistakes:
            # Written by another version of Festinger, with other keys.
            return Rules()

    def keep(self, content: bytes | None) -> None:
        """Store the content; each process stores the same. A failure is logged."""
        try:
            if content is None:
                self._copy.unlink(missing_ok=True)
            elif read_at(self._copy).content != self._heading + content:
                self._write(self._heading + content)
        except OSError as error:
            logger.warning("config.not_kept", extra={"file": self._copy, "error": error.strerror})

    def _write(self, content: bytes) -> None:
        # Replaced as a whole: another process may be reading it, or writing the same, at this moment.
        unfinished = self._copy.with_suffix(f".{os.getpid()}")
        try:
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
                stream.write(content)
            unfinished.replace(self._copy)
        finally:
            unfinished.unlink(missing_ok=True)


class SettingsFile:
    """The settings of ``config.yaml``.

    - ``rules``: those in force, with the environment's; replaced as a whole.
    - ``loaded_at``: when their file was read, in seconds since the epoch; None for a copy.
    - ``mistakes``: those of a file that has been refused since.
    - ``overridden``: the file's keys over which the environment takes precedence.
    """

    def __init__(self, file: Path, last_good: LastGood, overrides: Mapping[str, object]) -> None:
        self.path = file
        self.rules = apply_overrides(Rules(), overrides)
        self.loaded_at: float | None = None
        self.mistakes: list[str] = []
        self.overridden: list[str] = []
        self._last_good = last_good
        self._overrides = overrides
        self._subscribers: list[Callable[[Rules], None]] = []
        self._seen = read_at(file)
        try:
            self._adopt(self._seen.rules())
            last_good.keep(self._seen.content)
        except RulesMistakes as mistakes:
            self.rules = apply_overrides(last_good.rules(), overrides)
            self._refuse(mistakes)

    @classmethod
    def from_settings(cls) -> "SettingsFile":
        return cls(settings.CONFIG_FILE, last_good_of(settings.CONFIG_FILE), environment())

    @property
    def error(self) -> str:
        """The mistakes of the last reading in one line; empty for none."""
        return "; ".join(self.mistakes)

    @property
    def is_there(self) -> bool:
        return self._seen != FileContent()

    def subscribe(self, changed: Callable[[Rules], None]) -> None:
        """Call ``changed`` with the new rules on each change, in the task of ``run``; it must not raise."""
        self._subscribers.append(changed)

    async def run(self) -> None:
        """Follow the file until cancelled."""
        # Uses notifications of its folder, which also cover a file, or a link to it, that is replaced; without them, it
        # looks every two seconds.
        while True:
            with suppress(OSError, RuntimeError):  # no such folder, or no notifications to be had
                await self._watch()
            await asyncio.sleep(LOOK_MS / 1000)
            await self.look()

    async def _watch(self) -> None:
        watching = awatch(
            self.path.parent,
            watch_filter=None,
            step=STEP_MS,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            recursive=False,
        )
        async with aclosing(watching):
            async for _ in watching:
                await self.look()

    async def look(self) -> None:
        """Read the file, and adopt it if it has changed."""
        found = await self._wait_settled()
        if found == self._seen:
            return
        self._seen = found
        try:
            # In a thread: the parser takes a second for the largest file, while all streams would wait.
            rules = await asyncio.to_thread(found.rules)
        except RulesMistakes as mistakes:
            self._refuse(mistakes)
            return
        self._adopt(rules)
        await asyncio.to_thread(self._last_good.keep, found.content)

    async def _wait_settled(self) -> FileContent:
        found = await asyncio.to_thread(read_at, self.path)
        while found != self._seen:
            # Editors write a file in steps: they empty or remove it, then write it, or put another in its place. A file
            # read in between would be refused, or worse, taken for one without keys.
            is_nothing = not found.mistake and not (found.content or b"").strip()
            await asyncio.sleep(GONE_S if is_nothing else SETTLED_S)
            before, found = found, await asyncio.to_thread(read_at, self.path)
            if found == before:
                break
        return found

    def _adopt(self, rules: Rules) -> None:
        before = values(self.rules)
        self.rules = apply_overrides(rules, self._overrides)
        self.mistakes = []
        self.overridden = [key for key in values(rules, only_set=True) if key in self._overrides]
        self.loaded_at = time.time()
        changed = [key for key, value in values(self.rules).items() if value != before[key]]
        # Only the keys are logged: an address may contain a password.
        event = "config.read" if self.is_there else "config.absent"
        logger.info(event, extra={"file": self.path, "changed": ",".join(changed) or "nothing"})
        if changed:
            for tell in self._subscribers:
                tell(self.rules)

    def _refuse(self, mistakes: RulesMistakes) -> None:
        self.mistakes = mistakes.mistakes
        logger.error("config.refused", extra={"file": self.path, "mistakes": self.error})


def apply_overrides(rules: Rules, overrides: Mapping[str, object]) -> Rules:
    for key, value in overrides.items():
        rules = rules.with_value(key, value)
    return rules


def environment() -> dict[str, object]:
    """Return the environment's values, by the keys over which they take precedence."""
    return {key: value for key, name in VARIABLES.items() if (value := getattr(settings, name))}


def last_good_of(file: Path) -> LastGood:
    return LastGood(settings.HOME / LAST_GOOD, file)


def upstream_url() -> str:
    """Return the model server's current address, for processes that seldom need it and do not watch the file."""
    if url := settings.FESTINGER_UPSTREAM:
        return str(url)
    try:
        return read_at(settings.CONFIG_FILE).rules().upstream.url
    except RulesMistakes:
        return last_good_of(settings.CONFIG_FILE).rules().upstream.url
