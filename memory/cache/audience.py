"""The agents and projects, as far as prompts need to know them."""

from dataclasses import dataclass, field

from memory.access.switches import Switch


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent. ``off``: what its settings switch off. ``project``: the id of its own; ``projects``: those that its
    requests may name, None for all. ``episodes``: on, off or default."""

    name: str
    scope: str
    off: frozenset[Switch] = frozenset()
    episodes: str = "default"
    project: int | None = None
    projects: frozenset[int] | None = frozenset()


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project. ``is_open``: requests without a token may name it, too."""

    id: int
    is_open: bool = False


@dataclass(slots=True)
class Audience:
    """The agents that can be asked. ``decided``: always or never, where operators have said so, by name; ``teachers``:
    the names of those who have taught by gutask."""

    decided: dict[str, str] = field(default_factory=dict)
    teachers: set[str] = field(default_factory=set)

    def can_answer(self, agent: str, *, has_tools: bool) -> bool:
        """True if the agent can be expected to run gutask."""
        decided = self.decided.get(agent, "auto")
        return decided == "always" or (decided == "auto" and (has_tools or agent in self.teachers))
