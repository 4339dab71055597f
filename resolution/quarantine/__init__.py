"""Quarantine of an agent: its statements lose their support."""
