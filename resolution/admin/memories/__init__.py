"""Admin pages for memories, episodes and project state."""

from resolution.admin.memories import episodes, memories, project_state, set_aside

__all__ = ["episodes", "memories", "project_state", "set_aside"]
