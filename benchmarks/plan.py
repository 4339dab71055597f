"""How much of everything is measured."""

from dataclasses import dataclass

ROUNDS = 20
TOKENS = 1_000_000
TURNS = 30
CONVERSATIONS = 10_000
LLM_TURNS, LLM_KILOBYTES = 6, 8  # less than a minute on two idle cores
TALKS = 10
MEMORIES, EPISODES = 100_000, 1_000_000
LLM_EXERCISES = 40  # of each sort; all there are


@dataclass(frozen=True, slots=True)
class Plan:
    """``rounds``: how often each is measured; ``tokens``: the size of the large world; ``turns``: of an agent's
    conversation; ``conversations``: how many are remembered; ``llm_turns`` and ``llm_kilobytes``: of the conversation
    with a real model; ``llm_exercises``: questions, and tasks, that it is given; ``talks``: speakers with
    long conversations that are searched; ``memories`` and ``episodes``: among how many the search is timed;
    ``model``: NAME@URL of an Ollama's model that reads the labelled stories, too."""

    rounds: int = ROUNDS
    tokens: int = TOKENS
    turns: int = TURNS
    conversations: int = CONVERSATIONS
    llm_turns: int = LLM_TURNS
    llm_kilobytes: int = LLM_KILOBYTES
    llm_exercises: int = LLM_EXERCISES
    talks: int = TALKS
    memories: int = MEMORIES
    episodes: int = EPISODES
    model: str = ""

    @property
    def edges(self) -> int:
        return self.tokens * 3 // 10

    def part(self, of: int) -> int:
        """Rounds for what takes ``of`` times as long as the rest; at least one."""
        return max(1, self.rounds // of)
