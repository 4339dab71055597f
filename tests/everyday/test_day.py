"""A day of two people behind one agent, as Open WebUI names them: what they ask not to keep is written nowhere, and
what one says reaches the other in no way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.everyday.running import player
from tests.served.learning import Festinger

ANA, BEN = "u-ana", "u-ben"
TEMPORARY: Final = ("quillfeather", "zambrosian", "ottervault")
OFF_RECORD: Final = ("brandtwerk", "solvinger")
FORGOTTEN: Final = "55508842"
MADE_UP: Final = ("korvath", "iseldane", "thornwick")
# What only the one has said.
OF_ANA: Final = ("haldis", "lymphorin", "mirabund", "gravenstein-7", "cressida", "sandelweg", *MADE_UP)
OF_BEN: Final = ("torgrim", "asthmalis", "velodrin", "ketterbach-2")
KEPT: Final = ("haldis", "gravenstein-7", "torgrim", "ketterbach-2")
CALL: Final = {"function": {"name": "search", "arguments": {"query": "quillfeather of Zambrosian"}}}
LOOPING: Final[list[dict[str, Any]]] = [
    {"role": "user", "content": "Look up the Quillfeather of Zambrosian."},
    *([{"role": "assistant", "content": "", "tool_calls": [CALL]}, {"role": "tool", "content": "No Ottervault."}] * 8),
]
STORY: Final = (
    "Write a short story in the first person: I am a soldier, my name is Korvath, my wife Iseldane is ill. "
    "Remember that the watchword is Thornwick. Thornwick runs on mars-1."
)
QUESTIONS: Final = (
    "What do you know about me?",
    "Who is ill in the family?",
    "What medicine do I take in the morning?",
    "Where does pottwick run?",
    "Where does quennel run?",
    "What is my phone number?",
    "What is the name of my sister?",
)


def ana(text: str, chat: str = "", **step: Any) -> dict[str, Any]:
    return {"say": text, "user": ANA, "chat": f"ana-{chat or text}", "block_lacks": [*OF_BEN, *TEMPORARY]} | step


def ben(text: str, chat: str = "", **step: Any) -> dict[str, Any]:
    return {"say": text, "user": BEN, "chat": f"ben-{chat or text}", "block_lacks": [*OF_ANA, *TEMPORARY]} | step


DAY: Final = [
    ana("Good morning! My sister Haldis is coming for lunch on Sunday.", "lunch", answer="How nice of Haldis to come!"),
    ana("She is allergic to nuts, what can I cook?", "lunch", answer="A risotto without nuts."),
    ben("hi, my brother Torgrim moves house, which boxes should we buy?", "boxes", answer="Torgrim needs sturdy ones."),
    ben("And how many for three rooms?", "boxes"),
    ana("I take Lymphorin every morning since my operation. Is coffee a problem?", "health", answer="Ask your doctor."),
    ben("I have weak lungs and take Asthmalis for them. When do I take it?", "lungs"),
    ana("Please remember that my locker is at the Mirabund gym."),
    ben("Remember that my bicycle is a Velodrin."),
    ana("Pottwick runs on gravenstein-7. Which port should the firewall open?", "ops", answer="Open port 443."),
    ana("Correction: Pottwick is hosted by gravenstein-7 and listens on 8443.", "ops"),
    ben("quennel runs on ketterbach-2. How do I restart it?", "restart"),
    ben("where does pottwick run?"),
    ana("where does quennel run?"),
    ana("My phone number is 55508842, put it into the form please.", "form", answer="Your number 55508842 is in."),
    ana("Off the record: I will leave Brandtwerk for Solvinger in May.", "letter", answer="Solvinger, fine!"),
    ana("How long is my period of notice usually?", "letter"),
    ana(
        "I play the Quillfeather in the Zambrosian choir. Zambrosian runs on ottervault.",
        "choir",
        temporary=True,
        answer="The Zambrosian choir of Ottervault!",
    ),
    ana("Remember that my Quillfeather is in the Ottervault.", "choir", temporary=True, answer="Ottervault it is."),
    ana("Remember that my Quillfeather is in the Ottervault.", "choir", temporary=True, answer="Ottervault it is."),
    {"body": {"messages": LOOPING}, "user": ANA, "temporary": True, "loop": "break"},
    ana(STORY, "story", answer="I, Korvath, wrote to Iseldane from Thornwick."),
    ana("Make it longer: I am tired, I live in Thornwick, I like the rain.", "story"),
    ben("Tell me a joke about a man who says: I am a horse and I live in a stable."),
    ana("My daughter Cressida is six and starts school in the Sandelweg. What does she need?", "school"),
    ana("She likes red. Which satchel?", "school"),
    ben("Which satchel is best for a child?"),
    ana("Forget my phone number.", "form", answer="Done."),
    ana("What is my phone number?", block_lacks=[FORGOTTEN, *OF_BEN]),
    ben("What do you know about me?"),
    ana("What do you know about me?", block_lacks=[*OF_BEN, *MADE_UP, *TEMPORARY, *OFF_RECORD, FORGOTTEN]),
]  # fmt: skip


def find_everything(asked: tuple[str, ...], user: str, lacks: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return steps in which a person asks and searches for all of it."""
    return [
        step | {"user": user}
        for question in asked
        for step in (
            {"ask": question, "block_lacks": lacks},
            {"ask": f"What about {question}?", "block_lacks": lacks},
            {"search": question, "lacks": lacks},
        )
    ]


