"""Whose words the sections of a flattened prompt are. LiteLLM writes tool results as ``### User:``, and any text can
have such a header in it."""

import logging
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from memory.domain.steps import Steps
from memory.domain.text.agent_envelopes import is_person_envelope
from memory.domain.text.client_envelopes import EXAMPLES_END
from proxy.domain.formats.base import Part, Prompt
from proxy.domain.formats.litellm_flattened import FlattenedPrompt
from proxy.domain.formats.streams import AnswerWatch
from proxy.domain.loops.tool_calls import read_calls

logger = logging.getLogger(__name__)

ANSWERS_MAX: Final = 20_000  # at some 150 bytes


class RelayedAnswers:
    """Which answers this process has passed on: only what follows one of them can be the user's reply to it."""

    def __init__(self) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()

    def listen(self, watch: AnswerWatch) -> Callable[[bytes], None]:
        """Takes the chunks of one answer as they pass. Never raises."""
        hashed, last = blake2b(digest_size=16), b""

        def hear(chunk: bytes) -> None:
            nonlocal last
            try:
                text = watch.feed(chunk)
            except Exception:
                logger.exception("answer.unread")
                return
            if text:
                # After each chunk: a client may leave as soon as it has what it needs, such as a whole tool call.
                hashed.update("".join(text.split()).encode("utf-8", "surrogatepass"))
                self._digests.pop(last, None)
                last = hashed.digest()
                self._remember(last)

        return hear

    def _remember(self, digest: bytes) -> None:
        self._digests[digest] = None
        if len(self._digests) > ANSWERS_MAX:
            self._digests.popitem(last=False)

    def __contains__(self, text: str) -> bool:
        # Without white space: clients strip it, and join it anew.
        digest = blake2b("".join(text.split()).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest not in self._digests:
            return False
        self._digests.move_to_end(digest)
        return True


def find_unattributable(prompt: Prompt, relayed: RelayedAnswers) -> Steps[set[int]]:
    """The parts, by index, of which nothing shows that their role has said them: of a flattened prompt, and a client's
    examples."""
    last = max((index for index, part in enumerate(prompt.parts) if part.text.startswith(EXAMPLES_END)), default=0)
    found = set(range(last))
    if not isinstance(prompt, FlattenedPrompt):
        return found
    first_user = next((index for index, part in enumerate(prompt.parts) if part.role == "user"), -1)
    for index, part in enumerate(prompt.parts):
        if index != first_user and not _is_own(prompt, index, part, relayed):
            found.add(index)
        yield
    return found


def _is_own(prompt: FlattenedPrompt, index: int, part: Part, relayed: RelayedAnswers) -> bool:
    if part.role == "system":
        return index <= prompt.before  # only at the very beginning
    if part.role != "user" or is_person_envelope(part.text):
        return True
    before = prompt.parts[index - 1] if index else part
    return before.role == "assistant" and before.text in relayed and not read_calls(before.text).calls
