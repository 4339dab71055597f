"""Describes conflicts, facts and decisions in words, for operators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Final

from django.utils import timezone

from memory.channels import Channel, is_weaker
from memory.english.phrases import format_fact
from memory.models import Edge, EdgeHistory, Soas, Source
from memory.models.graph import CHANNELS
from memory.templatetags.times import ago
from memory.timing import UNDATED_S, is_dated
from resolution.conflicts.queue import OPEN
from resolution.models import Claim
from resolution.pages.origins import Origin, trace

# How a fact came to be known, by Source. Follows the speaker's name.
WAYS: Final = {
    "cloud_llm": ", from a language model",
    "inferred": ", read in a prompt",
    "festinger": ", in a resolution",
    "gutask": " via gutask",
    "operator": ", as an operator",
}

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
    "apart": "found different by the model",
    "undecided": "undecided",
    "deprecated": "too uncertain by now",
    "extracted": "new from what was said",
    "candidates": "new as candidates",
    "rejected": "refused of what the model concluded",
    "facts": "shared facts to look at",
    "lines": "lines read",
    "asked_reversal": "asked about what went there and back",
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


def by_whom(agent: str, source: str) -> str:
    """Return the speaker and the source, as in ``dobby, read in a prompt``; only the source if the speaker is
    unknown."""
    return f"{agent}{WAYS.get(source, f', {source}')}".lstrip(", ")


def percent(confidence: float) -> str:
    return f"{round(confidence * 100)} %"


@dataclass(frozen=True, slots=True)
class Quote:
    """Somebody's words for a fact."""

    by: str
    role: str
    at: datetime | None
    words: str
    action: str = ""
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a collision. ``note`` is what is unusual about it. A fact that is gone has only its words."""

    words: str
    by: str = ""
    at: datetime | None = None
    confidence: str = ""
    source: str = ""
    channel: str = ""
    role: str = ""
    note: str = ""
    support: str = ""  # the other speakers
    statements: tuple[Quote, ...] = ()

    @property
    def line(self) -> str:
        """The speaker, the time and the confidence."""
        return ", ".join(filter(None, (self.by, ago(self.at) if self.at else "", self.confidence)))


def incoming_side(row: Claim) -> Side:
    support = getattr(row, "support", None) or ()  # if annotated
    others = (f"{agent} ({dict(CHANNELS)[channel]})" for agent, channel in support if agent != row.agent)
    origin = trace(bytes(row.conversation), row.said_at, row.created_at)
    return Side(
        newcomer(row),
        by=by_whom(row.agent, row.incoming_source),
        at=dated(row.said_at),
        confidence=percent(row.incoming_confidence),
        source=Source(row.incoming_source).label,
        channel=row.get_channel_display(),
        role=row.role,
        support=", ".join(others),
        statements=(Quote(row.agent, row.role, dated(row.said_at), row.evidence, origin=origin),)
        if row.evidence
        else (),
    )


def existing_side(row: Claim, edge: Edge | None, statements: tuple[Quote, ...] = ()) -> Side:
    """Describe the fact in the way, ``edge``. If that has changed, describe what the queue knows of the previous
    one."""
    is_open = row.status in OPEN
    if edge is None:
        return Side(row.existing_words, note="Nothing stands in the way any more." if is_open else "It stands no more.")
    if not is_open:
        return (
            edge_side(edge, "", statements) if row.is_against(edge) else Side(row.existing_words, note=f"Now: {edge}.")
        )
    if (edge.concept_id, edge.parent_id) == (row.concept_id, row.incoming_parent_id) and not row.is_retraction:
        return edge_side(edge, "The new fact stands already.", statements)
    note = "With the new fact it would close a ring." if row.existing_parent is None else ""
    return edge_side(edge, note, statements)


def edge_side(edge: Edge, note: str = "", statements: tuple[Quote, ...] = ()) -> Side:
    return Side(
        str(edge),
        by=by_whom(edge.agent, edge.source),
        at=dated(edge.said_at),
        confidence=percent(edge.confidence),
        source=Source(edge.source).label,
        channel=edge.get_channel_display(),
        note=note,
        statements=statements,
    )


def why_it_waits(row: Claim, edge: Edge | None) -> str:
    """Return why only a person can remove the current fact, or "" if the resolver can or the newer statement wins."""
    if row.status not in OPEN or edge is None:
        return ""
    stood = f"What stands was stated by {edge.agent or 'somebody'} through {edge.get_channel_display()}"
    if is_weaker(row.channel, edge.channel):
        return f"{stood}; {row.get_channel_display()} is weaker and does not replace it. A person decides."
    if edge.channel in (Channel.OPERATOR, Channel.GUTASK):
        return f"{stood}: only a person takes it out."
    return ""


def newcomer(row: Claim, dimension: str = "", is_isa: bool | None = None) -> str:
    """Return the new fact in words, as stated or as it would be in another dimension."""
    if not dimension and is_isa is None:
        return row.words
    flavour = row.incoming_is_isa if is_isa is None else is_isa
    return format_fact(row.concept.shown, row.incoming_parent.shown, dimension or row.dim.token, is_isa=flavour)


def describe_proposal(row: Claim) -> str:
    """Return the resolver's proposal in words, or "" if there is none."""
    if row.status != Claim.Status.PROPOSED or not isinstance(row.proposal, dict):
        return ""
    return describe_decision(row.proposal.get("decision", ""), row.proposal, row, "")


