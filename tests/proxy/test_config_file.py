"""config.yaml: accepted or refused as a whole, and followed when it changes."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.config import file as config_file
from proxy.config.file import KEYS, RulesMistakes, SettingsFile, read
from proxy.config.schema import Rules, list_ignored, values
from tests.waiting import eventually_here

WITHIN_S = 5


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def find_mistakes(text: str) -> list[str]:
    with pytest.raises(RulesMistakes) as caught:
        read(text)
    return caught.value.mistakes


def limit(number: int) -> str:
    return f"limits: {{max_body_bytes: {number}}}\n"


# --- the text ---


@pytest.mark.parametrize("text", ["", "# nothing\n", "upstream:\n", "loops:\n  detector:\n  mitigations: ~\n", "{}"])
def test_keys_that_are_not_set_have_their_defaults(text: str) -> None:
    assert read(text) == Rules()
    assert list(values(read(text), only_set=True)) == []


def test_each_key_can_be_set() -> None:
    text = """
upstream: {url: "gpu:11434/base/", connect_timeout_s: 3}
limits: {max_body_bytes: 2048}
loops:
  enabled: off
  mitigations: {note: 2, temperature: 0, truncate: 7, break: 1000, temperature_step: 1e-1, cooldown_s: 1e3}
"""
    assert values(read(text)) == {
        "upstream.url": "http://gpu:11434/base",
        "upstream.connect_timeout_s": 3.0,
        "limits.max_body_bytes": 2048,
        "loops.enabled": False,
        "loops.mitigations.note": 2,
        "loops.mitigations.temperature": 0,
        "loops.mitigations.truncate": 7,
        "loops.mitigations.break": 1000,
        "loops.mitigations.temperature_step": 0.1,
        "loops.mitigations.cooldown_s": 1000.0,
    }
    assert set(values(read(text), only_set=True)) == set(KEYS)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("upstream.url", "ftp://host"),
        ("upstream.url", "http://u:sesame@a host/"),
        ("upstream.connect_timeout_s", "0"),
        ("limits.max_body_bytes", "1023"),
        ("limits.max_body_bytes", "64MB"),
        ("limits", "5"),
        ("loops.enabled", "maybe"),
        ("loops.mitigations.note", "1"),
        ("loops.mitigations.break", "true"),
        ("loops.mitigations.cooldown_s", "5m"),
        ("loops.mitigations.cooldown_s", ".nan"),
    ],
)
def test_a_value_that_is_not_accepted_is_named_by_its_key_and_never_repeated(key: str, value: str) -> None:
    text = ""
    for depth, part in enumerate(key.split(".")):
        text += f"{chr(10) if depth else ''}{'  ' * depth}{part}:"

    [mistake] = find_mistakes(f"{text} {value}\n")

    assert mistake.startswith(f"{key}: ")
    assert "sesame" not in mistake


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("loop: {}", "loop: there is no such key; did you mean loops?"),
        ("loops: {mitigations: {breaks: 5}}", "loops.mitigations.breaks: there is no such key; did you mean loops.m"),
        ("note: 5", "note: there is no such key; did you mean loops.mitigations.note?"),
        ("zzz: 5", "zzz: there is no such key"),
        ("5: 5", "5: there is no such key"),
        ('"a\\nb": 1', "'a\\nb': there is no such key"),
        ("- loops", "the file: Input should be a valid dictionary"),
        ("loops:\n\tenabled: true", "line 2, column 1: found character"),
        ("limits: {", "line 1, column 10: expected the node content"),
        ("limits:\n  max_body_bytes: 5000\n  max_body_bytes: 6000", "line 2, column 3: a key is there twice"),
        ("limits: {}\nupstream: {}\nlimits: {}", "line 1, column 1: a key is there twice"),
        ("a: !!python/object:os.system {}", "line 1, column 4: could not determine a constructor for the tag"),
        ("limits: {max_body_bytes: !!int many}", "is no YAML: "),
        ("upstream: {}\n---\nlimits: {}", "line 2, column 1: but found another document"),
        ("limits:\n  # \x01", "is no YAML: "),
        ("[" * 3000, "is no YAML: maximum recursion depth"),
    ],
)
def test_an_unknown_key_or_a_mistake_of_syntax_is_named(text: str, mistake: str) -> None:
    [found] = find_mistakes(text)

    assert found.startswith(mistake)


def test_all_mistakes_are_listed_at_once() -> None:
    text = "upstream: {url: 5}\nlimits: {max_body_bytes: 5, max: 1}\nloops: {enabled: maybe}\nx: 1"

    keys = [mistake.partition(":")[0] for mistake in find_mistakes(text)]

    assert keys == ["upstream.url", "limits.max_body_bytes", "limits.max", "loops.enabled", "x"]


def test_a_key_of_an_earlier_version_is_ignored_and_named_with_what_holds_instead() -> None:
    found = read("limits: {conversations: 500, max_body_bytes: 5000}\nloops: {detector: {complaints: [Stop, Again]}}")

    assert values(found, only_set=True) == {"limits.max_body_bytes": 5000}
    assert list_ignored(found) == [
        "loops.detector.complaints = '['Stop', 'Again']': the complaint that is known is Agent Zero's: "
        "You have sent the same message again",
        "limits.conversations = '500': the blocks of conversations take at most 200 MB in a process",
    ]


words = st.sampled_from(
    [*".:-{}[],#&*!|>'\"%@\n\t ", *"tn0123e", "loops", "detector", "window: 5", "on", "~", "\x00", "é"]
)


@given(st.one_of(st.text(), st.lists(words, max_size=60).map("".join)))
@example("a: 2001-99-99")
@example("a: =")
@example("!!int a")
@example("!!float ''")
@example("!!bool x")
@example("!!timestamp x")
@example("!!binary ä")
@example("? !!set {a}")
@example("!!omap 5")
@example("? &a {a: 1}\n: *a")
@example("loops: &a {detector: *a}")
@example("\ud800")
@example(f"limits: {{max_body_bytes: {'9' * 5000}}}")
def test_any_text_is_accepted_or_refused_in_lines_for_a_log(text: str) -> None:
    mistakes = [""]
    try:
        read(text)
    except RulesMistakes as error:
        mistakes = error.mistakes

    assert mistakes
    assert all(mistake.isprintable() and len(mistake) < 500 for mistake in mistakes)


# --- the file ---


def no_access(file: Path) -> None:
    file.symlink_to(file.parent / "loop")
    (file.parent / "loop").symlink_to(file)


@pytest.mark.parametrize(
    ("make", "mistake"),
    [
        (Path.mkdir, "is no file"),
        (os.mkfifo, "is no file"),
        (no_access, "cannot be read (Too many levels of symbolic links)"),
        (lambda file: file.write_bytes(b"a: \xff"), "is not UTF-8: byte 4 cannot be read"),
        (lambda file: file.write_text("["), "line 1, column 2: "),
    ],
)
def test_a_start_on_a_file_that_cannot_be_used_has_defaults_and_says_so(
    file: Path, make: Callable[[Path], object], mistake: str
) -> None:
    make(file)

    found = SettingsFile(file, {"upstream.url": "http://env"})

    assert found.error.startswith(mistake)
    assert (found.rules, found.loaded_at) == (Rules().with_values({"upstream.url": "http://env"}), None)


def test_other_processes_read_the_upstream_from_the_file(file: Path, settings: Any) -> None:
    settings.CONFIG_FILE, settings.FESTINGER_UPSTREAM = file, ""
    assert config_file.upstream_url() == "http://127.0.0.1:11434"
    file.write_text("upstream: {url: http://gpu}")
    assert config_file.upstream_url() == "http://gpu"
    file.write_text("upstream: {url: 5}")
    assert config_file.upstream_url() == "http://127.0.0.1:11434"
    settings.FESTINGER_UPSTREAM = "http://env"
    assert config_file.upstream_url() == "http://env"


# --- while it changes ---


def remove(file: Path) -> None:
    file.unlink()


def replace(file: Path, text: str) -> None:
    """As editors do."""
    new = file.with_name("new")
    new.write_text(text)
    new.replace(file)


def follow(file: Path, change: Callable[[SettingsFile], Awaitable[None]], **overrides: object) -> SettingsFile:
    async def run() -> SettingsFile:
        found = SettingsFile(file, overrides)
        task = asyncio.create_task(found.run())
        try:
            await change(found)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config_file, "LOOK_S", 0.1)
        return asyncio.run(run())


async def until(found: SettingsFile, number: int) -> None:
    assert await eventually_here(lambda: found.rules.limits.max_body_bytes == number, within_s=WITHIN_S)


@pytest.mark.parametrize("write", [Path.write_text, replace])
def test_a_file_that_appears_changes_and_vanishes_is_followed(file: Path, write: Callable[[Path, str], None]) -> None:
    told: list[int] = []

    async def change(found: SettingsFile) -> None:
        found.subscribe(lambda rules: told.append(rules.limits.max_body_bytes))
        write(file, limit(6000))
        await until(found, 6000)
        write(file, limit(7000))
        await until(found, 7000)
        remove(file)
        await until(found, Rules().limits.max_body_bytes)

    found = follow(file, change)

    assert told == [6000, 7000, Rules().limits.max_body_bytes]
    assert (found.error, found.is_there) == ("", False)


def test_a_file_that_is_still_being_written_is_not_read(file: Path) -> None:
    file.write_text(limit(5000))
    told: list[Rules] = []

    async def change(found: SettingsFile) -> None:
        found.subscribe(told.append)
        with file.open("w", buffering=1) as writing:
            for number in range(20):
                writing.write(f"# {number}\n")
                await asyncio.sleep(0.03)
            writing.write(limit(6000))
        await until(found, 6000)

    follow(file, change)

    assert len(told) == 1


def test_a_broken_file_changes_nothing_until_it_is_repaired(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_text(limit(5000))

    async def change(found: SettingsFile) -> None:
        before = found.rules, found.loaded_at
        replace(file, "limits: {max_body_bytes: many}\nupstream: {url: http://gpu}")
        assert await eventually_here(lambda: found.error, within_s=WITHIN_S)
        await asyncio.sleep(0.5)
        assert (found.rules, found.loaded_at) == before
        replace(file, limit(5000))
        assert await eventually_here(lambda: not found.error, within_s=WITHIN_S)

    follow(file, change)

    assert caplog.messages.count("config.refused") == 1


def test_a_mounted_folder_that_is_exchanged_is_noticed(file: Path) -> None:
    """As Kubernetes does it: the file is a link into a folder that is a link."""
    for name, number in (("..1", 5000), ("..2", 6000)):
        (file.parent / name).mkdir()
        (file.parent / name / "config.yaml").write_text(limit(number))
    (file.parent / "..data").symlink_to("..1")
    file.symlink_to("..data/config.yaml")

    async def change(found: SettingsFile) -> None:
        assert found.rules.limits.max_body_bytes == 5000
        (file.parent / "..next").symlink_to("..2")
        (file.parent / "..next").replace(file.parent / "..data")
        await until(found, 6000)

    follow(file, change)
