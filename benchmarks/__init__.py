"""What Festinger costs on this machine: ``python -m benchmarks``."""
