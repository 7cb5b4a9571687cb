"""Runs `dovetail` commands in processes of their own, forked from one that has its modules loaded already.

Each command has its own environment, standard streams and exit code (`tests/servers/warm_process.py`). At its end the
interpreter is not taken down, which takes longer than most commands. What depends on how a process starts, or is ended
by a signal, is tested with the real program (`test_cli.py`).
"""

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.servers.warm_process import WarmProcess

from dovetail.cli.main import run

LOADED = ("yaml", "dovetail.cli.render.parts.table", "dovetail.client.client", "dovetail.model.workloads.workload")
for _module in LOADED:  # most commands load these when they begin
    importlib.import_module(_module)

TIMEOUT_S = 120.0


def run_warm(
    arguments: Sequence[str], environment: Mapping[str, str], stdin: str | None = None, folder: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """As `subprocess.run` with captured output."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write((stdin or "").encode())
        given.seek(0)
        command = [sys.executable, "-m", __name__, *arguments]
        process = WarmProcess(command, stdin=given, stdout=out, stderr=err, env=environment, cwd=folder)
        try:
            status = process.wait(TIMEOUT_S)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([*arguments], status, out.read().decode(), err.read().decode())


def main() -> None:
    status = 0
    try:
        run()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
