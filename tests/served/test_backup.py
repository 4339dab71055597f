"""A backup, and what is made of it."""

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command

from festinger_site import VERSION
from festinger_site.care import backup
from festinger_site.care.backup import BackupFailed
from festinger_site.care.restore import restore
from tests.arrange import learning
from tests.served.server import PROJECT, Served, make_url, manage, new_database
from tests.small_disk import mount_small_disk
from tests.standin import StandIn

QUESTION = "Where does quokkasrv run?"
FACT = "quokkasrv: [runs-on] Tyr-Seven\n"
Enter = Callable[[Path, str], None]
OF_0_2_0 = PROJECT / "tests" / "upgrade" / "backup-0.2.0.tar"
MEMORY = "The backup of quokkadb is made at night."


def run(*arguments: str, home: Path, database: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=PROJECT,
        env=os.environ | {"FESTINGER_HOME": str(home), "DATABASE_URL": database},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def enter(monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Makes this process one of another home and database."""

    def enter(home: Path, database: str) -> None:
        places = {"HOME": home, "JOURNAL": home / "journal", "CONFIG_FILE": home / "config.yaml"}
        for name, value in {**places, "DATABASE_URL": database}.items():
            monkeypatch.setattr(backup.settings, name, value)
        monkeypatch.setenv("FESTINGER_HOME", str(home))
        monkeypatch.setenv("DATABASE_URL", database)

    return enter


def empty_database(name: str) -> str:
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        admin.execute(f'CREATE DATABASE "{name}"')
    return make_url(settings.DATABASE_URL, name)


def rewrite_manifest(file: Path, target: Path, **changes: Any) -> Path:
    with tarfile.open(file) as old, tarfile.open(target, "w") as new:
        for member in old.getmembers():
            content = old.extractfile(member)
            assert content
            data = content.read()
            if member.name == "manifest.json":
                data = json.dumps(json.loads(data) | changes).encode()
                member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    return target


@pytest.fixture(scope="module")
def database(upstream: StandIn) -> str:
    database = new_database(settings.DATABASE_URL, "festinger_backed_up")
    served = Served(upstream=upstream.url, database=database)
    with learning(database):
        served.wait_ready()
        served.teach("quokkasrv -ispart Tyr-Seven in context of runs-on")
        served.client.post("/memory", json={"text": MEMORY, "category": "project"})
        served.stop()
    return database


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("backed-up")
    (home / "config.yaml").write_text("upstream:\n  url: http://gpu:11434\n")
    (home / "journal").mkdir()
    (home / "journal" / "1.jsonl").write_text("{}\n")
    (home / "secret_key").write_text("aSecret\n")
    (home / "encryption_keys").write_text("aKey\n")
    return home


@pytest.fixture(scope="module")
def file(home: Path, database: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup without keys."""
    file = tmp_path_factory.mktemp("backups") / "one.tar"
    done = run("backup", str(file), home=home, database=database)
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture(scope="module")
def restored(file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Another database, and another home."""
    database, home = empty_database("festinger_restored"), tmp_path_factory.mktemp("restored") / "home"
    done = run("restore", str(file), home=home, database=database)
    assert done.returncode == 0, done.stderr
    return database, home


def test_what_was_known_is_known_again(
    restored: tuple[str, Path], database: str, home: Path, file: Path, upstream: StandIn
) -> None:
    served = Served(upstream=upstream.url, database=restored[0]).wait_ready()

    block = served.client.post("/recollect", json={"text": QUESTION}).json()["block"]
    served.stop()

    assert FACT in block
    before, after = (run("export_graph", home=home, database=url).stdout for url in (database, restored[0]))
    assert MEMORY in after
    assert after == before


def test_configuration_and_waiting_messages_come_with_it_and_keys_do_not(
    restored: tuple[str, Path], home: Path
) -> None:
    for name in ("config.yaml", "journal/1.jsonl"):
        assert (restored[1] / name).read_text() == (home / name).read_text()
    assert not (restored[1] / "encryption_keys").exists()


def test_keys_are_in_it_if_asked_for(home: Path, database: str, tmp_path: Path, enter: Enter) -> None:
    enter(home, database)

    backup.back_up(tmp_path / "keys.tar", with_keys=True)

    with tarfile.open(tmp_path / "keys.tar") as archive:
        content = archive.extractfile("encryption_keys")
        assert content
        assert content.read() == b"aKey\n"


def test_only_the_newest_are_kept_and_nobody_else_can_read_them(home: Path, database: str, enter: Enter) -> None:
    enter(home, database)
    old = [home / "backups" / f"festinger-2026-01-0{day}-010000.tar" for day in (1, 2)]
    old[0].parent.mkdir(mode=0o700)
    for each in old:
        each.touch()

    call_command("backup", "--keep", "2")

    left = sorted((home / "backups").iterdir())
    assert left[0] == old[1]
    assert len(left) == 2
    assert left[1].stat().st_mode & 0o077 == 0


def test_room_is_left_on_the_disk(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "LOW_BYTES", 10**18)

    with psycopg.connect(database) as connection, pytest.raises(BackupFailed, match="MB are free, and a backup"):
        backup._check_room(connection, tmp_path)


def test_a_disk_that_becomes_full_leaves_no_file(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "_check_room", lambda *_: None)
    monkeypatch.setattr(backup.settings, "DATABASE_URL", database)
    with mount_small_disk(1) as disk:
        if disk is None:
            pytest.skip("only root can mount a small file system")
        ballast = disk.folder / "ballast"
        ballast.write_bytes(bytes(disk.free_bytes - 40_000))

        with pytest.raises(BackupFailed, match="No space left on device"):
            backup.back_up(disk.folder / "one.tar")

        assert list(disk.folder.iterdir()) == [ballast]


def test_a_damaged_file_makes_no_home(file: Path, tmp_path: Path, enter: Enter) -> None:
    damaged, content = tmp_path / "damaged.tar", bytearray(file.read_bytes())
    content[2_000] ^= 1
    damaged.write_bytes(content)
    enter(tmp_path / "home", empty_database("festinger_damaged"))

    with pytest.raises(BackupFailed, match=r"damaged\.tar is damaged: database\.dump has changed"):
        restore(damaged)

    assert not (tmp_path / "home").exists()


def test_a_restore_that_fails_leaves_no_home(file: Path, tmp_path: Path, enter: Enter) -> None:
    wrong = rewrite_manifest(file, tmp_path / "wrong.tar", rows={"urd": 0})
    enter(tmp_path / "home", empty_database("festinger_wrong"))

    with pytest.raises(BackupFailed, match="These tables did not come back whole: urd"):
        restore(wrong)

    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"migrations": [["memory", "9999_later"]]},
            f"made by another version of Festinger, {VERSION}, with migrations",
        ),
        ({"format": 2}, f"made by a newer version of Festinger, {VERSION}."),
        ({"digests": None}, "This is no backup of Festinger"),
        ({"digests": {"../config.yaml": ""}}, "This is no backup of Festinger"),
    ],
)
def test_what_this_version_cannot_read_is_refused(
    file: Path, tmp_path: Path, database: str, enter: Enter, changes: dict[str, Any], message: str
) -> None:
    other = rewrite_manifest(file, tmp_path / "other.tar", **changes)
    enter(tmp_path / "home", database)

    with pytest.raises(BackupFailed, match=message):
        restore(other)

    assert not (tmp_path / "home").exists()


def test_nothing_is_overwritten(file: Path, home: Path, database: str, tmp_path: Path, enter: Enter) -> None:
    enter(home, empty_database("festinger_unused"))
    with pytest.raises(BackupFailed, match=f"{home} is not empty"):
        restore(file)
    enter(tmp_path / "home", database)
    with pytest.raises(BackupFailed, match="The database that DATABASE_URL names is not empty"):
        restore(file)
    with pytest.raises(BackupFailed, match=f"{file} exists"):
        backup.back_up(file)

    assert (home / "config.yaml").exists()


@pytest.mark.slow
def test_a_home_with_its_own_postgres_comes_back_with_a_backup_from_before_each_upgrade(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("own")
    folder.chmod(0o711)  # as root, Postgres is another user, who has to pass through
    for parent in folder.parents[:2]:
        parent.chmod(0o711)
    home = folder / "home"
    manage("restore", str(OF_0_2_0), FESTINGER_HOME=str(home), DATABASE_URL="")

    manage("prepare", FESTINGER_HOME=str(home), DATABASE_URL="")

    assert "Kafka" in manage("export_graph", FESTINGER_HOME=str(home), DATABASE_URL="").stdout
    assert [each.name.partition("-20")[0] for each in (home / "backups").iterdir()] == ["before-upgrade"]
