"""Programs of ours as processes, forked from one that has their modules loaded already.

Most of what `dovetail serve` or a `dovetail` command costs are its imports, on every start. `WarmProcess` takes the
command that `subprocess.Popen` would take, `[sys.executable, "-m", module, …]`, and gives a process with its own
session, environment, folder, standard streams, signals and exit status. It ends as any Python program ends, except
that its modules are not taken apart one by one, which would cost more than most starts. Shared are only the imports,
and with them the seed of hashes; so a test of what depends on how an interpreter starts or ends uses `Popen`.

`WarmProcess` is the test's end. Below it is the other end: a process that waits on its socket for commands, forks, and
tells how each process ended. When the test run closes the socket, however that comes about, it kills what still runs.
Each worker of a test run has two at most, one for servers and a smaller one for everything else: the less is loaded,
the less a fork and an end cost. Tests of one `xdist_group` share them.
"""

import atexit
import gc
import importlib
import importlib.util
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

REPOSITORY = Path(__file__).parents[2]
#: The commands of `dovetail` that serve, and what they load when they begin.
SERVERS = {
    "serve": (
        "dovetail.cli.program.serve",
        "dovetail.cli.program.serving",
        "dovetail.backends.local.backend",
        "dovetail.control.cost.accountant",
        "dovetail.control.rebalancing.rebalancer",
        "dovetail.control.service_controller.controller",
        "dovetail.control.service_controller.metrics",
        "dovetail.control.subsystems.built_in",
        "dovetail.control.subsystems.network.measuring",
        "dovetail.control.trends.recorder",
        "alembic.command",
        "alembic.config",
        "cryptography.fernet",
        "cryptography.x509",
        "encodings.idna",
        "httpx",
        "prometheus_client.parser",
        "rich.progress",
        "uvicorn.lifespan.off",
        "uvicorn.protocols.websockets.auto",
        "uvloop",
        "yaml",
    ),
    "agent": (
        "dovetail.cli.program.agent",
        "dovetail.agent.agent",
        "pynvml",
        "pyroute2",
    ),
    "kubernetes": ("dovetail.cli.kubernetes.scheduler", "dovetail.cli.kubernetes.extender"),
}
#: What servers do once, at their start or soon after it, and takes more than the start itself.
FIRST_CALLS = (
    "tests.servers.fresh_databases:make_all",
    "dovetail.constraints.syntax.parser:warm_up",
    "dovetail.placement.recovery.optimum:warm_up",
    "dovetail.model.plugin_loading:installed_entry_points",
)
#: In the environment of a server that makes its database itself (`fresh_databases`).
MIGRATE_ANEW = "TEST_MIGRATES_ANEW"
_MOST_BYTES = 1_000_000
_STATUS_BYTES = 100
_CANNOT_FLUSH = 120  # the exit status of an interpreter that cannot write the last of its output
Stream = int | IO[Any] | None


class WarmProcess:
    """As `subprocess.Popen`, as far as tests use it. Streams that are pipes are of text."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        network: str | None = None,
    ) -> None:
        """`network`: the name of a network namespace that it runs in."""
        python, option, module, *arguments = command
        assert (python, option) == (sys.executable, "-m"), f"not a program of ours: {command}"
        self.args = [*command]
        self.returncode: int | None = None
        order = {
            "module": module,
            "arguments": arguments,
            "folder": str(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
            "network": network,
        }
        self._told, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        opened: list[int] = []
        given = _for_reading(stdin, opened)
        self.stdout, out = _for_writing(stdout, 1, opened)
        self.stderr, err = _for_writing(stderr, 2, opened)
        starter = _starter(for_servers=bool(arguments) and arguments[0] in SERVERS)
        with theirs:
            socket.send_fds(starter, [json.dumps(order).encode()], [given, out, err, theirs.fileno()])
        for number in opened:
            os.close(number)
        pid, pidfds, _, _ = socket.recv_fds(self._told, _STATUS_BYTES, 1)
        assert pid, f"the process that starts others has ended; it should have started {command}"
        self.pid, (self._pidfd,) = int(pid), pidfds

    def poll(self) -> int | None:
        return self._wait(0.0)

    def wait(self, timeout: float | None = None) -> int:
        status = self._wait(timeout)
        if status is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return status

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], timeout)[0]:
            told = self._told.recv(_STATUS_BYTES)
            assert told, "the process that starts others has ended"
            self.returncode = int(told)
            self._told.close()
            os.close(self._pidfd)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._pidfd, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> "WarmProcess":
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


def _for_reading(asked: Stream, opened: list[int]) -> int:
    """Nothing to read, unless a file was given."""
    if asked is None or asked == subprocess.DEVNULL:
        opened.append(os.open(os.devnull, os.O_RDONLY))
        return opened[-1]
    return asked if isinstance(asked, int) else asked.fileno()


def _for_writing(asked: Stream, own: int, opened: list[int]) -> tuple[IO[str] | None, int]:
    """The end that we read, where it is a pipe, and the one for the process to write to."""
    if asked == subprocess.PIPE:
        ours, theirs = os.pipe()
        opened.append(theirs)
        return os.fdopen(ours, encoding="utf-8"), theirs
    if asked == subprocess.DEVNULL:
        opened.append(os.open(os.devnull, os.O_WRONLY))
        return None, opened[-1]
    file = own if asked is None else asked
    return None, file if isinstance(file, int) else file.fileno()


@lru_cache
def _starter(*, for_servers: bool) -> socket.socket:
    """The socket of a process that forks; the first who asks starts it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", __name__, str(theirs.fileno())]
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a process with threads cannot be forked
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


