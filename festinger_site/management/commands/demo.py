"""``manage.py demo``: shows what Festinger does, on a temporary instance."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import BaseCommand

from festinger_site import home as homes
from festinger_site.launcher.console import say
from festinger_site.launcher.scratch_instance import Interrupted, ScratchFailed, scratch, stop_on_signals

GUTASK = Path(settings.PROJECT) / "clients" / "gutask" / "gutask"
WORD = "gnommoweb"
SYSTEM = "You are a helpful agent."
FOUR_MESSAGES = (
    f"Please restart {WORD} tonight.",
    f"Why is {WORD} so slow today?",
    f"Show me the log of {WORD}.",
    f"How much memory does {WORD} need?",
)
NEXT_MESSAGE = f"Write a test for {WORD}."
VERDICT = {
    "decision": "decompose",
    "existing_dimension": "artifact-type",
    "new_dimension": "deployment-type",
    "reason": "a repo, deployed as a container",
}
KNOWN = (f"{WORD} is a repo.", f"{WORD} is part of Glitch University.")
OTHER_WORD = "kvasir"
STATEMENT = f"Note that {OTHER_WORD} is a service of Glitch University."
ID_TIMEOUT_S = 10
HTTP_TIMEOUT_S = 10

STORED, CONFLICT = 0, 3  # gutask's exit statuses


# Only an agent that can answer is asked: with a tool it can run gutask.
SHELL = {"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}


class NotShown(Exception):
    """A step did not show what it should. The message says what was expected, and what came."""


@dataclass(frozen=True, slots=True)
class Model:
    """The stand-in's model ``echo``, behind Festinger at ``url``."""

    http: httpx.Client
    url: str

    def hears(self, message: str) -> str:
        """Send a user's message, and return what reached the model of it, with everything that was added."""
        answer = self.http.post(f"{self.url}/api/chat", json=as_request(message))
        answer.raise_for_status()
        system, user = json.loads(answer.json()["message"]["content"])
        if system != {"role": "system", "content": SYSTEM}:
            raise NotShown(f"the system message should arrive unchanged, and is: {system}")
        return str(user["content"])

    def wait_until_known(self, word: str) -> float:
        """Wait until the word can be recalled or asked about; return the seconds. These requests count nothing."""
        started = time.monotonic()
        while time.monotonic() < started + ID_TIMEOUT_S:
            told = self.http.post(f"{self.url}/recollect", json={"text": f"Where is {word}?"}).json()
            if any(each["concept"] == word for each in told["concepts"]):
                return time.monotonic() - started
            time.sleep(0.05)
        raise NotShown(f"{word} should be known within about a second, and is not after {ID_TIMEOUT_S} s.")


