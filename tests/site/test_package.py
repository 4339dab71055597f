"""The wheel, installed where there is no clone."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.conf import settings

from festinger_site import VERSION

pytestmark = pytest.mark.slow

COMMAND = "from festinger_site.run.cli import main; main()"
TEMPLATES = settings.ROOT / "templates"


class Installed:
    def __init__(self, folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "wheel", "--no-deps", f"--wheel-dir={folder}", str(settings.ROOT)], check=True)
        [self.wheel] = folder.glob("festinger-*.whl")
        subprocess.run([*pip, "install", "--no-deps", f"--target={folder / 'installed'}", str(self.wheel)], check=True)
        self._folder = folder
        self.data = folder / "data" / "festinger"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """``festinger`` with these words, far from the clone."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FESTINGER_")}
        environment |= {"PYTHONPATH": str(self._folder / "installed"), "XDG_DATA_HOME": str(self._folder / "data")}
        return subprocess.run(
            [sys.executable, "-c", COMMAND, *words],
            cwd=self._folder,
            env=environment | {"DATABASE_URL": settings.DATABASE_URL},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("wheel"))


def test_it_has_all_templates_and_what_else_stands_beside_the_packages(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()

    templates = {str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html")}
    assert {f"festinger_site/project/templates/{name}" for name in templates} <= set(names)
    assert "festinger_site/project/clients/gutask/gutask" in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_its_command_says_its_version_and_its_commands(installed: Installed) -> None:
    assert installed.run("--version").stdout == f"festinger {VERSION}\n"
    assert "usage: festinger COMMAND" in installed.run().stdout
    assert installed.run("runn").returncode == 1


def test_its_data_is_the_users_own(installed: Installed) -> None:
    assert installed.run("doctor").stderr.startswith(
        f"There is no Festinger at {installed.data}: start one there (festinger run)"
    )
    assert not installed.data.exists()


def test_its_pages_are_found(installed: Installed) -> None:
    installed.data.mkdir(parents=True)
    (installed.data / "prepared").touch()

    done = installed.run(
        "manage",
        "shell",
        "--no-imports",
        "-c",
        "from django.template.loader import get_template as get; get('proxy/home/conflicts.html')",
    )

    assert done.returncode == 0, done.stderr
