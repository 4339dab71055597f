"""Counters, gauges and histograms of all processes of a home (docs/monitoring.md). Each is defined beside the code that
counts, with a class from here: importing this module decides where values are stored.

Under PROMETHEUS_MULTIPROC_DIR each process stores its values in files of that folder, and any process can report the
sums of all. Without it a process knows only its own."""

import fcntl
import logging
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from prometheus_client import (
    GC_COLLECTOR,
    PLATFORM_COLLECTOR,
    PROCESS_COLLECTOR,
    REGISTRY,
    Counter,
    Gauge,
    Histogram,
    Metric,
    disable_created_metrics,
    multiprocess,
    values,
)
from prometheus_client.samples import Sample

__all__ = ("Counter", "Gauge", "Histogram", "Samples", "collect", "read_samples", "total")

logger = logging.getLogger(__name__)

Samples = Mapping[str, Sequence[Sample]]  # by name

# The histogram of all routes and turns takes some 90 KB, the counters 20.
FILE_BYTES: Final = {"counter": 65_536, "histogram": 131_072} | dict.fromkeys(
    ("gauge_livesum", "gauge_livemax", "gauge_livemostrecent"), 4_096
)


class Folder:
    """The files of all processes. Each process has a number that no other living one has, and continues the files of
    the process that had it before: restarts neither reset a count nor leave files behind."""

    def __init__(self, path: Path) -> None:
        """Open the folder. Raises OSError if it cannot be created, or has no room for the files."""
        self.path = path
        path.mkdir(mode=0o700, exist_ok=True)
        self.number, self.lock = next((number, lock) for number in count() if (lock := self._lock(number)) is not None)
        for kind, size in FILE_BYTES.items():
            file = path / f"{kind}_{self.number}.db"
            if not file.exists():
                # Memory that is mapped to a file which finds no room on the disk kills the process that writes to it,
                # and no process can read a file that is still empty.
                unfinished = file.with_suffix(".unfinished")
                unfinished.write_bytes(bytes(size))
                unfinished.rename(file)

    def collect(self) -> Iterable[Metric]:
        for gauges in self.path.glob("gauge_live*.db"):
            number = int(gauges.stem.rpartition("_")[2])
            if number != self.number and (lock := self._lock(number)) is not None:
                multiprocess.mark_process_dead(number, str(self.path))
                os.close(lock)
        collected: Iterable[Metric] = multiprocess.MultiProcessCollector(None, str(self.path)).collect()
        return collected

    def _lock(self, number: int) -> int | None:
        """Return the open lock, which the kernel releases with the process; None if another process has it."""
        lock = os.open(self.path / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock


_folder: Folder | None = None
if _path := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
    try:
        _folder = Folder(Path(_path))
        values.ValueClass = values.MultiProcessValue(lambda: _folder.number)
    except OSError as error:
        logger.warning("metrics.not_shared", extra={"error": str(error)})
        values.ValueClass = values.MutexValue
# With several processes the library does not have these.
for _collector in (GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR):
    REGISTRY.unregister(_collector)
disable_created_metrics()


def collect() -> Iterable[Metric]:
    """Collect the metrics of all processes. Reads files."""
    return _folder.collect() if _folder is not None else REGISTRY.collect()


def read_samples() -> Samples:
    """Collect the samples of all processes once, by name, for many a ``total``. Reads files."""
    by_name: defaultdict[str, list[Sample]] = defaultdict(list)
    for metric in collect():
        for sample in metric.samples:
            by_name[sample.name].append(sample)
    return by_name


def total(name: str, samples: Samples | None = None, **labels: str) -> int:
    """Sum the samples of this name that have these labels, of all processes unless ``samples`` are given."""
    found = (read_samples() if samples is None else samples).get(name, ())
    return round(sum(each.value for each in found if labels.items() <= each.labels.items()))
