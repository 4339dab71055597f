"""Export of the graph and the memories to a file, and import of such files (docs/interchange.md)."""

from memory.graph.placement import Differences
from resolution.transfer.exporter import export
from resolution.transfer.importer import ImportRefused, import_file, preview
from resolution.transfer.lines import UnreadableFile
from resolution.transfer.report import Report

__all__ = ["Differences", "ImportRefused", "Report", "UnreadableFile", "export", "import_file", "preview"]
