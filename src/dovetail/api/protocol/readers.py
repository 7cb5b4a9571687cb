"""Processes that read large bodies, so that neither the loop nor a decision waits for them.

Parsing and validating hold the interpreter's lock: a thread would stop the loop as much as the loop itself. Guarantees:
a job ends within its CPU time, or its process ends and the next job gets a new one; memory of a job is bounded; what
comes back is unpacked a little at a time. A process starts when it is first needed and ends with this one.
"""

import asyncio
import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, ParamSpec, TypeVar, cast

from dovetail.constraints.syntax.parser import remember
from dovetail.control.loop.giving_way import give_way

P = ParamSpec("P")
T = TypeVar("T")

PROCESSES = 2
PATIENCE = 10  # times the budget, until a process that does not come to work is ended
ITEMS_AT_ONCE = 20  # unpacked between two turns of the loop
_LENGTH_BYTES = 8
NICE = 5  # it gives way to the server, from its first import on
_PROGRAM = "import os; os.nice({}); from dovetail.api.protocol.reader_process import main; main({})"
VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "TMPDIR")  # it gets no others: they may hold secrets


def command_of(most_memory: str = "") -> tuple[str, ...]:
    """The command line of a process. `most_memory`: in bytes, if other than usual."""
    # -P: nothing is imported from the working directory
    return sys.executable, "-P", "-c", _PROGRAM.format(NICE, most_memory)


COMMAND = command_of()


class ReaderEnded(Exception):
    """The process ended before it answered: it took too long or too much memory."""


def send_frame(pipe: IO[bytes], value: Any) -> None:
    packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    pipe.write(len(packed).to_bytes(_LENGTH_BYTES, "big"))
    pipe.write(packed)


def read_frame(pipe: IO[bytes]) -> bytes:
    """Raises ReaderEnded at the end of the pipe."""
    length = pipe.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        raise ReaderEnded
    size = int.from_bytes(length, "big")
    packed = pipe.read(size)
    if len(packed) < size:
        raise ReaderEnded
    return packed


class BodyReader:
    """One process, used by one thread at a time."""

    def __init__(self, command: tuple[str, ...] = COMMAND, patience: float = PATIENCE) -> None:
        """`patience`: times the budget, as it passes on the clock."""
        self._process: subprocess.Popen[bytes] | None = None
        self._command, self._patience = command, patience

    def run(self, budget_s: float, function: Callable[..., Any], args: tuple[Any, ...]) -> list[bytes]:
        """The frames of the answer. `budget_s`: of CPU time, since a busy machine is not the sender's fault. Raises
        ReaderEnded."""
        try:
            process = self._started()
        except ReaderEnded:
            self.end()
            raise
        assert process.stdin is not None
        assert process.stdout is not None
        ending = threading.Timer(budget_s * self._patience, process.kill)
        ending.start()
        try:
            send_frame(process.stdin, (budget_s, function, args))
            process.stdin.flush()
            frames = int(pickle.loads(read_frame(process.stdout)))  # noqa: S301 - of our own process
            return [read_frame(process.stdout) for _ in range(frames)]
        except (ReaderEnded, OSError):
            self.end()
            raise ReaderEnded from None
        finally:
            ending.cancel()

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self.end()
            environment = {name: os.environ[name] for name in VARIABLES if name in os.environ}
            self._process = subprocess.Popen(  # noqa: S603
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
            assert self._process.stdout is not None
            read_frame(self._process.stdout)  # it is ready: its start does not count
        return self._process

    def end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            process.wait()


_threads = ThreadPoolExecutor(max_workers=PROCESSES, thread_name_prefix="read-body")
_own = threading.local()


def _run(budget_s: float, function: Callable[..., Any], args: tuple[Any, ...]) -> list[bytes]:
    if not hasattr(_own, "reader"):
        _own.reader = BodyReader()
    return cast("list[bytes]", _own.reader.run(budget_s, function, args))


async def elsewhere(budget_s: float, function: Callable[P, T], *args: P.args, **_: P.kwargs) -> T:
    """The answer of a function of a module, worked out by a reader. Raises what it raises, or ReaderEnded."""
    frames = await asyncio.get_running_loop().run_in_executor(_threads, _run, budget_s, function, args)
    kind, rest = "", list[Any]()
    for frame in frames:
        began = time.perf_counter()
        kind, value = pickle.loads(frame)  # noqa: S301 - of our own process
        if kind == "error":
            raise value
        if kind == "expressions":
            for text, tree in value:
                remember(text, tree)
        elif kind == "one":
            return cast("T", value)
        else:
            rest += value
        await give_way(time.perf_counter() - began)
    return cast("T", rest)
