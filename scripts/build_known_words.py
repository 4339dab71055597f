"""Builds ``memory/questions/known_words/words.txt``, the words that nobody is asked about; the README.md beside that
file names the sources and their licences.

    python -m scripts.build_known_words --pypi pypi.tsv --npm npm.tsv --english american-english british-english
"""

import argparse
import builtins
import csv
import encodings.aliases
import html.entities
import http
import keyword
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final
from zoneinfo import available_timezones

from pygments.lexers import get_all_lexers
from wordfreq import get_frequency_dict

from memory.english.function_words import split_words
from memory.english.tokenizer import is_name, tokenise
from memory.questions.known_words import FUNCTION_WORD, SMALL_LETTERS, WORDS

HERE: Final = Path(__file__).parent
# By speakers and writers on the net, among those with wordfreq lists.
LANGUAGES: Final = sorted(split_words("ar cs da de es fr id it nb nl pl pt ro ru sv tr uk vi"))
EVERYDAY: Final = 1e-5  # a Zipf frequency of 4.0
COMMON: Final = 1e-6  # 3.0 in English: in the database's dictionary (memory/running/bootstrap.py)
FUNCTION_WORDS_MAX: Final = 100  # of a language, its most frequent words
PYPI_MAX: Final = 8_000  # rank by downloads
NPM_MIN: Final = 2_500_000  # downloads a month
BYTES_MAX: Final = 2_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pypi", type=Path, required=True, help="tab-separated: name, ..., rank by downloads, summary")
    parser.add_argument("--npm", type=Path, required=True, help="tab-separated: name, version, downloads a month, ...")
    parser.add_argument("--english", type=Path, nargs="+", required=True, help="word lists of English, a word a line")
    given = parser.parse_args()
    common = {word for word, share in get_frequency_dict("en").items() if share >= COMMON}
    packages = set(spell([*read_pypi(given.pypi), *read_npm(given.npm), *vocabularies()]))
    # Hand-written names count even if they are dictionary words: `GitHub Issue` is about GitHub, and so not a name.
    known = set(spell(by_hand())) | (packages | set(spell(list_everyday()))) - common
    known = {word for word in known if len(word) > 1}
    small = {word for path in given.english for word in path.read_text().split() if word.isalpha() and word.islower()}
    lines = [
        *known,
        *(f"{SMALL_LETTERS}{word}" for word in small - common - known if len(word) > 2),
        *(f"{FUNCTION_WORD}{word}" for word in list_function_words()),
    ]
    # By bytes, as they are searched.
    content = b"".join(sorted({f"{line}\n".encode() for line in lines}))
    if len(content) > BYTES_MAX:
        sys.exit(f"{len(content):,} bytes are more than {BYTES_MAX:,}")
    WORDS.write_bytes(content)
    print(f"{len(known):,} words, {len(lines):,} lines, {len(content):,} bytes")


def spell(names: Iterable[str]) -> Iterator[str]:
    """Yield the names as the tokeniser spells them, if they are one token; for a name with hyphens also its form as a
    title: ``docker-compose`` is also written ``Docker Compose``."""
    for name in names:
        tokens = [token.text for token in tokenise(name)]
        if len(tokens) == 1 and is_name(tokens[0]):
            yield tokens[0]
            if "-" in tokens[0]:
                yield tokens[0].replace("-", "_")


def by_hand() -> Iterator[str]:
    lines = (HERE / "technology.txt").read_text().splitlines()
    return (name.strip() for line in lines if not line.startswith("#") for name in line.split(","))


def read_pypi(path: Path) -> Iterator[str]:
    for name, _, _, rank, *_ in rows_of(path):
        if rank.isdigit() and int(rank) <= PYPI_MAX:
            yield name


def read_npm(path: Path) -> Iterator[str]:
    for name, _, downloads, *_ in rows_of(path):
        if downloads.isdigit() and int(downloads) >= NPM_MIN:
            scope, _, package = name.rpartition("/")
            yield from (scope.removeprefix("@"),) if scope else (package,)


def rows_of(path: Path) -> Iterator[list[str]]:
    with path.open(newline="") as file:
        yield from csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def vocabularies() -> Iterator[str]:
    """Yield the words of languages, of Python, of the Internet."""
    for name, aliases, _, _ in get_all_lexers(plugins=False):
        yield from (name, *aliases)
    yield from (*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *sys.stdlib_module_names)
    yield from (name for kind in (str, bytes, list, dict, set) for name in dir(kind))
    yield from (*encodings.aliases.aliases, *html.entities.name2codepoint)
    yield from (name for enum in (http.HTTPStatus, http.HTTPMethod, signal.Signals) for name in enum.__members__)
    for zone in available_timezones():
        yield zone.rpartition("/")[2].replace("_", " ")


def list_everyday() -> Iterator[str]:
    for language in LANGUAGES:
        for word, share in get_frequency_dict(language).items():
            if share >= EVERYDAY:
                yield word


def list_function_words() -> set[str]:
    """Return the words that show that a sentence is not English."""
    english = get_frequency_dict("en")
    found: set[str] = set()
    for language in LANGUAGES:
        shares = get_frequency_dict(language)
        first = sorted(shares, key=shares.__getitem__, reverse=True)[:FUNCTION_WORDS_MAX]
        found |= {word for word in first if word.isalpha() and shares[word] > 20 * english.get(word, 0)}
    return found


if __name__ == "__main__":
    main()
