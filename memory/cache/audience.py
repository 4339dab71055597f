"""The agents, as far as their prompts need to know of them."""

from dataclasses import dataclass, field

from memory.domain.switches import Switch


@dataclass(frozen=True, slots=True)
class AgentRow:
    """``off``: what its settings switch off."""

    name: str
    scope: str
    off: frozenset[Switch] = frozenset()


@dataclass(slots=True)
class Audience:
    """Who can be asked. ``decided``: where operators say so, always or never, by name; ``teachers``: the names of those
    who have taught by gutask."""

    decided: dict[str, str] = field(default_factory=dict)
    teachers: set[str] = field(default_factory=set)

    def can_answer(self, agent: str, *, has_tools: bool) -> bool:
        """Whether the agent can be expected to run gutask."""
        decided = self.decided.get(agent, "auto")
        return decided == "always" or (decided == "auto" and (has_tools or agent in self.teachers))
