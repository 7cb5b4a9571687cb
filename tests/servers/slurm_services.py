"""`systemctl` and `ssh` as an administrator of Slurm uses them, for a cluster of a test.

Both are small programs in a folder for the front of the PATH. They tell the test, which owns the daemons, what to do:

    systemctl restart slurmctld
    systemctl kill --signal=STOP slurmctld
    ssh n1 systemctl kill --signal=KILL slurmd
    ssh n1 systemctl start slurmd
"""

import os
import shlex
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.daemon import Daemon
from tests.servers.slurm import SlurmServer

PROGRAMS = ("systemctl", "ssh")
PROGRAM = """\
#!{python} -S
import os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    asked.sendall("\\n".join([os.path.basename(sys.argv[0]), *sys.argv[1:]]).encode())
    asked.shutdown(socket.SHUT_WR)
    answer = asked.makefile().read()
sys.exit(answer or 0)
"""


@contextmanager
def slurm_services(server: SlurmServer, folder: Path) -> Iterator[Path]:
    """The folder of the programs."""
    programs = folder / "programs"
    programs.mkdir()
    address = str(folder / "services.sock")
    for name in PROGRAMS:
        (programs / name).write_text(PROGRAM.format(python=sys.executable, address=address))
        (programs / name).chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        thread = threading.Thread(target=_serve, args=(listener, server), daemon=True)
        thread.start()
        try:
            yield programs
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(listener: socket.socket, server: SlurmServer) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # shut down
            return
        with connection:
            words = connection.makefile().read().split("\n")
            try:
                _obey(server, words)
            except Exception as error:
                connection.sendall(f"{shlex.join(words)}: {error}".encode())


def _obey(server: SlurmServer, words: list[str]) -> None:
    node = None
    if words[0] == "ssh":
        node, words = words[1], words[2:]
    _, verb, *options, unit = words
    daemon = server.controller if unit == "slurmctld" else server.nodes[node or ""]
    if verb == "kill":
        number = signal.Signals[f"SIG{options[0].removeprefix('--signal=')}"]
        _kill(daemon, number)
    elif verb == "restart":
        daemon.stop()
    if verb in ("restart", "start"):
        daemon.start(ready=server.controller_answers if daemon is server.controller else lambda: True)


def _kill(daemon: Daemon, number: signal.Signals) -> None:
    if number is signal.SIGKILL:
        daemon.kill()
    else:
        os.kill(daemon.pid, number)