class _Order:
    """What a forked process is to do."""

    def __init__(self, asked: bytes, streams: list[int]) -> None:
        order = json.loads(asked)
        self.module, self.arguments = _program(order["module"]), list(order["arguments"])
        self.folder, self.environment = str(order["folder"]), dict(order["environment"])
        self.network: str | None = order["network"]
        self.streams = streams

    def load(self) -> None:
        """Imports here, once, what each process of this kind would import."""
        importlib.import_module(self.module)
        command = self.arguments[0] if self.arguments else ""
        for module in SERVERS.get(command, ()):
            importlib.import_module(module)
        if command in SERVERS:
            _make_first_calls()

    def run(self) -> None:
        os.setsid()
        if self.network is not None:
            from tests.servers.fabric.namespaces import enter

            enter(self.network)
        for number, stream in enumerate(self.streams):
            os.dup2(stream, number)
            os.close(stream)
        _open_standard_streams()
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)
        time.tzset()
        if MIGRATE_ANEW in self.environment:
            from tests.servers.fresh_databases import migrate_anew

            migrate_anew()
        del sys.modules[self.module]  # it is imported once more, as the main program
        sys.argv = [self.module, *self.arguments]
        runpy.run_module(self.module, run_name="__main__", alter_sys=True)


@lru_cache
def _make_first_calls() -> None:
    for module, _, function in (call.partition(":") for call in FIRST_CALLS):
        getattr(importlib.import_module(module), function)()


def _open_standard_streams() -> None:
    """As an interpreter does at its start; those of the process that forked remember what kind of files it had."""
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)


def _program(module: str) -> str:
    """What `python -m module` runs."""
    found = importlib.util.find_spec(module)
    assert found is not None, f"there is no module {module}"
    return module if found.submodule_search_locations is None else f"{module}.__main__"


class _Starter:
    """The process that waits for orders."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._running: dict[int, tuple[int, socket.socket]] = {}

    def wait(self) -> _Order | None:
        """Returns in each forked process, with what it is to do. Here it returns None when the test run is over."""
        while True:
            readable, _, _ = select.select([self._orders.fileno(), *self._running], [], [])
            for ready in readable:
                if ready in self._running:
                    self._reap(ready)
                elif (order := self._take()) is not None:
                    return order
                elif self._orders.fileno() < 0:
                    return None

    def _take(self) -> _Order | None:
        asked, received, _, _ = socket.recv_fds(self._orders, _MOST_BYTES, 4)
        if not asked:
            self._orders.close()
            self._end_all()
            return None
        *streams, told_to = received
        order, tell = _Order(asked, streams), socket.socket(fileno=told_to)
        order.load()
        gc.freeze()  # what is never looked at by the collector is never copied
        child = os.fork()
        if child == 0:
            tell.close()
            self._forget()
            return order
        for stream in streams:
            os.close(stream)
        pidfd = os.pidfd_open(child)
        socket.send_fds(tell, [str(child).encode()], [pidfd])
        self._running[pidfd] = child, tell
        return None

    def _reap(self, pidfd: int) -> None:
        child, tell = self._running.pop(pidfd)
        _, status = os.waitpid(child, 0)
        os.close(pidfd)
        with tell:
            try:
                tell.send(str(os.waitstatus_to_exitcode(status)).encode())
            except OSError:
                return  # nobody asks any more

    def _end_all(self) -> None:
        for pidfd in list(self._running):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            self._reap(pidfd)

    def _forget(self) -> None:
        """Closes in a forked process what is not its own."""
        self._orders.close()
        for pidfd, (_, tell) in self._running.items():
            os.close(pidfd)
            tell.close()
        self._running.clear()


def _end(error: BaseException | None) -> None:
    """What an interpreter does when its main program has ended, except to free the memory, which happens anyway."""
    status = 0
    if isinstance(error, SystemExit):
        status = _exit_status(error.code)
    elif error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = status or _CANNOT_FLUSH
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)


def _exit_status(code: object) -> int:
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def main() -> None:
    order = _Starter(socket.socket(fileno=int(sys.argv[1]))).wait()
    if order is None:
        return
    ended_by: BaseException | None = None
    try:
        order.run()
    except BaseException as error:
        ended_by = error
    _end(ended_by)


if __name__ == "__main__":
    main()
