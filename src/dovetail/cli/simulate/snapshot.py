"""`dovetail snapshot`: the whole state as one file, of a server or of another cluster, for `dovetail simulate`."""

import sys
from pathlib import Path
from typing import Annotated

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.screen import status_line
from dovetail.cli.terminal.server import Url, connect

TIMEOUT_S = 300.0
STDOUT = "-"


def command(
    file: Annotated[
        str, Option("--output", "-o", metavar="FILE|-", help="Where to write it; gzipped if it ends in .gz.")
    ] = STDOUT,
    url: Url = None,
) -> None:
    """Write everything that a simulation needs to go on from here: nodes, network, work, queues, policies, settings.

    It has no values of variables, no command lines, no tokens and no settings of backends. Decisions go on meanwhile.
    """
    with status_line("copying the state"), connect(url, TIMEOUT_S) as client:
        data = client.snapshot()
    _write(file, data)


def _write(file: str, data: bytes) -> None:
    if file == STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    if file.endswith(".gz"):
        import gzip

        data = gzip.compress(data, compresslevel=6, mtime=0)
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        raise Failure(f"{file}: cannot be written: {error.strerror or error}", ExitCode.USAGE) from None
    say(f"wrote {file}: {len(data):,} bytes")
