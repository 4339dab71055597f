"""What the watches of all formats have in common."""

from abc import ABC, abstractmethod

from proxy.domain.formats.answers.framing import Frames


class Watch(ABC):
    """``frames`` cuts the body into what ``_read`` reads, one after the other."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._is_over = False  # whatever comes now, nothing is left to end
        self._said_times = 0  # about one for each token

    @property
    def unfinished(self) -> int:
        return self._frames.unfinished

    def feed(self, chunk: bytes) -> str:
        said = ""
        for frame in self._frames.feed(chunk):
            text = self._read(frame)
            if text:
                said += text
                self._said_times += 1
        return said

    def ending(self) -> bytes:
        """As if the whole frames were all that was fed: who sends it leaves out the ``unfinished`` bytes. Empty where
        the answer has ended, be it with an error."""
        return b"" if self._is_over else self._end()

    @abstractmethod
    def _read(self, frame: bytes) -> str:
        """The text that it says, whatever it is."""

    @abstractmethod
    def _end(self) -> bytes: ...


def ended(begun: bytes, watch: Watch) -> bytes:
    """A stream that has only begun, with its end."""
    watch.feed(begun)
    return begun + watch.ending()
