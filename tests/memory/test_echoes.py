"""What a model may have from others in its prompt is not its own voice, however they write it."""

from dataclasses import replace

import pytest

from memory.domain.channels import Channel
from memory.learning.echoes import QUOTED_MAX
from memory.learning.extraction import extract_statements
from memory.learning.reader import ENVELOPE_MAX, MARKED_TEXT_MAX
from tests.memory.test_heard import heard, world

SAYS = "As I see it, kvasiron runs on Tyr_Machine."


def channels_after(*prompt: tuple[str, str], says: str = SAYS, passed_on: tuple[int, ...] = ()) -> list[str]:
    """Of what the model says after these messages."""
    readings = [heard(world(), text, role).reading for role, text in prompt]
    message = replace(heard(world(), says, "assistant"), prompt=readings, index=len(prompt), passed_on=passed_on)
    return [statement.channel for statement in extract_statements(world(), message)]


@pytest.mark.parametrize(
    "page",
    [
        "Kvasirons are new.",
        "See kvasiron.md.",
        "<b>kva</b>siron is new.",
        "kva siron is new.",
        "kva\u00adsiron is new.",
        "&#107;vasiron is new.",
        "k\u00e1vasiron: kv\u00e1siron",
        "KvasironHall is new.",
        "It runs on a Tyr&nbsp;Machine.",
        "It runs on a <b>Tyr</b> <i>Machine</i>.",
        "host: tyr-machine",
        "tyr%20machine",
        "Use it with password: kvasiron-7Hx2.",
        "a b\u0301 " * (MARKED_TEXT_MAX // 4) + "kvasiron",
        "word " * (ENVELOPE_MAX // 5 + 1) + "kvasiron",
        " ".join(f"word{number}x" for number in range(QUOTED_MAX // 8)),
    ],
)
def test_what_a_page_names_in_any_form_the_model_only_passes_on(page: str) -> None:
    assert channels_after(("user", "Look it up."), ("tool", page)) == [Channel.QUOTED]


def test_also_where_the_page_came_in_a_message_of_the_user() -> None:
    assert channels_after(("user", "Summarise.\n<page>\nKvasirons are new.\n</page>")) == [Channel.QUOTED]
    assert channels_after(("user", "Kvasirons are new."), passed_on=(0,)) == [Channel.QUOTED]


def test_what_no_page_names_is_the_models_own() -> None:
    assert channels_after() == [Channel.ASSISTANT]
    assert channels_after(("user", "What is kvasiron?"), ("tool", "All is well with odin.")) == [Channel.ASSISTANT]
    assert channels_after(("tool", "Kvas was here."), ("user", "And kvasiron?")) == [Channel.ASSISTANT]
