"""Asks where the story of a project would confuse whoever joins it today."""
