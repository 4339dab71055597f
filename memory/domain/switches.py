"""What can be switched off for the prompts of an agent."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

# recall: facts and questions are put into them; learn: they are counted and mined for statements; ask: they are asked
# about what is unknown in them.
Switch = Literal["recall", "learn", "ask"]
SWITCHES: Final[tuple[Switch, ...]] = get_args(Switch)

# What is off, each with the reason why.
Restrictions = Mapping[Switch, str]
