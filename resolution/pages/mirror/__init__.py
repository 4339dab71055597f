"""The mirror: what is known of a project, for people to read."""
