"""Names of concepts: aliases, renaming, merging."""
