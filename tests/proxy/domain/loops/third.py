"""A third set of conversations with what they are, written after the second had been learned from."""

import json

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
from tests.proxy.domain.loops.labelled import Labelled


def labelled() -> list[Labelled]:
    return [*loops(), *others()]


def loops() -> list[Labelled]:
    found = []

    server = AgentZero().user("Start the development server.")
    for _ in range(3):
        server.run("npm run dev", "I start it.").result("sh: 1: next: not found")
    found.append(Labelled("a server that is not installed", server, "same", 3))

    written = OpenAI().user("Write hello.py.")
    for _ in range(4):
        written.call("write_file", {"path": "hello.py", "content": "print('hello')\n"}).result(
            "File written successfully: hello.py"
        )
    found.append(Labelled("written four times", written, "same", 4))

    memory = AgentZero().user("Remember that the meeting is on Monday.")
    for number in range(3):
        memory.call("memory_save", {"text": "The meeting is on Monday."}, f"Save it ({number}).").result(
            "Memory saved.", "memory_save"
        )
    found.append(Labelled("remembered three times", memory, "same", 3))

    subordinate = AgentZero().user("Write a sorting program.")
    for _ in range(3):
        subordinate.call(
            "call_subordinate", {"message": "Write a sorting program.", "reset": "true"}, "A coder should do it."
        )
        subordinate.result("I am an AI and can not do that.", "call_subordinate")
    found.append(Labelled("the same order to a subordinate", subordinate, "same", 3))

    mixed = AgentZero().user("List the users.")
    mixed.run("cat /etc/passwd").result("cat: /etc/passwd: Permission denied")
    mixed.run("cat  /etc/passwd", "Again.").result("cat: /etc/passwd: Permission denied")
    mixed.run("cat /etc/passwd", "And again.").same_again()
    found.append(Labelled("two results and a complaint", mixed, "complaint", 3))

    five = Items().user("Set it up.")
    steps = ["pwd", "ls", "cat README.md", "make install", "make check"]
    for _ in range(3):
        for step in steps:
            five.call("shell", {"command": ["bash", "-lc", step]}).result(
                f"Exit code: 2\nWall time: 0.{len(step)} seconds\nOutput:\n{step}: nothing to do"
            )
    found.append(Labelled("five commands round and round", five, "cycle", 3))

    stamped = OpenAI().user("Charge the card.")
    for key in (
        "a1b2c3d4-0000-4000-8000-00000000000a",
        "a1b2c3d4-0000-4000-8000-00000000000b",
        "a1b2c3d4-0000-4000-8000-00000000000c",
    ):
        stamped.call("charge", {"amount": 10, "idempotency_key": key}).result(
            json.dumps({"error": {"code": "card_declined", "request_id": f"req_{key[-12:]}"}})
        )
    found.append(Labelled("a card that is declined", stamped, "same", 3))

    trace = Claude().user("Run the script.")
    for line in ("2026-01-05 10:00:01,123", "2026-01-05 10:00:09,441", "2026-01-05 10:01:12,001"):
        trace.call("Bash", {"command": "python run.py"}, "Let me run it.")
        trace.result(
            f"{line} INFO starting\n{line} ERROR boom at 0x7f3a{line[-3:]}0a10\nTraceback (most recent call last):\n  "
            'File "run.py", line 3\nRuntimeError: boom',
            is_error=True,
        )
    found.append(Labelled("a traceback with times and addresses", trace, "same", 3))

    thanks = Chat().user("Work through the backlog.")
    for text in (
        "All of the tasks in the backlog have been completed. I am ready for new instructions.",
        "All tasks in the backlog have been completed. I'm ready for new instructions!",
        "All of the backlog tasks have now been completed, and I am ready for your new instructions.",
    ):
        thanks.model(text).user(
            "[SYSTEM] No tool call was found in your reply. Every reply has to contain one tool call."
        )
    found.append(Labelled("ready for instructions", thanks, "near", 3))

    waiting = Chat().user("Refactor the module.")
    for text in ("I will start now.", "I will start now!", "I'll start now."):
        waiting.model(text).user(NO_TOOL)
    found.append(Labelled("will start now", waiting, "near", 3))

    longer = Chat().user("Explain why the build is red.")
    body = (
        "The build is red because the linker cannot find the library. To put this right, install the development "
        "package of "
        "the library, run the configure script once more, and start the build anew. If it is still red after "
        "that, look into "
        "the log of the configure script for the line that names the library, and send me that line."
    )
    for opening in ("", "Certainly! ", "Of course. "):
        longer.model(opening + body).user(
            "This answer was rejected by the reviewer. Improve your answer and send the improved one."
        )
    found.append(Labelled("an answer that a reviewer rejects", longer, "near", 3))

    react_plain = Chat().user("How old is she?")
    for thought in ("I need her age.", "Her age is needed.", "So how old is she?"):
        react_plain.model(f"**Thought:** {thought}\n**Action:** lookup\n**Action Input:** age").user(
            "Observation: lookup failed"
        )
    found.append(Labelled("ReAct in bold", react_plain, "same", 3))

    made_up = Chat().user("How tall is it?")
    for height in (300, 310, 320):
        made_up.model(
            react("Search.", "search", "height of the tower")
            + f"\nObservation: {height} m\nThought: Done.\nFinal Answer: {height} m"
        )
        made_up.user("Observation: Could not parse the answer: it has both an action and a final answer.")
    found.append(Labelled("made-up observations", made_up, "same", 3))

    llama = Native().user("What's the time in Tokyo?")
    for _ in range(3):
        llama.model('{"name": "get_time", "parameters": {"city": "Tokyo"}}').user('{"error": "no such tool: get_time"}')
    found.append(Labelled("Llama's JSON", llama, "same", 3))

    mistral = Chat().user("What's the time in Tokyo?")
    for _ in range(3):
        mistral.model('[TOOL_CALLS] [{"name": "get_time", "arguments": {"city": "Tokyo"}}]').user("unknown tool")
    found.append(Labelled("Mistral's calls", mistral, "same", 3))

    swap = Claude().user("Make it pass.")
    for _ in range(4):
        swap.call("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}).result("ok")
        swap.call("Edit", {"file_path": "a.py", "old_string": "x = 2", "new_string": "x = 1"}).result("ok")
    found.append(Labelled("x is 1, x is 2", swap, "cycle", 4))

    done = OpenAI().user("Book the flight.")
    done.call("search", {"to": "Oslo"}).result("2 flights")
    for _ in range(3):
        done.call("book", {"flight": "SK1", "seat": None}).result('{"ok": false, "reason": "payment required"}')
    found.append(Labelled("payment required", done, "same", 3))

    litellm = AgentZero().user("What is the weather?")
    for number in range(3):
        calls = [
            {
                "id": f"call_{number:08x}-aaaa-4bbb-8ccc-ddddeeeeffff",
                "type": "function",
                "function": {"name": "weather", "arguments": {"city": "Graz"}},
            }
        ]
        litellm.reply("Tool Calls: " + json.dumps(calls, indent=2))._add("User", "service unavailable")
    found.append(Labelled("calls as LiteLLM flattens them", litellm, "same", 3))

    scratch = Scratchpad(question="Is it open?")
    for thought in ("Is it?", "Let me see.", "Look again.", "Look at it."):
        scratch.step(thought, "hours", "museum", "Error: hours() missing 1 required positional argument: 'day'")
    found.append(Labelled("a missing argument", scratch, "same", 4))

    roo = Chat().user("<task>Rename it</task>")
    for minute in range(3):
        roo.model(
            cline("apply_diff", "I rename it.", path="a.ts", diff="<<<<<<< SEARCH\nfoo\n=======\nbar\n>>>>>>> REPLACE")
        )
        roo.user(
            "[apply_diff for 'a.ts'] Result:\n<error_details>\nNo sufficiently similar match found (93% similar, "
            "needs 100%)\n</error_details>" + environment(minute, "0.1")
        )
    found.append(Labelled("a diff that does not apply", roo, "same", 3))

    silent = Native().user("Hello?")
    for _ in range(3):
        silent.model("").user("[no output was received from the model, please answer the user]")
    found.append(Labelled("silence", silent, "same", 3))
    return found


def others() -> list[Labelled]:
    found = []

    page = OpenAI().user("Read the book.")
    for _ in range(5):
        page.call("next_page", {}).result("ok")
    found.append(Labelled("turns the pages", page))

    tests = OpenAI().user("Fix all tests.")
    for failed in (9, 7, 4, 2):
        tests.call("pytest", {}).result(f"{failed} failed, {20 - failed} passed in 1.2s")
    found.append(Labelled("fewer and fewer failures", tests))

    users = OpenAI().user("Disable the accounts of Ada, Bob and Cy.")
    for name in ("ada", "bob", "cy"):
        users.call("disable", {"user": name}).result("Error: permission denied")
    found.append(Labelled("account after account, all denied", users))

    retried = OpenAI().user("Get the page.")
    retried.call("get", {"url": "/a"}).result("Error: timeout").call("get", {"url": "/a"}).result("Error: timeout")
    retried.call("get", {"url": "/b"}).result("Error: timeout").call("get", {"url": "/a"}).result("Error: timeout")
    found.append(Labelled("two and one", retried))

    human = Claude().user("Run the tests.")
    for text in ("again please", "again", "once more"):
        human.call("Bash", {"command": "pytest"}).result("1 failed").model("One test fails.").user(text)
    found.append(Labelled("told to run them again", human))

    approval = AgentZero().user("Delete it.")
    for answer in ("no", "not yet", "wait"):
        approval.call("response", {"text": "May I delete it?"}).user(answer)
    found.append(Labelled("asks for leave", approval))

    weather = Chat()
    for city in ("Graz", "Linz", "Wels", "Enns"):
        weather.user(f"Will it rain in {city} tomorrow, and if so, how much?").model("Yes, a little.")
    found.append(Labelled("rain everywhere", weather.user("Thank you.")))

    queue = OpenAI().user("Work on the queue.")
    for number in range(4):
        queue.call("take", {}).result(f"job {number}: resize image").call("done", {"job": number}).result("ok")
    found.append(Labelled("take a job, do the job", queue))

    train = Native().user("Train the model.")
    for loss in ("0.91", "0.70", "0.55"):
        train.call("train", {"epochs": 1}).result(f"loss {loss}")
    found.append(Labelled("epoch after epoch", train))

    sensors = Native().user("Watch the temperature.")
    for second in range(4):
        sensors.call("temperature", {}).result(f'{{"celsius": 21.{second}, "errors": 0}}')
    found.append(Labelled("a temperature", sensors))

    deploy = Items().user("Deploy and wait.")
    for _ in range(6):
        deploy.call("shell", {"command": ["kubectl", "rollout", "status"]}).result(
            "Waiting for deployment rollout to finish: 1 of 3 updated replicas are available..."
        )
    found.append(Labelled("a rollout", deploy))

    translate = Chat(system="You translate.")
    for _ in range(3):
        translate.user("Guten Morgen").model("Good morning")
    found.append(Labelled("the same word three times", translate.user("Guten Morgen")))

    json_only = Chat(system="Answer in JSON.")
    for text in ("I love it", "Best ever", "So good", "Wow"):
        json_only.user(text).model('{"sentiment": "positive", "score": 1}')
    found.append(Labelled("sentiment as JSON", json_only.user("Nice")))

    paint = OpenAI().user("Draw a row of squares.")
    for column in range(6):
        paint.call("square", {"x": column, "y": 0}).result("drawn")
    found.append(Labelled("square after square", paint))

    moves = OpenAI().user("Walk to the door.")
    for _ in range(5):
        moves.call("move", {"direction": "north"}).result("You move north.")
    found.append(Labelled("north, north, north", moves))

    sections = Chat().user("Document each module.")
    for name in ("auth", "billing", "search", "mail"):
        sections.model(
            f"I have documented the module `{name}`: its functions, its settings, and how to test it. I go on with "
            "the next one."
        ).user(CONTINUE)
    found.append(Labelled("module after module", sections))

    plain = Chat().user("Write the pages for login, profile and checkout, with tests, docs and styles for each.")
    for name in ("login", "profile", "checkout"):
        plain.model(
            f"The {name} page is finished: markup, styles, validation, tests and docs are written, the linter is "
            "happy, the build is "
            "green, and the changes are committed to the branch with a clear message. Now I move on to what comes "
            "after that."
        ).user(CONTINUE)
    found.append(Labelled("page after page, in the same words", plain))

    hermes = Chat().user("Look both up.")
    for name in ("Ada", "Bob"):
        for page_number in (1, 2):
            hermes.model(tagged("lookup", {"name": name, "page": page_number})).user(
                "<tool_response>\n[]\n</tool_response>"
            )
    found.append(Labelled("two names, two pages", hermes))

    debate = Chat().user("Debate: cats or dogs?")
    for text in ("Cats are quiet.", "Cats are clean.", "Cats are small."):
        debate.model("I still think that dogs are better.").user(
            f"But consider this argument of the other side: {text}"
        )
    found.append(Labelled("a debate", debate))

    interrupted = AgentZero().user("Find it.")
    for _ in range(2):
        interrupted.run("find / -name it").result("find: permission denied")
    interrupted._envelope(user_intervention="Look in /home only.").run("find / -name it").result(
        "find: permission denied"
    )
    found.append(Labelled("an intervention", interrupted))

    ids = (
        OpenAI()
        .user("Get the tickets.")
        .call("tickets", {})
        .result('[{"id": "tick_9f8e7d6c5b4a"}, {"id": "tick_1a2b3c4d5e6f"}, {"id": "tick_0f1e2d3c4b5a"}]')
    )
    for identity in ("tick_9f8e7d6c5b4a", "tick_1a2b3c4d5e6f", "tick_0f1e2d3c4b5a"):
        ids.call("ticket", {"id": identity}).result('{"error": "forbidden"}')
    found.append(Labelled("ticket after ticket", ids))
    return found
