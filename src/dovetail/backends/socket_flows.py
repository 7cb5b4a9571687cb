"""Counts the bytes of TCP connections by task and peer, from the kernel's socket diagnostics (netlink `sock_diag`).

Needs the package pyroute2 and Linux; counts sockets of this network namespace only, so not those of containers with a
network of their own. A connection that was opened and closed between two looks is not seen: what is counted is a sample
that is too small for many short connections. Guarantees: never raises; what cannot be counted is left out.
"""

import contextlib
import logging
import socket
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.model.task_flows import MOST_FLOWS, MOST_LISTENS, Flow, TaskFlows

_ESTABLISHED, _LISTEN = 1, 10
_STATES = 1 << _ESTABLISHED | 1 << _LISTEN
_WITH_COUNTERS = 1 << 1  # INET_DIAG_INFO

_log = logging.getLogger(__name__)


class _Socket(NamedTuple):
    listens: bool
    inode: int
    local: tuple[str, int]
    remote: tuple[str, int]
    sent: int
    received: int


class FlowMeter:
    """One for a machine. `measure` takes the processes of each attempt, by key."""

    def __init__(self) -> None:
        self._counted: dict[int, tuple[int, int]] = {}  # by inode: bytes that were reported
        self._diagnostics: Any = None
        self._usable = True

    def measure(self, pids: Mapping[str, Collection[int]]) -> dict[str, TaskFlows]:
        """What each attempt listens on, and what it exchanged since the last call; without those that did neither."""
        if not self._usable or not pids:
            return {}
        try:
            sockets = self._sockets()
        except Exception as error:  # not Linux, no pyroute2, no permission: there are many ways
            _log.info("traffic between tasks is not measured here: %s", error)
            self._usable = False
            return {}
        owner = {inode: key for key, some in pids.items() for pid in some for inode in _inodes(pid)}
        counted: dict[int, tuple[int, int]] = {}
        listens: dict[str, set[int]] = defaultdict(set)
        flows: dict[str, dict[tuple[str, int], list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        by_port = {one.local[1]: owner.get(one.inode) for one in sockets if one.listens}
        for one in sockets:
            key = owner.get(one.inode)
            if key is None:
                continue
            if one.listens:
                listens[key].add(one.local[1])
                continue
            counted[one.inode] = (one.sent, one.received)
            if by_port.get(one.local[1]) == key:
                continue  # the other side made this connection, and reports it
            before = self._counted.get(one.inode, (0, 0))
            total = flows[key][one.remote]
            total[0] += max(0, one.sent - before[0])
            total[1] += max(0, one.received - before[1])
        self._counted = counted
        return {key: _report(listens.get(key, ()), flows.get(key, {})) for key in listens.keys() | flows.keys()}

    def _sockets(self) -> list[_Socket]:
        if self._diagnostics is None:
            from pyroute2 import DiagSocket  # it takes a while to import

            self._diagnostics = DiagSocket()
            self._diagnostics.bind()
        found = []
        for family in (socket.AF_INET, socket.AF_INET6):
            found += [
                _read(one)
                for one in self._diagnostics.get_sock_stats(family=family, states=_STATES, extensions=_WITH_COUNTERS)
            ]
        return found

    def close(self) -> None:
        if self._diagnostics is not None:
            self._diagnostics.close()


def _read(one: Any) -> _Socket:
    info = one.get_attr("INET_DIAG_INFO") or {}
    return _Socket(
        one["idiag_state"] == _LISTEN,
        one["idiag_inode"],
        (_plain(one["idiag_src"]), one["idiag_sport"]),
        (_plain(one["idiag_dst"]), one["idiag_dport"]),
        info["tcpi_bytes_acked"] if info else 0,
        info["tcpi_bytes_received"] if info else 0,
    )


def _plain(address: str) -> str:
    """`::ffff:10.0.0.1` is an IPv4 address on a socket for both."""
    return address.removeprefix("::ffff:") if "." in address else address


def _inodes(pid: int) -> list[int]:
    """The sockets that a process has open."""
    found = []
    with contextlib.suppress(OSError):
        for opened in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError, ValueError):
                target = str(opened.readlink())
                if target.startswith("socket:["):
                    found.append(int(target[8:-1]))
    return found


def _report(listens: Collection[int], flows: Mapping[tuple[str, int], list[int]]) -> TaskFlows:
    moved = [(peer, sent, received) for peer, (sent, received) in flows.items() if sent or received]
    moved.sort(key=lambda one: -(one[1] + one[2]))
    return TaskFlows(
        listens=sorted(listens)[:MOST_LISTENS],
        flows=[Flow(address=a, port=p, sent=s, received=r) for (a, p), s, r in moved[:MOST_FLOWS]],
    )
