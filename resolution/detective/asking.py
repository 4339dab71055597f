"""Asks a language model about the batches of a story, several at once."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from django.db import connection

from memory import llm
from memory.models import LanguageModel, LlmCall
from resolution.domain import detective_prompt
from resolution.domain.detective_prompt import Finding
from resolution.domain.story import StoryBatch

AT_ONCE: Final = 4


def ask_about(batches: Sequence[StoryBatch], model: LanguageModel, subject: str) -> tuple[list[Finding], list[str]]:
    """What the model found, in the order of the story, and what went wrong; a batch that fails stops no other."""

    def ask(number: int) -> tuple[list[Finding], list[str]]:
        name = f"{subject}, batch {number + 1} of {len(batches)}"
        batch = batches[number]
        try:
            answer = llm.ask(
                model, LlmCall.Purpose.DETECT, name,
                system=detective_prompt.SYSTEM, prompt=detective_prompt.build_prompt(batch),
                schema=detective_prompt.SCHEMA, is_strict=True,
            )  # fmt: skip
        except llm.LlmError as error:
            return [], [f"Batch {number + 1}: {error}"]
        found, mistakes = detective_prompt.read_findings(answer.data, batch)
        return found, [f"Batch {number + 1}: {mistake}." for mistake in mistakes]

    def ask_in_thread(number: int) -> tuple[list[Finding], list[str]]:
        try:
            return ask(number)
        finally:
            connection.close()  # this thread's

    if len(batches) == 1:
        return ask(0)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="detective") as pool:
        answers = list(pool.map(ask_in_thread, range(len(batches))))
    return [each for found, _ in answers for each in found], [each for _, why in answers for each in why]
