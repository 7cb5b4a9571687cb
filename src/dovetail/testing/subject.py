"""One backend under test: how to make it, which work it runs, and how to inject faults.

The hooks cause what no caller of a backend can: a network that loses replies, a node that is away for a while. A test
without its hook is skipped with one line, so a suite without skips has tested the backend against all of these faults.
`lossy_proxy` has the hooks for a backend that talks to its system over a socket.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from dovetail.backends.contract import Backend
from dovetail.model.workloads.workload import Workload


async def _short_sleep() -> None:
    await asyncio.sleep(0.01)


@dataclass
class Subject:
    """One backend under test, and what it can do."""

    backend_factory: Callable[[], Backend]
    """Makes a backend on the same state each time: a second call is a restart of the control plane."""
    workload: Callable[[float, int, str], Workload]
    """A workload that runs for so many seconds, exits with a code and prints a text."""
    unrunnable: list[Workload] = field(default_factory=list)
    """Workloads that this backend must refuse."""
    times_run: Callable[[str], int] | None = None
    """How often the command of an attempt was started, if that can be counted from outside."""
    runs_now: Callable[[str], bool] | None = None
    """Whether the command of an attempt is running now, asked of the system and not of the backend."""
    let_time_pass: Callable[[], Awaitable[None]] = _short_sleep
    """Called while a test waits; advances a virtual clock."""
    keeps_running_while_closed: bool = True
    knows_lost_attempts: bool = True
    """After a restart it can distinguish an attempt that it ran from an unknown one."""
    captures_output: bool = True
    owns_its_nodes: bool = True
    """It knows its nodes. False if nodes register themselves."""
    remembers_ends: bool = True
    """After a restart it still knows how attempts ended."""

    cut_replies: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """While inside, the system executes calls and its replies are lost. Calls may fail, but not with Refusal."""
    break_calls: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """While inside, the system cannot be reached, or every call fails."""
    hold_reply: Callable[[str], AbstractAsyncContextManager[None]] | None = None
    """While inside, calls about this key get no reply. Others do."""
    cut_off: Callable[[str], AbstractAsyncContextManager[None]] | None = None
    """While inside, the node of this key's attempt is cut off. It comes back with its processes still running."""
