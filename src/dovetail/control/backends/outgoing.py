"""The queue of commands to one backend: in order of arrival, except that doubtful commands let others pass.

Guarantees: a command that failed comes back after its own pause, which doubles each time; no worker waits for that.
Only `clear` loses commands. Left to others: which commands are settled (`execution`).
"""

import asyncio
from collections import deque
from collections.abc import Callable

from dovetail.model.backoff import Backoff
from dovetail.model.command import Bind, Stop

Name = tuple[str, str]


def outbox_name(command: Bind | Stop) -> Name:
    """Kind and key, as in the outbox."""
    return ("bind" if isinstance(command, Bind) else "stop"), command.key


class OutgoingCommands(asyncio.Queue[Bind | Stop]):
    """`doubtful` says which commands let others pass at this moment."""

    def __init__(self, doubtful: Callable[[Bind | Stop], bool], first_pause_s: float, longest_pause_s: float) -> None:
        self._doubtful = doubtful
        self._first_pause_s, self._longest_pause_s = first_pause_s, longest_pause_s
        self._backoffs: dict[Name, Backoff] = {}
        self._aside: dict[Name, asyncio.TimerHandle] = {}
        super().__init__()

    def put_aside(self, command: Bind | Stop) -> None:
        """It failed: retry it after its pause."""
        name = outbox_name(command)
        backoff = self._backoffs.setdefault(name, Backoff(self._first_pause_s, self._longest_pause_s))
        self._aside[name] = asyncio.get_running_loop().call_later(backoff.next_s(), self._back, command)

    def forget(self, name: Name) -> None:
        """It is settled: forget its pause."""
        self._backoffs.pop(name, None)

    def clear(self) -> None:
        for handle in self._aside.values():
            handle.cancel()
        self._aside.clear()

    def _back(self, command: Bind | Stop) -> None:
        self._aside.pop(outbox_name(command), None)
        self.put_nowait(command)

    # --- as asyncio's queue asks for it ------------------------------------------------------------------------

    def _init(self, maxsize: int) -> None:  # noqa: ARG002 - its signature
        self._queue: deque[Bind | Stop] = deque()

    def _put(self, item: Bind | Stop) -> None:
        self._queue.append(item)

    def _get(self) -> Bind | Stop:
        for position, command in enumerate(self._queue):
            if not self._doubtful(command):
                del self._queue[position]
                return command
        return self._queue.popleft()
