"""A small disk of its own for the data of a server, which can be filled to the last page and emptied again."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

SIZE_MB = 96
_PIECE = 2**20
_PAGE = 4096


class SmallDisk:
    """A file system in memory. Mounting one needs root: `why_none` says why there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"
        path.mkdir(exist_ok=True)
        self.why_none = self._mount()

    def _mount(self) -> str:
        program = shutil.which("mount")
        if program is None:
            return "mount is not installed"
        command = [program, "-t", "tmpfs", "-o", f"size={SIZE_MB}m,mode=700", "small-disk", str(self.path)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.stderr.strip() or f"mount ended with {done.returncode}" if done.returncode else ""

    def fill(self) -> None:
        file = os.open(self._ballast, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            for piece in (_PIECE, _PAGE):
                _append_until_full(file, piece)
        finally:
            os.close(file)

    def empty(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def remove(self) -> None:
        if not self.why_none:
            subprocess.run(["umount", "--lazy", str(self.path)], stdin=subprocess.DEVNULL, check=True)


def _append_until_full(file: int, piece: int) -> None:
    while True:
        try:
            os.posix_fallocate(file, os.lseek(file, 0, os.SEEK_END), piece)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return
