"""The results of the reader of cues."""

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from memory.channels import Channel
from memory.english.statements.modality import SpeechAct

# The factor for what somebody only believes, or has from others, compared to what is asserted.
HEDGED_TRUST: Final = 0.7


@dataclass(frozen=True, slots=True)
class CueMatch:
    """One statement: the subject is in the parent, in a dimension; all three are tokens. One that retracts says that
    this is not so."""

    subject: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float  # in [0, 1]
    start: int  # `source[start:end]` reaches from the subject to the last word that was used
    end: int
    channel: Channel = Channel.USER
    kind: SpeechAct = SpeechAct.STATES
    is_hedged: bool = False  # believed or passed on: its confidence is lower
    written: str = field(default="", compare=False)  # `source[start:end]`


def describe_match(match: CueMatch) -> dict[str, Any]:
    """Return the statement for people and programs: in answers and in ``manage.py explain``."""
    described = asdict(match)
    del described["written"]
    span = [described.pop("start"), described.pop("end")]
    return described | {"span": span}
