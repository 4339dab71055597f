"""Conflicts of other kinds than of an edge's slot: between memories, project state and edges, and in a story."""
