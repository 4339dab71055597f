"""Nightly consolidation of memories: evidence, contradictions, duplicates, decay."""
