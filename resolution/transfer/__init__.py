"""Exports the graph to a file, and imports such a file (docs/interchange.md)."""

from resolution.transfer.exporter import export
from resolution.transfer.importer import (
    Difference,
    Refused,
    Report,
    account,
    read_report,
    rehearse,
    take_in,
    write_report,
)
from resolution.transfer.interchange import Unreadable
from resolution.transfer.staging import Differences

__all__ = [
    "Difference", "Differences", "Refused", "Report", "Unreadable", "account", "export", "read_report", "rehearse",
    "take_in", "write_report",
]  # fmt: skip
