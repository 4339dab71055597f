"""Describes conflicts, facts and decisions in words, for operators, and traces statements to the requests that brought
them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from memory.channels import Channel, is_weaker
from memory.english.phrases import as_compact
from memory.models import Edge, EdgeHistory, Observation, Soas, Source
from memory.timing import REQUESTS_KEPT_DAYS, UNDATED_S, is_dated
from resolution.models import Candidate, Claim, Decision

OPENING_BYTES: Final = 16  # the start of a message's digest, which identifies the opening of its conversation
ORIGINS_MAX: Final = 10


# How a fact came to be known, by Source. Follows the speaker's name.
WAYS: Final = {
    "cloud_llm": ", from a language model",
    "inferred": ", read in a prompt",
    "festinger": ", in a resolution",
    "gutask": " via gutask",
    "operator": ", as an operator",
}

SPEAKING: Final = (Source.INFERRED, Source.GUTASK)  # the sources of what agents state

# The actions that are statements. Moving a fact or putting it back is not.
STATING: Final = (EdgeHistory.Action.INSERT, EdgeHistory.Action.CONFIRM, EdgeHistory.Action.SUPERSEDE)

# The keys of ``Run.counts``, in words.
OUTCOMES: Final = {
    "update": "updated",
    "decompose": "decomposed",
    "relocate": "relocated",
    "dismiss": "dismissed",
    "quarantined": "facts put among the candidates",
    "memories": "memories put among the candidates",
    "memories_kept": "memories kept, for others vouch for them",
    "restored": "facts that it had taken back, returned",
    "names": "other names taken away",
    "kept": "facts kept, for others vouch for them",
    "moved": "moved",
    "united": "held by both",
    "collided": "in conflict",
    "left_out": "left out",
    "proposed": "proposed",
    "failed": "failed",
    "overtaken": "decided by others meanwhile",
    "supported": "with new evidence",
    "merged": "merged into others",
    "disputed": "pairs in contradiction",
    "merged_by_model": "merged by the model",
    "disputed_by_model": "found in contradiction by the model",
    "apart": "kept apart by the model",
    "undecided": "undecided",
    "deprecated": "dropped for low confidence",
    "extracted": "new from what was said",
    "candidates": "new as candidates",
    "rejected": "suggested by the model and rejected",
    "facts": "shared facts to look at",
    "lines": "lines read",
    "asked_reversal": "asked about reverted values",
    "asked_numbers": "asked about numbers",
    "asked_opposition": "asked about opposites",
    "asked_model": "asked by the model",
}

# The actions of a memory's history, in words.
MEMORY_CHANGES: Final = {
    "create": "was written",
    "confirm": "was said again",
    "edit": "was edited",
    "promote": "was promoted",
    "dispute": "is disputed",
    "supersede": "was replaced",
    "merge": "was merged",
    "deprecate": "became too uncertain",
    "invalidate": "was taken back",
    "restore": "holds again",
    "keep": "was kept beside another",
    "undo": "was put back",
    "quarantine": "was put among the candidates",
}


def describe_counts(counts: Mapping[str, int]) -> str:
    """Return a run's counts in words, such as "3 updated, 1 failed"."""
    return ", ".join(f"{counts[name]:,} {words}" for name, words in OUTCOMES.items() if counts.get(name))


def format_speaker(agent: str, source: str) -> str:
    """Return the speaker and the source, as in ``dobby, read in a prompt``; only the source if the speaker is
    unknown."""
    return f"{agent}{WAYS.get(source, f', {source}')}".lstrip(", ")


def percent(confidence: float) -> str:
    return f"{round(confidence * 100)} %"


class Origin(NamedTuple):
    """The origin of a statement. ``request`` is the address of a page that leads to the request, or "" if there was
    none; ``is_kept`` is True if the request is still stored, which it is for some days."""

    sentence: str = ""
    agent: str = ""
    role: str = ""
    at: datetime | None = None
    request: str = ""
    is_kept: bool = False
    observation: int | None = None

    @property
    def days(self) -> int:
        return REQUESTS_KEPT_DAYS


@dataclass(frozen=True, slots=True)
class Quote:
    """Somebody's words for a fact."""

    by: str
    role: str
    at: datetime | None
    words: str
    action: str = ""
    origin: Origin | None = None


