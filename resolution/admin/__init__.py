"""The graph, what is disputed in it, and what was decided, in the admin."""

from resolution.admin import concepts, conflicts, decisions, facts, runs

__all__ = ["concepts", "conflicts", "decisions", "facts", "runs"]
