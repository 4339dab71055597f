"""The lock files pin all that is installed, and CI asks whether anything in them is known to be vulnerable."""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from festinger_site.home import ROOT

LOCKS = ("requirements.txt", "requirements-dev.txt")
PROJECT_FILE = (ROOT / "pyproject.toml").read_text()
PIN = re.compile(r"([\w.-]+)(?:\[\w+\])?==([\w.]+)")
VULNERABLE = {
    "package": {"name": "django", "ecosystem": "PyPI"},
    "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}],
}


def read_pins(lines: Iterable[str]) -> dict[str, str]:
    pins = filter(None, map(PIN.match, lines))
    return {pin[1].lower().replace("_", "-"): pin[2] for pin in pins}


@contextmanager
def serve_vulnerabilities(of: str | None) -> Iterator[str]:
    """Stands in for the service: it knows of one vulnerability, of that package."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found: dict[str, Any] = {}
            if asked["package"]["name"] == of:
                found = {"vulns": [{"id": "PYSEC-0", "summary": "bad", "affected": [VULNERABLE]}]}
            body = json.dumps(found).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def run_audit(service: str) -> subprocess.CompletedProcess[str]:
    # Not what `make test ARGS=...` hands down to every make.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment |= {"ARGS": f"--vulnerability-service osv --osv-url {service}"}
    return subprocess.run([".ci/audit"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


def test_the_lock_files_have_the_versions_that_are_wanted():
    project = tomllib.loads(PROJECT_FILE)
    wanted = {
        "requirements.txt": project["project"]["dependencies"],
        "requirements-dev.txt": project["dependency-groups"]["dev"],
    }

    for file, pins in wanted.items():
        locked = read_pins((ROOT / file).read_text().splitlines())
        assert len(read_pins(pins)) == len(pins)
        assert read_pins(pins).items() <= locked.items(), "run: make lock"


def test_what_festinger_runs_on_is_pinned_with_a_reason():
    lines = PROJECT_FILE.partition("dependencies = [\n")[2].partition("]\n")[0].splitlines()

    assert lines
    assert all(re.fullmatch(r' +"[\w-]+(\[\w+\])?==[\d.]+", +# .+', line) for line in lines)


@pytest.mark.parametrize("file", LOCKS)
def test_a_lock_file_has_hashes_of_each_package_and_names_no_host(file):
    text = (ROOT / file).read_text()
    packages = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]

    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}\b", package) for package in packages)
    assert "://" not in text


def test_ci_fails_on_a_known_vulnerability():
    with serve_vulnerabilities(of="django") as service:
        audit = run_audit(service)

    assert audit.returncode == 1
    assert re.search(r"^django +[\d.]+ +PYSEC-0", audit.stdout, re.MULTILINE)


def test_ci_says_that_no_vulnerability_is_known():
    with serve_vulnerabilities(of=None) as service:
        audit = run_audit(service)

    assert (audit.returncode, audit.stdout) == (0, "No known vulnerabilities found\n")


def test_ci_only_warns_where_nobody_can_be_asked():
    with serve_vulnerabilities(of=None) as service:
        pass

    audit = run_audit(service)

    assert audit.returncode == 0
    assert re.match(r"Warning, not audited: .*Connection refused", audit.stdout)
