"""Asks people about points where the story of a project would confuse somebody who joins it today."""
