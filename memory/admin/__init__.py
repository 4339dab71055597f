"""The settings, language models and agents, and what was heard, in the admin; the graph and its disputes are in
resolution/admin."""

from memory.admin import agents, config, language_models, records

__all__ = ["agents", "config", "language_models", "records"]
