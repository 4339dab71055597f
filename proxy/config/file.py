"""Reads ``config.yaml`` at the start and whenever it changes, and accepts or refuses it as a whole."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import yaml
from django.conf import settings
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from proxy.config.schema import Rules, list_ignored, values

logger = logging.getLogger(__name__)

# In the environment, these take precedence.
VARIABLES: Final = {"upstream.url": "FESTINGER_UPSTREAM", "limits.max_body_bytes": "FESTINGER_MAX_BODY_BYTES"}
KEYS: Final = tuple(values(Rules()))
# Keys and sections, by the last part of their names.
NAMES: Final = {name.rpartition(".")[2]: name for key in KEYS for name in (*key.split(".")[:-1], key)}
LOOK_S: Final = 1.0  # how often the file is checked
SHOWN_MAX: Final = 200  # characters of a mistake


class RulesMistakes(ValueError):
    """The file cannot be used. ``mistakes`` lists everything that is wrong with it, each with its position."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = list(mistakes)

    def as_lines(self, file: object) -> str:
        """Return the mistakes for people to read, one on each line."""
        return "\n".join([f"{file} cannot be used:", *(f"  {mistake}" for mistake in self.mistakes)])


class UniqueKeys(yaml.SafeLoader):
    """Refuses a key that is in a section twice: a section appended to a file would silently replace the first."""

    # Built on the parser in Python: libyaml's crashes the process on a text with many brackets.

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        found = super().construct_mapping(node, deep)
        if len(found) < len(node.value):
            raise yaml.constructor.ConstructorError(problem="a key is there twice", problem_mark=node.start_mark)
        return found


def read(text: str) -> Rules:
    """Return the rules in the text of a file. Raises RulesMistakes."""
    try:
        return Rules.model_validate(yaml.load(text, UniqueKeys), by_alias=True, by_name=False)
    except ValidationError as error:
        mistakes = map(describe, error.errors(include_url=False, include_context=False, include_input=False))
        raise RulesMistakes(*dict.fromkeys(mistakes)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise RulesMistakes(place + abbreviate(error.problem or error.context or "")) from None
    # Values that do not fit an explicit tag, or are no date, end in these.
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise RulesMistakes(f"is no YAML: {abbreviate(str(error))}") from None


def describe(mistake: ErrorDetails) -> str:
    """Return the position of the mistake and what is wrong there, without the value, which may be a password."""
    is_key = mistake["type"] in ("extra_forbidden", "invalid_key")
    items = (part if isinstance(part, str) or is_key else part + 1 for part in mistake["loc"])
    where = abbreviate(".".join(map(str, items)))
    if not is_key:
        return f"{where or 'the file'}: {mistake['msg'].removeprefix('Value error, ')}"
    meant = get_close_matches(str(mistake["loc"][-1]), NAMES, n=1)
    return f"{where}: there is no such key{f'; did you mean {NAMES[meant[0]]}?' if meant else ''}"


def abbreviate(text: str) -> str:
    """Shorten a text, without characters that would break a line of a log."""
    return (text if text.isprintable() else repr(text))[:SHOWN_MAX]


def read_file(file: Path) -> Rules:
    """Return the rules of a file, defaults if there is none. Raises RulesMistakes."""
    try:
        if file.exists() and not file.is_file():  # opening a pipe would block
            raise RulesMistakes("is no file")
        return read(file.read_text("utf-8-sig"))
    except FileNotFoundError:
        return Rules()
    except OSError as error:
        raise RulesMistakes(f"cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise RulesMistakes(f"is not UTF-8: byte {error.start + 1} cannot be read") from None


class SettingsFile:
    """The settings of ``config.yaml``.

    - ``rules``: those in force, with the environment's; replaced as a whole.
    - ``loaded_at``: when their file was read, in seconds since the epoch; None if it never could be.
    - ``mistakes``: those of a file that has been refused since.
    - ``overridden``: the file's keys over which the environment takes precedence.
    """

    def __init__(self, file: Path, overrides: Mapping[str, object]) -> None:
        self.path = file
        self.rules = Rules().with_values(overrides)
        self.loaded_at: float | None = None
        self.mistakes: list[str] = []
        self.overridden: list[str] = []
        self._overrides = overrides
        self._subscribers: list[Callable[[Rules], None]] = []
        self._read_stamp = self._seen_stamp = stamp(file)
        try:
            self._adopt(read_file(file))
        except RulesMistakes as mistakes:
            self._refuse(mistakes)

    @property
    def error(self) -> str:
        """The mistakes of the last reading in one line; empty for none."""
        return "; ".join(self.mistakes)

    @property
    def is_there(self) -> bool:
        return self._read_stamp is not None

    def subscribe(self, changed: Callable[[Rules], None]) -> None:
        """Call ``changed`` with the new rules on each change, in the task of ``run``; it must not raise."""
        self._subscribers.append(changed)

    async def run(self) -> None:
        """Follow the file until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Read the file, and adopt it, if it has changed and was the same when it was looked at before."""
        # Editors write a file in steps: they empty or remove it, then write it. Read in between, it would be refused,
        # or worse, taken for one without keys.
        before, self._seen_stamp = self._seen_stamp, stamp(self.path)
        if self._seen_stamp == self._read_stamp or self._seen_stamp != before:
            return
        self._read_stamp = self._seen_stamp
        try:
            self._adopt(await asyncio.to_thread(read_file, self.path))
        except RulesMistakes as mistakes:
            self._refuse(mistakes)

    def _adopt(self, rules: Rules) -> None:
        before = values(self.rules)
        self.rules = rules.with_values(self._overrides)
        self.mistakes = []
        self.overridden = [key for key in values(rules, only_set=True) if key in self._overrides]
        self.loaded_at = time.time()
        changed = [key for key, value in values(self.rules).items() if value != before[key]]
        # Only the keys are logged: an address may contain a password.
        event = "config.read" if self.is_there else "config.absent"
        logger.info(event, extra={"file": self.path, "changed": ",".join(changed) or "nothing"})
        if ignored := list_ignored(rules):
            logger.warning("config.ignored", extra={"file": self.path, "keys": "; ".join(ignored)})
        if changed:
            for tell in self._subscribers:
                tell(self.rules)

    def _refuse(self, mistakes: RulesMistakes) -> None:
        self.mistakes = mistakes.mistakes
        logger.error("config.refused", extra={"file": self.path, "mistakes": self.error})


def stamp(file: Path) -> tuple[int, ...] | None:
    """Return what differs after a change of the file, None if there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def environment() -> dict[str, object]:
    """Return the environment's values, by the keys over which they take precedence."""
    return {key: value for key, name in VARIABLES.items() if (value := getattr(settings, name))}


def read_rules() -> Rules:
    """Return the file's rules, defaults if it cannot be used, for processes that seldom need them and do not watch the
    file."""
    try:
        return read_file(settings.CONFIG_FILE)
    except RulesMistakes:
        return Rules()


def upstream_url() -> str:
    """Return the model server's current address, without a look at the file if the environment has it."""
    return str(settings.FESTINGER_UPSTREAM or read_rules().upstream.url)
