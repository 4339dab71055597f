"""Archives of whole homes, with the files of their Postgres."""

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from festinger_site.run import postgres_cluster, supervision
from festinger_site.run.postgres_account import account

# Made anew by each start: locks, logs, sockets, counts, and what keeps room on the disk.
NOT_PACKED: Final = ("run", "log", "metrics", "supervisor", "reserve", "encoder", "uploads", "backups")


def pack(home: Path, archive: Path) -> None:
    """Pack a home that is stopped. Nobody owns the files in the archive."""

    def keep(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        top = member.name.partition("/")[0]
        if top in NOT_PACKED or top.endswith(".lock") or member.name.endswith("/postmaster.opts"):
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for path in sorted(home.iterdir()):
            # A link where Postgres' user cannot enter the home.
            packed.add(path.resolve(), path.name, filter=keep)


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A path for a home that does not exist yet; what was started from it is ended, and all of it removed."""
    folder = Path(tempfile.mkdtemp(prefix="festinger-upgrade-")).resolve()
    folder.chmod(0o711)  # as root, Postgres is another user, who has to pass through
    home = folder / "home"
    try:
        yield home
    finally:
        supervision.stop_orphans(home)
        postgres_cluster.remove(home)
        shutil.rmtree(folder)


def unpack(archive: Path, home: Path) -> None:
    """Unpack a home for whoever runs this. As root its Postgres gets the files that are its own."""
    home.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700)
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "tar_filter", None)  # absent before Python 3.11.4
        packed.extractall(home)
    data = postgres_cluster.data_folder(home)
    if (user := account(data)) is not None:
        subprocess.run(["chown", "-R", f"{user.pw_uid}:{user.pw_gid}", str(data)], check=True)
