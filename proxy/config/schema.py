"""The keys of ``config.yaml`` with ranges and defaults: the upstream, limits, and what is done about loops."""

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from ipaddress import IPv4Address
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from yarl import URL

from memory.settings import retired
from memory.settings.grammar import Takes

BODY_MAX_BYTES: Final = 4 * 1024**3
HOST_LABEL_MAX: Final = 63  # characters, RFC 1035 section 2.3.4
FOUR_NUMBERS: Final = re.compile(r"[0-9]+(\.[0-9]+){3}")
# User and password, host, port, path; no query.
BASE_ADDRESS: Final = re.compile(r"https?://([^\s/?#@\[\]]+@)?([\w.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/[^\s?#]*)?")


def never_or_several(number: int) -> int:
    """Reject 1: one output is no repetition."""
    if number == 1:
        raise ValueError("takes 0 for never, or a whole number from 2 to 1000")
    return number


def base_address(raw: str) -> str:
    """Return an http(s) base address without a trailing slash; a bare ``host:port`` gets ``http://``.

    Raises ValueError, whose message says what is accepted.
    """
    url = raw if "://" in raw else f"http://{raw}"
    try:
        # Checked before yarl, which raises an IndexError for some addresses that do not match.
        if not BASE_ADDRESS.fullmatch(url) or not url.isprintable():
            raise ValueError
        address = URL(url)
        host = (address.raw_host or "").removesuffix(".")
        if FOUR_NUMBERS.fullmatch(host):
            IPv4Address(host)  # raises ValueError for 999.1.1.1, which would be looked up as a name
        has_labels = all(0 < len(label) <= HOST_LABEL_MAX for label in host.split("."))
        # A colon in the user's name would be taken for the one before the password.
        fits = has_labels and ":" not in (address.user or "")
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("takes an address such as http://127.0.0.1:11434")
    return url.rstrip("/")


LoopStep = Annotated[int, Field(ge=0, le=1_000), AfterValidator(never_or_several)]
Address = Annotated[str, AfterValidator(base_address), Takes("an address such as http://127.0.0.1:11434")]
BodyBytes = Annotated[int, Field(ge=1024, le=BODY_MAX_BYTES)]
Retired = Annotated[Any, Field(exclude=True)]  # listed in memory/settings/retired.toml


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def nothing_is_all_defaults(cls, given: object) -> object:
        """Accept a heading whose keys are all commented out."""
        return {} if given is None else given


class UpstreamRules(Section):
    """``connect_timeout_s`` covers name lookup and connecting. Answers have no limit: a model may load for minutes."""

    url: Address = "http://127.0.0.1:11434"
    connect_timeout_s: Annotated[float, Field(gt=0, le=600)] = 10.0


class Limits(Section):
    """``max_body_bytes`` bounds a request; model files have no bound."""

    max_body_bytes: BodyBytes = 64 * 1024 * 1024
    conversations: Retired = None


class Detector(Section):
    window: Retired = None
    similarity: Retired = None
    patience: Retired = None
    complaints: Retired = None
    stream: Retired = None


class Mitigations(Section):
    """Each step has the number of identical outputs in a row, or of repeats of a cycle, from which on it is taken; 0
    for never. ``break_`` answers without the model for ``cooldown_s``."""

    model_config = ConfigDict(populate_by_name=True)  # for code; the file says ``break``

    note: LoopStep = 3
    temperature: LoopStep = 4
    truncate: LoopStep = 5
    break_: Annotated[LoopStep, Field(alias="break")] = 6
    temperature_step: Annotated[float, Field(ge=0, le=2)] = 0.3
    cooldown_s: Annotated[float, Field(ge=0, le=86_400)] = 60.0


class Loops(Section):
    enabled: bool = True
    detector: Detector = Detector()
    mitigations: Mitigations = Mitigations()


class Rules(Section):
    upstream: UpstreamRules = UpstreamRules()
    limits: Limits = Limits()
    loops: Loops = Loops()

    def with_values(self, changes: Mapping[str, object]) -> Self:
        """Return a copy with values changed, by keys of two levels such as ``limits.max_body_bytes``. They are not
        validated."""
        rules = self
        for key, value in changes.items():
            name, _, field = key.partition(".")
            section: BaseModel = getattr(rules, name).model_copy(update={field: value})
            rules = rules.model_copy(update={name: section})
        return rules


def list_ignored(rules: Rules) -> list[str]:
    """List the values that the file has for keys of earlier versions, each with what holds instead."""
    found = {key: reduce(getattr, key.split("."), rules) for key in retired.CONFIG_FILE}
    given = {key: value for key, value in found.items() if value is not None}
    return retired.describe_ignored(given, retired.CONFIG_FILE)


def values(rules: Rules, *, only_set: bool = False) -> dict[str, Any]:
    """Return the values by their keys in the file: ``{"loops.mitigations.break": 6}``; with ``only_set``, only those
    that the file itself sets."""
    return dict(flatten(rules.model_dump(by_alias=True, exclude_unset=only_set)))


def flatten(section: dict[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{at}{name}.")
        else:
            yield at + name, value
