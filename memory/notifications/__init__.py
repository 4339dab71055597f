"""Notifications of what operators want to know at once: an outbox in Postgres, and its deliveries."""
