"""The search for what was said and what is remembered: one, for prompts and for whoever asks."""
