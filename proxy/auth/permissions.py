"""Who may do what: Festinger's own endpoints, and the upstream's where a token is required."""

from collections.abc import Mapping
from typing import Any, Literal

from django.conf import settings

from memory.cache.state import Cache
from proxy.auth.caller import Caller, identify, own_tokens, token_of
from proxy.domain.headers import Headers, filter_for_upstream
from proxy.errors import ForwardingLoop, NotAllowed

Permission = Literal["agent", "operator"]
INSTANCE = settings.INSTANCE.encode()
VIA = (b"via", b"1.1 " + INSTANCE)


def caller_of(cache: Cache, scope: Mapping[str, Any]) -> Caller:
    client = scope["client"]
    return identify(cache, dict(scope["headers"]), client[0] if client else None)


def require(caller: Caller, needed: Permission) -> None:
    """For Festinger's own endpoints. An operator's token does all that an agent's does. Raises NotAllowed."""
    if caller.is_local and settings.FESTINGER_TRUST_LOOPBACK:
        return
    if caller.token is None:
        whose, option = ("an operator's", " --scope operator") if needed == "operator" else ("an agent's", "")
        raise NotAllowed(
            f"this needs {whose} token: Authorization: Bearer fst_... (manage.py create_agent NAME{option} makes one)"
        )
    if needed == "operator" and caller.token.scope != "operator":
        raise NotAllowed(
            f"the token of {caller.name} is not an operator's (manage.py create_agent NAME --scope operator makes one)",
            status=403,
        )


def forwarded_headers(cache: Cache, scope: Mapping[str, Any]) -> Headers:
    """What the upstream gets; a Festinger token stays here. Raises NotAllowed where a token is required, and
    ForwardingLoop where the request has been here before (Via, RFC 9110 section 7.6.3)."""
    if any(name == b"via" and INSTANCE in value for name, value in scope["headers"]):
        raise ForwardingLoop
    given = dict(scope["headers"])
    if settings.FESTINGER_REQUIRE_TOKEN and token_of(cache, given) is None:
        raise NotAllowed("this Festinger asks for a token: Authorization: Bearer fst_...")
    # Also those that are revoked: they were never meant for the upstream.
    return [*filter_for_upstream(scope["headers"], without=frozenset(own_tokens(given))), VIA]
