"""Removes a server's folder with all that the server left: processes, mounts, files.

What a killed daemon leaves running (steps of a job, shims of containers) runs in the folder, or names it in its command
line or its environment. Folders are made with unique names, so nothing else can match. What runs in a container does
none of these; ending an engine in order is left to whoever started it.
"""

import os
import shutil
import subprocess
from pathlib import Path

import psutil


def remove_folder(folder: Path) -> None:
    _kill_whoever_belongs_to(folder)
    _unmount_within(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _kill_whoever_belongs_to(folder: Path) -> None:
    for process in psutil.process_iter():
        try:
            marks = [process.cwd(), *process.cmdline(), *process.environ().values()]
            if process.pid != os.getpid() and any(str(folder) in mark for mark in marks):
                process.kill()
        except psutil.Error:  # gone meanwhile, or not ours to look at
            continue


def _unmount_within(folder: Path) -> None:
    """A killed engine leaves its mounts, and what is mounted cannot be removed."""
    mounted = [Path(line.split()[1]) for line in Path("/proc/self/mounts").read_text().splitlines()]
    for path in sorted((path for path in mounted if path.is_relative_to(folder)), reverse=True):
        subprocess.run(["umount", "--lazy", path], check=False, capture_output=True, stdin=subprocess.DEVNULL)
