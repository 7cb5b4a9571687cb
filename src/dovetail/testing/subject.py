"""One backend under test: how to make it, what work it runs, and how to reach behind its back.

The hooks are for what no caller of a backend can bring about: a network that loses replies, a node that is gone for a
while. A test whose hook is missing is skipped with one line, so a suite without skips is a backend that was shown to
bear all of it. `lossy_proxy` has the hooks of a backend that speaks to its system over a socket.
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
    """A backend over the same state each time: calling it again is a restart of the control plane."""
    workload: Callable[[float, int, str], Workload]
    """Work that prints a text, runs for so many seconds and exits with a code."""
    unrunnable: list[Workload] = field(default_factory=list)
    """Work this backend must refuse."""
    times_run: Callable[[str], int] | None = None
    """How often the command of an attempt was really started, where that can be counted from outside."""
    runs_now: Callable[[str], bool] | None = None
    """Whether the command of an attempt is running at this moment, asked of the system and not of the backend."""
    let_time_pass: Callable[[], Awaitable[None]] = _short_sleep
    """Called while a test waits: a backend on a virtual clock moves it."""
    keeps_running_while_closed: bool = True
    knows_lost_attempts: bool = True
    """After a restart it can tell an attempt it ran from one it never heard of."""
    captures_output: bool = True
    owns_its_nodes: bool = True
    """It knows which nodes there are. False where others introduce them, as with nodes that register themselves."""
    remembers_ends: bool = True
    """After a restart it still says how an attempt ended that ended before."""

    cut_replies: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """While inside, what is asked of the system is done and its replies are lost. Calls may fail, not with Refusal."""
    break_calls: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """While inside, the system cannot be reached, or fails whatever it is asked."""
    hold_reply: Callable[[str], AbstractAsyncContextManager[None]] | None = None
    """While inside, there is no reply to what is asked about this key. Everything else is answered."""
    cut_off: Callable[[str], AbstractAsyncContextManager[None]] | None = None
    """While inside, the node that runs the attempt of this key is cut off; at the end it comes back with what it ran
    still running, as far as it depends on the node."""
