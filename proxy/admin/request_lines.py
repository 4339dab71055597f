"""Shows what requests were given, and what was said, taught and repeated in them. Each line of a block has its row, who
said it, why it was injected or not, and what can be done about it."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.db.models import BigIntegerField, Case, F, Model, OuterRef, Q, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, NullIf
from django.urls import reverse

from memory.admin.base import address
from memory.english.phrases import as_sentence
from memory.graph.snapshots import read_snapshot
from memory.models import Edge, EdgeHistory, Episode, Memory, Observation, ProjectState, Soas
from memory.models.forgetting import SetAside
from memory.models.messages import DIGEST_BYTES
from memory.recall.notes import GIVEN
from memory.templatetags.speakers import speaker
from memory.timing import FIRST_DATED
from proxy.models import LoopEvent, RecollectionEvent
from proxy.prompts.search import tell_how
from resolution.models import Conflict, ConflictMember

Action = EdgeHistory.Action
May = Callable[[str], bool]  # which permissions an account has

RECALLED: Final = "recalled"  # the reason of a concept whose facts were injected
RETIRE, CHANGE = "memory.delete_edge", "memory.change_memory"
NAMED: Final = "named in the prompt"
FACTS_MAX: Final = 50  # of one request, like statements and messages
# Statements of one message are some microseconds apart, and their clock may be a little ahead.
NEAR: Final = timedelta(milliseconds=5)


class Kind(NamedTuple):
    """A kind of line: its name on the page and as a member of conflicts, its model, and the acts that take it back and
    keep it out of such prompts, each with its permission."""

    name: str
    member: str
    model: type[Model]
    take_back: tuple[str, str]
    never: tuple[str, str] | None = None


KINDS: Final[Mapping[str, Kind]] = {
    "fact": Kind("fact", "edge", Edge, (RETIRE, "memory_edge_retire_one"), ("memory.change_soas", "memory_edge_never")),
    "memory": Kind("memory", "memory", Memory, (CHANGE, "memory_memory_take_back"), (CHANGE, "memory_memory_never")),
    "episode": Kind("message", "", Episode, (CHANGE, "memory_episode_take_back"), (CHANGE, "memory_episode_never")),
    "state": Kind(
        "project state", "project_state", ProjectState, ("memory.change_projectstate", "memory_projectstate_take_back")
    ),
}


class Ending(NamedTuple):
    """Tells that what a row says holds no more. ``told`` says how, empty if it still holds; ``row`` shows it, None if
    there is none to see; ``undo`` names the dialog of that row which undoes it, if any."""

    told: str
    row: Model | None
    undo: str = ""


class Line(NamedTuple):
    """A line. ``why`` it was not injected, empty if it was; ``how`` it was found; ``acts``: labels and addresses of
    dialogs; ``ended``: how what it says has ended since."""

    kind: str
    text: str
    by: str
    said_at: datetime | None
    why: str
    how: str
    conflict: int | None  # the open one in which it is disputed
    acts: Sequence[tuple[str, str]]
    ended: Ending

    @property
    def page(self) -> str:
        row = self.ended.row
        return address(type(row), row.pk) if row is not None else ""


@dataclass(slots=True)
class Told:
    """A request, with its lines (those that were injected first) and what came in or with it until the next one."""

    event: RecollectionEvent
    lines: list[Line] = field(default_factory=list)
    loops: list[LoopEvent] = field(default_factory=list)
    taught: list[Observation] = field(default_factory=list)
    said: list[Episode] = field(default_factory=list)

    @property
    def prompt(self) -> Episode | None:
        """The user's message that the request answers, if it is kept."""
        asked = [message for message in self.said if message.role == "user" and message.said_at < self.event.at + NEAR]
        return asked[-1] if asked else None

    @property
    def given(self) -> list[Line]:
        return [line for line in self.lines if not line.why]


def tell_requests(events: Sequence[RecollectionEvent], may: May, page: str) -> list[Told]:
    """Tell of one request, or of some of one conversation that follow each other, the oldest first. ``page``: where the
    acts lead back to."""
    if not events:
        return []
    rows = _find_rows(events, may) | {("fact", edge.pk): edge for edge in _find_facts(events, may)}
    conflicts = _find_conflicts(rows) if may("resolution.view_conflict") else {}
    told = [Told(event) for event in events]
    loops = LoopEvent.objects.filter(request__in=[event.pk for event in events]).order_by("at", "id")
    by_request = {one.event.pk: one for one in told}
    for loop in loops:
        by_request[loop.request].loops.append(loop)
    if conversation := events[0].conversation:
        _assign(told, conversation, may)
    for one in told:
        one.lines += _list_lines(one, rows, conflicts, may, page)
    return told


