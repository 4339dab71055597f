"""The settings, language models and agents, and what was heard, in the admin; the graph and its disputes are in
resolution/admin."""

from memory.admin import agents, language_models, records, settings

__all__ = ["agents", "language_models", "records", "settings"]