def as_request(message: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": message}]
    return {"model": "echo", "stream": False, "tools": [SHELL], "messages": messages}


def as_curl(url: str, message: str) -> str:
    """Return the request as a person would type it, with the messages on separate lines."""
    body = (
        json.dumps(as_request(message))
        .replace('"messages"', '\n    "messages"')
        .replace('{"role"', '\n      {"role"')
        .replace(", \n", ",\n")
    )
    return f"curl {url}/api/chat -d '{body}'"


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
        self.line("Starting a stand-in for Ollama, and Festinger with a temporary home.")
        self.line("This takes half a minute ...")
        started = time.monotonic()
        with scratch() as url, httpx.Client(trust_env=False, timeout=HTTP_TIMEOUT_S) as http:
            self.line(
                f"... {time.monotonic() - started:.0f} s. The stand-in's model echo answers with the prompt it got:"
            )
            self.line("so we see what a model sees.")
            self.story(Model(http, url))
        self.title("Done")
        self.line(f"Everything is stopped and removed. To use it with your own Ollama: {homes.RUN}")

    def story(self, model: Model) -> None:
        self.title("1. A word it does not know")
        self.meet(model)

        self.title("2. Teach it")
        self.show_command(f"export FESTINGER_URL={model.url}")
        self.gutask(model, f"{WORD} -isa repo", expected=STORED)
        self.gutask(model, f"{WORD} -ispart Glitch University", expected=STORED)

        self.title("3. The next prompt carries it")
        self.prompt(model, NEXT_MESSAGE, expected=KNOWN)

        self.title("4. Contradict it")
        self.gutask(model, f"{WORD} -isa container", expected=CONFLICT)
        self.line("Nothing was overwritten. Until someone decides, prompts show both, marked as disputed:")
        disputed = f"{WORD} is a repo or container (disputed)"
        self.prompt(model, NEXT_MESSAGE, expected=(disputed, KNOWN[1]))

        self.title("5. Decide it")
        self.line("An operator decides, or a language model at night. Both facts are true, in finer dimensions.")
        self.line(
            "(Operators use the admin, or a token. The demo runs with FESTINGER_TRUST_LOOPBACK=operator instead.)"
        )
        self.decide(model)
        decided = (f"{WORD} is a container (deployment-type).", f"{WORD} is a repo (artifact-type).", KNOWN[1])
        self.prompt(model, NEXT_MESSAGE, expected=decided)

        self.title("6. It learns by itself")
        self.show_command(as_curl(model.url, STATEMENT))
        model.hears(STATEMENT)
        waited = model.wait_until_known(OTHER_WORD)
        self.line(f"Other prompts recall {waited:.1f} s later what this one stated:")
        self.prompt(
            model, f"Restart {OTHER_WORD}, please.", expected=(f"{OTHER_WORD} is a service (glitch_university).",)
        )

    def meet(self, model: Model) -> None:
        self.line(f"Four prompts name {WORD}. The first of them:")
        self.show_command(as_curl(model.url, FOUR_MESSAGES[0]))
        for message in FOUR_MESSAGES:
            heard = model.hears(message)
            if not heard.startswith(message) or f"? {WORD}" in heard:
                raise NotShown(f"a prompt about an unknown word should pass without a question: {heard}")
        self.line("The model received all four, the later ones with what you had said of it in the earlier ones.")
        self.line("Nothing else is known of it, but a word in four messages is worth a question.")
        waited = model.wait_until_known(WORD)
        self.line(f"It has its place in the vocabulary {waited:.1f} s later, and the next prompt asks:")
        question = f"? {WORD}: no recollection. If this is a typo, ignore."
        self.prompt(model, NEXT_MESSAGE, expected=(question, f"  gutask iknowthat '{WORD} -isa <parent>"))

    def decide(self, model: Model) -> None:
        [conflict] = model.http.get(f"{model.url}/conflicts", params={"status": "open"}).json()["items"]
        url = f"{model.url}/conflicts/{conflict['id']}/resolve"
        self.show_command(f"curl {url} -d '{json.dumps(VERDICT)}'")
        answer = model.http.post(url, json=VERDICT)
        if answer.status_code != httpx.codes.OK:
            raise NotShown(f"the decision should be taken, and is answered: {answer.text}")

    def prompt(self, model: Model, message: str, *, expected: tuple[str, ...]) -> None:
        """Send a prompt and show what the model received. Raises NotShown if an expected line is missing."""
        heard = model.hears(message)
        self.show_command(as_curl(model.url, message))
        self.line("The model received the system message unchanged, and this message of the user:")
        self.line(indent(heard, "  | ", lambda line: True))
        said, _, block = heard.partition("\n\n<recollection>\n")
        lines = block.splitlines()
        if said != message or lines[-1:] != ["</recollection>"]:
            raise NotShown("a <recollection> block should stand after the user's message, and does not.")
        for start in expected:
            if not any(line.startswith(start) for line in lines):
                raise NotShown(f"a line of the block should read: {start}")

    def gutask(self, model: Model, fact: str, *, expected: int) -> None:
        self.show_command(f"gutask iknowthat '{fact}'")
        done = subprocess.run(
            [sys.executable, str(GUTASK), "iknowthat", fact],
            env=os.environ | {"FESTINGER_URL": model.url, "FESTINGER_TOKEN": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        self.line(indent((done.stdout + done.stderr).rstrip(), "  | "))
        self.line(f"  (exit status {done.returncode})")
        if done.returncode != expected:
            raise NotShown(f"gutask should end with exit status {expected}, not {done.returncode}.")

    # --- the terminal ---

    def title(self, text: str) -> None:
        self.line("")
        self.line(self.style.MIGRATE_HEADING(text))

    def show_command(self, command: str) -> None:
        self.line(self.style.SUCCESS(f"  $ {command}"))

    def line(self, text: str) -> None:
        self.stdout.write(text)
        # Into a pipe, Python would buffer half a minute of lines.
        self.stdout.flush()
