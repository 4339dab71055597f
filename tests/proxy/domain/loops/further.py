"""Further conversations with what they are, written after the rules and before they were tried."""

import json

from tests.proxy.domain.loops.agents import (
    CONTINUE,
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

    autogpt = Chat(system="You are AutoGPT. Answer in JSON.")
    trigger = "Determine exactly one command to use, and respond using the JSON schema specified previously:"
    autogpt.user(trigger)
    for thought in ("I need the page.", "The page is needed.", "Get the page."):
        said = {
            "thoughts": {
                "text": thought,
                "reasoning": thought,
                "plan": "- get page",
                "criticism": "none",
                "speak": thought,
            },
            "command": {"name": "browse_website", "args": {"url": "https://example.com", "question": "Who?"}},
        }
        autogpt.model(json.dumps(said)).notice(
            "Command browse_website returned: Error: net::ERR_NAME_NOT_RESOLVED"
        ).user(trigger)
    found.append(Labelled("AutoGPT", autogpt, "same", 3))

    browser = OpenAI().user("Buy the book.")
    for goal in ("Click the button.", "The button has to be clicked.", "Try to click once more."):
        state = {"evaluation_previous_goal": "Failed", "memory": f"Step: {goal}", "next_goal": goal}
        browser.call("AgentOutput", {"current_state": state, "action": [{"click_element": {"index": 7}}]})
        browser.result("Error executing action click_element: Element 7 does not exist")
    found.append(Labelled("browser-use", browser, "same", 3))

    slack = AgentZero().user("Tell the team.")
    for stamp in ("1767571201", "1767571207", "1767571219"):
        slack.call("slack_post", {"channel": "#team", "text": "Hello", "timestamp": stamp}, "I post it.")
        slack.result(f"Request failed: channel_not_found (ts {stamp})", "slack_post")
    found.append(Labelled("a stamp among the arguments", slack, "same", 3))

    memory = AgentZero().user("What did I say about Dobby?")
    for query in ("Dobby", "dobby", " Dobby "):
        memory.call("memory_load", {"query": query, "threshold": 0.7, "limit": 5}, "Look it up.")
        memory.result("No memories found for specified query", "memory_load")
    found.append(Labelled("case and space of a query", memory, "same", 3))

    sub = AgentZero().user("You are a researcher. Find the paper.")
    for number in range(3):
        sub.call("search_engine", {"query": "attention is all you need pdf"}, f"Attempt {number}").result(
            "Search Engine error: 502", "search_engine"
        )
        sub.call("document_query", {"document": "paper.pdf", "query": "abstract"}).result(
            "Document not found", "document_query"
        )
        sub.run("ls /root/*.pdf").result("ls: cannot access '/root/*.pdf': No such file or directory")
        sub.call("knowledge_tool", {"question": "attention paper"}).result("Nothing relevant.", "knowledge_tool")
    found.append(Labelled("four tools in turn", sub, "cycle", 3))

    last = (
        AgentZero()
        .user("Write the report.")
        .run("ls")
        .result("a.txt")
        .run("ls")
        .result("a.txt")
        .run("ls")
        .result("a.txt")
    )
    last.extras = {"memories": {"m": "the user_message was short"}, "current_datetime": "2026-01-05 10:00:00"}
    found.append(Labelled("ls for ever", last, "same", 3))

    git = Claude().user("Commit it.")
    for text in ("I'll commit this.", "Let me commit.", "Committing."):
        git.call("Bash", {"command": 'git commit -m "Fix"', "description": text}, text)
        git.result("On branch main\nnothing to commit, working tree clean")
    found.append(Labelled("nothing to commit", git, "same", 3))

    todo = Claude().user("Do the work.")
    for _ in range(4):
        todo.call("TodoWrite", {"todos": [{"content": "Do the work", "status": "in_progress"}]})
        todo.result("Todos have been modified successfully.")
    found.append(Labelled("the same list of todos", todo, "same", 4))

    pairs = Claude().user("Find the class.")
    for _ in range(3):
        pairs.call("Grep", {"pattern": "class Foo"}).result("No matches found")
        pairs.call("Glob", {"pattern": "**/foo.py"}).result("No files found")
    found.append(Labelled("grep and glob", pairs, "cycle", 3))

    codex = Items().user("Run the tests.")
    for chunk in ("a1b2c3", "d4e5f6", "071829"):
        codex.call("exec_command", {"cmd": "pytest", "yield_time_ms": 1000})
        codex.result(
            f"Chunk ID: {chunk}\nWall time: 0.2{chunk[1]} seconds\nProcess exited with code 1\nOutput:\nERROR: not "
            "found: tests"
        )
    found.append(Labelled("Codex with chunk ids", codex, "same", 3))

    apologies = Chat().user("Answer with valid JSON only.")
    for text in (
        "I apologize for the confusion. Here is the answer you asked for: the capital is Vienna.",
        "I apologize for the confusion! Here is the answer that you asked for: the capital is Vienna.",
        "Apologies for the confusion. Here's the answer you asked for: The capital is Vienna.",
    ):
        apologies.model(text).user("Your answer is not valid JSON. Respond with one JSON object and with nothing else.")
    found.append(Labelled("apologies", apologies, "near", 3))

    langgraph = OpenAI().user("Book a table.")
    for identity in (
        "8f14e45f-ceea-467f-a0e6-1c2d3e4f5a6b",
        "c9f0f895-fb98-4b91-8b6a-5d6e7f8a9b0c",
        "45c48cce-2e2d-4fbd-b1a3-0a1b2c3d4e5f",
    ):
        langgraph.call("book", {"restaurant": "Steirereck", "people": 2, "booking_id": identity})
        langgraph.result(f"ValidationError: booking {identity} rejected: date missing")
    found.append(Labelled("a made-up id in each call", langgraph, "same", 3))

    nothing = Native().user("Switch the light on.")
    for _ in range(3):
        nothing.call("switch", {"light": "kitchen", "on": True}).result("")
    found.append(Labelled("a tool that says nothing", nothing, "same", 3))

    qwen = Native().user("What's in the box?")
    for _ in range(3):
        qwen.model(tagged("open", {"what": "box"}, "<think>\nOpen it.\n</think>")).user(
            "<tool_response>\nThe box is locked.\n</tool_response>"
        )
    found.append(Labelled("Qwen's tags", qwen, "same", 3))

    pad = Scratchpad(question="What is the height of the tower?")
    for _ in range(3):
        pad.step("I need the height.", "search", "tower height", "There are many towers.")
        pad.step("Which tower?", "lookup", "tower", "A tall building.")
    found.append(Labelled("a scratchpad in a cycle", pad, "cycle", 3))

    hands = Chat().user("Make it faster.")
    for text in (
        "I've optimized the function by caching its results. This should improve performance significantly.",
        "The function has been optimized by caching its results, which should significantly improve performance.",
        "I have optimized the function by caching its results. This should significantly improve the performance.",
    ):
        hands.model(text).user(CONTINUE)
    found.append(Labelled("optimised again", hands, "near", 3))

    permission = OpenAI().user("Delete the folder.")
    for number in range(7):
        permission.call("rm", {"path": "/srv/old", "force": bool(number % 2)}).result("Operation not permitted")
    found.append(Labelled("with force and without", permission, "cycle", 3))

    roo = Chat().user("<task>Fix</task>")
    for minute in range(4):
        roo.model(cline("search_files", f"Attempt {minute}.", path="src", regex="foo"))
        roo.user("[search_files for 'foo' in 'src'] Result:\nFound 0 results." + environment(minute, "0.02"))
    found.append(Labelled("Roo finds nothing", roo, "same", 4))

    refusals = Chat().user("Open the pod bay doors.")
    for _ in range(3):
        refusals.model("I'm sorry, Dave. I'm afraid I can't do that.").user(
            "Observation: no action was found in your answer."
        )
    found.append(Labelled("refuses to act", refusals, "same", 3))

    vision = OpenAI().user("Click on save.")
    for _ in range(3):
        vision.call("computer", {"action": "left_click", "coordinate": [512, 384]}).result("clicked at (512, 384)")
    found.append(Labelled("clicks on the same spot", vision, "same", 3))

    text_then = OpenAI().user("Go.")
    for number in range(3):
        text_then.call("read", {"path": "a"}, f"Step {number}").result("404 Not Found")
        text_then.model("I could not read it.").user(
            "[system] You must continue until the file is read. Do not stop before."
        )
    found.append(Labelled("a call, then a text, three times", text_then, "cycle", 3))
    return found


def others() -> list[Labelled]:
    found = []

    bump = AgentZero().user("Find a free port.")
    for port in (8000, 8001, 8002, 8003):
        bump.run(f"nc -z localhost {port} && echo used").result("used")
    found.append(Labelled("port after port", bump))

    typed = OpenAI().user("Fill in the form.")
    for key in ("Tab", "Tab", "Tab", "Tab"):
        typed.call("key", {"text": key}).result(f"focus moved to field {len(typed.said)}")
    found.append(Labelled("tab, tab, tab", typed))

    scroll = OpenAI().user("Read the page.")
    for top in (0, 600, 1200, 1800):
        scroll.call("scroll", {"direction": "down", "amount": 5}).result(f"scrolled to {top}")
    found.append(Labelled("scrolling", scroll))

    retries = (
        OpenAI()
        .user("Get it.")
        .call("get", {"url": "http://a"})
        .result("503")
        .call("get", {"url": "http://a"})
        .result("503")
    )
    retries.call("get", {"url": "http://a"}).result("200 OK: hello")
    found.append(Labelled("it works the third time", retries))

    chat = Chat()
    for text in ("hi", "hello", "hey", "hi there"):
        chat.user(text).model("Hello! How can I help you today?")
    found.append(Labelled("greetings", chat.user("yo")))

    translation = Chat(system="Translate into German.")
    for text in ("Yes.", "Yes!", "Yes, sure.", "Of course."):
        translation.user(text).model("Ja.")
    found.append(Labelled("translated", translation.user("OK.")))

    game = Chat().user("Let's play: I think of a number.")
    for answer in ("higher", "higher", "lower", "higher"):
        game.model("Is it 50?").user(answer)
    found.append(Labelled("a game that the model plays badly", game))

    reviews = AgentZero().user("Review the files.")
    for name in ("models", "views", "urls", "admin"):
        reviews.run(f"cat {name}.py").result("").call("response", {"text": "Looks fine."}).user("next")
    found.append(Labelled("reviewed one by one", reviews))

    deploy = AgentZero().user("Deploy it.")
    for state in ("Creating", "Pulling image", "Starting", "Running"):
        deploy.run("kubectl get pod web").result(f"web 0/1 {state}")
    found.append(Labelled("a pod that comes up", deploy))

    same_state = AgentZero().user("Deploy it.")
    for _ in range(6):
        same_state.run("kubectl get pod web").result("NAME READY STATUS\nweb 0/1 ContainerCreating")
    found.append(Labelled("a pod that takes its time", same_state))

    download = AgentZero().user("Get the model.")
    for _ in range(5):
        download.call("code_execution_tool", {"runtime": "output", "session": 0}, "I wait for the output.")
        download.result("Downloading model.bin ... still waiting for the server")
    found.append(Labelled("waits for a download", download))

    tests = Claude().user("Make the tests pass.")
    for number in range(3):
        tests.call("Bash", {"command": "npm test"}).result("FAIL src/app.test.ts\n  expected 1, got 2", is_error=True)
        tests.call("Read", {"file_path": "/src/app.ts"}).result(f"const x = {number};")
        tests.call("Write", {"file_path": "/src/app.ts", "content": f"const x = {number + 1};"}).result("ok")
    found.append(Labelled("test, read, write", tests))

    lookups = Native().user("Translate each word.")
    for word in ("red", "green", "blue", "white"):
        lookups.call("dictionary", {"word": word}).result("not found")
    found.append(Labelled("word after word", lookups))

    summaries = Chat(system="Summarise each message.")
    for name in ("one", "two", "three"):
        summaries.user(f"Report {name}: all quiet, nothing to say about it. " * 5).model("All quiet.")
    found.append(Labelled("summaries", summaries.user("Report four: all quiet, nothing to say about it. " * 5)))

    emails = Chat().user("Write a reply to each.")
    for topic in ("billing", "shipping", "returns"):
        emails.model(
            f"Dear customer, thank you for your question about {topic}. Our {topic} team will answer you within two "
            "days. "
            "Kind regards, the service desk"
        ).user("Continue with the next message in the queue until there is none left.")
    found.append(Labelled("form letters", emails))

    diff = Items().user("Apply the patches.")
    for number in (1, 2, 3, 4):
        diff.call("apply_patch", {"patch": f"*** Update File: a.py\n@@ -{number} +{number}\n-x\n+y"}).result("Done!")
    found.append(Labelled("patch after patch", diff))

    shas = (
        Items()
        .user("Check out the commits.")
        .call("log", {})
        .result(
            ""
            "9fceb02d0ae598e95dc970b74767f19372d61af8\n1b6453892473a467d07372d45eb05abc2031647a\nac3478d69a3c81fa62e60f5c3696165a4e5e6ac4"
        )
    )
    for sha in (
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "1b6453892473a467d07372d45eb05abc2031647a",
        "ac3478d69a3c81fa62e60f5c3696165a4e5e6ac4",
    ):
        shas.call("test_commit", {"sha": sha}).result("tests failed")
    found.append(Labelled("commit after commit", shas))

    react_ok = Chat().user("Compare the rivers.")
    for river in ("Mur", "Enns", "Inn"):
        react_ok.model(react("The next river.", "length", river)).user("Observation: unknown river")
    found.append(Labelled("river after river", react_ok))

    swarm = Chat().user("Discuss the design.")
    for text in ("I agree with that.", "I agree.", "Agreed."):
        swarm.model(text).user(f"Architect: what about point {len(swarm.said)}? It needs an answer from each of us.")
    found.append(Labelled("agrees with everything", swarm))

    cells = OpenAI().user("Run the notebook.")
    for number in range(1, 5):
        cells.call("run_cell", {"index": number}).result("[]")
    found.append(Labelled("cell after cell", cells))

    save = OpenAI().user("Write the story.")
    for number in range(3):
        save.call("append", {"file": "story.md", "text": f"Chapter {number}. " + "It was a dark night. " * 3}).result(
            "saved"
        )
    found.append(Labelled("chapters that begin alike", save))
    return found