def read_database(whole: Festinger) -> Iterator[tuple[str, str]]:
    """Yield each row of each table, with the table's name."""
    tables = whole.run(
        "SELECT format('%%I.%%I', table_schema, table_name) FROM information_schema.tables "
        "WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')"
    )
    for (table,) in tables:
        for row in whole.run(f"SELECT * FROM {table}"):
            yield table, repr(row).casefold()


def read_files(*folders: Path) -> Iterator[tuple[Path, str]]:
    """Yield journals, logs, and what Postgres has written, its log of changes included."""
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                yield path, path.read_bytes().decode("latin-1").casefold()


@pytest.mark.slow
def test_a_day_of_two_people() -> None:
    others = [*find_everything((*QUESTIONS, *OF_BEN), ANA, (*OF_BEN, *TEMPORARY, *OFF_RECORD, FORGOTTEN))]
    others += find_everything((*QUESTIONS, *OF_ANA), BEN, (*OF_ANA, *TEMPORARY, *OFF_RECORD, FORGOTTEN))
    others += find_everything(MADE_UP, "u-nobody", (*OF_ANA, *OF_BEN))
    others += [{"user": ANA, "search": "sister Haldis", "has": ["haldis"]}]
    others += [{"user": BEN, "ask": "Where does quennel run?", "block_has": ["ketterbach-2"]}]

    with player() as plays:
        plays.whole.run("UPDATE config SET value = 'on' WHERE key = 'live_prompt_text'")
        [day] = plays.play_together([{"class": "day", "id": "day", "steps": [*DAY, *others]}])
        memories = [text for (text,) in plays.whole.run("SELECT text FROM memory ORDER BY text")]
        stored = list(read_database(plays.whole))
        written = list(read_files(plays.whole.home, plays.whole.own.home))
        said = "".join(served.read_errors() for served in plays.whole.proxies).casefold()

    assert day.failures == []
    assert memories == [
        "I have weak lungs and take Asthmalis for them.",
        "I take Lymphorin every morning since my operation.",
        "My bicycle is a Velodrin.",
        "My daughter Cressida is six and starts school in the Sandelweg.",
        "My locker is at the Mirabund gym.",
    ]
    secret = (*TEMPORARY, *OFF_RECORD)
    assert [(table, word) for table, row in stored for word in secret if word in row] == []
    assert [(path.name, word) for path, text in written for word in secret if word in text] == []
    assert [word for word in secret if word in said] == []
    assert all(any(word in row for _, row in stored) for word in KEPT)
    texts = [row for table, row in stored if table == "public.recollection_event"]
    assert any("watchword" in row for row in texts)  # the texts of other prompts are written
