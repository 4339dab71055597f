"""Names the kinds of texts that can be looked for."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

Kind = Literal["memory", "episode", "fact"]
Types = Literal["memories", "episodes", "facts", "both"]

KINDS: Final[Mapping[Types, Sequence[Kind]]] = {
    "both": ("fact", "memory", "episode"),
    "memories": ("memory",),
    "episodes": ("episode",),
    "facts": ("fact", "memory"),
}
FOREVER: Final = 4e10  # seconds since the epoch
QUERY_CHARACTERS: Final = 2_000  # of a query; what is longer is cut


def cut_query(text: str) -> str:
    return text.replace("\0", "")[:QUERY_CHARACTERS]
