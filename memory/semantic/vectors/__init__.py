"""Texts as vectors: what makes them, where they are kept, the queue of those that are still to be made."""
