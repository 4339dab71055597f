"""Agents and their tokens, and who has taught. A token is shown once, when it is created; only its hash and how it
begins are stored."""

import hashlib
import secrets
from collections.abc import Iterable
from typing import Final

from django.db import IntegrityError, connection, transaction

from memory.access.switches import Switch
from memory.attribution.client_names import is_reserved
from memory.models import Agent
from memory.models.operating import REVOKED

TOKEN_PREFIX: Final = "fst_"  # tells it from the keys of other servers
START_CHARACTERS: Final = len(TOKEN_PREFIX) + 4  # shown, of 43 random ones
NAME_MAX: Final = 100  # characters
TEACHERS_MAX: Final = 10_000  # without a token, one may call itself anything


class AgentMistake(ValueError):
    """The name cannot be used. The message says why."""


def clean_name(name: str) -> str:
    """Return the name without surrounding white space. Raises AgentMistake if it cannot be used."""
    name = name.strip()
    if not name or len(name) > NAME_MAX or not name.isprintable():
        raise AgentMistake(f"a name has 1 to {NAME_MAX} printable characters")
    if is_reserved(name):
        raise AgentMistake(f"{name} is what agents without a token are called")
    return name


def create(
    name: str, scope: str, off: Iterable[Switch] = (), can_teach: str = Agent.CanTeach.AUTO
) -> tuple[Agent, str]:
    """Create an agent; return it with its token. Raises AgentMistake if the name is taken or cannot be used."""
    name = clean_name(name)
    # No query first: if two operators take the same name, the constraint decides.
    try:
        with transaction.atomic():
            off = set(off)
            episodes = Agent.Episodes.OFF if "remember" in off else Agent.Episodes.DEFAULT
            settings = {"scope": scope, "can_teach": can_teach, "episodes": episodes}
            switches = dict.fromkeys(off - {"remember"}, False)
            agent = Agent(name=name, **settings, **switches)
            token = set_token(agent)
            agent.save(force_insert=True)
            return agent, token
    except IntegrityError:
        raise AgentMistake(f"there is an agent {name} already") from None


def rotate(agent: Agent) -> str:
    """Store a new token for the agent and return it. Every process refuses the old one as soon as it hears of the
    commit."""
    token = set_token(agent)
    Agent.objects.filter(pk=agent.pk).update(token_hash=agent.token_hash, token_start=agent.token_start)
    return token


def revoke(agent: Agent) -> None:
    """Refuse the agent's token, in every process; a new one can be made."""
    Agent.objects.filter(pk=agent.pk).update(token_hash=REVOKED + secrets.token_hex(16), token_start="")


def set_token(agent: Agent) -> str:
    """Give the agent a new token, without saving it; return the token."""
    token = new_token()
    agent.token_hash, agent.token_start = token_hash(token), token[:START_CHARACTERS]
    return token


def new_token() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """Return the SHA-256 in hex."""
    # A random token of 256 bits needs no slow hash, and every request would pay for one.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def note_teacher(agent: str) -> None:
    """Record that the agent has taught by gutask, and so can be asked what a name is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO teacher (agent) SELECT %s WHERE (SELECT count(*) FROM teacher) < %s ON CONFLICT DO NOTHING",
            [agent, TEACHERS_MAX],
        )
