"""Which answers a process has passed on: only what follows one of them can be the user's reply to it."""

import logging
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from proxy.domain.formats.streams import AnswerWatch

logger = logging.getLogger(__name__)

ANSWERS_MAX: Final = 20_000  # at some 150 bytes


class RelayedAnswers:
    """Those of this process, by digest."""

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
