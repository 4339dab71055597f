import json

import pytest

from proxy.domain.loops.tool_results import read_follow_up, without_surroundings

COMPLAINTS = ("you have sent the same message again",)
COMPLAINT = "You have sent the same  message again. You have to do something else!"


def said(text):
    return read_follow_up(text, COMPLAINTS)


@pytest.mark.parametrize(
    "text",
    [
        "pending",
        '{"state": "running", "started": "10:00"}',
        '{"status":"IN_PROGRESS"}',
        "Building...",
        "The job is still running.",
        "web 0/1 ContainerCreating",
        "Status: queued, 3 jobs ahead",
        "45% complete",
        "progress: 12 %",
        "Not ready yet.",
        "Waiting for the server",
        "server starting up",
        "No new messages.",
        "Please wait a moment.",
        '{"status": "running", "failed": 0, "error": null}',
        '{"status": "pending", "eta": "unknown"}',
    ],
)
def test_work_under_way_is_noticed(text):
    assert said(text).is_under_way


@pytest.mark.parametrize(
    "text",
    [
        "ok",
        "A tall building.",
        "100% complete",
        "Server is running on port 8000",
        "Error: build failed while running",
        "No pending changes",
        "coverage 85%, 12 passed",
        "Memory saved.",
        "pending " + "x" * 500,
        "",
    ],
)
def test_what_is_done_is_not_under_way(text):
    assert not said(text).is_under_way


def test_white_space_does_not_matter_and_all_else_does():
    assert said("a\n b").exact == said(" a b\n").exact
    assert said("a b").exact != said("A b").exact
    assert said("12 rows").exact != said("13 rows").exact


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[10:00:01] ERROR boom", "[10:00:02] error boom"),
        ("Error: timeout after 1.5s", "Error: timeout after 31 seconds"),
        ("failed (request req_0a1b2c3d4e5f)", "failed (request req_9a8b7c6d5e4f)"),
        ("Exception at 0x7f001122aabb", "Exception at 0x7f001122aacc"),
        ("attempt 1 of 5 failed", "attempt 2 of 5 failed"),
        ("Permission denied: /tmp/tmpab12cd34", "Permission denied: /tmp/tmpzz98yy76"),
        ("x" * 3_000 + " Error: pid 12 was killed", "x" * 3_000 + " Error: pid 13 was killed"),
    ],
)
def test_the_same_error_is_the_same(one, other):
    assert said(one).is_error
    assert said(one).exact == said(other).exact


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("main.c:10:25: error: expected ;", "main.c:12:25: error: expected ;"),
        ("3 failed", "2 failed"),
        ("Error: no such file a.txt", "Error: no such file b.txt"),
        ("[10:00:01] all is well", "[10:00:02] all is well"),
        ("order 550e8400-e29b-41d4-a716-446655440000", "order 550e8400-e29b-41d4-a716-44665544ffff"),
        ("10:00:01 0 errors", "10:00:02 0 errors"),
    ],
)
def test_news_are_news(one, other):
    assert said(one).exact != said(other).exact


def test_the_number_of_a_request_and_the_time_it_took_are_no_news():
    assert said('{"request_id": "a", "rows": []}').exact == said('{"request_id": "b", "rows": []}').exact
    assert said("Wall time: 0.1 s\nOutput:").exact == said("Wall time: 0.3 s\nOutput:").exact
    assert said("Call id: call_1f\nOutput: no").exact == said("Call id: call_2e\nOutput: no").exact


@pytest.mark.parametrize(
    ("text", "is_person", "is_program"),
    [
        ('{"user_message": "Hello", "attachments": []}', True, True),
        ('{"tool_name": "x", "tool_result": "ok"}', False, True),
        ('{"tool_name": "x", "tool_result": "ok"}\n{"user_message": "Stop"}', True, True),
        ('{"tool_name": "x", "tool_result": "say \\"user_message\\": no"}', False, True),
        ('{"system_warning": "Hm."}', False, True),
        ('{"user_intervention": "Stop"}', True, True),
        ('{"user_message": "not quite JSON"', True, True),
        ('{"user_message": ""}', False, False),
        ("Observation: nothing", False, True),
        ("[read_file for 'a.py'] Result:\n1", False, True),
        ("<tool_response>1</tool_response>", False, True),
        ("ERROR: no", False, True),
        ("Is there an error?", False, False),
        ("Observations are fun.", False, False),
        ("Please go on.", False, False),
    ],
)
def test_persons_and_programs_are_told_apart(text, is_person, is_program):
    assert (said(text).is_person, said(text).is_program) == (is_person, is_program)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (COMPLAINT, True),
        (COMPLAINT.upper(), True),
        (json.dumps({"system_warning": COMPLAINT}), True),
        (f'{{"tool_name": "x", "tool_result": "ok"}}\n{json.dumps({"system_warning": COMPLAINT})}', True),
        (json.dumps({"tool_name": "x", "tool_result": COMPLAINT}), False),
        ("x " * 1_000 + COMPLAINT, False),
        (f"Observation: {COMPLAINT}", False),
        (f"<tool_response>{COMPLAINT}", False),
        ("You have sent another message.", False),
    ],
)
def test_complaints_are_heard_where_they_are_meant(text, expected):
    assert said(text).is_complaint is expected


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("ok\n[EXTRAS]\n{}", "ok\n"),
        ("ok<environment_details>\n10:00\n</environment_details>!", "ok!"),
        ("<system-reminder>a</system-reminder>ok<system-reminder>b</system-reminder>", "ok"),
        ("ok<recollection>a", "ok<recollection>a"),
        ("<loop_warning>a</loop_warning>", ""),
    ],
)
def test_what_clients_add_is_left_out(text, left):
    assert without_surroundings(text) == left
