"""The admin of settings, language models, projects, and of what was heard. Graph and conflicts: resolution/admin."""

from memory.admin import language_models, mute_patterns, notifications, projects, records, settings

__all__ = ["language_models", "mute_patterns", "notifications", "projects", "records", "settings"]
