"""Processes that work on copies of the state: a few, each with a budget of CPU time and memory.

Guarantees: one question of a caller runs at a time, one more waits, others are refused; a process ends when its budget
is spent, and when nobody has needed it for `IDLE_S`. It gives way to the server, as readers of bodies do.
"""

import asyncio
import pickle
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, ParamSpec, TypeVar, cast

from dovetail.api.protocol.readers import BodyReader, ReaderEnded, command_of
from dovetail.control.errors import Conflict, NotSupported

P = ParamSpec("P")
T = TypeVar("T")

PROCESSES = 2
BUDGET_S = 60.0  # of CPU time
PATIENCE = 2  # times the budget, on the clock
IDLE_S = 60.0
MOST_MEMORY_BYTES = 4096 * 2**20
MOST_OF_A_CALLER = 2  # one runs, one waits

_threads = ThreadPoolExecutor(max_workers=PROCESSES, thread_name_prefix="copy")
_own = threading.local()


class CopyWorker:
    """One process, which ends when it was idle for a while."""

    def __init__(self) -> None:
        self._reader = BodyReader(command_of(str(MOST_MEMORY_BYTES)), PATIENCE)
        self._turn = threading.Lock()
        self._ending: threading.Timer | None = None

    def run(self, budget_s: float, function: Callable[..., Any], args: tuple[Any, ...]) -> list[bytes]:
        with self._turn:
            if self._ending is not None:
                self._ending.cancel()
            try:
                return self._reader.run(budget_s, function, args)
            finally:
                self._ending = threading.Timer(IDLE_S, self._end)
                self._ending.daemon = True
                self._ending.start()

    def _end(self) -> None:
        with self._turn:
            self._reader.end()


class CopyDesk:
    """Who asks, and how much of it at once."""

    def __init__(self) -> None:
        self._of_caller: Counter[str] = Counter()
        self._turns: dict[str, asyncio.Lock] = {}

    async def ask(self, caller: str, function: Callable[P, T], *args: P.args, **_: P.kwargs) -> T:
        """What the function of a module answers. Raises what it raises; Conflict where this caller asks too much at
        once; NotSupported where the budget was not enough."""
        async with self._in_turn(caller):
            loop = asyncio.get_running_loop()
            try:
                frames = await loop.run_in_executor(_threads, _run, BUDGET_S, function, args)
            except ReaderEnded:
                words = f"it took more than {BUDGET_S:g} s or {MOST_MEMORY_BYTES >> 30} GiB, and was ended"
                raise NotSupported(f"{words}; ask for a shorter horizon or for less") from None
        kind, value = pickle.loads(frames[-1])  # noqa: S301 - of our own process
        if kind == "error":
            raise value
        return cast("T", value)

    @asynccontextmanager
    async def _in_turn(self, caller: str) -> AsyncIterator[None]:
        if self._of_caller[caller] >= MOST_OF_A_CALLER:
            raise Conflict("two questions of yours are being worked out on copies; wait for one of them")
        self._of_caller[caller] += 1
        try:
            async with self._turns.setdefault(caller, asyncio.Lock()):
                yield
        finally:
            self._of_caller[caller] -= 1
            if not self._of_caller[caller]:
                del self._of_caller[caller]
                self._turns.pop(caller, None)


def _run(budget_s: float, function: Callable[..., Any], args: tuple[Any, ...]) -> list[bytes]:
    if not hasattr(_own, "worker"):
        _own.worker = CopyWorker()
    return cast("list[bytes]", _own.worker.run(budget_s, function, args))
