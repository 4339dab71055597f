"""Answers whose tail repeats, and answers whose tail rightly does."""

import base64
import json

VERSES = [
    "The sea lies grey beneath a heavy sky,\nthe boats are drawn up high upon the sand,\n",
    "The wind has blown the morning's mist away,\nthe nets are dry, the children run to shore,\n",
    "The lamps are lit, the evening settles in,\nand someone sings of those who are not here,\n",
    "The night is long, the tide comes in again,\nthe old men sit and tell of other years,\n",
]
CHORUS = "and still we wait, and still we wait,\nand still we wait for you.\n\n"

PARAGRAPH = (
    "In order to solve this problem, we have to look at the data once more. The data shows that the first "
    "step was right, "
    "and that the second one was not. So we go back to the first step and look at what it has brought us.\n\n"
)

# By name; each goes on like this for ever.
LOOPING = {
    "one word": "I think that " + "the " * 300,
    "a laugh": "That is funny. " + "ha, ha ha! " * 100,
    "one sentence": "Let me see.\n" + "I will now check the configuration again. " * 20,
    "one sentence, a line each": "I will now check the configuration again.\n" * 20,
    "a paragraph": "Well.\n\n" + PARAGRAPH * 5,
    "three sentences": "Is it the cache? It may be the cache. Let me look at the cache. " * 10,
    "a tool call": '{"tool_name": "search", "tool_args": {"query": "towers"}}\n' * 10,
    "a tool call without a break": '{"tool_name": "search", "tool_args": {"query": "towers"}}' * 10,
    "a tool call in a fence": '```json\n{"tool_name": "search", "tool_args": {"query": "towers"}}\n```\n\n' * 10,
    "turns of a talk": "### User:\nGo on.\n\n### Assistant:\nI have nothing to add to that.\n\n" * 10,
    "Chinese": "我需要再检查一下。" * 60,
    "Russian": "Я проверю ещё раз. " * 30,
    "thoughts in JSON": '{"thoughts": ["Let me see.", ' + '"I should check the file again.", ' * 40,
    "a text in a JSON string": '{"text": "' + "I should check the file again and see what it says.\\n" * 40,
    "a long list item": "- Make sure that the configuration has been read before the server starts.\n" * 20,
    "blanks": '{"answer": 4}' + "\n" * 4_000,
    "spaces": '{"answer": ' + " " * 4_000,
    "after code": "```python\nprint(1)\n```\n" + "This prints one, and that is what was asked for. " * 12,
}

TABLE = "| name | state |\n|------|-------|\n"

RIGHT = {
    "prose": PARAGRAPH + "And this is how it ends.",
    "numbered": "".join(f"{number}. The item with this number comes next.\n" for number in range(300)),
    "a list of the same": "- to do\n" * 200,
    "check boxes": "- [ ] item\n" * 200,
    "a table": TABLE + "| yes | open |\n" * 100,
    "a table without edges": "a | b | c\n--|---|--\n" + "no | no | no\n" * 100,
    "tabs": "one\ttwo\tthree\n" * 100,
    "commas": "yes,no,yes,no\n" * 100,
    "an array": "[" + "null, " * 400 + "]",
    "zeros": "0 " * 2_000,
    "zeros in rows": ("0.0, " * 12 + "\n") * 60,
    "measures": "0px 0px 0px 0px\n" * 100,
    "bytes": "de ad be ef " * 200,
    "separators": "-" * 2_000 + "\n" + "=" * 2_000,
    "more separators": "- - - " * 300 + "\n" + "*~" * 500,
    "dots": "Loading" + "." * 2_000,
    "code in a fence": "```c\n" + '    asm("nop"); /* wait */\n' * 100,
    "tildes": "~~~\n" + "all work and no play\n" * 100,
    "an indented fence": "1. So:\n\n   ```\n" + "   all work and no play\n" * 100,
    "base64 of blanks": base64.b64encode(b"\0" * 4_000).decode(),
    "base64 of a pattern": base64.b64encode(b"spam" * 1_000).decode(),
    "markup": "<tr><td></td><td></td></tr>\n" * 100,
    "a form": "Name: ________  Date: ________\n" * 40,
    "headings": "## Chapter\n" * 100,
    "a poem with a refrain": "".join(verse + CHORUS for verse in VERSES),
    "a drawing": "   XX    XX   \n  XXXX  XXXX  \n" * 60,
    "a picture of letters": "oOo.oOo " * 0 + "/\\_/\\  " * 200,
    "code in a JSON string": json.dumps({"code": "x = 1\n" * 60 + "print(x)\n" * 40}),
    "a row of the same objects": "[" + '{"x": 0, "y": 0}, ' * 45 + "]",
    "emoji": "😀" * 500,
    "said thrice": "Never, never, never give up. " * 3 + "That is what he said.",
    "blank lines": "one\n" + "\n" * 300 + "two\n" + " " * 300,
}
