"""Runs `dovetail` commands in processes of their own, forked from one that has its modules loaded already.

Most of what a command costs are its imports, on every call. Each command here still has its own process, environment,
standard streams and exit code; only the imports are shared. What depends on how a process starts or is ended by a
signal is tested with the real program (`test_cli.py`).

`run_warm` is the test's end. Below it is the other end: a process that waits on its socket for commands, forks, and
answers with the exit status. It ends when the test run closes the socket.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
TIMEOUT_S = 120.0
LOADED = (
    "yaml",
    "dovetail.cli.command_table",
    "dovetail.cli.render.parts.table",
    "dovetail.client.client",
    "dovetail.model.workloads.workload",
)
_LARGEST_COMMAND = 1_000_000


def run_warm(
    arguments: Sequence[str], environment: Mapping[str, str], stdin: str | None = None, folder: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """As `subprocess.run` with captured output."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write((stdin or "").encode())
        given.seek(0)
        asked = {"arguments": list(arguments), "environment": dict(environment), "folder": str(folder or Path.cwd())}
        connection = _process()
        socket.send_fds(connection, [json.dumps(asked).encode()], [stream.fileno() for stream in (given, out, err)])
        status = int(connection.recv(100))
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([*arguments], status, out.read().decode(), err.read().decode())


@lru_cache(maxsize=1)
def _process() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", __name__, str(theirs.fileno())]
    process = subprocess.Popen(command, cwd=REPOSITORY, pass_fds=[theirs.fileno()], start_new_session=True)
    theirs.close()
    ours.settimeout(TIMEOUT_S)

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def serve(connection: socket.socket) -> None:
    for module in LOADED:
        __import__(module)
    while True:
        asked, streams, _, _ = socket.recv_fds(connection, _LARGEST_COMMAND, 3)
        if not asked:
            return
        child = os.fork()
        if child == 0:
            connection.close()
            _become(json.loads(asked), streams)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(asked: dict[str, object], streams: Sequence[int]) -> None:
    """The command: never returns."""
    signal.alarm(int(TIMEOUT_S))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    status = 1
    try:
        os.chdir(str(asked["folder"]))
        environment, arguments = asked["environment"], asked["arguments"]
        assert isinstance(environment, dict)
        assert isinstance(arguments, list)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["dovetail", *arguments]
        from dovetail.cli.main import run

        run()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
