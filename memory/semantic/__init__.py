"""What was said is found again: episodes (messages), memories (sentences that hold), their embeddings, their search."""
