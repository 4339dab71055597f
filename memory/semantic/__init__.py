"""Semantic memory: episodes (messages), memories (sentences that hold), their embeddings."""
