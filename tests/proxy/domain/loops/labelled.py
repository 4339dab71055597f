"""Conversations with what they are: a loop of some kind, or none. As agents and chat clients send them."""

import json
from dataclasses import dataclass
from typing import Any, Protocol

from tests.proxy.domain.loops.agents import (
    CONTINUE,
    NO_TOOL,
    AgentZero,
    Chat,
    Claude,
    Items,
    Native,
    OpenAI,
    Scratchpad,
    cline,
    environment,
    react,
    tagged,
)


class Conversation(Protocol):
    wire: str

    @property
    def payload(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Labelled:
    """``kind``: None for no loop. ``count``: None where it is not clear."""

    name: str
    conversation: Conversation
    kind: str | None = None
    count: int | None = None


def labelled() -> list[Labelled]:
    """All of them, loops and others."""
    sets = (
        agent_zero,
        agent_zero_fine,
        calls,
        calls_fine,
        react_text,
        react_fine,
        texts,
        texts_fine,
        coding,
        coding_fine,
    )
    found = [one for make in sets for one in make()]
    assert len({one.name for one in found}) == len(found)
    return found


# --- Agent Zero ---


def zero(task: str = "Find out why the web server does not start.") -> AgentZero:
    return AgentZero().user(task)


NOT_FOUND = "bash: nginxctl: command not found"


def agent_zero() -> list[Labelled]:
    thoughts = [
        ("The user wants the server started.", "Let me look at its status."),
        ("I should check whether it runs.",),
        ("Perhaps the status says more now.", "I will look at it again.", "One more time."),
        ("Status first.",),
        ("It is wise to check the status.",),
    ]
    found = []

    same = zero()
    for some in thoughts[:3]:
        same.run("nginxctl status", *some).result(NOT_FOUND)
    found.append(Labelled("thoughts differ, the call does not", same, "same", 3))

    five = zero()
    for some in thoughts:
        five.run("nginxctl status", *some).result(NOT_FOUND)
    five.extras = {"current_datetime": "2026-02-03 10:11:12"}
    found.append(Labelled("five of them, and extras at the end", five, "same", 5))

    warned = zero().run("nginxctl status", "Status.").result(NOT_FOUND).run("nginxctl status", "Status.").same_again()
    found.append(Labelled("complaint after the second", warned, "complaint", 3))

    often = zero().run("nginxctl status", "Status.").result(NOT_FOUND)
    for _ in range(4):
        often.run("nginxctl status", "Status.").same_again()
    found.append(Labelled("four complaints", often, "complaint", 5))

    times = zero("Fetch the report.")
    for second in (12, 19, 33):
        text = f"[2026-02-03T10:11:{second}Z] ERROR ConnectionError: GET http://reports/ failed, "
        text += f"request id {second:08x}-1f2e-4a5b-8c7d-0123456789ab"
        times.run("curl -sS http://reports/", "I try to fetch it.").result(text)
    found.append(Labelled("times and ids in errors", times, "same", 3))

    keys = zero("Remember my name.")
    arguments = {"text": "The name is Ada.", "area": "main", "metadata": {"kind": "name", "age": 36}}
    shuffled = {"metadata": {"age": 36, "kind": "name"}, "area": "main", "text": "The name  is Ada."}
    for given in (arguments, shuffled, arguments):
        keys.call("memory_save", given, "I keep it.", indent=None if given is shuffled else 2)
        keys.result("Error: no embedding model is configured", "memory_save")
    found.append(Labelled("keys in another order, other white space", keys, "same", 3))

    cycle = zero("Make the tests pass.")
    for some in thoughts[:3]:
        cycle.run("pytest -q", *some).result("1 failed, 3 passed")
        cycle.run("cat tests/test_app.py").result("def test_app():\n    assert app() == 1")
    found.append(Labelled("to and fro", cycle, "cycle", 3))

    three = zero("Install the package.")
    for _ in range(4):
        three.run("pip install leftpad").result("ERROR: No matching distribution found for leftpad")
        three.call("knowledge_tool", {"question": "How to install leftpad?"}).result("Use pip.", "knowledge_tool")
        three.run("pip index versions leftpad").result("ERROR: No matching distribution found for leftpad")
    found.append(Labelled("a cycle of three, four times", three, "cycle", 4))

    fenced = zero("List the files.")
    for some in thoughts[:3]:
        body = json.dumps({"thoughts": list(some), "tool_name": "files", "tool_args": {"path": "/srv"}}, indent=2)
        fenced.reply(f"```json\n{body}\n```").result("Permission denied", "files")
    found.append(Labelled("JSON in a fence", fenced, "same", 3))

    prose = zero("List the files.")
    for before in ("Sure, let me list them.", "I will try that now:", "Here is what I do next."):
        body = json.dumps({"thoughts": [before], "tool_name": "files", "tool_args": {"path": "/srv"}})
        prose.reply(f"{before}\n\n{body}").result("Permission denied", "files")
    found.append(Labelled("prose before the JSON", prose, "same", 3))

    broken = zero("Write the file.")
    for thought in ("Write it.", "It has to be written.", "I will write the file now."):
        broken.reply(
            f'{{"thoughts": ["{thought}",], "tool_name": "code_execution_tool",'
            ' "tool_args": {"runtime": "python", "code": "open("x.txt", "w").write("1")"}}'
        ).result("SyntaxError: invalid syntax")
    found.append(Labelled("JSON that is none", broken, "same", 3))

    misformatted = zero("Say hello in French.")
    for _ in range(3):
        misformatted.reply("Bonjour! How can I help you today?").misformatted()
    found.append(Labelled("prose instead of JSON, over and over", misformatted, "same", 3))

    rephrased = zero("Clean the folder up.")
    for text in (
        "I have cleaned the folder up. Please let me know if you need anything else!",
        "I have now cleaned up the folder. Let me know if you need anything else.",
        "I've cleaned the folder up. Please let me know if there is anything else you need.",
    ):
        rephrased.reply(text).misformatted()
    found.append(Labelled("prose instead of JSON, rephrased", rephrased, "near", 3))

    after = zero().run("ls").result("a.txt").call("response", {"text": "There is a.txt."}).user("And what does it say?")
    for some in thoughts[:4]:
        after.run("cat b.txt", *some).result("cat: b.txt: No such file or directory")
    found.append(Labelled("in the second task", after, "same", 4))

    patient = zero("Wait for the build.")
    for _ in range(22):
        patient.call("build_status", {"id": 7}).result('{"id": 7, "state": "running"}', "build_status")
    found.append(Labelled("pending for ever", patient, "same", None))

    code = zero("Count the words.")
    for name in ("tmpab12cd34", "tmpzz98yy76", "tmpq1w2e3r4"):
        code.run(f"python3 /tmp/{name}.py").result(
            f"Traceback (most recent call last):\n  File \"/tmp/{name}.py\", line 3\nNameError: name 'words' is not "
            "defined"
        )
    found.append(Labelled("the name of the temporary file differs", code, "same", 3))
    return found


def agent_zero_fine() -> list[Labelled]:
    found = []

    asked_again = zero("What is the time?")
    for _ in range(4):
        asked_again.call("response", {"text": "I do not know."}).user("again")
    found.append(Labelled("a human says again", asked_again))

    twice = zero().run("nginxctl status").result(NOT_FOUND).run("nginxctl status").result(NOT_FOUND)
    found.append(Labelled("only twice", twice))

    polling = zero("Tell me when the build is done.")
    for percent in (5, 20, 45, 70, 95):
        polling.run("ci status 81").result(f"build 81: {percent}% complete")
    polling.extras = {"current_datetime": "2026-02-03 10:11:12"}
    found.append(Labelled("progress in per cent", polling))

    pending = zero("Tell me when the build is done.")
    for _ in range(8):
        pending.run("ci status 81", "I wait.").result("build 81: pending, 2 jobs ahead")
    found.append(Labelled("pending eight times", pending))

    reset = zero().run("nginxctl status").result(NOT_FOUND).run("nginxctl status").result(NOT_FOUND)
    reset.user("Try it with systemctl.").run("nginxctl status").result(NOT_FOUND)
    found.append(Labelled("a human in between", reset))

    intervened = zero()
    for _ in range(3):
        intervened.run("nginxctl status").result(NOT_FOUND)
    intervened.user("Stop that, use systemctl.")
    found.append(Labelled("a human at the end", intervened))

    files = zero("Make ten files.")
    for letter in "abcdef":
        files.run(f"touch {letter}.txt", "The next file.").result("")
    found.append(Labelled("another file each time", files))

    edits = zero("Fix the bug.")
    for line in (10, 14, 21, 30):
        edits.run(f"sed -i '{line}s/foo/bar/' app.py").result("").run("make").result("make: *** [all] Error 1")
    found.append(Labelled("edit and build, the same error", edits))

    recovered = zero().run("nginxctl status").result(NOT_FOUND).run("nginxctl status").same_again()
    recovered.run("systemctl status nginx").result("inactive (dead)")
    found.append(Labelled("a complaint that helped", recovered))

    heard = zero()
    for place in ("the kitchen", "the garden", "the attic"):
        heard.call("response", {"text": "It is switched off."}).user(f"What about the light in {place}?")
    found.append(Labelled("the same answer to other questions", heard))

    reading = zero("Read the log.")
    for page in range(1, 6):
        reading.run(f"sed -n '{page * 100},{page * 100 + 99}p' app.log").result("heartbeat ok\n" * 20)
    found.append(Labelled("page after page of the same", reading))

    quoted = zero("Translate the prompts.").run("cat prompts/fw.msg_repeat.md")
    quoted.result("You have sent the same message again. You have to do something else!")
    quoted.run("cat prompts/fw.error.md").result("~~~json\n{{error}}\n~~~")
    found.append(Labelled("a complaint that is only read", quoted))

    orders = (
        "550e8400-e29b-41d4-a716-446655440000",
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    )
    ids = zero("Cancel the open orders.").run("orders list").result("\n".join(orders))
    for order in orders:
        ids.call("cancel_order", {"id": order}).result("ok", "cancel_order")
    found.append(Labelled("one call for each id that was listed", ids))
    return found


# --- calls in the wire's own form ---


def calls() -> list[Labelled]:
    found = []

    same = OpenAI().user("What is the weather in Graz?")
    for text in (None, "Let me try again.", "I will look once more."):
        same.call("weather", {"city": "Graz", "unit": "C"}, text).result('{"error": "service unavailable"}')
    found.append(Labelled("OpenAI calls, texts differ", same, "same", 3))

    order = OpenAI().user("Book it.")
    for given in ('{"a": 1, "b": [1, 2]}', '{"b":[1,2],"a":1}', '{ "b": [1, 2], "a": 1.0 }', '{"a":1,"b":[1,2]}'):
        order.call("book", given).result("Error: not available")
    found.append(Labelled("order of keys", order, "same", 4))

    parallel = OpenAI().user("Compare both.")
    for _ in range(3):
        parallel.call_all(("read", {"path": "a"}), ("read", {"path": "b"})).result("Error: a").result("Error: b")
    found.append(Labelled("two calls at once", parallel, "same", 3))

    empty = OpenAI().user("Find him.")
    for _ in range(3):
        empty.call("search", {"q": "Kvasir"}).result("[]")
    found.append(Labelled("nothing found, searched again", empty, "same", 3))

    claude = Claude().user("Fix the build.")
    for thought in ("Let me run the build.", "I'll run it again.", "Now let's see whether it builds."):
        claude.call("Bash", {"command": "make", "description": thought}, thought).result(
            "make: *** No rule", is_error=True
        )
    found.append(Labelled("Anthropic's, descriptions differ", claude, "same", 3))

    reminded = Claude().user("Fix the build.")
    for minute in (1, 2, 3):
        reminder = f"<system-reminder>\nThe time is 10:0{minute}. Your todo list is empty.\n</system-reminder>"
        reminded.call("Read", {"file_path": "/a.py"}).result("File does not exist.", reminder=reminder)
    found.append(Labelled("reminders after each result", reminded, "same", 3))

    items = Items().user("Look at the folder.")
    for _ in range(3):
        items.call("shell", {"command": ["ls", "-la"]}).result("Exit code: 0\nWall time: 0.1 seconds\nOutput:\n")
    found.append(Labelled("Responses with reasoning", items, "same", 3))

    walls = Items().user("Look at the folder.")
    for wall in ("0.0312", "0.0518", "0.0299"):
        walls.call("shell", {"command": ["ls"]}).result(f"Exit code: 0\nWall time: {wall} seconds\nOutput:\nREADME.md")
    found.append(Labelled("only the wall time differs", walls, "same", 3))

    native = Native().user("Look it up.")
    for _ in range(6):
        native.call("lookup", {"name": "ramanujan"}).result("not found")
    found.append(Labelled("Ollama's own chat, six times", native, "same", 6))

    for period in range(2, 6):
        cycle = OpenAI().user("Find the bug.")
        for index in range(3 * period + 1):
            cycle.call("open", {"file": f"module{index % period}.py"}).result(f"contents of module {index % period}")
        found.append(Labelled(f"cycle of {period}", cycle, "cycle", 3))

    hermes = Chat().user("Find the tallest tower.")
    for before in ("I will search.", "Searching again.", "Let me search for it."):
        hermes.model(tagged("search", {"q": "tallest tower"}, before))
        hermes.user("<tool_response>\nHTTP 429: rate limit exceeded, retry after 12s\n</tool_response>")
    found.append(Labelled("calls in tags", hermes, "same", 3))

    late = OpenAI().user("Deploy it.")
    late.call("build", {}).result("done").call("test", {}).result("12 passed")
    for second in (1, 7, 31):
        late.call("deploy", {"env": "prod"}).result(
            f"10:00:{second:02} error: timeout after {second}.2s (pid 4{second})"
        )
    found.append(Labelled("after other work", late, "same", 3))

    empties = OpenAI().user("Do it.")
    for _ in range(3):
        empties.model("").user("[SYSTEM] Your last response was empty. Answer or call a tool.")
    found.append(Labelled("empty outputs", empties, "same", 3))

    requests = OpenAI().user("Send the mail.")
    for number in range(3):
        requests.call("send", {"to": "ada@example.com", "request_id": f"{number}"}).result("error: mailbox unavailable")
    found.append(Labelled("another request id", requests, "same", 3))
    return found


def calls_fine() -> list[Labelled]:
    found = []

    progress = OpenAI().user("Wait for the job.")
    for done in (1, 3, 8, 9):
        progress.call("job", {"id": 9}).result(json.dumps({"state": "running", "done": done, "of": 10}))
    found.append(Labelled("polling with progress", progress))

    waiting = OpenAI().user("Wait for the job.")
    for _ in range(10):
        waiting.call("job", {"id": 9}).result('{"state": "queued"}')
    found.append(Labelled("queued ten times", waiting))

    sleeping = OpenAI().user("Wait until it is up.")
    for _ in range(5):
        sleeping.call("bash", {"command": "sleep 30"}).result("").call("status", {}).result("starting up")
    found.append(Labelled("sleep and look", sleeping))

    paging = OpenAI().user("Count all rows.")
    for page in range(5):
        paging.call("rows", {"page": page}).result('{"rows": [], "has_more": true}')
    found.append(Labelled("paging through nothing", paging))

    cursor = OpenAI().user("Read everything.")
    for page in range(4):
        cursor.call("next", {}).result(f"page {page}: ...")
    found.append(Labelled("the same call, the next page", cursor))

    dates = OpenAI().user("How much did we sell each day?")
    for day in range(1, 6):
        dates.call("sales", {"from": f"2026-01-0{day}", "to": f"2026-01-0{day + 1}"}).result("0")
    found.append(Labelled("day after day", dates))

    hours = OpenAI().user("When was it down?")
    for hour in range(4):
        hours.call("outages", {"since": f"2026-01-01T0{hour}:00:00Z"}).result("[]")
    found.append(Labelled("hour after hour", hours))

    edit = Claude().user("Fix the tests.")
    for number in range(4):
        edit.call("Edit", {"file_path": "/a.py", "old_string": f"x = {number}", "new_string": f"x = {number + 1}"})
        edit.result("The file /a.py has been updated.")
        edit.call("Bash", {"command": "pytest -q"}).result("1 failed in 0.12s", is_error=True)
    found.append(Labelled("edit and test", edit))

    spoken = Claude().user("Run it.")
    for text in ("Now with the other flag.", "No, the first one.", "Once more please."):
        spoken.call("Bash", {"command": "./run"}).result("Error: 1", reminder=text)
    found.append(Labelled("a human speaks beside the results", spoken))

    thinking = OpenAI().user("Plan the trip.")
    for thought in ("First the flights.", "Then the hotel.", "At last the car."):
        thinking.call("think", {"thought": thought}).result("Your thought has been logged.")
    found.append(Labelled("a tool to think with", thinking))

    reads = Items().user("Read the modules.")
    for name in ("app", "web", "cli", "db"):
        reads.call("read", {"path": f"{name}/__init__.py"}).result("")
    found.append(Labelled("empty files", reads))

    dice = Native().user("Roll until you have a six.")
    for number in (3, 5, 1, 2):
        dice.call("roll", {}).result(str(number))
    found.append(Labelled("dice", dice))

    alternating = OpenAI().user("Watch both jobs.")
    for _ in range(4):
        alternating.call("job", {"id": 1}).result("running").call("job", {"id": 2}).result("waiting for job 1")
    found.append(Labelled("two jobs in turn", alternating))

    inbox = OpenAI().user("Tell me when she writes.")
    for _ in range(5):
        inbox.call("inbox", {}).result("No new messages.")
    found.append(Labelled("an empty inbox", inbox))

    logs = OpenAI().user("Watch the log.")
    for second in (1, 11, 21, 31):
        logs.call("tail", {"lines": 1}).result(f"2026-01-01 10:00:{second} GET /health 200")
    found.append(Labelled("a log that goes on", logs))

    clock = OpenAI().user("Tell me when it is noon.")
    for minute in (56, 57, 58, 59):
        clock.call("now", {}).result(f"11:{minute}")
    found.append(Labelled("the clock", clock))

    interleaved = OpenAI().user("Refactor it.")
    for name in ("a", "b", "c", "d"):
        interleaved.call("edit", {"file": name}).result("ok").call("lint", {}).result("no errors")
    found.append(Labelled("lint after each edit", interleaved))

    two = OpenAI().user("Try it.")
    for index in range(5):
        two.call("open", {"file": f"{index % 2}.py"}).result(f"contents {index % 2}")
    found.append(Labelled("a cycle not yet three times round", two))

    autogpt = Chat(system="You are AutoGPT.").user("Determine exactly one command to use, and respond using JSON:")
    for percent in (10, 35, 80):
        autogpt.model('{"thoughts": {"text": "Look."}, "command": {"name": "job", "args": {"id": 3}}}')
        autogpt.notice(f"Command job returned: {percent} of 100 pages printed")
        autogpt.user("Determine exactly one command to use, and respond using JSON:")
    found.append(Labelled("AutoGPT, whose results the system tells", autogpt))

    asked = OpenAI().user("Help me.")
    for answer in ("Blue.", "Large.", "Tomorrow."):
        asked.call("ask_user", {"question": "Which one do you want?"}).result(answer)
    found.append(Labelled("the same question to the human, other answers", asked))
    return found


# --- ReAct ---


def react_text() -> list[Labelled]:
    found = []

    same = Chat().user("Who was the first king of Norway?")
    for thought in ("I should look it up.", "Maybe I should search for it.", "The search may work now."):
        same.model(react(thought, "search", "first king of Norway")).user(
            "Observation: search is not a valid tool, try another one."
        )
    found.append(Labelled("thoughts before the same action", same, "same", 3))

    spaced = Chat().user("Who?")
    for given in (
        '{"query": "Norway", "lang": "en"}',
        '{"lang":"en","query":"Norway"}',
        '{ "query" : "norway", "lang" : "en" }',
    ):
        spaced.model(react("Search.", "Search", given)).user("Observation: []")
    found.append(Labelled("action input as JSON", spaced, "same", 3))

    cycle = Chat().user("Who?")
    for _ in range(3):
        cycle.model(react("Search.", "search", "Norway")).user("Observation: See Harald.")
        cycle.model(react("Harald then.", "search", "Harald")).user("Observation: See Norway.")
    found.append(Labelled("from one to the other and back", cycle, "cycle", 3))

    pad = Scratchpad(question="Who was the first king of Norway?")
    for thought in ("Look it up.", "Let me search.", "Search again."):
        pad.step(thought, "search", "first king of Norway", "No good results were found")
    found.append(Labelled("in one scratchpad", pad, "same", 3))

    invalid = Chat().user("What is 2 + 2?")
    for _ in range(3):
        invalid.model("I think the answer is four.").user(
            "Observation: Invalid Format: Missing 'Action:' after 'Thought:'"
        )
    found.append(Labelled("no action at all", invalid, "same", 3))

    structured = Chat().user("What is 2 + 2?")
    for thought in ("Compute.", "I have to compute it.", "So: compute."):
        blob = json.dumps({"action": "calculator", "action_input": {"expression": "2 + 2"}}, indent=2)
        structured.model(f"Thought: {thought}\nAction:\n```\n{blob}\n```").user(
            "Observation: ToolException: no calculator"
        )
    found.append(Labelled("structured chat", structured, "same", 3))

    original = Chat().user("Where was she born?")
    for number in range(1, 5):
        original.model(
            f"Thought {number}: I need to search Ada.\nAction {number}: Search[Ada Lovelace]".replace(
                f" {number}:", ":"
            )
        )
        original.user("Observation: Could not find Ada Lovelace.")
    found.append(Labelled("with the argument in brackets", original, "same", 4))
    return found


def react_fine() -> list[Labelled]:
    found = []

    other = Chat().user("Who?")
    for given in ("king of Norway", "first king of Norway", "Norway kings list", "Harald Fairhair"):
        other.model(react("I should look it up.", "search", given)).user("Observation: No good results were found")
    found.append(Labelled("other words each time", other))

    pad = Scratchpad(question="How tall are they?")
    for name in ("Anna", "Ben", "Cleo", "Dora"):
        pad.step("The next one.", "height", name, "unknown")
    found.append(Labelled("a scratchpad that goes on", pad))

    results = Scratchpad(question="Is it done?")
    for number in (1, 2, 3):
        results.step("Ask again.", "status", "job", f"{number} of 9 parts done")
    found.append(Labelled("a scratchpad that polls", results))

    answered = Chat()
    for question in ("Who was first?", "Who was second?", "Who was third?", "Who was last?"):
        answered.user(question).model("Thought: I know that.\nFinal Answer: Harald")
    found.append(Labelled("the same final answer", answered.user("Thanks!")))

    human = Chat().user("Who?")
    for text in ("no", "try again", "nope"):
        human.model(react("Search.", "ask_human", "Which Harald?")).user(text)
    found.append(Labelled("an action that asks the human", human))
    return found


# --- plain texts ---


def texts() -> list[Labelled]:
    found = []

    monologue = Chat().user("Fix the failing test in app.py.")
    for _ in range(3):
        monologue.model("I have fixed the test. The task is complete.").user(CONTINUE)
    found.append(Labelled("a monologue", monologue, "same", 3))

    near = Chat().user("Fix the failing test in app.py.")
    for text in (
        "I have fixed the failing test in app.py. All tests should pass now. Is there anything else you would "
        "like me to do?",
        "I've now fixed the failing test in app.py. All tests should pass. Is there anything else you'd like me to do?",
        "I have fixed the failing test in app.py, so all tests should pass now. Would you like me to do anything else?",
        "I have fixed the failing test in app.py. Now all the tests should pass. Is there anything else that you "
        "would like me to do?",
    ):
        near.model(text).user(CONTINUE)
    found.append(Labelled("a monologue in other words", near, "near", 4))

    times = Chat().user("Watch the door and report what happens.")
    for minute in (1, 2, 3):
        times.model(f"[10:0{minute}] Nothing has happened.").user(
            "Report again as soon as something has happened at the door."
        )
    found.append(Labelled("only the time differs", times, "same", 3))

    no_tool = Chat().user("Create the component.")
    for before in (
        "The component has been created.",
        "The component has now been created.",
        "The component has been created!",
    ):
        no_tool.model(before).user(NO_TOOL)
    found.append(Labelled("no tool used", no_tool, "near", 3))

    alone = Chat().user("Go on.")
    for _ in range(4):
        alone.model("I will now start with the first step.")
    found.append(Labelled("messages in a row", alone, "same", 4))

    complaint = (
        Chat()
        .user("Write a poem.")
        .model("Roses are red.")
        .notice("You have sent the same message again. You have to do something else!")
    )
    found.append(Labelled("a notice of the system", complaint, "complaint", 3))

    scores = Chat().user("Improve the text until the judge is content: The cat sat.")
    for _ in range(4):
        scores.model("The cat sat upon the mat.").user(
            "The judge gives it a 4. It is not content yet. Improve the text further."
        )
    found.append(Labelled("a judge that repeats itself as well", scores, "same", 4))

    think = Chat().user("Solve it.")
    for thought in ("Hmm.", "Let me think about this anew.", "What else could it be?"):
        think.model(f"<think>\n{thought}\n</think>\nThe answer is 4.").user(
            "Your answer has to be in the format \\boxed{...}. Please answer again in this format."
        )
    found.append(Labelled("hidden thoughts differ", think, "same", 3))

    talk = Chat(system="You are Bob. You talk with Alice.").user("Alice: Shall we begin?")
    for _ in range(3):
        talk.model("Goodbye, Alice! It was a pleasure to talk to you.").user(
            "Goodbye, Bob! It was a pleasure to talk to you, too!"
        )
        talk.model("Take care!").user("Take care as well, Bob, and have a wonderful day out there!")
    found.append(Labelled("two models that say goodbye", talk, "cycle", 3))
    return found


def texts_fine() -> list[Labelled]:
    found = []

    ignorance = Chat()
    for question in ("Who is Kvasir?", "Where is Fjalar?", "When was Galar born?", "What is Boden?"):
        ignorance.user(question).model("I am sorry, I do not know.")
    found.append(Labelled("does not know anything", ignorance.user("You know nothing.")))

    again = Chat().user("Tell me a joke.")
    for _ in range(4):
        again.model("Why did the chicken cross the road?").user("another one")
    found.append(Labelled("the same joke, asked for each time", again))

    retried = Chat()
    for _ in range(4):
        retried.user("Check the state of the four servers and report any problem you find.").model(
            "All four servers are fine."
        )
    retried.user("Check the state of the four servers and report any problem you find.")
    found.append(Labelled("the same request, sent each hour", retried))

    daily = Chat().user("Hello")
    for _ in range(4):
        daily.model("Yes.").user("Is the door at the back of the building still closed today?")
    found.append(Labelled("the same question each day", daily))

    steps = Chat().user("Do all ten items of the list, one by one.")
    for number in range(1, 6):
        steps.model(f"I have done item {number} of 10 and go on with the next one.").user(CONTINUE)
    found.append(Labelled("item after item", steps))

    words = Chat().user("Do all items of the list, one by one.")
    for ordinal in ("first", "second", "third", "fourth"):
        words.model(f"The {ordinal} item on the list has been done, everything went well, and I go on now.").user(
            CONTINUE
        )
    found.append(Labelled("item after item in words", words))

    files = Chat().user("Create the files.")
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        files.model(f"Created file {name} with the content that you have asked me for, as you wanted it.").user(
            CONTINUE
        )
    found.append(Labelled("file after file", files))

    people = Chat().user("Write to all of them.")
    for name in ("Alice", "Bernard", "Chandra", "Dimitri"):
        people.model(f"I have written the invitation for the party and sent it to {name} by mail this morning.").user(
            CONTINUE
        )
    found.append(Labelled("one after the other", people))

    chapters = Chat().user("Write a book on fruit, chapter by chapter.")
    for fruit in ("apples", "pears", "plums", "cherries"):
        chapters.model(
            f"This chapter is about {fruit}. Everybody likes {fruit}: they are round, they are sweet, and they grow "
            "on trees. "
            f"In summer the {fruit} are ripe, and then we pick them, eat some at once, and make jam of all the others."
        ).user(CONTINUE)
    found.append(Labelled("chapter after chapter of the same kind", chapters))

    classified = Chat(system="Say positive or negative.")
    for text in ("Good film.", "I liked it.", "Great music!", "What a cast!"):
        classified.user(text).model("positive")
    found.append(Labelled("classified", classified.user("Fine work.")))

    extracted = Chat(system="Extract the name as JSON.")
    for _ in range(4):
        extracted.user("The invoice came from a company in Graz, but its name is illegible.").model(
            '{"name": null, "input": "none"}'
        )
    found.append(Labelled("extracted", extracted.user("The invoice came from Ada Ltd.")))

    code = Chat().user("How do I list files?")
    for _ in range(3):
        code.model("Use this:\n\n```bash\nls -la\n```").user("that does not work")
    found.append(Labelled("the same code, a human who is not content", code))

    table = Chat().user("Make a table.").model("| a | b |\n|---|---|\n" + "| 0 | 0 |\n" * 50).user("More rows.")
    table.model("| a | b |\n|---|---|\n" + "| 0 | 0 |\n" * 80).user("More rows.")
    found.append(Labelled("tables", table))

    found.append(Labelled("one message", Chat().user("Hello, who are you?")))
    found.append(Labelled("an answer begun for the model", Chat().user("Give me JSON.").model("{")))

    pushed = Chat().user("Is it raining?").model("Yes.").user("Sure?").model("Yes.").user("Really?").model("Yes.")
    found.append(Labelled("asked for certainty", pushed.user("Are you really, truly, absolutely certain?")))
    return found


# --- coding agents that write their actions as text ---


def coding() -> list[Labelled]:
    found = []

    xml = Chat().user("<task>\nMake the build pass.\n</task>")
    for minute, before in enumerate(("Read the file first.", "I should read it.", "Let me read app.ts.")):
        xml.model(cline("read_file", before, path="src/app.ts"))
        xml.user(
            "[read_file for 'src/app.ts'] Result:\nError: ENOENT, no such file" + environment(minute, f"0.{minute}1")
        )
    found.append(Labelled("Cline, the surroundings differ", xml, "same", 3))

    swe = Chat().user("Here is the issue: the parser fails.")
    for thought in ("Let's look at the parser.", "We should open it.", "I open the file now."):
        swe.model(f"THOUGHT: {thought}\n\n```bash\ncat src/parser.py\n```")
        swe.user("<returncode>1</returncode>\n<output>\ncat: src/parser.py: No such file or directory\n</output>")
    found.append(Labelled("mini-swe-agent", swe, "same", 3))

    hands = Chat().user("Fix it.")
    for before in ("Let me run the tests.", "Running the tests now.", "I'll run the tests."):
        hands.model(f"{before}\n<function=execute_bash>\n<parameter=command>pytest</parameter>\n</function>")
        hands.user(
            "EXECUTION RESULT of [execute_bash]:\nERROR: no tests ran in 0.01s\n[Command finished with exit code 5]"
        )
    found.append(Labelled("OpenHands without native calls", hands, "same", 3))

    toggle = Chat().user("Fix it.")
    for _ in range(3):
        for old, new in (("True", "False"), ("False", "True")):
            toggle.model(cline("replace_in_file", "Change it.", path="a.py", diff=f"-{old}\n+{new}"))
            toggle.user("[replace_in_file for 'a.py'] Result:\nThe content was successfully saved.")
            toggle.model(cline("execute_command", "Test it.", command="pytest"))
            toggle.user("[execute_command for 'pytest'] Result:\n1 failed")
    found.append(Labelled("there and back again", toggle, "cycle", 3))

    aider = Chat().user("Rename the function.")
    for _ in range(3):
        aider.model("app.py\n<<<<<<< SEARCH\ndef foo():\n=======\ndef bar():\n>>>>>>> REPLACE")
        aider.user(
            "# 1 SEARCH/REPLACE block failed to match!\n\nThe SEARCH section must exactly match an existing block of "
            "lines."
        )
    found.append(Labelled("a block that does not match", aider, "same", 3))

    smol = Chat().user("What is the population?")
    for thought in ("I search.", "Again, with care.", "I shall call the tool."):
        smol.model(f"Thought: {thought}\nCode:\n```py\nprint(search('population'))\n```<end_code>")
        smol.user("Observation:\nError: forbidden function 'search'")
    found.append(Labelled("code as an action", smol, "same", 3))
    return found


def coding_fine() -> list[Labelled]:
    found = []

    reading = Chat().user("<task>\nMake the build pass.\n</task>")
    for minute, name in enumerate(("app", "web", "cli")):
        reading.model(cline("read_file", "Read it.", path=f"src/{name}.ts"))
        reading.user(
            f"[read_file for 'src/{name}.ts'] Result:\nError: ENOENT, no such file" + environment(minute, "0.1")
        )
    found.append(Labelled("Cline reads file after file", reading))

    server = Chat().user("Start it.")
    for seconds in (5, 10, 15):
        server.model(cline("execute_command", "Look.", command="curl -s localhost:3000/health"))
        server.user(f"[execute_command for 'curl'] Result:\nuptime {seconds}s, 0 errors")
    found.append(Labelled("the state of a server", server))

    build = Chat().user("Fix the compile errors.")
    for errors in (5, 4, 2, 1):
        build.model("THOUGHT: compile.\n\n```bash\nmake\n```").user(
            f"<returncode>2</returncode>\n<output>\n{errors} errors\n</output>"
        )
    found.append(Labelled("fewer errors each time", build))

    bisect = Chat().user("Find the bad commit.")
    for commit in ("1a2b3c4d5e6f", "2b3c4d5e6f70", "3c4d5e6f7081"):
        bisect.model("THOUGHT: next.\n\n```bash\ngit bisect good\n```")
        bisect.user(f"<returncode>0</returncode>\n<output>\nBisecting: [{commit}] left to test\n</output>")
    found.append(Labelled("bisecting", bisect))

    questions = Chat().user("<task>\nBuild a site.\n</task>")
    for answer in ("blue", "yes", "no"):
        questions.model(cline("ask_followup_question", "Ask.", question="What do you want next?")).user(answer)
    found.append(Labelled("the same question of Cline's", questions))

    done = Chat().user("<task>\nBuild a site.\n</task>")
    for text in ("Make it blue.", "Make it green.", "Make it red."):
        done.model(cline("attempt_completion", "Done.", result="The site is ready.")).user(
            f"<feedback>\n{text}\n</feedback>"
        )
    found.append(Labelled("completed again and again, with feedback", done))
    return found
