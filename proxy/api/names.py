"""The endpoints for aliases, and for merging concepts."""

from datetime import datetime
from typing import Any

from ninja import Field
from pydantic import AliasPath

from memory.graph.fact_syntax import parse_concept
from memory.models import Alias
from proxy.access.caller import Caller
from proxy.api import endpoint
from proxy.api.changes import Reason, act_as
from proxy.api.endpoint import Input, Output, Page, PageQuery, make_page
from proxy.api.facts import attribute
from resolution.naming import merging
from resolution.naming import names as naming


class AliasIn(Input):
    alias: str = Field(max_length=200, examples=["orsolya"])
    concept: str = Field(max_length=200, examples=["orsolya_venn"])


class AliasQuery(PageQuery):
    concept: str = Field("", max_length=64)


class MergeIn(Input):
    concept: str = Field(max_length=200, examples=["kowalczyk"])
    into: str = Field(max_length=200, examples=["agnieszka_kowalczyk"])
    reason: Reason = ""
    preview: bool = Field(False, description="Only tell what would become of each fact.")


class AliasOut(Output):
    alias: str = Field(validation_alias=AliasPath("soas", "token"))
    concept: str = Field(validation_alias=AliasPath("concept", "token"))
    channel: str
    agent: str
    at: datetime


class NamedAlias(AliasOut):
    status: str = Field("", description="As of a fact.")


class MergeOut(Output):
    concept: str
    into: str
    is_rename: bool
    run: int | None = Field(description="Undo it to undo the merge.")
    counts: dict[str, int]
    facts: list[dict[str, Any]] = Field(description="What became of each, and what is in its way.")


@endpoint.get("/aliases")
def list_aliases(caller: Caller, given: AliasQuery) -> Page[AliasOut]:
    """List the aliases of concepts."""
    rows = Alias.objects.select_related("soas", "concept").order_by("concept__token", "soas__token")
    rows = rows.filter(concept__token=given.concept.lower()) if given.concept else rows
    return make_page(Page[AliasOut], rows, given)


@endpoint.post("/aliases", writes=True, statuses=[201, 200], errors=[409])
def post_alias(caller: Caller, given: AliasIn) -> tuple[int, NamedAlias]:
    """Give a concept an alias.

    201 where it is new, 200 where it was known, or an alias of another concept before. 409 where facts are about the
    alias itself (an operator can merge the two), or an operator has given it to another concept."""
    named = naming.name_concept(parse_concept(given.alias), parse_concept(given.concept), attribute(caller, ""))
    told = NamedAlias.model_validate(named.alias).model_copy(update={"status": named.status})
    return (201 if named.status == "inserted" else 200), told


@endpoint.delete("/aliases/{alias}", writes=True, errors=[404, 409])
def delete_alias(caller: Caller, alias: str) -> AliasOut:
    """Remove an alias."""
    return AliasOut.model_validate(naming.drop_alias(alias, attribute(caller, "")))


@endpoint.post("/concepts/merge", scope="operator", writes=True, errors=[404, 409])
def merge_concepts(caller: Caller, given: MergeIn) -> MergeOut:
    """Merge a concept or a dimension into another, or rename it.

    The facts of the one are placed as facts of the other; what contradicts becomes a conflict. The merged name is an
    alias. `run` can be undone. Dimensions are merged and renamed in the same way."""
    concept, into = parse_concept(given.concept), parse_concept(given.into)
    if given.preview:
        done = merging.preview(concept, into)
    else:
        done = merging.merge(concept, into, act_as(caller), given.reason)
    facts = [
        {"was": str(one.was), "is": str(one.outcome.fact), "status": one.outcome.status,
         "existing": str(one.outcome.existing) if one.outcome.existing is not None else None}
        for one in done.moved
    ]  # fmt: skip
    run = done.run.pk if done.run is not None and not given.preview else None
    return MergeOut(
        concept=done.concept, into=done.into, is_rename=done.is_rename, run=run, counts=done.counts(), facts=facts
    )
