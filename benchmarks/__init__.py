"""Measures the cost of Festinger on this machine: ``python -m benchmarks``."""
