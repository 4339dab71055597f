"""Settings, language models, agents and what they said, in the admin; the graph and its conflicts are in
resolution/admin."""

from memory.admin import agents, language_models, mute_patterns, notifications, projects, settings

__all__ = ["agents", "language_models", "mute_patterns", "notifications", "projects", "settings"]
