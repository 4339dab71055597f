"""Memories and episodes in the admin."""

from resolution.admin.remembering import episodes, memories

__all__ = ["episodes", "memories"]
