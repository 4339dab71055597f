"""The process environment: every variable that Festinger reads, and its accepted values (docs/settings.md)."""

import base64
import os
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from memory.settings.grammar import Takes, describe_mistake
from proxy.config.schema import Address, BodyBytes

FERNET_KEY_BYTES: Final = 32
# Container platforms mount secrets as files: NAME_FILE names one that holds the value of NAME.
SECRETS: Final = (
    "FESTINGER_SECRET_KEY",
    "FESTINGER_ENCRYPTION_KEY",
    "FESTINGER_EMAIL_URL",
    "DATABASE_URL",
    "CELERY_BROKER_URL",
)
MAIL_PORTS: Final = {"smtp": 25, "smtp+tls": 587, "smtps": 465}

PREFIX: Final = "FESTINGER_"
LIKENESS_MIN: Final = 0.78  # by difflib, without the prefix: UPSTREAM_URL resembles UPSTREAM; gutask's PROJECT nothing


MODEL_NAME_MAX: Final = 120  # characters, as of the column


class MailServer(NamedTuple):
    """``scheme`` is smtp, smtp+tls (STARTTLS) or smtps (TLS from the beginning). Without a host, no mail is sent."""

    scheme: str = "smtp"
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""


class EnvironmentMistake(Exception):
    """A variable has an unusable value. The message names the variable, what it takes, and, unless it is a secret, the
    value."""


def split_words(raw: object) -> object:
    """Split a text at commas into stripped parts; return anything else unchanged."""
    return [part.strip() for part in raw.split(",") if part.strip()] if isinstance(raw, str) else raw


def check_time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError) as error:  # unknown, or a folder of zones
        raise ValueError from error
    return name


def read_loopback_trust(raw: str) -> str:
    if raw.lower() in ("1", "true", "yes", "on"):
        return "agent"
    return "none" if raw.lower() in ("0", "false", "no", "off") else raw


def check_fernet_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    if any(len(base64.urlsafe_b64decode(key)) != FERNET_KEY_BYTES for key in keys):
        raise ValueError
    return keys


def read_mail_server(raw: object) -> object:
    if not isinstance(raw, str):
        return raw
    parts = urlsplit(raw)
    if parts.scheme not in MAIL_PORTS or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError
    port = parts.port or MAIL_PORTS[parts.scheme]
    return MailServer(parts.scheme, parts.hostname, port, unquote(parts.username or ""), unquote(parts.password or ""))


def check_printable(path: str) -> str:
    if not path.isprintable():
        raise ValueError
    return path


Flag = Annotated[bool, Takes("1 or 0")]
Words = Annotated[tuple[str, ...], BeforeValidator(split_words)]
LoopbackTrust = Annotated[
    Literal["none", "agent", "operator"],
    BeforeValidator(read_loopback_trust),
    Takes("0, 1, which is the same as agent, or operator"),
]
PathName = Annotated[str, AfterValidator(check_printable), Takes("a path of printable characters")]
ModelName = Annotated[str, Field(max_length=MODEL_NAME_MAX), Takes("the name of a model of the upstream")]
TimeZone = Annotated[str, AfterValidator(check_time_zone), Takes("a time zone such as Europe/Oslo")]
FernetKeys = Annotated[
    Words,
    AfterValidator(check_fernet_keys),
    Takes(
        f"keys of {FERNET_KEY_BYTES} bytes in Base64, as `openssl rand -base64 32` prints them, with a comma between"
        " two",
        is_secret=True,
    ),
]


MailUrl = Annotated[
    MailServer,
    BeforeValidator(read_mail_server),
    Takes("an address such as smtp+tls://user:password@host:587, or with smtp or smtps", is_secret=True),
]


class Environment(BaseModel):
    """The variables by their names. An empty text, or 0 for the size of a body, leaves the decision to another
    place."""

    model_config = ConfigDict(frozen=True)

    FESTINGER_HOME: PathName = ""
    FESTINGER_CONFIG: PathName = ""
    FESTINGER_HOST: str = "127.0.0.1"
    FESTINGER_PORT: Annotated[int, Field(ge=1, le=65535)] = 11435
    FESTINGER_WORKERS: Annotated[int, Field(ge=1, le=64)] = 1
    FESTINGER_TRUST_LOOPBACK: LoopbackTrust = "agent"
    FESTINGER_REQUIRE_TOKEN: Flag = False
    FESTINGER_OPEN: Flag = False
    FESTINGER_PUBLISHED: str = ""
    FESTINGER_ALLOWED_HOSTS: Words = ()
    FESTINGER_ORIGINS: Words = ()
    FESTINGER_UPSTREAM: Address = ""
    FESTINGER_MODEL: ModelName = ""
    FESTINGER_MAX_BODY_BYTES: BodyBytes = 0
    FESTINGER_SECRET_KEY: str = ""
    FESTINGER_ENCRYPTION_KEY: FernetKeys = ()
    FESTINGER_EMAIL_URL: MailUrl = MailServer()
    FESTINGER_EMAIL_FROM: str = "festinger@localhost"
    FESTINGER_TIME_ZONE: TimeZone = "UTC"
    FESTINGER_UPGRADE_BACKUP: Flag = True
    FESTINGER_LOG_LEVEL: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    FESTINGER_LOG_FORMAT: Literal["text", "json"] = "text"
    DATABASE_URL: str = ""
    CELERY_BROKER_URL: str = "pgmq://"


def read_environment() -> Environment:
    """Return the current variables; an empty one counts as not set. Raises EnvironmentMistake."""
    # Not pydantic-settings: two packages, 80 ms and 14 MB more for the launcher (docs/decisions/009-config-yaml.md).
    fields = Environment.model_fields
    given = {name: raw for name in fields if (raw := read_variable(name))}
    try:
        return Environment.model_validate(given)
    except ValidationError as error:
        names = dict.fromkeys(str(mistake["loc"][0]) for mistake in error.errors())
    raise EnvironmentMistake("\n".join(f"{name}: {describe_mistake(fields[name], given[name])}" for name in names))


def find_misspelled() -> dict[str, str]:
    """Return the variables that are set but not read, each with the one that it resembles. Not an error: gutask and
    other programs here have variables of their own."""
    names = (*Environment.model_fields, *(f"{name}_FILE" for name in SECRETS))
    known = [name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)]
    given = (name.removeprefix(PREFIX) for name in os.environ if name.startswith(PREFIX) and name not in names)
    alike = {name: get_close_matches(name, known, 1, LIKENESS_MIN) for name in given}
    return {PREFIX + name: PREFIX + found[0] for name, found in alike.items() if found}


def read_variable(name: str) -> str:
    """Return a variable without surrounding white space. Raises EnvironmentMistake if the file of a secret cannot be
    read."""
    path = os.environ.get(f"{name}_FILE", "").strip() if name in SECRETS else ""
    if not path:
        return os.environ.get(name, "").strip()
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise EnvironmentMistake(f"{name}_FILE={path}: cannot be read ({error.strerror})") from error
