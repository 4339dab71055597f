"""What was said is forgotten, with what was made of it alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from memory.memories.forgetting import ForgetScope, Forgotten, forget, prune_episodes
from memory.memories.scope import Scope, Speaker
from memory.models import (
    Episode,
    ExtractionMark,
    ForgottenEpisode,
    GivenNote,
    HeardMessage,
    Memory,
    MemoryHistory,
    MemoryLineage,
    PromptOpening,
)
from memory.timing import undate
from proxy.models import Injection, RecollectionEvent
from resolution.models import Candidate
from tests.memory.memories.said import ANN, START, digest_of, remembered, said

pytestmark = pytest.mark.django_db
ZERO = Scope(Speaker("zero", "bob"))
PASSPHRASE = "The canary passphrase is zulu."


def from_rows(memory: Memory, *rows: Episode | Memory) -> Memory:
    for row in rows:
        MemoryLineage.objects.create(memory=memory, kind=row._meta.model_name, row=row.pk)
    return memory


def texts() -> set[str]:
    return {*Episode.objects.values_list("text", flat=True), *Memory.objects.values_list("text", flat=True)}


@pytest.mark.parametrize(
    ("selected", "left"),
    [
        ({"agent": "zero"}, {"Ann moved it.", "Ann was there."}),
        ({"person": "ann"}, {"Zero moved it."}),
        ({"conversation": digest_of("talk", 16).hex()}, {"Zero moved it.", "Ann was there."}),
        ({"since": START + timedelta(days=1)}, {"Ann moved it.", "Ann was there."}),
        ({"until": START + timedelta(days=1)}, {"Zero moved it."}),
        ({"words": "moving it"}, {"Ann was there."}),
        ({"words": "nn MOV"}, {"Zero moved it.", "Ann was there."}),
        ({"words": "moved", "agent": "zero"}, {"Ann moved it.", "Ann was there."}),
    ],
)
def test_what_is_selected_goes(selected: dict[str, Any], left: set[str]) -> None:
    said("Ann moved it.", talk="talk")
    remembered("Ann was there.")
    said("Zero moved it.", ZERO, said_at=START + timedelta(days=2))

    from_rows(remembered("They moved."), *Episode.objects.filter(text__in={"Ann moved it.", "Zero moved it."} - left))
    shown = forget(ForgetScope(**selected), is_trial=True)
    assert len(texts()) == 4
    found = forget(ForgetScope(**selected))

    assert found == shown
    assert texts() == left
    assert found.episodes + found.memories == 4 - len(left)
    assert ForgottenEpisode.objects.count() == found.episodes


def test_a_memory_goes_with_all_that_it_was_made_of() -> None:
    gone, stays = said("Ann moved it."), said("Zero moved it.", ZERO)
    lone = from_rows(remembered("It was moved."), gone)
    from_rows(remembered("It was moved again."), lone)
    supported = from_rows(remembered("It was moved by both.", evidence_count=2), gone, stays)
    MemoryHistory.objects.create(memory=lone, action="create", after={"text": lone.text}, actor="ann")
    for scope in (ANN, ZERO):
        agent, person = scope.speaker
        ExtractionMark.objects.create(agent=agent, person=person, episode=gone.pk)
        PromptOpening.objects.create(agent=agent, person=person, digest=b"x" * 16, text="Tag this chat:", seen=[])
        HeardMessage.objects.create(
            digest=digest_of(agent, 32), key=bytes(32), agent=agent, speaker=agent, person=person, role="user",
            text="It waits.", said_at=START,
        )  # fmt: skip
        Candidate.objects.create(
            concept="skadi", parent="virus", dimension="type", is_isa=True, channel="unsure", confidence=0.4,
            for_speaker=agent, for_person=person, voices=[[agent, "unsure"]],
        )  # fmt: skip

    assert forget(ForgetScope(agent=ANN.speaker.agent))[:2] == (1, 2)

    assert texts() == {"Zero moved it.", "It was moved by both."}
    supported.refresh_from_db()
    assert supported.evidence_count == 1
    assert list(MemoryLineage.objects.values_list("row", flat=True)) == [stays.pk]
    assert not MemoryHistory.objects.exists()
    assert [model.objects.get().agent for model in (ExtractionMark, PromptOpening)] == ["zero"] * 2
    assert (HeardMessage.objects.get().speaker, Candidate.objects.get().for_speaker) == ("zero", "zero")


def test_a_memory_goes_with_the_words_it_has_whatever_supports_it() -> None:
    from_rows(remembered(PASSPHRASE), said("Zero moved it.", ZERO))
    other = remembered("The passphrase was changed.")
    MemoryHistory.objects.create(memory=other, action="edit", before={"text": PASSPHRASE}, actor="ann")

    assert forget(ForgetScope(words="passphrase zulu"))[:2] == (0, 1)
    assert forget(ForgetScope(words=PASSPHRASE)) == Forgotten(0, 0)

    assert texts() == {"Zero moved it.", other.text}
    assert not MemoryHistory.objects.exists()


def test_no_table_keeps_what_was_forgotten() -> None:
    episode = said(PASSPHRASE)
    note = {"kind": "episode", "id": episode.pk, "why": "given"}
    RecollectionEvent.objects.create(request="1" * 16, agent="a", block=PASSPHRASE, notes=[note], enrich_ms=1)
    GivenNote.objects.create(request="1" * 16, conversation=b"2" * 16, kind="episode", row=episode.pk)
    later = {"conversation": (b"2" * 16).hex(), "block": PASSPHRASE}
    RecollectionEvent.objects.create(request="2" * 16, agent="a", enrich_ms=1, **later)
    asked = {"conversation": bytes(episode.conversation).hex(), "prompt_text": PASSPHRASE}
    RecollectionEvent.objects.create(request="3" * 16, agent="a", enrich_ms=1, **asked)
    content = {"facts": [], "questions": [], "notes": [["episode", episode.pk, PASSPHRASE, "2026-03-01", False]]}
    Injection.objects.create(place=b"1" * 16, block=PASSPHRASE, content=content)

    forget(ForgetScope(words="canary"))

    with connection.cursor() as cursor:
        for table in ("episode", "memory", "recollection_event", "injection"):
            cursor.execute(f"SELECT FROM {table} WHERE {table}::text LIKE '%zulu%'")
            assert not cursor.fetchall()


def test_what_is_old_goes_and_what_was_made_of_it_stays() -> None:
    old = said("Ann moved it.", said_at=timezone.now() - timedelta(days=91))
    said("Zero moved it.", ZERO, said_at=timezone.now() - timedelta(days=89))
    from_rows(remembered("It was moved."), old)
    for days in (91, 89):  # nobody knows when it was said, but when it was read
        read_at = (timezone.now() - timedelta(days=days)).timestamp()
        said(f"Read {days} days ago.", said_at=datetime.fromtimestamp(undate(read_at), UTC))

    assert prune_episodes(timezone.now()) == 2

    assert texts() == {"Zero moved it.", "It was moved.", "Read 89 days ago."}
    assert forget(ForgetScope(since=timezone.now() - timedelta(days=90)))[:2] == (2, 0)


def test_the_command_shows_and_forgets(capsys: pytest.CaptureFixture[str]) -> None:
    said("Ann moved it.")

    call_command("forget", "--words", "moved", "--dry-run")
    assert capsys.readouterr().out == "1 episode\n  Ann moved it.\nWould forget 1 episode; nothing was changed.\n"
    call_command("forget", "--until", "2026-03-02")
    assert capsys.readouterr().out.startswith("Deleted 1 episode.\nFacts and")
    for given in ([], ["--conversation", "12"], ["--conversation", "no hex"], ["--words", " "]):
        with pytest.raises(CommandError):
            call_command("forget", *given)
