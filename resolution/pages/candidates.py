"""Candidates as the desk shows them: what was said, why it waits, what it contradicts, and what can be decided."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from typing import Final

from django.urls import reverse
from django.utils.html import format_html

from memory.english.name_shapes import ADDRESS, HOST, INSTRUCTION, LONG
from memory.english.phrases import as_compact, format_count
from memory.models import Edge, Evidence, Soas, Source
from memory.templatetags.speakers import speaker
from memory.templatetags.times import ago
from memory.types import Triple
from resolution.intake.candidates import HEDGED, QUARANTINED, find_standing
from resolution.models import Candidate, Decision
from resolution.naming.names import TWO_NAMES
from resolution.pages import queries
from resolution.pages.desk import DECISIONS_MAX, KEYS, Choice, DecisionLine, DeskMember
from resolution.pages.words import Quote, date_or_none, describe_decision, find_origins, format_speaker, percent, quote

WHY: Final = {
    "unsure": "speaker-only: recalled to its speaker until another source states it",
    "quoted": "quoted from a page, tool or mail",
    "assistant": "only a model has said it",
    "explained": "a model's conclusion",
    QUARANTINED: "its agent was quarantined",
    "another fact stands": "another fact is current in its slot",
    TWO_NAMES: "much changes with it: accepting it makes the first a name of the second, its facts included",
    HEDGED: "its speaker only believes it, or was told so",
    **{shape: f"only an operator can vouch for it: {shape}" for shape in (LONG, INSTRUCTION, ADDRESS, HOST)},
}
SAID: Final = "candidate"  # the key of the member that is the candidate itself


@dataclass(frozen=True, slots=True)
class CandidatePage:
    """A candidate, and the current fact that it contradicts, if there is one. ``seen`` is a token of what is shown, for
    decisions about it. Only the page of one candidate has the rest."""

    row: Candidate
    against: Triple | None
    members: Sequence[DeskMember] = ()
    decided: Sequence[DecisionLine] = ()
    concept: Soas | None = None
    other_facts: Sequence[Edge] = ()
    sentences: Sequence[Evidence] = ()

    @property
    def title(self) -> str:
        return str(self.row)

    @property
    def is_open(self) -> bool:
        return self.row.state == Candidate.State.OPEN

    @property
    def seen(self) -> str:
        shown = f"{self.row}|{self.against}".encode("utf-8", "replace")
        return f"{self.row.pk}:{blake2s(shown, digest_size=8).hexdigest()}"

    @property
    def badges(self) -> list[tuple[str, str]]:
        """Short texts, each with its look."""
        row, own = self.row, "said by {}, visible to nobody else"
        return [
            (self.channel, ""),
            *([(format_html(own, speaker(row.for_speaker, row.for_person)), "info")] if row.for_speaker else []),
            *([] if self.is_open else [(row.state, "good" if row.state == Candidate.State.PROMOTED else "")]),
        ]

    @property
    def when(self) -> str:
        return f"said {format_count(self.row.said_count, 'time')}, last {ago(self.row.last_said_at)}"

    @property
    def contradicted(self) -> str:
        """The current fact in words, or ""."""
        fact = self.against
        return as_compact(fact.concept, fact.parent, fact.dimension, is_isa=fact.is_isa) if fact is not None else ""

    @property
    def why(self) -> str:
        return WHY.get(self.row.why, f"over the setting {self.row.why}")

    @property
    def channel(self) -> str:
        """The channel in words. A long message is one of several reasons why words are their speaker's alone."""
        return "speaker-only" if self.row.for_speaker else self.row.get_channel_display()

    @property
    def said(self) -> DeskMember:
        """The candidate as a member."""
        row = self.row
        person = {row.for_speaker: f"{row.for_person} ({row.for_speaker})"} if row.for_person.strip() else {}
        first, *others = dict.fromkeys(person.get(agent, agent or "unknown") for agent, _ in row.voices or [("", "")])
        return DeskMember(
            key=SAID, layer="candidate", text=str(row), by=first, at=date_or_none(row.last_said_at),
            confidence=percent(row.confidence), channel=self.channel, support=", ".join(others),
            against=self.contradicted, note=self.why,
            state="" if self.is_open else f"{row.state} by {row.resolved_by}" if row.resolved_by else row.state,
            quotes=[Quote(first, "", None, row.evidence)] if row.evidence else [],
        )  # fmt: skip

    @property
    def named(self) -> list[DeskMember]:
        """The lines of a row in the list."""
        said = replace(self.said, layer="said", text=f"“{self.row.evidence or self.row}”", state="")
        told = [("reason", self.why), *([("contradicts", self.contradicted)] if self.against else [])]
        return [said, *(DeskMember(key="", layer=layer, text=text) for layer, text in told)]

    @property
    def choices(self) -> list[Choice]:
        """The decisions offered, in the order of their keys, as between a fact and a claim."""
        if not self.is_open:
            return []
        becomes = f"It replaces {quote([self.contradicted])}, or opens a conflict with it." if self.against else ""
        found = [
            Choice("dismiss", "Dismiss", "It stays dismissed when it is said again.", member=SAID),
            Choice("accept", "Accept", becomes or "It becomes a fact.", member=SAID),
        ]
        return [one._replace(key=key) for one, key in zip(found, KEYS, strict=False)]

    @property
    def quick(self) -> list[Choice]:
        return self.choices


def read_candidates(rows: Iterable[Candidate]) -> list[CandidatePage]:
    """Return the candidates as a list shows them. Runs one query."""
    rows = list(rows)
    standing = find_standing({row.triple for row in rows})
    found = ((row, standing.get(row.triple)) for row in rows)
    return [CandidatePage(row, fact if fact != row.triple else None) for row, fact in found]


def load_candidate(candidate_id: int) -> CandidatePage | None:
    """Return a candidate with all that an operator needs to decide it, or None if there is none."""
    row = Candidate.objects.filter(pk=candidate_id).first()
    if row is None:
        return None
    [page] = read_candidates([row])
    origins = [Quote(one.agent, one.role, one.at, one.sentence, origin=one) for one in find_origins(row)]
    said = replace(page.said, quotes=origins or page.said.quotes)
    words = {word.token: word for word in Soas.objects.filter(token__in=[row.concept, row.dimension])}
    concept, dimension = words.get(row.concept), words.get(row.dimension)
    decided = Decision.objects.filter(candidate=row).select_related(*Decision.NAMES, "undone_by").order_by("-id")
    page = replace(
        page,
        members=[said, *_find_contradicted(page)],
        decided=[DecisionLine(one, describe_decision(one)) for one in decided[:DECISIONS_MAX]],
        concept=concept,
    )
    if concept is None:
        return page
    return replace(
        page,
        other_facts=queries.list_other_facts(concept.pk, dimension.pk if dimension is not None else 0),
        sentences=queries.find_sentences(concept.pk),
    )


def _find_contradicted(page: CandidatePage) -> list[DeskMember]:
    """Return the current fact that the candidate contradicts, as a member."""
    if (fact := page.against) is None:
        return []
    facts = Edge.objects.select_related("concept", "parent", "dim")
    edge = facts.filter(concept__token=fact.concept, dim__token=fact.dimension, parent__token=fact.parent).first()
    if edge is None:
        return []
    return [
        DeskMember(
            key="fact", layer="fact", text=str(edge), by=format_speaker(edge.agent, edge.source),
            at=date_or_none(edge.said_at), confidence=percent(edge.confidence), channel=edge.get_channel_display(),
            source=Source(edge.source).label, page=reverse("admin:memory_edge_change", args=[edge.pk]),
        )
    ]  # fmt: skip
