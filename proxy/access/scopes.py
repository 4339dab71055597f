"""Says what callers may do: with Festinger's own endpoints, with the models, and with projects."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from django.conf import settings

from memory.cache.state import Cache
from memory.memories.scope import Scope
from proxy.access.caller import NO_SUCH_PROJECT, Caller, choose_project, has_own_token, may_name
from proxy.errors import DatabaseAway, ForwardingLoop, NotAllowed, ProxyError
from proxy.upstream.headers import Headers, filter_for_upstream

Permission = Literal["agent", "operator"]
INSTANCE: Final = settings.INSTANCE.encode()
VIA: Final = (b"via", b"1.1 " + INSTANCE)
NO_PROJECT_YET: Final = (
    "there is no project {slug!r} yet: the first prompt or write that names it makes it, as"
    f" {settings.MANAGE} create_project"
    " and POST /projects do"
)


def may(caller: Caller, needed: Permission) -> bool:
    """True if the caller has the permission. An operator's token does all that an agent's does. A caller that sends an
    invalid token gets no trust as a local one."""
    trust = settings.FESTINGER_TRUST_LOOPBACK if caller.is_local and not caller.token_fault else "none"
    return not {"operator", needed}.isdisjoint({trust, caller.token_scope})


def require(caller: Caller, needed: Permission) -> None:
    """Check a permission for Festinger's own endpoints. Raises NotAllowed and DatabaseAway."""
    if not may(caller, needed):
        raise _refuse(caller, needed)


def require_own_name(caller: Caller) -> None:
    """Check that a registered agent's name in the address comes with its token, for Festinger's own endpoints. Raises
    NotAllowed."""
    if agent := caller.claimed_agent:
        raise NotAllowed(f"{agent} has a token: send it as Authorization: Bearer fst_..., or use another name")


def require_for_models(caller: Caller) -> None:
    """Check the permission to change which models the upstream has. Raises NotAllowed and DatabaseAway."""
    # Any trust will do on this machine: programs there can ask the model server directly.
    is_trusted = caller.is_local and settings.FESTINGER_TRUST_LOOPBACK != "none"
    if caller.token_scope != "operator" and not is_trusted:
        raise _refuse(caller, "operator")


def _refuse(caller: Caller, needed: Permission) -> ProxyError:
    if caller.token_fault == "unknown_yet":
        return DatabaseAway()
    if caller.token_fault == "invalid":
        return NotAllowed("this token is not valid: it was revoked, or is not written as it was shown")
    option = " --scope operator" if needed == "operator" else ""
    ways = f"needs a token of scope {needed} ({settings.MANAGE} create_agent NAME{option} makes one)"
    if needed == "operator" and caller.is_local:
        ways += ", or FESTINGER_TRUST_LOOPBACK=operator"
    if caller.token is None:
        return NotAllowed(f"this {ways}; it is sent as Authorization: Bearer fst_...")
    return NotAllowed(f"this {ways}; that of {caller.name} has scope {caller.token_scope}", status=403)


def build_upstream_headers(scope: Mapping[str, Any]) -> Headers:
    """Return the headers for the upstream, without Festinger tokens. Raises NotAllowed if a required token is missing,
    DatabaseAway if it cannot be checked yet, and ForwardingLoop."""
    # The request has been here before (Via, RFC 9110 section 7.6.3): without this check it would loop until no socket
    # is left.
    if any(name == b"via" and INSTANCE in value for name, value in scope["headers"]):
        raise ForwardingLoop
    caller: Caller = scope["caller"]
    if settings.FESTINGER_REQUIRE_TOKEN and caller.token is None:
        raise _refuse(caller, "agent")
    # Also drop revoked tokens: they were never meant for the upstream.
    return [*filter_for_upstream(header for header in scope["headers"] if not has_own_token(*header)), VIA]


# --- which project a call is about ---


def list_nameable(cache: Cache, caller: Caller) -> list[int]:
    """Return the ids of the projects that the caller may name; operators may name all."""
    names_all = may(caller, "operator")
    return [project.id for project in cache.projects.values() if names_all or may_name(caller.token, project)]


def scope_of(cache: Cache, caller: Caller, payload: Mapping[str, Any], project: str = "") -> Scope:
    """Return the scope in which a call to Festinger's own endpoints remembers and searches: the project that it names,
    else that of its header or token. Raises NotAllowed."""
    slug = read_slug(caller, project)
    about = replace(caller, named_project=slug, project=choose_project(cache, caller.token, slug))
    scope = about.scope_for(payload)
    if scope is None:
        is_new = may_make_project(cache, caller, slug)
        raise NotAllowed(NO_PROJECT_YET.format(slug=slug) if is_new else NO_SUCH_PROJECT, status=403)
    return scope


def read_slug(caller: Caller, project: str = "") -> str:
    """Return the slug of the project in a call's body, else in its header; empty if it names none."""
    return project.strip().lower() or caller.named_project


def may_make_project(cache: Cache, caller: Caller, slug: str) -> bool:
    """True if there is no such project and the caller may make it by naming it: an operator, an agent that may name any
    project, or a program on this machine without a token, if those are trusted."""
    if not slug or slug in cache.projects or cache.loaded_at is None:
        return False
    return caller.token.projects is None if caller.token is not None else may(caller, "agent")
