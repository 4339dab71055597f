"""Export of the graph and the memories to a file, and import of such files (docs/interchange.md)."""

from memory.graph.placement import Differences
from resolution.transfer.exporter import export
from resolution.transfer.importer import ImportRefused, import_file, preview
from resolution.transfer.interchange import UnreadableFile
from resolution.transfer.report import Report
from resolution.transfer.rights import NotPermitted

__all__ = [
    "Differences", "ImportRefused", "NotPermitted", "Report", "UnreadableFile", "export", "import_file", "preview"
]  # fmt: skip
