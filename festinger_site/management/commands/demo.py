"""``manage.py demo``: shows what Festinger does, on a temporary instance."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import BaseCommand

from festinger_site import home as homes
from festinger_site.dev.scratch_instance import Interrupted, ScratchFailed, scratch, stop_on_signals
from festinger_site.run.console import say

GUTASK = Path(settings.ROOT) / "clients" / "gutask" / "gutask"
TIMEOUT_S = 10
# Only an agent that can answer is asked: with a tool it can run gutask.
SHELL = {"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}


class NotShown(Exception):
    """A step did not show what it should. The message says what was expected, and what came."""


@dataclass(frozen=True, slots=True)
class Festinger:
    """The temporary instance, in front of the stand-in's model ``echo``. Its methods return the command that a person
    would type, and what that prints."""

    http: httpx.Client
    url: str

    def prompt(self, message: str) -> tuple[str, str]:
        """Send a user's message; what is printed is that message as it reached the model."""
        messages = [{"role": "system", "content": "You are a helpful agent."}, {"role": "user", "content": message}]
        body = {"model": "echo", "stream": False, "tools": [SHELL], "messages": messages}
        answer = self.http.post(f"{self.url}/api/chat", json=body).raise_for_status()
        system, user = json.loads(answer.json()["message"]["content"])
        if system != messages[0] or not user["content"].startswith(message):
            raise NotShown(f"both messages should arrive, with a block after the second at most, and did: {user}")
        shown = json.dumps(body).replace('"messages"', '\n    "messages"').replace('{"role"', '\n      {"role"')
        return f"curl {self.url}/api/chat -d '{shown}'".replace(", \n", ",\n"), user["content"]

    def gutask(self, fact: str) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, str(GUTASK), "iknowthat", fact],
            env=os.environ | {"FESTINGER_URL": self.url, "FESTINGER_TOKEN": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        said = (done.stdout + done.stderr).rstrip()
        return f"gutask iknowthat '{fact}'", f"{said}\n(exit status {done.returncode})"

    def decide(self, verdict: dict[str, str]) -> tuple[str, str]:
        [conflict] = self.http.get(f"{self.url}/conflicts", params={"status": "open"}).json()["items"]
        url = f"{self.url}/conflicts/{conflict['id']}/resolve"
        answer = self.http.post(url, json=verdict)
        return f"curl {url} -d '{json.dumps(verdict)}'", f"HTTP status {answer.status_code}"

    def wait_until_known(self, word: str, *, is_recalled: bool) -> None:
        """Wait until the word can be recalled or asked about, or has a fact. These requests count nothing."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            told = self.http.post(f"{self.url}/recollect", json={"text": f"Where is {word}?"}).json()
            whys = [each["why"] for each in told["concepts"] if each["concept"] == word]
            if "recalled" in whys if is_recalled else whys:
                return
            time.sleep(0.05)
        raise NotShown(f"{word} should be known within about a second, and is not after {TIMEOUT_S} s.")


@dataclass(frozen=True, slots=True)
class Step:
    """A command. Each of ``expected`` must begin a line of what it prints, and ``known`` be a word for Festinger
    soon after, or ``recalled`` one with a fact. ``title`` begins a section, ``text`` stands above the command."""

    act: Callable[[Festinger], tuple[str, str]]
    expected: tuple[str, ...] = ()
    title: str = ""
    text: str = ""
    known: str = ""
    recalled: str = ""


def prompt(message: str, *expected: str, **more: Any) -> Step:
    """A prompt; with ``expected``, a block must come with it."""
    block = ("<recollection>", *expected, "</recollection>") if expected else (message,)
    return Step(lambda festinger: festinger.prompt(message), block, **more)


def teach(fact: str, status: int, **more: Any) -> Step:
    return Step(lambda festinger: festinger.gutask(fact), (f"(exit status {status})",), **more)


VERDICT = {
    "decision": "decompose",
    "existing_dimension": "artifact-type",
    "new_dimension": "deployment-type",
    "reason": "a repo, deployed as a container",
}
NEXT = "Write a test for gnommoweb."
IS_PART = "gnommoweb is part of Glitch University."
STEPS = (
    prompt(
        "Please restart gnommoweb tonight.",
        title="1. A word it does not know",
        text="Four prompts name gnommoweb. They pass as they are: nothing is known of it.",
    ),
    prompt("Why is gnommoweb so slow today?"),
    prompt("Show me the log of gnommoweb."),
    prompt("How much memory does gnommoweb need?", known="gnommoweb"),
    prompt(
        NEXT,
        "? gnommoweb: no recollection. If this is a typo, ignore.",
        "  gutask iknowthat 'gnommoweb -isa <parent>",
        text="A word in four messages is worth a question, and the next prompt asks:",
    ),
    teach("gnommoweb -isa repo", 0, title="2. Teach it"),
    teach("gnommoweb -ispart Glitch University", 0),
    prompt(NEXT, "gnommoweb is a repo.", IS_PART, title="3. The next prompt carries it"),
    teach("gnommoweb -isa container", 3, title="4. Contradict it"),
    prompt(
        NEXT,
        "gnommoweb is a repo or container (disputed)",
        IS_PART,
        text="Nothing was overwritten. Until someone decides, prompts show both, marked as disputed:",
    ),
    Step(
        lambda festinger: festinger.decide(VERDICT),
        ("HTTP status 200",),
        title="5. Decide it",
        text="An operator decides, or a language model at night. Both facts are true, in finer dimensions.\n"
        "(Operators use the admin, or a token. The demo runs with FESTINGER_TRUST_LOOPBACK=operator instead.)",
    ),
    prompt(NEXT, "gnommoweb is a container (deployment-type).", "gnommoweb is a repo (artifact-type).", IS_PART),
    prompt("Note that kvasir is a service of Glitch University.", title="6. It learns by itself", recalled="kvasir"),
    prompt(
        "Restart kvasir, please.",
        "kvasir is a service (glitch_university).",
        text="Soon after, other prompts recall what this one stated:",
    ),
)


class Command(BaseCommand):
    help = "Shows Festinger at work: on free ports, with a stand-in for Ollama, nothing is left behind."
    # There is no Festinger to check yet: the demo's has a home and settings of its own.
    requires_system_checks: list[str] = []

    def handle(self, **_: Any) -> None:
        stop_on_signals()
        try:
            self.tell()
        except Interrupted as stopped:
            say("Interrupted; everything is stopped and removed.")
            sys.exit(stopped.status)
        except BrokenPipeError:
            # As with ``| head``. Python flushes stdout at its end, and would complain about the same pipe again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except (ScratchFailed, NotShown, httpx.HTTPError) as failed:
            say(f"The demo failed: {failed}")
            sys.exit(1)

    def tell(self) -> None:
        self.line("Starting a stand-in for Ollama, and Festinger with a temporary home. This takes half a minute ...")
        with scratch() as url, httpx.Client(trust_env=False, timeout=TIMEOUT_S) as http:
            self.line("The stand-in's model echo answers with the prompt it got: so we see what a model sees.")
            self.show_command(f"export FESTINGER_URL={url}")
            for step in STEPS:
                self.show(step, Festinger(http, url))
        self.show_title("Done")
        self.line(f"Everything is stopped and removed. To use it with your own Ollama: {homes.RUN}")

    def show(self, step: Step, festinger: Festinger) -> None:
        """Raises NotShown."""
        if step.title:
            self.show_title(step.title)
        if step.text:
            self.line(step.text)
        command, printed = step.act(festinger)
        self.show_command(command)
        self.line(indent(printed, "  | ", lambda line: True))
        for start in step.expected:
            if not any(line.startswith(start) for line in printed.splitlines()):
                raise NotShown(f"a line should begin with: {start}")
        if step.known:
            festinger.wait_until_known(step.known, is_recalled=False)
        if step.recalled:
            festinger.wait_until_known(step.recalled, is_recalled=True)

    def show_title(self, title: str) -> None:
        self.line("\n" + self.style.MIGRATE_HEADING(title))

    def show_command(self, command: str) -> None:
        self.line(self.style.SUCCESS(f"  $ {command}"))

    def line(self, text: str) -> None:
        self.stdout.write(text)
        # Into a pipe, Python would buffer half a minute of lines.
        self.stdout.flush()
