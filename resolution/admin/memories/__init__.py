"""Memories, episodes and the state of projects in the admin."""

from resolution.admin.memories import episodes, memories, project_state

__all__ = ["episodes", "memories", "project_state"]
