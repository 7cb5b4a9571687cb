"""Reading the one file, or standard input, that a command was given."""

import sys
from pathlib import Path

from dovetail.cli.terminal.failure import ExitCode, Failure

STDIN = "-"


def read_file(path: Path) -> bytes:
    """Raises Failure."""
    if str(path) == STDIN:
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise Failure(f"{path}: cannot be read: {error.strerror}", ExitCode.USAGE) from None
