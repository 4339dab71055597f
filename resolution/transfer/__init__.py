"""Exports the graph to a file, and imports such a file (docs/interchange.md)."""

from memory.graph.placement import Differences
from resolution.transfer.exporter import export
from resolution.transfer.importer import Refused, import_file, preview
from resolution.transfer.interchange import Unreadable
from resolution.transfer.report import Difference, Report, read_report, write_report

__all__ = [
    "Difference", "Differences", "Refused", "Report", "Unreadable", "export", "import_file", "preview", "read_report",
    "write_report",
]  # fmt: skip
