"""A small file system of a test's own, to be filled."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CHUNK_BYTES = 1024 * 1024


class SmallDisk:
    """A file system mounted at ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    @property
    def free_bytes(self) -> int:
        return shutil.disk_usage(self.folder).free

    @contextmanager
    def full(self) -> Iterator[None]:
        """Leave no room meanwhile, but for what others free."""
        try:
            self.fill()
            yield
        finally:
            self._ballast.unlink()

    def fill(self) -> None:
        """Takes what is free now, not what others free meanwhile."""
        with suppress(OSError), self._ballast.open("ab", buffering=0) as ballast:
            for _ in range(self.free_bytes // CHUNK_BYTES + 1):
                ballast.write(bytes(CHUNK_BYTES))


@contextmanager
def mount_small_disk(size_mb: int) -> Iterator[SmallDisk | None]:
    """Yield None where this machine does not let us mount one: only root can."""
    folder = Path(tempfile.mkdtemp(prefix="festinger-small-")).resolve()
    folder.chmod(0o711)  # as root, Postgres is another user, who has to pass through
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m,mode=0711", "tmpfs", str(folder)]
    is_mounted = not subprocess.run(mount, capture_output=True, check=False).returncode
    try:
        yield SmallDisk(folder) if is_mounted else None
    finally:
        if is_mounted:
            subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()
