"""The lexemes of a text are those that Postgres finds in it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from memory.db.connections import fetch_rows
from memory.search.lexemes import find_lexemes, fold

ROOT = Path(__file__).parents[3]
WEEKS = ROOT / "benchmarks/weeks"
PROSE = (
    "benchmarks/*.txt",
    "README.md",
    "CHANGELOG.md",
    "docs/*.md",
    "docs/decisions/*.md",
    "tests/memory/english/conversations/*.txt",
)
LEXEMES = """
    SELECT tsvector_to_array(to_tsvector('english', text))
    FROM unnest(%s::text[]) WITH ORDINALITY AS said (text, place) ORDER BY place
"""
TEXTS_LEAST = 5_000
DIFFERENT_MOST = 0.001  # of all texts

TRICKY = [
    # numbers and signs
    "17", "-5 degrees", "+49 170 1234567", "3.14", "-3.14 or +2.5", "1e5 and 2.5E-3", "1,000,000 rows", "10:30",
    "5-7 days", "2026-11-26", "26.11.2026", "2026-11-26T19:30:00Z", "50% of $14,280.00", "x=5", "a+b",
    "½ cup, m² and H₂O",
    # versions and names with digits
    "Postgres 17.2.1", "v1.2.3", "python3.11", "db1 and edge-1", "tyr-1", "GF-PTFE", "FG-200F", "vlan340", "4x4",
    "802.11ac", "UTF-8", "utf8mb4", "i18n", "2nd and 3rd", "007",
    # hosts, addresses, e-mails, files
    "example.com", "www.example.com/index.html", "https://example.com/a/b?c=d#e", "ftp://ftp.example.org:21/file.txt",
    "10.0.0.7", "10.34.0.0/22", "192.168.1.1:8080", "mailto:ann@example.com", "ann.lee@mail.example.co.uk",
    "a_b@example.com", "/etc/nginx/nginx.conf", "./run.sh", "src/main.py", "C:\\Users\\ann", "readme.md",
    "config.yaml", "foo.bar", "e.g. this", "i.e. that", "and/or", "user@localhost", "D:\\OpsLogs", "~/notes.txt",
    "Node.js", "tyr-1.example.com",
    # hyphens and underscores
    "well-known", "state-of-the-art", "re-use", "long--dash", "-leading", "trailing-", "snake_case", "__init__",
    "a-1-b", "e-mail", "X-Festinger-Project", "--verbose", "-it",
    # tags and entities
    "<b>bold</b> text", "a < b > c", "<recollection>", "5 &lt; 6 &amp; 7", "&#228;rger", "<a href='x'>link</a>",
    "<br/>", "<!-- gone -->here", "List<String>", "x<y", "<script>alert(1)</script> done",
    # apostrophes and quotation marks
    "don't", "don’t", "ann's cat", "o'brien", "rock 'n' roll", "\"quoted\"", "it's James'",
    # other letters and scripts
    "Über den Wolken", "naïve café", "straße", "ÉCOLE", "Ελλάδα", "Москва", "東京に行きます", "한국어", "🍵 tea", "ſ",
    "İstanbul",
    # stems
    "running runs ran", "added adding", "databases", "the of and", "skies dying news", "generously", "communication",
    "",
]  # fmt: skip


def read_postgres(texts: Sequence[str]) -> list[set[str]]:
    return [set(lexemes) for (lexemes,) in fetch_rows(LEXEMES, [[*map(fold, texts)]])]


def read_messages() -> Iterator[str]:
    for path in sorted(WEEKS.glob("*.yaml")):
        week = yaml.safe_load(path.read_text())
        for chat in week["conversations"]:
            for message in chat["messages"]:
                yield message.get("user") or message.get("assistant") or ""
        for request in week["requests"]:
            yield request["text"]


def read_lines() -> Iterator[str]:
    for pattern in PROSE:
        for path in sorted(ROOT.glob(pattern)):
            yield from path.read_text().splitlines()


@pytest.mark.django_db
@pytest.mark.parametrize("text", TRICKY)
def test_a_tricky_text_has_the_lexemes_that_postgres_finds(text: str) -> None:
    [expected] = read_postgres([text])

    assert find_lexemes(text) == expected


@pytest.mark.django_db
def test_hardly_a_text_that_people_write_has_others() -> None:
    texts = sorted({text for text in (*read_messages(), *read_lines()) if re.search(r"\w", text)})

    expected = read_postgres(texts)

    compared = ((text, find_lexemes(text) ^ there) for text, there in zip(texts, expected, strict=True))
    differ = [(text, lexemes) for text, lexemes in compared if lexemes]
    assert len(texts) >= TEXTS_LEAST
    assert len(differ) <= DIFFERENT_MOST * len(texts), differ
