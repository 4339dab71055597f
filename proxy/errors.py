"""ProxyError
├── UpstreamUnreachable    502: no answer from the model server
├── BadRequest             400
├── BodyTooLarge           413
├── NotFound               404: a route that is not forwarded, or something unknown
├── BadValue               422: an unknown key, or a value that makes no sense or that Postgres cannot store
├── Clash                  409: somebody else was faster
├── Refused                an answer with more than a message
├── DatabaseAway           503: for requests that need Postgres at once; prompts do not
├── ForwardingLoop         508: the upstream leads back to this Festinger
├── TooMuchAtOnce          503: the large bodies of other requests take all the room
└── NotAllowed             401 or 403: a token is missing, unknown, or of too narrow a scope

Each carries the HTTP status and a message for the caller."""

import logging
from typing import Any, Final

from django.db import DataError, Error

from memory.db.connections import first_line, is_lost
from memory.graph.fact_syntax import FactMistake
from resolution.conflicts.verdict import VerdictMistake
from resolution.errors import DecisionError, InvalidDecision, UnknownId

logger = logging.getLogger(__name__)


class ProxyError(Exception):
    """Something went wrong in Festinger."""

    status = 500

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (self.__doc__ or "").strip())


class UpstreamUnreachable(ProxyError):
    """The model server cannot be reached."""

    status = 502


class BadRequest(ProxyError):
    """This request cannot be understood."""

    status = 400


class BodyTooLarge(ProxyError):
    """The request body is too large."""

    status = 413


class TooMuchAtOnce(ProxyError):
    """Festinger has too many large requests at once; try again"""

    status = 503


class NotFound(ProxyError):
    """not found"""

    status = 404


class BadValue(ProxyError):
    """This request has a value that cannot be stored."""

    status = 422


class Clash(ProxyError):
    """Somebody else was faster."""

    status = 409


class Refused(ProxyError):
    """The call is refused."""

    def __init__(self, status: int, content: dict[str, Any]) -> None:
        super().__init__(content.get("error", ""))
        self.status = status
        self.content = content


class DatabaseAway(ProxyError):
    """Festinger cannot reach its database; try again"""

    status = 503


class ForwardingLoop(ProxyError):
    """The address of the upstream leads back to this Festinger: it must be that of the model server."""

    status = 508


class NotAllowed(ProxyError):
    """This needs a token."""

    def __init__(self, message: str = "", *, status: int = 401) -> None:
        super().__init__(message)
        self.status = status


def map_database_error(error: Error) -> ProxyError:
    """Return the error for the caller. Raises the original error if neither the caller nor a retry can help."""
    if is_lost(error):
        logger.warning("database.unreachable", extra={"error": first_line(error)})
        return DatabaseAway()
    if isinstance(error, DataError):
        return BadValue(f"this request has a value that cannot be stored or looked for: {first_line(error)}")
    raise error


FAILURES: Final = (
    ProxyError,
    FactMistake,
    VerdictMistake,
    DecisionError,
    Error,
)  # that are answered; others are faults


def describe_error(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the content of the answer to one of FAILURES."""
    if isinstance(error, Error):
        error = map_database_error(error)
    if isinstance(error, Refused):
        return error.status, error.content
    if isinstance(error, FactMistake):
        return 422, {"error": str(error), "position": error.position, "hint": error.hint}
    if isinstance(error, VerdictMistake):
        return 422, {"error": make_sentence(error)}
    if isinstance(error, DecisionError):
        status = 404 if isinstance(error, UnknownId) else 422 if isinstance(error, InvalidDecision) else 409
        return status, {"error": str(error)}
    return getattr(error, "status", 500), {"error": str(error)}


def make_sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[0].upper()}{text[1:]}."