def explain_waiting(claim: Claim, existing: Edge | None) -> str:
    """Return what is special about an open claim: why it needs a person, or what it is against by now; "" for
    nothing."""
    if existing is None:
        return "" if claim.is_retraction else "The existing fact was retired. Accept or reject the claim."
    if existing.ids == claim.incoming and not claim.is_retraction:
        return "The claim is a fact already."
    if claim.existing_parent_id is None:
        return "It would close a cycle."
    stated = f"The current fact was stated by {existing.agent or 'somebody'} through {existing.get_channel_display()}"
    if is_weaker(claim.channel, existing.channel):
        return f"{stated}; {claim.get_channel_display()} is weaker and does not replace it. A person decides."
    if existing.channel in (Channel.OPERATOR, Channel.GUTASK):
        return f"{stated}: only a person removes it."
    return ""


def format_incoming(claim: Claim, dimension: str = "", is_isa: bool | None = None) -> str:
    """Return the new fact in words, as stated or as it would be in another dimension."""
    if not dimension and is_isa is None:
        return claim.words
    flavour = claim.incoming_is_isa if is_isa is None else is_isa
    concept, parent = claim.concept.shown, claim.incoming_parent.shown
    return as_compact(concept, parent, dimension or claim.dim.token, is_isa=flavour)


# --- decisions ---


def describe_decision(decision: Decision) -> str:
    """Describe a decision in one line."""
    names = decision.arguments
    if decision.kind == Decision.Kind.UNDO:
        return "Undid a decision"
    if decision.candidate_id is not None:
        done = "Accepted" if decision.kind == Decision.Kind.PROMOTE else "Dismissed"
        opened = f", which opened conflict {names['conflict']}" if "conflict" in names else ""
        return f"{done} “{decision.candidate or 'a candidate that was forgotten'}”{opened}"
    if decision.claim is not None:
        return describe_verdict(decision.kind, names, decision.claim, is_done=True)
    return describe_resolution(decision.kind, names) if "superseded" in names else describe_job(decision.kind, names)


def describe_verdict(kind: str, names: Mapping[str, Any], claim: Claim, *, is_done: bool) -> str:
    """Describe what a decision does with a claim: what was done, or what is proposed."""
    match kind:
        case "dismiss":
            kept = "Kept the current fact, rejected" if is_done else "Keep the current fact, reject"
            return f"{kept} “{format_incoming(claim)}”"
        case "update" if claim.is_retraction:
            return f"{'Removed' if is_done else 'Remove'}: {claim.existing_words}"
        case "update":
            return f"{'Accepted' if is_done else 'Accept'}: {format_incoming(claim)}"
        case "decompose":
            existing, new = names.get("existing_dimension", ""), names.get("new_dimension", "")
            return f"Both are true: {existing} for the current fact, {new} for the new one"
        case "relocate":
            there = format_incoming(claim, names.get("dimension", ""), names.get("is_isa"))
            return f"{'Moved' if is_done else 'Move'} to another dimension: {there}"
    return kind


def describe_proposal(claim: Claim) -> str:
    """Return the resolver's proposal in words, or "" if there is none."""
    if claim.status != Claim.Status.PROPOSED or not isinstance(claim.proposal, dict):
        return ""
    return describe_verdict(claim.proposal.get("decision", ""), claim.proposal, claim, is_done=False)


def describe_resolution(kind: str, names: Mapping[str, Any]) -> str:
    """Describe what a decision did with the members of a conflict."""
    rejected = quote(one["text"] for one in names.get("dismissed", ()))
    superseded = quote(one["text"] for one in names["superseded"])
    if kind in ("dismiss", "accept"):
        others = names.get("others", ())
        kept = quote(one["text"] for one in others if one["kind"] != "claim")
        if claims := quote(one["text"] for one in others if one["kind"] == "claim"):
            return f"Kept {kept}; rejected {claims}" if kept else f"Rejected {claims}"
        done = "Dismissed, as no conflict" if kind == "dismiss" else "Left as it is"
        return f"{done}: {kept}" if kept else done
    answer = f"Answered {names['answer']}: " if names.get("answer") else ""
    parts = [f"superseded {superseded}"] if superseded else []
    parts += [f"rejected {rejected}"] if rejected else []
    if names["winner"] and names.get("answer") != "no":
        parts.insert(0, f"accepted {quote([names['winner']['text']])}")
    done = "; ".join(parts) or "nothing had to change"
    return f"{answer}{done}" if answer else f"{done[0].upper()}{done[1:]}"


def describe_job(kind: str, names: Mapping[str, Any]) -> str:
    """Describe a change that no person decided row by row."""
    about, into = names.get("concept", ""), names.get("into", "")
    changed = f"memory {names['memory']}" if "memory" in names else f"statements about {about}"
    match kind:
        case "quarantine":
            return f"Moved {changed} to the candidates"
        case "merge":
            return f"Renamed {about} to {into}" if names.get("is_rename") else f"Merged {about} into {into}"
        case "delete":
            return f"Deleted the dimension {about}"
        case "consolidate":
            return f"Changed {changed}"
    return kind


