"""Secrets are masked before anything is stored, and what is none stays."""

import json
import string
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.secrets.known import KnownSecret
from memory.secrets.redaction import MARK, blank_secrets, mask_secrets
from tests.memory.labelled import labelled

AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM_LINES = ["MIIEowIBAAKCAQEAxyz0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHI"] * 3
AWKWARD = (
    "password", "passphrase", "token", "secret", "api_key", "key", "Authorization", "bearer ", "mnemonic", "pwd", "İ",
    ":", "=", " ", "\n", '"', "'", "\\", "`", ",", ";", "&", "@", "://", "/", ".", "-", "_", "*", "[", "]", "<", ">",
    "{", "(", "$", "%", "is ", "-p ", "-u ", "--password ", "mysql ", "str", "x", "hunter2", MARK, "sk-", "ghp_",
    " is ", " to ", " from ", "for ", "the ", "swordfish", "changed the password", "pin ", "4711", "log in ", "admin",
    " / ", "credentials", "redis-cli -a ", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "123-45-6789", "(",
    " is the password", "use ", " as my password", "with the password ", "wifi key", "?", "? It's ", " - ", "what is ",
    "same ", " by the way", " a b: ", "unlock the safe with ", "63-17-42", " as bob with ", "Set-Cookie: a=",
    "bob:x1@h", "\u5bc6\u7801", "\u662f", "\uff1a", "\u200b", "\xad", "\uff50", "\ufb01", "\uffff",
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", JWT, AWS_SECRET, "9f86d081884c7d659a2feaa0c55ad015",
)  # fmt: skip
awkward = st.lists(st.sampled_from(AWKWARD), max_size=12).map("".join)
# Without "masked" the text has no secret. Kinds: what a label announces, what a connection string holds, what people
# write around, what has the shape of one.
ROWS = [json.loads(line) for line in (Path(__file__).parent / "data" / "secrets.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['kind']}: {row['text']}")
def test_secrets_are_masked_and_nothing_else(row: dict[str, str]) -> None:
    assert mask_secrets(row["text"]) == row.get("masked", row["text"])


@labelled(__file__, "named secret")
def test_a_named_secret_is_found_in_each_form(secret: str, text: str, is_in: bool) -> None:
    assert KnownSecret.of(secret).is_in(text) is is_in


def test_a_path_keeps_its_parts_beside_a_secret() -> None:
    document = "https://docs.example.org/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit"

    assert mask_secrets(document) == f"https://docs.example.org/document/d/{MARK}/edit"


@pytest.mark.parametrize("break_", ["\n", "\\n"])
@pytest.mark.parametrize("end", ["-----END RSA PRIVATE KEY-----", ""])
def test_a_private_key_is_masked_also_where_its_end_is_missing(break_: str, end: str) -> None:
    key = break_.join(filter(None, ["-----BEGIN RSA PRIVATE KEY-----", *PEM_LINES, end]))

    masked = mask_secrets(f"the key\n{key}\nis gone")

    assert masked.split() == ["the", "key", MARK, "is", "gone"]


@given(st.one_of(st.text(), awkward))
@example("password: password: x")
def test_masking_again_changes_nothing(text: str) -> None:
    masked = mask_secrets(text)

    assert mask_secrets(masked) == masked


def test_a_line_of_any_length_is_masked() -> None:
    line = " ".join(f"gnommo-{number}-web-shop{number}" for number in range(4_000)) + " sk-proj-9aB3xY7qLm2Zt5Wc8Vd1"

    assert "9aB3xY7" not in mask_secrets(line)


@given(st.one_of(st.text(), awkward))
@example("mongodb://bob:hunter2@host and -----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n")
def test_what_is_blanked_is_what_is_masked_and_nothing_moves(text: str) -> None:
    masked, blank = mask_secrets(text), blank_secrets(text)

    assert len(blank) == len(text)
    assert all(new in (old, "*") for old, new in zip(text, blank, strict=True))
    assert (blank == text) == (masked == text)


@given(st.lists(st.sampled_from(["", "", "\u200b", "\xad", "\u2060"]), min_size=30, max_size=30))
def test_what_cannot_be_seen_hides_no_secret_and_stays_outside_it(hidden: list[str]) -> None:
    written = [f"{sign}{character}" for sign, character in zip(hidden, "the password is swordfish, ok?", strict=True)]

    assert mask_secrets("".join(written)) == f"{''.join(written[:16])}{hidden[16]}{MARK}{''.join(written[25:])}"


@given(awkward, st.text(string.ascii_letters + string.digits, min_size=24, max_size=40), awkward)
def test_a_password_is_masked_in_any_company(before: str, noise: str, after: str) -> None:
    secret = f"aB3{noise}9Zq"

    assert secret not in mask_secrets(f'{before}\npassword="{secret}"\n{after}')


@given(st.lists(st.sampled_from(["the", "Glitch", "University", "runs", "on", "gnommoweb", "v1.2", "\n", "—", "(so)"])))
def test_a_text_without_labels_stays_as_it_is(parts: list[str]) -> None:
    assert mask_secrets(" ".join(parts)) == " ".join(parts)
