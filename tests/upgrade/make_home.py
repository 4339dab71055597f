"""Makes the recorded home and backup: ``python -m tests.upgrade.make_home``, with the code of the version to record.

Run by hand, and never again for a version that has been released: what is stored here is what its users have."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from festinger_site import settings
from festinger_site.dev.scratch_instance import free_port
from festinger_site.run import postgres_account, postgres_cluster
from tests.launched import Run
from tests.prepared_postgres import embedded_url
from tests.upgrade.home_archive import pack, temporary_home

FOLDER: Final = Path(__file__).parent
# Pinned, so that what the database holds encrypted can be read wherever the home is unpacked.
KEYS: Final = {
    "secret_key": "home-of-today-" + "0123456789" * 5,
    "encryption_keys": "aG9tZS1vZi10b2RheS1ob21lLW9mLXRvZGF5LWhvbWU=",
}
CONFIG: Final = {"connect_timeout_s": "5.0", "conversations": "10000", "window": "20", "cooldown_s": "1.0"}


def make() -> None:
    with temporary_home() as home:
        start_once(home)
        environment = os.environ | {"FESTINGER_HOME": str(home), "DJANGO_SETTINGS_MODULE": "festinger_site.settings"}
        shell = [sys.executable, "-m", "django", "shell", "-v0", "-c"]
        # With an address: whoever records starts and stops Postgres.
        own = environment | {"DATABASE_URL": embedded_url(home, "festinger")}
        subprocess.run([*shell, "from tests.upgrade.record import record; record()"], check=True, env=own)

        backup = FOLDER / f"backup-{settings.VERSION}.tar"
        backup.unlink(missing_ok=True)
        command = [sys.executable, "manage.py", "backup", str(backup), "--with-keys"]
        subprocess.run(command, check=True, env=environment | {"DATABASE_URL": ""})
        drop_log(home)
        pack(home, FOLDER / f"home-{settings.VERSION}.tar.xz")


def start_once(home: Path) -> None:
    """Start and stop Festinger as people do, which makes the home."""
    home.mkdir(mode=0o711)
    for name, key in KEYS.items():
        (home / name).write_text(f"{key}\n")
        (home / name).chmod(0o600)
    (home / "config.yaml").write_text(write_config())
    run = Run(home, free_port(), home.parent / "said")
    run.wait_ready()
    run.stop()


def write_config() -> str:
    """Compose a config.yaml with every key of the example."""
    example = (settings.ROOT / "config.example.yaml").read_text()
    text = re.sub(r"^(\s*)# (\w+: \S.*)$", r"\1\2", example, flags=re.MULTILINE)
    for key, value in CONFIG.items():
        text = re.sub(rf"^(\s*{key}: ).*$", rf"\g<1>{value}", text, flags=re.MULTILINE)
    return text


def drop_log(home: Path) -> None:
    """Replace the write-ahead log of a Postgres that was stopped cleanly by an empty segment."""
    data = postgres_cluster.data_folder(home)
    user = postgres_account.account(data)
    program = postgres_account.binaries(user) / "pg_resetwal"
    problem = postgres_account.run_to_end([str(program), str(data)], user)
    assert not problem, problem


if __name__ == "__main__":
    make()
