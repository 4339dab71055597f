"""The admin of settings, language models, agents and what they said. Graph and conflicts are in resolution/admin."""

from memory.admin import agents, language_models, mute_patterns, notifications, projects, settings

__all__ = ["agents", "language_models", "mute_patterns", "notifications", "projects", "settings"]
