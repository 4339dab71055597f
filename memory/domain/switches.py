"""What can be switched off for the prompts of an agent."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

# recall: facts and questions are put into them; learn: they are counted and mined for statements; ask: they are asked
# about what is unknown in them; remember: what is said in them is kept as episodes.
Switch = Literal["recall", "learn", "ask", "remember"]
SWITCHES: Final[tuple[Switch, ...]] = get_args(Switch)
# Those that are on or off for an agent; whether it is remembered may also be left to the setting.
AGENT_SWITCHES: Final = SWITCHES[:-1]

# What is off, each with the reason why.
Restrictions = Mapping[Switch, str]
