"""The endpoints for operating: health, metrics, the cache, and the client script."""

from pathlib import Path
from typing import Annotated, Any, Final

from django.conf import settings
from django.http import HttpResponse
from ninja import Field, Header

from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.scopes import may
from proxy.api import endpoint
from proxy.api.endpoint import Input, OpenOutput, Output
from proxy.errors import DatabaseAway
from proxy.health.facts import collect, describe_cache
from proxy.health.report import write_health, write_metrics

GUTASK: Final = Path(settings.ROOT) / "clients" / "gutask" / "gutask"


class Health(OpenOutput):
    ready: bool = Field(description="All that is told without a token; the rest is the state of each part.")


class Reloaded(Output):
    cache: dict[str, Any]


@endpoint.get("/health", scope=None)
async def get_health(caller: Caller) -> Health:
    """Report readiness and, with a token or from this machine, the state of each part."""
    current = runtime.current()
    if not may(caller, "agent"):
        # Readiness alone is public: load balancers and container probes send no token. It is known in memory, so that a
        # stranger takes up no connection to Postgres or the upstream.
        return Health(ready=current.is_ready)
    return Health(**write_health(await collect(current)))


@endpoint.get("/metrics")
async def get_metrics(caller: Caller, accept: Annotated[str, Header()] = "") -> HttpResponse:
    """Return metrics for Prometheus."""
    content, content_type = await write_metrics(runtime.current(), accept)
    return HttpResponse(content, content_type=content_type)


@endpoint.post("/reload", scope="operator")
async def post_reload(caller: Caller, given: Input) -> Reloaded:
    """Make every process reload its cache."""
    current = runtime.current()
    try:
        await current.coherence.reload()
    except TimeoutError as error:
        raise DatabaseAway from error
    return Reloaded(cache=describe_cache(current.cache))


@endpoint.get("/gutask", scope=None)
async def get_gutask(caller: Caller) -> HttpResponse:
    """Download the client script."""
    return HttpResponse(
        GUTASK.read_bytes(),
        content_type="text/x-python; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="gutask"'},
    )