def _assign(told: Sequence[Told], conversation: str, may: May) -> None:
    """Assign what was taught and said in the conversation to its requests."""
    events, most = [one.event for one in told], FACTS_MAX * len(told)
    starts = [event.at - NEAR for event in events]
    later = RecollectionEvent.objects.filter(conversation=conversation, at__gt=events[-1].at).order_by("at")
    until = later.values_list("at", flat=True).first()
    end = until - NEAR if until is not None else datetime.max.replace(tzinfo=UTC)
    if may("memory.view_observation"):
        for said in _find_statements(conversation).filter(heard__gte=starts[0], heard__lt=end)[:most]:
            told[bisect_right(starts, said.heard) - 1].taught.append(said)
    if may("memory.view_episode"):
        for message in find_messages(conversation).filter(said_at__gte=starts[0], said_at__lt=end)[:most]:
            told[bisect_right(starts, message.said_at) - 1].said.append(message)


def has_lost_block(event: RecollectionEvent) -> bool:
    """True if the text of its block was cleared, because something in it was set aside or forgotten."""
    return not event.block and any(note["why"] == GIVEN for note in event.notes)


def find_messages(conversation: str) -> Any:
    """Return what is kept of the messages of a conversation, the oldest first."""
    kept = Episode.objects.filter(conversation=bytes.fromhex(conversation)).defer("lexemes")
    return kept.order_by("said_at", "id")


def _find_statements(conversation: str) -> Any:
    opening = bytes.fromhex(conversation)
    in_it = Observation.objects.filter(
        kind=Observation.Kind.TRIPLE,
        digest__gte=opening.ljust(DIGEST_BYTES, b"\0"),
        digest__lte=opening.ljust(DIGEST_BYTES, b"\xff"),
    )
    # Statements from before the conversation was first seen have only the time when they were noted.
    heard = Case(When(said_at__lt=datetime.fromtimestamp(FIRST_DATED, UTC), then=F("created_at")), default=F("said_at"))
    return in_it.annotate(heard=heard).order_by("heard", "id")


def _find_facts(events: Sequence[RecollectionEvent], may: May) -> list[Any]:
    """Return the facts of what was recalled; those that have left the graph since with their ``ending``, and under the
    negative key of the change."""
    recalled = {word for event in events for word, why in event.reasons.items() if why == RECALLED}
    if not (recalled and may("memory.view_edge")):
        return []
    edges = Edge.objects.filter(concept__token__in=recalled).exclude(parent_id=F("concept_id"))
    rows = edges.select_related("concept", "parent", "dim").order_by("concept_id", "-dim_id")
    current = list(rows[: FACTS_MAX * len(events)])
    parents = Soas.objects.filter(pk=Cast(KeyTextTransform("parent_id", OuterRef("before")), BigIntegerField()))
    left = EdgeHistory.objects.filter(
        concept__token__in=recalled, at__gte=events[0].at, action__in=(Action.RETIRE, Action.SUPERSEDE)
    ).annotate(parent=parents.values(shown=Coalesce(NullIf("label", Value("")), "token")))
    changes = left.exclude(parent=None).select_related("concept", "dim").order_by("-id")  # words may have been pruned
    return [*current, *_restore_gone(changes[: FACTS_MAX * len(events)], current)]


def _restore_gone(changes: Iterable[Any], current: Sequence[Edge]) -> Iterator[Any]:
    """Yield the facts as they were before the changes, the newest change first, each fact once."""
    seen, taken = {edge.ids for edge in current}, {edge.place for edge in current}
    for change in changes:
        edge = Edge(**read_snapshot(Edge, change.before) | {"edge_id": -change.pk})
        if edge.ids in seen:
            continue
        seen.add(edge.ids)
        edge.concept, edge.dim, edge.parent = change.concept, change.dim, Soas(pk=edge.parent_id, token=change.parent)
        is_retired = change.action == Action.RETIRE
        undo = "memory_edgehistory_put_back" if is_retired and edge.place not in taken else ""
        vars(edge)["ending"] = Ending("taken back" if is_retired else "replaced", change, undo)
        yield edge


