"""A stand-in for OpenPBS, which no package of Debian has: commands with its options, formats and words, and real jobs.

Nodes v1 to v4, four CPUs and 4 GiB each; v1 and v2 have the switch s1, v3 and v4 the switch s2, two GPUs and one
`fpga`. Queue `workq` is the default, `short` gives one hour. The commands lie in `bin`. It is a test double: that the
formats are those of OpenPBS rests on its documentation, not on a server.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.daemon import Daemon, server_folder
from tests.servers.openpbs.commands import COMMANDS

NODES = ("v1", "v2", "v3", "v4")
ROOT = Path(__file__).parents[3]
PROGRAM = """\
#!{python} -SE
import json, os, socket, sys
name = os.path.basename(sys.argv[0])
given = sys.stdin.read() if name == "qsub" and not sys.stdin.isatty() else ""
with socket.socket(socket.AF_UNIX) as asked:
    try:
        asked.connect({address!r})
    except OSError as error:
        sys.exit(f"{{name}}: cannot connect to server head (errno={{error.errno}})")
    call = {{"command": name, "words": sys.argv[1:], "given": given, "environment": dict(os.environ)}}
    asked.sendall(json.dumps(call).encode())
    asked.shutdown(socket.SHUT_WR)
    answer = json.loads(asked.makefile().read())
sys.stdout.write(answer["said"])
sys.stderr.write(answer["wrong"])
sys.exit(answer["status"])
"""


class OpenPbsStandIn:
    def __init__(self, folder: Path, *, history: bool = True) -> None:
        self.folder, self.bin = folder, folder / "bin"
        self.bin.mkdir()
        (folder / "spool").mkdir()
        for name in COMMANDS:
            (self.bin / name).write_text(PROGRAM.format(python=sys.executable, address=str(folder / "pbs.sock")))
            (self.bin / name).chmod(0o755)
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "tests.servers.openpbs.daemon",
            folder,
            *([] if history else ["--no-history"]),
        ]
        self.daemon = Daemon("openpbs", command, folder, {"PYTHONPATH": str(ROOT)})

    def start(self) -> None:
        self.daemon.start(ready=lambda: "v1" in self.call("pbsnodes", "-a", "-F", "json", check=False))

    def stop(self) -> None:
        self.daemon.stop()

    @property
    def path(self) -> str:
        return f"{self.bin}{os.pathsep}{os.environ['PATH']}"

    def call(self, name: str, *words: str, given: str = "", check: bool = True) -> str:
        """What one of the commands prints."""
        done = subprocess.run([self.bin / name, *words], input=given, capture_output=True, text=True)
        assert not check or done.returncode == 0, f"{name} {' '.join(words)}: {done.stderr}"
        return done.stdout


@contextmanager
def openpbs_stand_in(*, history: bool = True) -> Iterator[OpenPbsStandIn]:
    """Started, and stopped at the end. What its jobs left goes with the folder."""
    with server_folder("openpbs") as folder:
        server = OpenPbsStandIn(folder, history=history)
        try:
            server.start()
            yield server
        finally:
            server.stop()
