"""Metrics of each prompt, for /health and /metrics (docs/monitoring.md)."""

from typing import Final

from memory.metrics import Counter, Histogram
from proxy.prompts.enricher import Outcome

BUCKETS_S: Final = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0)

ANSWERED: Final = Counter("festinger_prompts", "Prompts answered, by route and HTTP status", ["route", "status"])
ADDED_LATENCY: Final = Histogram(
    "festinger_added_latency_seconds",
    "Time from a prompt's body to its request upstream",
    ["route", "turn"],
    buckets=BUCKETS_S,
)
RECALLS: Final = Counter("festinger_recalls", "Prompts that were given a new recollection, or not", ["result"])
ENRICHED: Final = Counter("festinger_enriched_prompts", "Prompts forwarded with blocks, new ones or earlier turns'")
INJECTED_TOKENS: Final = Counter("festinger_injected_tokens", "Estimated tokens of new recollections")
PARTIAL: Final = Counter("festinger_partial_prompts", "Prompts with text that was too much to read")
ERRORS: Final = Counter("festinger_enrichment_errors", "Prompts whose enrichment failed, forwarded all the same")


def count_enriched(route: str, done: Outcome, seconds: float) -> None:
    ADDED_LATENCY.labels(route, done.turn).observe(seconds)
    RECALLS.labels(done.recall).inc()
    if done.tokens:
        INJECTED_TOKENS.inc(done.tokens)
    if done.plan is not None and (done.plan.edit.top or done.plan.edit.tails):
        ENRICHED.inc()
    if done.plan is not None and done.plan.unread:
        PARTIAL.inc()
    if done.has_failed:
        ERRORS.inc()
