"""The nightly jobs: resolver, consolidation, sweep."""