def describe_decision(kind: str, names: Mapping[str, Any], row: Claim | None, tense: str = "ed") -> str:
    """Describe a decision in one line: in the past tense or, if ``tense`` is empty, as a proposal."""
    done = bool(tense)
    if row is None and "superseded" in names:
        return describe_resolution(kind, names)
    if row is None:
        about, into = names.get("concept", ""), names.get("into", "")
        doubted = f"memory {names['memory']}" if "memory" in names else f"what was said of {about}"
        return {
            "quarantine": f"Put {doubted} among the candidates",
            "merge": f"Renamed {about} to {into}" if names.get("is_rename") else f"Merged {about} into {into}",
            "delete": f"Deleted the dimension {about}",
            "consolidate": f"Changed {doubted}",
        }.get(kind, "Undid a decision")
    if kind == "dismiss":
        return f"{'Kept' if done else 'Keep'} what stands, {'dropped' if done else 'drop'} “{newcomer(row)}”"
    if kind == "update" and row.is_retraction:
        return f"{'Took' if done else 'Take'} out: {row.existing_words}"
    if kind == "update":
        return f"{'Took' if done else 'Take'} the new: {newcomer(row)}"
    if kind == "decompose":
        where = f"{names.get('existing_dimension', '')} for what stands, {names.get('new_dimension', '')} for the new"
        return f"Both are true: {where}"
    if kind == "relocate":
        there = newcomer(row, names.get("dimension", ""), names.get("is_isa"))
        return f"{'Moved' if done else 'Move'} to another dimension: {there}"
    return "Undid a decision" if kind == "undo" else kind


def describe_resolution(kind: str, names: Mapping[str, Any]) -> str:
    """Describe in one line the decision about a conflict as a whole."""
    gone = quote(one["text"] for one in (*names["superseded"], *names.get("dismissed", ())))
    winner = quote([names["winner"]["text"]]) if names["winner"] else ""
    kept = quote(one["text"] for one in names.get("others", ()))
    if kind in ("dismiss", "accept"):
        done = "Dismissed: it is no conflict" if kind == "dismiss" else "Left all as it is"
        return f"{done}. Kept: {kept}" if kept else done
    answer = f"Answered {names['answer']}: " if names.get("answer") else ""
    if answer and names["answer"] == "no":
        return f"{answer}{f'{gone} no longer holds' if gone else 'nothing had to change'}"
    done = f"{winner} holds{f', in the place of {gone}' if gone else ''}"
    return f"{answer}{done}"


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


def dated(at: datetime) -> datetime | None:
    """Return when something was said, or None if unknown because the conversation was in progress when it was first
    read."""
    return at if is_dated(at.timestamp()) else None


def tell_when(at: datetime) -> str:
    """Return when something was said or, if unknown, before when."""
    if dated(at) is not None:
        return f"{timezone.localtime(at):%Y-%m-%d %H:%M}"
    return f"before {timezone.localtime(at + timedelta(seconds=UNDATED_S)):%Y-%m-%d %H:%M}"


def names_in(pictures: Iterable[Mapping[str, Any] | None]) -> dict[int, str]:
    """Return the words that snapshots of edges refer to, by their ids, as people typed them."""
    ids = {shown[key] for shown in pictures if shown for key in ("concept_id", "parent_id", "dim_id")}
    return {word.pk: word.shown for word in Soas.objects.filter(pk__in=ids).only("token", "label")}


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
    return format_fact(concept, parent, dim, is_isa=shown["is_isa"])
