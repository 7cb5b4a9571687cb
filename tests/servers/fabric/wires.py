"""Wires in user space, between two switches: each frame waits for its delay, or is lost. The kernel here has no netem.

The test starts this module as a process in the namespace of the switches, and writes a line to it for each change:
`NAME DELAY_MS LOSS`. A wire is two TAP devices, `NAME.a` and `NAME.b`. A loss of 1 is a wire that is cut.
"""

import contextlib
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

from tests.servers.fabric.namespaces import enter

_TUNSETIFF = 0x400454CA
_TAP, _NO_PACKET_INFO = 0x0002, 0x1000
_LARGEST_FRAME = 2048
_MOST_AT_ONCE = 64


class Wire:
    def __init__(self, name: str) -> None:
        self.ends = [_tap(f"{name}.{end}") for end in "ab"]
        self.delay_s, self.loss = 0.0, 0.0


def _tap(name: str) -> int:
    number = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(number, _TUNSETIFF, struct.pack("16sH22s", name.encode(), _TAP | _NO_PACKET_INFO, b""))
    return number


def carry(wires: dict[str, Wire]) -> None:
    """Until nobody writes to us any more."""
    across = {end: (wire, wire.ends[1 - side]) for wire in wires.values() for side, end in enumerate(wire.ends)}
    waiting: list[tuple[float, int, int, bytes]] = []
    count, dice = 0, random.Random(1)
    while True:
        pause_s = max(waiting[0][0] - time.monotonic(), 0.0) if waiting else None
        for number in select.select([*across, sys.stdin.fileno()], [], [], pause_s)[0]:  # epoll counts milliseconds
            if number == sys.stdin.fileno():
                line = sys.stdin.readline()
                if not line:
                    return
                name, delay_ms, loss = line.split()
                wires[name].delay_s, wires[name].loss = float(delay_ms) / 1000, float(loss)
                print("set", flush=True)
                continue
            wire, end = across[number]
            for frame in _frames(number):
                if not wire.loss or dice.random() >= wire.loss:
                    count += 1  # frames with one time keep their order
                    heapq.heappush(waiting, (time.monotonic() + wire.delay_s, count, end, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, frame = heapq.heappop(waiting)
            with contextlib.suppress(OSError):  # the queue of the switch is full, or it is gone
                os.write(end, frame)


def _frames(number: int) -> list[bytes]:
    found: list[bytes] = []
    with contextlib.suppress(BlockingIOError):
        while len(found) < _MOST_AT_ONCE:
            found.append(os.read(number, _LARGEST_FRAME))
    return found


def main() -> None:
    namespace, *names = sys.argv[1:]
    enter(namespace)
    made = {name: Wire(name) for name in names}
    print("ready", flush=True)
    carry(made)


if __name__ == "__main__":
    main()
