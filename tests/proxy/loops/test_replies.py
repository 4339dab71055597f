import json

import pytest

from proxy.loops.replies import read_reply, without_surroundings

COMPLAINT = "You have sent the same  message again. You have to do something else!"


def said(text):
    return read_reply(text)


UNDER_WAY = """\
pending
{"state": "running", "started": "10:00"}
{"status":"IN_PROGRESS"}
Building...
The job is still running.
web 0/1 ContainerCreating
Status: queued, 3 jobs ahead
45% complete
progress: 12 %
Not ready yet.
Waiting for the server
server starting up
No new messages.
Please wait a moment.
{"status": "running", "failed": 0, "error": null}
{"status": "pending", "eta": "unknown"}"""
OVER = """\
ok
A tall building.
100% complete
Server is running on port 8000
Error: build failed while running
No pending changes
coverage 85%, 12 passed
Memory saved.
"""


@pytest.mark.parametrize("text", UNDER_WAY.split("\n"))
def test_work_under_way_is_noticed(text):
    assert said(text).is_under_way


@pytest.mark.parametrize("text", [*OVER.split("\n"), "pending " + "x" * 500])
def test_what_is_over_is_not_under_way(text):
    assert not said(text).is_under_way


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a\n b", " a b\n"),
        ("[10:00:01] ERROR boom", "[10:00:02] error boom"),
        ("Error: timeout after 1.5s", "Error: timeout after 31 seconds"),
        ("failed (request req_0a1b2c3d4e5f)", "failed (request req_9a8b7c6d5e4f)"),
        ("Exception at 0x7f001122aabb", "Exception at 0x7f001122aacc"),
        ("attempt 1 of 5 failed", "attempt 2 of 5 failed"),
        ("Permission denied: /tmp/tmpab12cd34", "Permission denied: /tmp/tmpzz98yy76"),
        ("x" * 3_000 + " Error: pid 12 was killed", "x" * 3_000 + " Error: pid 13 was killed"),
        ('{"request_id": "a", "rows": []}', '{"request_id": "b", "rows": []}'),
        ("Wall time: 0.1 s\nOutput:", "Wall time: 0.3 s\nOutput:"),
        ("Call id: call_1f\nOutput: no", "Call id: call_2e\nOutput: no"),
    ],
)
def test_what_differs_each_time_is_no_news(one, other):
    assert said(one).texts == said(other).texts


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b", "A b"),
        ("12 rows", "13 rows"),
        ("main.c:10:25: error: expected ;", "main.c:12:25: error: expected ;"),
        ("3 failed", "2 failed"),
        ("Error: no such file a.txt", "Error: no such file b.txt"),
        ("[10:00:01] all is well", "[10:00:02] all is well"),
        ("order 550e8400-e29b-41d4-a716-446655440000", "order 550e8400-e29b-41d4-a716-44665544ffff"),
        ("10:00:01 0 errors", "10:00:02 0 errors"),
    ],
)
def test_news_are_news(one, other):
    assert said(one).texts != said(other).texts


@pytest.mark.parametrize(
    ("text", "is_person", "is_program"),
    [
        ('{"user_message": "Hello", "attachments": []}', True, True),
        ('{"tool_name": "x", "tool_result": "ok"}', False, True),
        ('{"tool_name": "x", "tool_result": "ok"}\n{"user_message": "Stop"}', True, True),
        ('{"tool_name": "x", "tool_result": "say \\"user_message\\": no"}', False, True),
        ('{"system_warning": "Hm."}', False, True),
        ('{"user_intervention": "Stop"}', True, True),
        ('{"user_message": ""}', False, False),
        ("Observation: nothing", False, True),
        ("[read_file for 'a.py'] Result:\n1", False, True),
        ("[ERROR] You did not use a tool!", False, True),
        ("<tool_response>1</tool_response>", False, True),
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
        (f'{{"tool_name": "x", "tool_result": "ok"}}\n{json.dumps({"system_warning": COMPLAINT})}', True),
        (json.dumps({"tool_name": "x", "tool_result": COMPLAINT}), False),
        ("x " * 1_000 + COMPLAINT, False),
        (f"Observation: {COMPLAINT}", False),
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
