"""The switches for the prompts of an agent."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

# recall: facts and questions are put into prompts; learn: prompts are counted and mined for statements; ask: prompts
# ask about unknown concepts; remember: messages are kept as episodes.
Switch = Literal["recall", "learn", "ask", "remember"]
SWITCHES: Final[tuple[Switch, ...]] = get_args(Switch)
# Those that are on or off for an agent; remembering may also be left to the setting.
AGENT_SWITCHES: Final = SWITCHES[:-1]

# What is not done for a prompt, each with the reason; persons: they cannot be told apart.
Restriction = Switch | Literal["persons"]
Restrictions = Mapping[Restriction, str]
