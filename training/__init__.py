"""Trains the built-in encoder."""
