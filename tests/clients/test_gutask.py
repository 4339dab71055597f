"""gutask as a person or an agent runs it: a process of its own, against a small server."""

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

GUTASK = Path(__file__).parents[2] / "clients" / "gutask" / "gutask"
REPO = {"concept": "gnommoweb", "parent": "repo", "dimension": "glitch_university", "is_isa": True}
SERVICE = {**REPO, "parent": "service"}
CLASH = {"status": "conflict", "conflict_id": 7, "fact": REPO, "existing": SERVICE, "collision_type": "isa_isa"}

CLAIM = {
    **REPO,
    "kind": "claim",
    "status": "pending",
    "agent": "dobby",
    "source": "inferred",
    "existing": {**SERVICE, "agent": "winky", "source": "gutask"},
}
OPEN = {
    "id": 7,
    "status": "open",
    "members": [{**SERVICE, "kind": "edge"}, CLAIM],
    "detected_at": "2026-01-31T10:20:30.123Z",
}


class Festinger:
    """A server that gives one prepared answer and keeps what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.answer = b""
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, str, Any]] = []
        self.tokens: list[str | None] = []
        self.server = HTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answers(self, status: int, body: Any, **headers: str) -> None:
        self.status, self.headers = status, headers
        self.answer = body if isinstance(body, bytes) else json.dumps(body).encode()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        festinger = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                festinger.asked.append((self.command, self.path, json.loads(body) if body else None))
                festinger.tokens.append(self.headers.get("Authorization"))
                self.send_response(festinger.status)
                for name, value in festinger.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(festinger.answer)

            do_GET = do_POST

            def log_message(self, *arguments: object) -> None:
                pass

        return Handler


@pytest.fixture
def festinger() -> Iterator[Festinger]:
    festinger = Festinger()
    thread = threading.Thread(target=festinger.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield festinger
    festinger.server.shutdown()
    thread.join()
    festinger.server.server_close()


def gutask(
    *words: str, url: str = "http://127.0.0.1:1", stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    inherited = {"PATH": os.environ["PATH"], "FESTINGER_URL": url}
    return subprocess.run(
        [sys.executable, str(GUTASK), *words],
        env=inherited | environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=20,
    )


class TestIKnowThat:
    @pytest.mark.parametrize(
        ("line", "fact"),
        [
            ("'gnommoweb -isa repo'", "gnommoweb -isa repo"),
            ("gnommoweb -isa repo in context of gu", "gnommoweb -isa repo in context of gu"),
            ("gnommoweb -ispart Glitch University", "gnommoweb -ispart Glitch University"),
            ("'red panda' -isa team", '"red panda" -isa team'),
            (
                "'gnommoweb -isa repo' 'in context of' 'glitch uni'",
                'gnommoweb -isa repo in context of "glitch uni"',
            ),
            ("-- --verbose -isa option", "--verbose -isa option"),
        ],
    )
    def test_the_fact_arrives_as_it_was_meant(self, festinger, line, fact):
        festinger.answers(201, {"status": "inserted", "fact": REPO})

        run = gutask("iknowthat", *shlex.split(line), url=festinger.url)

        assert run.returncode == 0
        assert festinger.asked == [("POST", "/iknowthat", {"fact": fact})]

    @pytest.mark.parametrize(
        ("status", "said", "shown"), [(201, "inserted", "Stored"), (200, "confirmed", "Confirmed")]
    )
    def test_what_was_stored_is_said(self, festinger, status, said, shown):
        festinger.answers(status, {"status": said, "fact": REPO, "message": "thank you"})

        run = gutask("iknowthat", "gnommoweb -isa repo", url=festinger.url)

        fact = "gnommoweb -isa repo in context of glitch_university"
        assert (run.returncode, run.stdout) == (0, f"{shown}: {fact}\nthank you\n")

    def test_a_conflict_shows_both_facts(self, festinger):
        festinger.answers(202, CLASH)

        run = gutask("iknowthat", "gnommoweb -isa repo", url=festinger.url)

        assert run.returncode == 3
        assert run.stdout.startswith("Conflict 7: not stored.")
        assert "you said: gnommoweb -isa repo" in run.stdout
        assert "known:    gnommoweb -isa service" in run.stdout

    def test_a_newer_statement_shows_what_it_took_the_place_of(self, festinger):
        festinger.answers(201, {"status": "superseded", "fact": REPO, "existing": SERVICE})

        run = gutask("iknowthat", "gnommoweb -isa repo", url=festinger.url)

        assert run.returncode == 0
        assert run.stdout.splitlines() == [
            "Stored, as the newer statement: gnommoweb -isa repo in context of glitch_university",
            "  before:   gnommoweb -isa service in context of glitch_university",
        ]

    @pytest.mark.parametrize(
        ("status", "body", "start"),
        [
            (202, {"status": "decided", "conflict_id": 7, "reason": "It was dismissed."}, "Conflict 7: not stored."),
            (202, {"status": "decided", "reason": "It was dismissed."}, "Not stored."),
            (200, {"status": "outdated", "reason": "A later statement stands."}, "Not stored."),
        ],
    )
    def test_what_is_not_stored_is_told_with_the_reason(self, festinger, status, body, start):
        festinger.answers(status, {**body, "fact": REPO, "existing": SERVICE})

        run = gutask("iknowthat", "gnommoweb -isa repo", url=festinger.url)

        first, said, known, reason = run.stdout.splitlines()
        assert (run.returncode, first, reason) == (3, start, body["reason"])
        assert (said.split(":")[0].strip(), known.split(":")[0].strip()) == ("you said", "known")

    def test_a_cycle_has_no_existing_fact_to_show(self, festinger):
        festinger.answers(202, {**CLASH, "existing": None, "collision_type": "cycle"})

        run = gutask("iknowthat", "gnommoweb -isa repo", url=festinger.url)

        assert (run.returncode, "known:" in run.stdout, "cycle" in run.stdout) == (3, False, True)

    def test_a_caret_points_at_what_was_not_understood(self, festinger):
        festinger.answers(422, {"error": "no operator", "position": 10, "hint": "Say -isa or -ispart."})

        run = gutask("iknowthat", "gnommoweb -is repo", url=festinger.url)

        assert run.returncode == 2
        assert run.stderr.splitlines() == [
            "Not understood: no operator",
            "  gnommoweb -is repo",
            "            ^",
            "Say -isa or -ispart.",
        ]

    def test_json_is_the_answer_of_the_server(self, festinger):
        festinger.answers(202, CLASH)

        run = gutask("--json", "iknowthat", "gnommoweb", "-isa", "repo", url=festinger.url)

        assert (run.returncode, json.loads(run.stdout)) == (3, CLASH)


class TestRecall:
    def test_the_block_is_printed(self, festinger):
        block = "<recollection>\ngnommoweb: [type?] repo — conflict pending\n</recollection>\n"
        festinger.answers(200, {"block": block})

        run = gutask("recall", "what", "is", "gnommoweb?", url=festinger.url)

        assert (run.returncode, run.stdout) == (0, block)
        assert festinger.asked == [("POST", "/recollect", {"text": "what is gnommoweb?"})]

    def test_a_text_may_come_from_standard_input(self, festinger):
        festinger.answers(200, {"block": ""})

        gutask("recall", "-", url=festinger.url, stdin="what is\ngnommoweb?\n")

        assert festinger.asked == [("POST", "/recollect", {"text": "what is\ngnommoweb?\n"})]

    def test_whoever_has_read_enough_may_leave(self, festinger):
        festinger.answers(200, {"block": "gnommoweb: [type] repo\n" * 100_000})
        command = [sys.executable, str(GUTASK), "recall", "gnommoweb"]

        with subprocess.Popen(
            command, env=os.environ | {"FESTINGER_URL": festinger.url}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as run:
            assert run.stdout.readline() == b"gnommoweb: [type] repo\n"
            run.stdout.close()
            assert run.stderr.read() == b""

    def test_nothing_known_is_said(self, festinger):
        festinger.answers(200, {"block": ""})

        run = gutask("recall", "dobby", url=festinger.url)

        assert (run.returncode, run.stdout) == (0, "Nothing is known about that.\n")

    def test_only_a_name_of_several_words_is_looked_for_in_another_spelling(self, festinger):
        festinger.answers(200, {"block": "", "items": []})

        for text in ("red panda", "dobby", "what is red panda?", "a/b c"):
            gutask("recall", text, url=festinger.url)

        assert [path for _, path, _ in festinger.asked if path != "/recollect"] == ["/facts/red%20panda"]

    def test_nothing_is_told_with_the_reason_where_recall_is_off(self, festinger):
        festinger.answers(200, {"block": "", "restrictions": {"recall": "off in the address"}})

        run = gutask("recall", "dobby", url=festinger.url)

        assert (run.returncode, run.stdout) == (0, "Nothing would be added: recall is off in the address.\n")

    def test_a_terminal_without_the_letters_gets_question_marks(self, festinger):
        festinger.answers(200, {"block": "a — b"})

        run = gutask("recall", "dobby", url=festinger.url, PYTHONIOENCODING="ascii")

        assert (run.returncode, run.stdout) == (0, "a ? b\n")


class TestLists:
    @pytest.mark.parametrize(("words", "path"), [("facts", "/facts"), ("facts red panda/x", "/facts/red%20panda%2Fx")])
    def test_facts_have_a_line_each(self, festinger, words, path):
        festinger.answers(200, {"items": [REPO, {**SERVICE, "conflicts": [{"id": 7}]}], "count": 5})

        run = gutask(*words.split(), url=festinger.url)

        assert festinger.asked == [("GET", path, None)]
        assert run.stdout.splitlines() == [
            "gnommoweb -isa repo in context of glitch_university",
            "gnommoweb -isa service in context of glitch_university (disputed: conflict 7)",
            "and 3 more",
        ]

    def test_agents_have_a_line_each(self, festinger):
        zero = {"name": "zero", "scope": "agent", "project": "hive", "recall": True, "learn": False, "ask": False}
        festinger.answers(200, {"items": [zero, {"name": "ops", "scope": "operator", "project": None}], "count": 2})

        run = gutask("agents", url=festinger.url)

        assert run.stdout.splitlines() == ["zero | agent | project hive | learn off | ask off", "ops | operator"]


class TestCandidates:
    def test_each_has_a_line_that_says_who_can_vouch_for_it(self, festinger):
        item = {**REPO, "channel": "quoted", "said_count": 2, "needs_operator": False}
        festinger.answers(200, {"items": [item, {**item, "channel": "gutask", "needs_operator": True}], "count": 2})

        run = gutask("candidates", url=festinger.url)

        fact = "gnommoweb -isa repo in context of glitch_university"
        assert (run.returncode, run.stdout.splitlines()) == (
            0,
            [
                f"{fact} | quoted, said 2 times",
                f"{fact} | gutask, said 2 times, waits for an operator",
                "None of them is recalled. Say the same with gutask iknowthat to vouch for one,",
                "unless it waits for an operator.",
            ],
        )

    def test_a_fact_that_waits_is_told_with_the_reason(self, festinger):
        reason = "It waits for an operator: evil.com is the name of a host."
        festinger.answers(202, {"status": "candidate", "fact": {**REPO, "parent": "evil.com"}, "reason": reason})

        run = gutask("iknowthat", "gnommoweb -isa evil.com in context of glitch_university", url=festinger.url)

        assert run.returncode == 3
        assert run.stdout.splitlines() == [
            "Not stored.",
            "  you said: gnommoweb -isa evil.com in context of glitch_university",
            reason,
        ]


class TestConflicts:
    def test_each_open_one_has_a_line(self, festinger):
        festinger.answers(
            200, {"items": [OPEN, {**OPEN, "id": 8, "members": [{**CLAIM, "status": "proposed"}, CLAIM]}], "count": 5}
        )

        run = gutask("conflicts", url=festinger.url)

        line = "gnommoweb -isa service in context of glitch_university | dobby: -isa repo | since 2026-01-31 10:20 UTC"
        assert (run.returncode, run.stdout.splitlines()) == (
            0,
            [
                f"7: {line}",
                f"8: {line.replace('isa repo |', 'isa repo and 1 more |')} (a decision is proposed)",
                "and 3 more",
            ],
        )
        assert festinger.asked == [("GET", "/conflicts?status=open", None)]

    def test_both_facts_of_a_ring_are_shown_whole(self, festinger):
        closing = {"concept": "repo", "parent": "gnommoweb", "dimension": "glitch_university", "is_isa": False}
        festinger.answers(200, {"items": [{**OPEN, "members": [{**CLAIM, "existing": closing}]}], "count": 1})

        run = gutask("conflicts", url=festinger.url)

        stands, came, _ = run.stdout.split(" | ")
        assert stands == "7: repo -ispart gnommoweb in context of glitch_university"
        assert came == "dobby: gnommoweb -isa repo in context of glitch_university"

    def test_a_fact_that_has_gone_is_told(self, festinger):
        festinger.answers(200, {"items": [{**OPEN, "members": [{**CLAIM, "existing": None}]}], "count": 1})

        assert "7: the known fact is gone | dobby: gnommoweb -isa repo" in gutask("conflicts", url=festinger.url).stdout

    def test_none_is_said(self, festinger):
        festinger.answers(200, {"items": [], "count": 0})

        run = gutask("conflicts", url=festinger.url)

        assert (run.returncode, run.stdout) == (0, "No conflicts.\n")

    def test_json_is_the_list_of_the_server(self, festinger):
        answer = {"items": [OPEN], "count": 1}
        festinger.answers(200, answer)

        run = gutask("conflicts", "--json", url=festinger.url)

        assert (run.returncode, json.loads(run.stdout)) == (0, answer)

    @pytest.mark.parametrize("answer", [{"items": ["one"]}, {"items": {}}, {"count": 1}])
    def test_another_servers_list_is_no_list(self, festinger, answer):
        festinger.answers(200, answer)

        run = gutask("conflicts", url=festinger.url)

        assert (run.returncode, "Traceback" in run.stderr) == (4, False)

    def test_a_server_without_the_list_is_told(self, festinger):
        festinger.answers(404, b"404 page not found")

        run = gutask("conflicts", url=festinger.url)

        assert (run.returncode, run.stdout) == (4, "")
        assert run.stderr == f"{festinger.url} has no /conflicts. Is it Festinger, and new enough?\n"


class TestServer:
    @pytest.mark.parametrize(
        ("status", "body", "exit_status"),
        [
            (400, {"error": "no fact"}, 2),
            (401, {"error": "a token is needed"}, 5),
            (403, {"error": "scope operator is needed"}, 5),
            (403, b"", 5),
            (500, b"<html>", 4),
            (502, {"error": "upstream is away"}, 4),
            (200, b"Ollama is running", 4),
            (200, [], 4),
        ],
    )
    @pytest.mark.parametrize("words", [("iknowthat", "a -isa b"), ("recall", "a"), ("conflicts",)])
    def test_each_error_has_its_exit_status(self, festinger, status, body, exit_status, words):
        festinger.answers(status, body)

        run = gutask(*words, url=festinger.url)

        assert (run.returncode, run.stdout, "Traceback" in run.stderr) == (exit_status, "", False)

    @pytest.mark.parametrize(
        ("error", "told"),
        [("this needs a token.", "this needs a token. Set FESTINGER_TOKEN"), ("the project is unknown", "unknown.\n")],
    )
    def test_a_token_is_asked_for_where_one_would_help(self, festinger, error, told):
        festinger.answers(403, {"error": error})

        assert told in gutask("recall", "a", url=festinger.url).stderr

    def test_no_server_is_told(self):
        run = gutask("recall", "x", url="127.0.0.1:1")

        assert run.returncode == 4
        assert "does not answer at http://127.0.0.1:1: Connection refused" in run.stderr

    def test_no_server_is_told_as_json(self):
        run = gutask("recall", "x", "--json")

        assert run.returncode == 4
        assert "does not answer" in json.loads(run.stdout)["error"]

    def test_the_token_is_sent(self, festinger):
        festinger.answers(200, {"block": ""})

        gutask("recall", "x", url=festinger.url, FESTINGER_TOKEN="secret")
        gutask("recall", "x", url=festinger.url)

        assert festinger.tokens == ["Bearer secret", None]

    def test_a_redirect_does_not_get_the_token(self, festinger):
        festinger.answers(302, b"", Location=f"{festinger.url}/elsewhere")

        run = gutask("conflicts", url=festinger.url, FESTINGER_TOKEN="secret")

        assert (run.returncode, len(festinger.asked)) == (4, 1)

    def test_a_token_that_cannot_be_sent_is_not_shown(self):
        run = gutask("recall", "x", FESTINGER_TOKEN="sec\nret€")

        assert (run.returncode, "sec" in run.stderr) == (2, False)

    def test_a_proxy_is_not_asked_for_loopback(self, festinger):
        festinger.answers(200, {"block": ""})

        assert gutask("recall", "x", url=festinger.url, http_proxy="http://127.0.0.1:1").returncode == 0


class TestForget:
    def test_it_tells_what_went_and_what_stays(self, festinger):
        kept = {"status": "conflict", "fact": REPO, "existing": REPO, "conflict_id": 7, "collision_type": "retraction"}
        festinger.answers(202, {"status": "conflict", "items": [{"status": "retired", "existing": REPO}, kept]})

        run = gutask("forget", "gnommoweb", url=festinger.url)

        assert festinger.asked == [("POST", "/forget", {"fact": "gnommoweb"})]
        assert run.returncode == 3
        assert run.stdout.splitlines() == [
            "Forgotten: gnommoweb -isa repo in context of glitch_university",
            "Kept: gnommoweb -isa repo in context of glitch_university (conflict 7)."
            " An operator or another agent has stated it: people decide whether it goes.",
        ]

    @pytest.mark.parametrize(("command", "path"), [("forget", "/forget"), ("remember", "/memory")])
    def test_a_memory_that_went_is_told_by_its_text(self, festinger, command, path):
        item = {"status": "retired", "memory": {"id": 3, "text": "The user likes tea."}}
        festinger.answers(200, {"status": "retired", "result": "retracted", "items": [item]})

        run = gutask(command, "forget", "that", "I", "like", "tea", url=festinger.url)

        assert [asked[:2] for asked in festinger.asked] == [("POST", path)]
        assert (run.returncode, run.stdout) == (0, "Forgotten: The user likes tea.\n")

    def test_nothing_to_forget_is_no_success(self, festinger):
        festinger.answers(404, {"error": "Nothing like it is known: gnommoweb."})

        run = gutask("forget", "gnommoweb -isa repo", url=festinger.url)

        assert (run.returncode, run.stdout) == (3, "Nothing was forgotten. Nothing like it is known: gnommoweb.\n")

    def test_a_server_without_it_is_too_old(self, festinger):
        festinger.answers(404, {})

        assert gutask("forget", "gnommoweb", url=festinger.url).returncode == 4


class TestCommandLine:
    @pytest.mark.parametrize(
        "line",
        [
            *("", "forget", "iknowthat", "recall", "recall ' '", "conflicts all", "alias one", "--loud conflicts"),
            *("resolve x none", "resolve 7", "answer 7 maybe", "undo x", "dismiss"),
        ],
    )
    def test_bad_usage_is_told(self, line):
        run = gutask(*shlex.split(line))

        assert (run.returncode, run.stdout, "Traceback" in run.stderr) == (2, "", False)

    def test_a_bad_address_is_told(self):
        assert gutask("conflicts", url="ftp://there").returncode == 2

    def test_help_tells_commands_and_exit_statuses(self):
        assert gutask("--help").stdout == gutask("-h").stdout
        assert {"iknowthat", "recall", "conflicts", "FESTINGER_URL"} <= set(gutask("--help").stdout.split())

    def test_the_help_of_a_command_is_about_it_alone(self):
        whole = gutask("--help").stdout
        commands = re.findall(r"^  ([a-z]+)\b", whole.partition("\noptions:")[0], re.MULTILINE)

        for command in commands:
            about, _, rest = gutask(command, "--help").stdout.partition("\n\n")
            assert about.startswith(f"usage: gutask {command}")
            assert (about.removeprefix("usage: gutask ") in whole, "gutask --help" in rest) == (True, True)
        assert len(commands) == 15

    @pytest.mark.parametrize(("begun", "found"), [("re", "recall remember resolve"), ("fac", "facts"), ("x", "")])
    def test_bash_completes_commands(self, begun, found):
        script = gutask("completion").stdout
        script += f'COMP_WORDS=(gutask {begun}) COMP_CWORD=1; _gutask; echo "${{COMPREPLY[*]}}"; complete -p gutask'

        run = subprocess.run(["bash", "-uc", script], capture_output=True, text=True)

        assert run.stdout.splitlines() == [found, "complete -o default -F _gutask gutask"]

    def test_it_runs_by_itself(self):
        run = subprocess.run([GUTASK, "--version"], capture_output=True, text=True)

        assert run.stdout.startswith("gutask ")


def member(kind: str, key: int, text: str) -> dict[str, Any]:
    return {"kind": kind, "id": key, "text": text}


STATE, MEMORY = member("project_state", 3, "decision.material = GF-PTFE"), member("memory", 5, "It is of PEEK.")
MADE = {"id": 12, "arguments": {"winner": STATE, "superseded": [MEMORY], "others": []}}


def test_conflicts_of_other_kinds_name_their_members_as_resolve_takes_them(festinger: Festinger) -> None:
    item = {**OPEN, "kind": "cross_layer", "members": [STATE, MEMORY]}
    festinger.answers(200, {"items": [item, {**item, "id": 8, "question": "Is it PEEK?"}], "count": 2})

    done = gutask("conflicts", url=festinger.url)

    said = "project_state:3 decision.material = GF-PTFE | memory:5 It is of PEEK. | since 2026-01-31 10:20 UTC"
    assert done.stdout.splitlines() == [f"7: {said}", f"8: Is it PEEK? | {said}"]


@pytest.mark.parametrize(
    ("words", "path", "sent"),
    [
        (
            "resolve 7 project_state:3 asked them",
            "/conflicts/7/resolve",
            {"action": "supersede_others", "winner_member_id": "project_state:3", "reason": "asked them"},
        ),
        ("resolve 7 none", "/conflicts/7/resolve", {"action": "no_action", "reason": ""}),
        ("answer 7 no it moved", "/conflicts/7/answer", {"answer": "no", "reason": "it moved"}),
        ("dismiss 7 two things", "/conflicts/7/dismiss", {"reason": "two things"}),
        ("undo 12", "/decisions/12/undo", {"reason": ""}),
    ],
)
def test_a_decision_is_sent_and_told_with_what_came_of_it(
    festinger: Festinger, words: str, path: str, sent: dict[str, str]
) -> None:
    festinger.answers(200, {"decision": MADE, "conflict": {"id": 7, "status": "resolved"}})

    done = gutask(*words.split(), url=festinger.url)

    assert (done.returncode, festinger.asked) == (0, [("POST", path, sent)])
    assert done.stdout.splitlines() == [
        "Decided: conflict 7, decision 12",
        "  holds:     decision.material = GF-PTFE",
        "  no longer: It is of PEEK.",
    ]


def test_what_was_not_decided_ends_with_the_reason(festinger: Festinger) -> None:
    festinger.answers(409, {"error": "Conflict 7 was already decided by ann: left as it is."})
    refused = gutask("dismiss", "7", url=festinger.url)
    assert (refused.returncode, "already decided by ann" in refused.stdout) == (3, True)
    festinger.answers(422, {"error": "Conflict 7 asks nothing."})
    assert gutask("answer", "7", "yes", url=festinger.url).returncode == 2
    for words in ("resolve 7", "resolve seven memory:5", "answer 7 perhaps", "dismiss", "undo"):
        assert gutask(*words.split(), url=festinger.url).returncode == 2


def test_what_was_found_is_told_by_kind_and_what_is_weak_or_disputed_is_marked(festinger: Festinger) -> None:
    said = {"text": "We moved it to nas-nine.", "timestamp": "2026-03-04T10:20:30+00:00", "said_by": "user"}
    items = [
        {"kind": "fact", "id": 3, "text": "billing runs on tyr-1."},
        {"kind": "memory", "id": 5, "text": "The backup is made at night.", "disputed": True},
        {"kind": "episode", "id": 9, **said},
        {"kind": "episode", "id": 8, **said, "timestamp": None, "weak": True},
        {"kind": "memory", "id": 4, "text": "Lunch is at noon.", "disputed": True, "weak": True},
    ]
    festinger.answers(200, {"items": items, "count": 5})

    found = gutask("search", "where", "is", "billing?", url=festinger.url)

    assert festinger.asked == [("POST", "/search_memory", {"query": "where is billing?"})]
    assert (found.returncode, found.stdout.splitlines()) == (
        0,
        [
            "fact 3: billing runs on tyr-1.",
            "memory 5: The backup is made at night. (disputed)",
            "2026-03-04 user: We moved it to nas-nine.",
            "earlier user: We moved it to nas-nine. (weak)",
            "memory 4: Lunch is at noon. (disputed) (weak)",
        ],
    )


def test_a_search_that_finds_nothing_says_so(festinger: Festinger) -> None:
    festinger.answers(200, {"items": [], "count": 0})

    found = gutask("search", "zebra", url=festinger.url)

    assert (found.returncode, found.stdout) == (0, "Nothing was found.\n")
