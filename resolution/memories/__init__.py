"""Intake of memories from all sources."""
