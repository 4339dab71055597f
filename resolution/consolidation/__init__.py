"""Puts the memories in order: what supports them, what contradicts them, which say the same, what has faded."""
