"""What an address says about who speaks."""

from typing import get_args
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.domain.switches import Switch
from memory.domain.voices import is_reserved
from proxy.domain.agent_addresses import NAME_MAX, AddressMistake, is_agent_address, read_address, split_address


@pytest.mark.parametrize(
    ("raw_path", "name", "off", "rest"),
    [
        (b"/agent/zero/v1/models", "zero", [], b"/v1/models"),
        (b"/agent/zero", "zero", [], b"/"),
        (b"/agent/zero/", "zero", [], b"/"),
        (b"//agent/zero/api/chat", "zero", [], b"/api/chat"),
        (b"/agent/zero//api/chat", "zero", [], b"//api/chat"),
        (b"/%61gent/zero/api/chat", "zero", [], b"/api/chat"),
        (b"/agent/zero,learn=off/api/chat", "zero", ["learn"], b"/api/chat"),
        (b"/agent/zero,ask=off,recall=off/api/chat", "zero", ["ask", "recall"], b"/api/chat"),
        (b"/agent/zero%2Clearn%3Doff/api/chat", "zero,learn=off", [], b"/api/chat"),
        (b"/agent/zero,learn%3Doff/api/chat", "zero", ["learn"], b"/api/chat"),
        (b"/agent/Dobby%20the%2FElf/api/%63hat", "Dobby the/Elf", [], b"/api/%63hat"),
        (b"/agent/g%C3%B6the/x", "göthe", [], b"/x"),
    ],
)
def test_an_address_has_a_name_and_switches(raw_path: bytes, name: str, off: list[str], rest: bytes) -> None:
    prefix, behind = split_address(raw_path)

    address = read_address(prefix)

    assert (address.name, address.off, behind) == (name, frozenset(off), rest)
    assert raw_path in (prefix + behind, prefix)


@pytest.mark.parametrize(
    ("segment", "mistake"),
    [
        (b",learn=off", "1 to 100 printable"),
        (b"%20", "1 to 100 printable"),
        (b"x" * (NAME_MAX + 1), "1 to 100 printable"),
        (b"a%0Ab", "1 to 100 printable"),
        (b"%ff", "UTF-8"),
        (b"\xff", "UTF-8"),
        (b"anonymous", "can be called anonymous"),
        (b"Loopback", "can be called Loopback"),
        (b"dobby@10.0.0.7", "can be called dobby@10.0.0.7"),
        (b"zero,learn=on", "learn=on is no switch"),
        (b"zero,learn", "learn= is no switch"),
        (b"zero,teach=off", "teach=off is no switch of an address; there are recall=off, learn=off, ask=off"),
        (b"zero,", "= is no switch"),
    ],
)
def test_a_bad_address_is_refused_with_the_reason(segment: bytes, mistake: str) -> None:
    prefix, _ = split_address(b"/agent/" + segment + b"/api/chat")

    with pytest.raises(AddressMistake, match=mistake):
        read_address(prefix)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/agent/zero/v1", True),
        ("//agent/zero", True),
        ("/agent/", True),
        ("/agent", False),  # unless a slash is added
        ("/agents/zero", False),
        ("/api/agent/zero", False),
        ("/", False),
    ],
)
def test_only_what_begins_so_is_an_address(path: str, *, expected: bool) -> None:
    assert is_agent_address(path) is expected


@pytest.mark.parametrize(
    "raw_path", [b"/agent/", b"/agent", b"/agent//api/chat", b"/%2Fagent/zero", b"/agent%2Fzero/x"]
)
def test_where_no_name_is_given_nothing_is_split_off(raw_path: bytes) -> None:
    assert split_address(raw_path) == (b"", raw_path)


@given(
    st.text(min_size=1, max_size=NAME_MAX).filter(lambda name: name.isprintable() and name.strip() == name),
    st.sets(st.sampled_from(get_args(Switch))),
)
@example("a,b=c/d%2F?#", {"learn"})
def test_every_name_can_be_written_in_an_address(name: str, off: set[Switch]) -> None:
    segment = ",".join([quote(name, safe=""), *(f"{switch}=off" for switch in off)])
    prefix, rest = split_address(f"/agent/{segment}/api/chat".encode())

    assert rest == b"/api/chat"
    if not is_reserved(name):
        address = read_address(prefix)
        assert (address.name, address.off) == (name, off)
