"""How much of the disk a folder holds. Its files belong to somebody else, who may change them meanwhile.

In the plain style of this package, for the same reason.
"""

import os

DEEPEST = 200  # folders in folders; one that is deeper cannot be measured


def folder_bytes(folder: int, enough: int, depth: int = 0) -> int:
    """The space that is used below an open folder; `enough` or more as soon as it is that much. Follows no links: the
    files belong to somebody else."""
    used = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                used += entry.stat(follow_symlinks=False).st_blocks * 512
                if used < enough and entry.is_dir(follow_symlinks=False):
                    used += enough if depth >= DEEPEST else _bytes_below(folder, entry.name, enough - used, depth)
            except OSError:  # it has just been removed
                continue
            if used >= enough:
                break
    return used


def _bytes_below(folder: int, name: str, enough: int, depth: int) -> int:
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        return folder_bytes(inner, enough, depth + 1)
    finally:
        os.close(inner)