def join_alternatives(texts: Iterable[str]) -> str:
    """Join sentences, saying once what they begin and end with: ``kvasir runs on tyr or freyr``."""
    told = [text.removesuffix(".").split() for text in dict.fromkeys(texts)]
    if len(told) < 2:
        return " ".join(told[0]) if told else ""
    least = min(map(len, told)) - 1  # each keeps a word of its own
    start = min(count_equal(told), least)
    end = min(count_equal([words[::-1] for words in told]), least - start)
    middle = " or ".join(" ".join(words[start : len(words) - end]) for words in told)
    return " ".join([*told[0][:start], middle, *told[0][len(told[0]) - end :]])


def count_equal(told: Sequence[Sequence[str]]) -> int:
    """Return how many words all of them begin with."""
    return sum(1 for _ in takewhile(lambda words: len(set(words)) == 1, zip(*told, strict=False)))


def quote(texts: Iterable[str]) -> str:
    """Quote the texts for use within a sentence, without their full stops."""
    return ", ".join(f"“{text.removesuffix('.')}”" for text in texts)


def date_or_none(at: datetime) -> datetime | None:
    """Return when something was said, or None if unknown because the conversation was in progress when it was first
    read."""
    return at if is_dated(at.timestamp()) else None


def format_date(at: datetime) -> str:
    """Return when something was said or, if unknown, before when."""
    if date_or_none(at) is not None:
        return f"{timezone.localtime(at):%Y-%m-%d %H:%M}"
    return f"before {timezone.localtime(at + timedelta(seconds=UNDATED_S)):%Y-%m-%d %H:%M}"


def names_in(pictures: Iterable[Mapping[str, Any] | None], known: Mapping[int, str] | None = None) -> dict[int, str]:
    """Return the words that snapshots of edges refer to, by their ids, as people typed them. Looks up those that are
    not ``known``."""
    ids = {shown[key] for shown in pictures if shown for key in ("concept_id", "parent_id", "dim_id")}
    found = dict(known or {})
    if missing := ids - found.keys():
        found |= {word.pk: word.shown for word in Soas.objects.filter(pk__in=missing).only("token", "label")}
    return found


def describe_history(row: EdgeHistory, tokens: Mapping[int, str]) -> str:
    before, after = (in_words(shown, tokens) if shown else "" for shown in (row.before, row.after))
    match row.action:
        case EdgeHistory.Action.INSERT:
            return f"stated: {after}"
        case EdgeHistory.Action.CONFIRM:
            return f"confirmed: {after}"
        case EdgeHistory.Action.SUPERSEDE:
            return f"{before} gave way to {after}"
        case EdgeHistory.Action.RETIRE:
            return f"taken out: {before}"
        case EdgeHistory.Action.MOVE:
            return f"moved: {before} is now {after}"
        case _:
            return f"put back: {after}" if after else f"taken back: {before}"


def in_words(shown: Mapping[str, Any], tokens: Mapping[int, str]) -> str:
    """Describe a snapshot of an edge."""
    concept, parent, dim = (tokens.get(shown[key], "?") for key in ("concept_id", "parent_id", "dim_id"))
    return as_compact(concept, parent, dim, is_isa=shown["is_isa"])


# --- origins ---


def trace(conversation: bytes, said_at: datetime, noted_at: datetime) -> Origin:
    """Return the origin of something said in a conversation with this opening, which is empty if there was none."""
    if not conversation:
        return Origin()
    at = said_at if is_dated(said_at.timestamp()) else noted_at
    told = urlencode({"conversation": conversation.hex(), "at": f"{at.timestamp():.6f}"})
    is_kept = timezone.now() - at < timedelta(days=REQUESTS_KEPT_DAYS)
    return Origin(at=at, request=f"{reverse('admin:proxy_origin')}?{told}", is_kept=is_kept)


def trace_observation(row: Observation) -> Origin:
    found = trace(bytes(row.digest)[:OPENING_BYTES], row.said_at, row.created_at)
    return found._replace(sentence=row.evidence, agent=row.agent, role=row.role, observation=row.pk)


def find_origins(fact: Edge | Candidate) -> list[Origin]:
    """Return the origins of statements of the fact in prompts, newest first."""
    words = {"concept": str(fact.concept), "parent": str(fact.parent)}
    dimension = fact.dim.token if isinstance(fact, Edge) else fact.dimension
    said = Observation.objects.filter(kind=Observation.Kind.TRIPLE, **words, dimension=dimension)
    return [trace_observation(row) for row in said.order_by("-id")[:ORIGINS_MAX]]
