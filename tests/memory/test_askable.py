"""Which names a message speaks of, so that somebody may be asked about them, and the words nobody is asked about."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.attribution.prose import find_identifiers, mask_all_but_prose
from memory.cache.state import Cache
from memory.english.sentences import MASK
from memory.questions import known_words
from memory.questions.askable import read_spoken
from memory.running.bootstrap import common_words
from memory.types import SoasRow


@pytest.fixture(scope="module")
def cache() -> Cache:
    """With the English dictionary, without facts."""
    rows = {word: SoasRow(id, is_common=True) for id, word in enumerate(common_words(3.0), 1)}
    return Cache(rows, {row.id: word for word, row in rows.items()}, nameless=set(rows))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Please update gnommoweb to use FastAPI instead", {"gnommoweb"}),
        ("message 3 about the zorblat", {"zorblat"}),
        ("where is kvasir?", {"kvasir"}),
        ("Restart `payments-svc` and check the mail for errors.", {"payments-svc"}),
        ("Can you check why price-engine fails for the shop?", {"price-engine"}),
        ("Is Kvasir faster than MNEMO on this machine?", {"Kvasir", "MNEMO"}),
        ("Deploy Kvasir to zwiebel, please.", {"Kvasir", "zwiebel"}),
        ('Ask "kvasir" for the list of the users.', {"kvasir"}),
        ("In Glitch University we use heimdall for logins.", {"Glitch University", "heimdall"}),
        ("The new bike talks to the Kiox 300 over the air.", {"Kiox 300"}),
        ("We named it Kestrel because it is fast.", {"Kestrel"}),
        ("- the logs of the skadi service are empty", {"skadi"}),
        ("Kvasir's database is slow today, and so is everything else.", {"Kvasir"}),
        ("This is how it looks:\n\n    kvasir(1)\n\nWhy does it call odinson at all?", {"odinson"}),
    ],
)
def test_names_of_which_a_sentence_speaks(text: str, written: set[str], cache: Cache) -> None:
    assert set(read_spoken(cache, text).values()) == written


@pytest.mark.parametrize(
    "text",
    [
        # technology, and ordinary words that are rare
        "The json of the fastapi app is served by nginx, and pytest fails in the venv.",
        "How do I debounce the onChange handler in a zustand store with useEffect?",
        "I was wondering whether upserts in pgvector are atomic, or whether memoization of embeddings helps.",
        "Please summarise the text and refactor the retries, then rebase.",
        "Run kubectl get pods and tell me what is wrong with the CrashLoopBackOff.",
        "We moved the shop to Kubernetes, and look at it with Grafana.",
        "Open a Pull Request for the GitHub Actions workflow in the repo.",
        "We need a debouncer and a memoizer for the changefeed.",
        # other languages
        "Die Heizung im Erdgeschoss ist kaputt, kannst du was machen?",
        "Kannst du mal prüfen, was die Heizung im Erdgeschoss so macht?",
        "Le chauffage du rez-de-chaussée est en panne depuis hier, on peut le voir.",
        # identifiers, files, instances
        "The `useBasketTotals` hook returns NaN when CartDrawer opens.",
        "What does self.registry do in com.acme.billing.InvoiceRenderer and in stg_payments?",
        "Put it into kvasir.toml and /etc/kvasir/main.conf, or set --kvasir to 8.",
        "web-0 and web-1 are down, and db-prod-3 is slow.",
        "It fails in `kvasir.connect()` and in kvasir(1) of the code.",
        # what programs print, tables, mails
        "2026-01-01 12:00:01 ERROR kvasir failed to connect to the database",
        "Error: kvasir is not in the list of the services",
        "kvasir: connection refused by the host",
        "$ systemctl restart kvasir and then look at it",
        "| kvasir | is the name | of the service |",
        "name: kvasir\nkind: a service of the shop\nreplicas: 3",
        "```\nWe asked kvasir for the list.\n```",
        "Here is the mail:\n\nFrom: a@b.example\nSubject: hello\n\nWe asked Kowalczyk for the list.",
        "> We asked kvasir for the list.\n> It was there.",
        'She said "we asked kvasir for the list" and left.',
        # no sentence
        "kvasir",
        "Kvasir migration plan",
        "Best regards, Kowalczyk",
    ],
)
def test_nothing_that_anybody_is_asked_about(text: str, cache: Cache) -> None:
    assert read_spoken(cache, text) == {}


def test_of_a_flood_of_names_without_an_end_no_sentence_is_read(cache: Cache, monkeypatch: Any) -> None:
    looked_up: list[str] = []
    monkeypatch.setattr(known_words, "is_foreign", looked_up.append)
    names = [f"zorb{number}x" for number in range(1_000)]

    assert read_spoken(cache, f"We asked {' '.join(names)} for it.") == {}
    assert looked_up == []


def test_words_that_code_uses_as_its_own() -> None:
    code = "def flurb(req, *args, limit: int = 3):\n    gnome = req.get(1)"
    text = f"Look at `flush(queue)`:\n```\n{code}\n```\nkvasir is up"

    assert find_identifiers(text) == {"flush", "queue", "flurb", "req", "args", "limit", "gnome"}
    assert find_identifiers("Please call kvasir(1) for me.") == set()
    assert find_identifiers("gnome = kvasir(1)", is_code=True) == {"gnome", "kvasir"}


@given(st.text(alphabet="aK \n`>|:\"'(=1.-{\t", max_size=200))
def test_masking_moves_nothing(text: str) -> None:
    prose = mask_all_but_prose(text)

    assert len(prose) == len(text)
    assert all(shown in (said, MASK, "\x10") for shown, said in zip(prose, text, strict=True))
    assert prose.count("\n") == text.count("\n")


BYTES_MAX = 2_000_000
LINES = known_words.WORDS.read_bytes().splitlines()


def test_the_file_is_sorted_and_small() -> None:
    assert all(first < second for first, second in pairwise(LINES))
    assert known_words.WORDS.stat().st_size <= BYTES_MAX


@given(st.one_of(st.sampled_from(LINES).map(bytes.decode), st.text(max_size=12)))
def test_exactly_the_lines_of_the_file_are_found(line: str) -> None:
    is_line = line.encode("utf-8", "surrogatepass") in LINE_SET and bool(line)

    assert known_words._has_line.__wrapped__(line) is is_line


LINE_SET = frozenset(LINES)

TECHNOLOGY = """
    json env kubectl fastapi graphql useeffect postgresql systemd yaml llm async chatgpt dockerfile enum eslint
    github_actions jwt kwargs localhost mypy node_modules npm oauth2 pytest regex stderr stdout tailwind typescript venv
    vite req retries refactor docker_compose visual_studio_code home_assistant new_york
"""


@pytest.mark.parametrize("word", [*TECHNOLOGY.split(), "heizung", "bist", "nicht", "aujourd'hui", "квартира"])
def test_technology_and_everyday_words_of_other_languages_are_known(word: str) -> None:
    assert known_words.is_known(word)


@pytest.mark.parametrize("word", ["gnommoweb", "kvasir", "price-engine", "docker-kvasir", "glitch_university", "web-0"])
def test_names_are_not_known_for_their_parts(word: str) -> None:
    assert not known_words.is_known(word)


def test_the_other_kinds_of_lines() -> None:
    assert known_words.is_rare_english("summarise")
    assert not known_words.is_known("kestrel")  # `Kestrel` is a name
    assert known_words.is_foreign("und")
    assert not known_words.is_foreign("the")