def _find_rows(events: Sequence[RecollectionEvent], may: May) -> dict[tuple[str, int], Any]:
    rows: dict[tuple[str, int], Any] = {}
    for name, kind in KINDS.items():
        ids = {note["id"] for event in events for note in event.notes if note["kind"] == name}
        if ids and may(f"memory.view_{kind.model._meta.model_name}"):
            found = kind.model._default_manager.all()
            if issubclass(kind.model, SetAside) and may("memory.view_forgetrequest"):
                found = kind.model.all_rows.select_related("set_aside_by")
            rows |= {(name, key): row for key, row in found.in_bulk(ids).items()}
    return rows


def _find_ending(row: Any) -> Ending:
    if isinstance(row, Edge):
        return vars(row).get("ending", Ending("", row))
    if (request := getattr(row, "set_aside_by", None)) is not None:
        return Ending(f"set aside: {request}", request, "memory_forgetrequest_undo")
    match getattr(row, "status", "active"):
        case "active":
            return Ending("", row)
        case "invalid":
            return Ending("taken back", row, "memory_memory_restore")
        case "superseded" if isinstance(row, ProjectState):
            return Ending("replaced" if row.superseded_by_id else "taken back", row)
    return Ending(row.get_status_display(), row)


def _find_conflicts(rows: Mapping[tuple[str, int], Any]) -> dict[tuple[str, int], int]:
    """Return the oldest open conflict of each disputed row."""
    names = {kind.member: name for name, kind in KINDS.items() if kind.member}
    ids = {member: [key for of, key in rows if of == name] for member, name in names.items()}
    of_rows = reduce(or_, (Q(kind=member, object_id__in=keys) for member, keys in ids.items()))
    members = ConflictMember.objects.filter(of_rows, conflict__status=Conflict.Status.OPEN).order_by("-conflict_id")
    found = members.values_list("kind", "object_id", "conflict_id")
    return {(names[member], key): conflict for member, key, conflict in found}


def _list_lines(
    one: Told, rows: Mapping[tuple[str, int], Any], conflicts: Mapping[tuple[str, int], int], may: May, page: str
) -> Iterator[Line]:
    event, prompt = one.event, one.prompt
    shown, is_cleared = event.block.splitlines(), has_lost_block(event)
    for key, edge in rows.items():
        if key[0] != "fact" or event.reasons.get(edge.concept.token) != RECALLED:
            continue
        concept, parent = (word.label or word.token for word in (edge.concept, edge.parent))
        # A line may have all facts of a concept, or both values of a slot. Facts that were placed later are left out.
        if is_cleared or any(line.startswith((f"{concept} ", f"{concept}: ")) and parent in line for line in shown):
            sentence = as_sentence(concept, parent, str(edge.dim), is_isa=edge.is_isa)
            by = speaker(edge.agent) if edge.agent else edge.get_source_display()
            ended = _find_ending(edge)
            acts = _list_acts("fact", ended, prompt, may, page)
            yield Line("fact", sentence, by, edge.said_at, "", NAMED, conflicts.get(key), acts, ended)
    for note in sorted(event.notes, key=lambda note: note["why"] != GIVEN):
        key = note["kind"], note["id"]
        row, name = rows.get(key), KINDS[note["kind"]].name
        text = "deleted or set aside since" if row is None else str(getattr(row, "text", None) or row)
        agent, by = getattr(row, "agent", ""), getattr(row, "actor", "")
        by = speaker(agent, getattr(row, "person", "")) if agent else by
        said_at = getattr(row, "said_at", None) or getattr(row, "set_at", None)
        how = NAMED if note["kind"] == "state" else tell_how(note)
        why = "" if note["why"] == GIVEN else note["why"]
        ended = _find_ending(row)
        acts = _list_acts(note["kind"], ended, prompt, may, page)
        yield Line(name, text, by, said_at, why, how, conflicts.get(key), acts, ended)


def _list_acts(kind: str, ending: Ending, prompt: Episode | None, may: May, page: str) -> list[tuple[str, str]]:
    row, query = ending.row, {"next": page}
    if row is None:
        return []
    acts = [("Undo", (KINDS[kind].take_back[0], ending.undo))] if ending.undo else []
    if not ending.told:
        acts.append(("Wrong: take back", KINDS[kind].take_back))
        if (never := KINDS[kind].never) is not None and (kind == "fact" or prompt is not None):
            acts.append(("Never for such prompts", never))
            query |= {"prompt": str(prompt.pk)} if prompt is not None else {}
    asked = urlencode(query)
    return [
        (label, f"{reverse(f'admin:{name}', args=[row.pk])}?{asked}") for label, (needed, name) in acts if may(needed)
    ]
