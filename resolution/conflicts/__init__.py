"""Conflicts: what disputes what, who decides, and how a decision is undone."""
