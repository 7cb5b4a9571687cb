"""The UDP socket of an agent: answers the probes of peers, and hands answers to its own probes to who waits for them.

Times are those of the kernel where it tells them (Linux): when a packet arrived, not when this process got to read it.
How long an answer was held here goes with it and is not counted, so a busy machine does not look like a far one.
Guarantees: a packet that is not authenticated is dropped; an answer is never larger than what was asked; no more than
`MOST_A_SECOND` packets are answered a second.
"""

import asyncio
import contextlib
import socket
import struct
import time
from collections import OrderedDict
from collections.abc import Mapping

from dovetail.access.probe_keys import pair_key
from dovetail.agent.probing.packets import (
    TRAIN_PACKETS,
    PacketKind,
    ProbePacket,
    decode,
    encode,
    is_genuine,
)

MOST_A_SECOND = 5000
_MOST_TRAINS = 16
_MOST_KEYS = 10_000
_READ_AT_ONCE = 64
_LARGEST = 2048
_SO_TIMESTAMPNS = 35  # Linux; Python has no name for it
_TIMESPEC = struct.Struct("@qq")
_ECHOES = (PacketKind.ECHO, PacketKind.TRAIN_SEEN)


class AwaitedAnswer:
    """A packet of ours that somebody has to answer."""

    def __init__(self, key: bytes, sent_ns: int) -> None:
        self.key, self.sent_ns = key, sent_ns
        self.answer: asyncio.Future[tuple[ProbePacket, int]] = asyncio.get_running_loop().create_future()


class _SeenTrain:
    """The second half of a train: the first fills what buckets and buffers on the way let through at once."""

    def __init__(self) -> None:
        self.begin_ns = self.end_ns = 0
        self.bytes = 0

    def add(self, place: int, size: int, at_ns: int) -> None:
        if place < TRAIN_PACKETS // 2:
            return
        if not self.begin_ns:
            self.begin_ns = at_ns
        else:
            self.bytes += size
        self.end_ns = max(self.end_ns, at_ns)


class ProberSocket:
    """`keys`: by epoch, that of this node."""

    def __init__(self, address: str, port: int) -> None:
        """Raises OSError."""
        family, kind, protocol, _, target = socket.getaddrinfo(
            address, port, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
        )[0]
        self.family = family
        self._socket = socket.socket(family, kind, protocol)
        try:
            self._socket.setblocking(False)
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self._socket.bind(target)
        except BaseException:
            self._socket.close()
            raise
        self.port = int(self._socket.getsockname()[1])
        self.keys: Mapping[int, bytes] = {}
        self.waiting: dict[int, AwaitedAnswer] = {}
        self._trains: OrderedDict[tuple[bytes, int], _SeenTrain] = OrderedDict()
        self._pair_keys: dict[tuple[bytes, bytes], bytes] = {}
        self._allowed, self._allowed_at = float(MOST_A_SECOND), time.monotonic()
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._read)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()

    def reaches(self, address: str) -> bool:
        """Is it an address of the same family?"""
        try:
            socket.inet_pton(self.family, address)
        except (OSError, ValueError):
            return False
        return True

    def send(self, data: bytes, address: str, port: int) -> int:
        """When it was sent, in nanoseconds. Raises OSError."""
        at_ns = time.time_ns()
        self._socket.sendto(data, (address, port))
        return at_ns

    # --- receiving ---------------------------------------------------------------------------------------------

    def _read(self) -> None:
        for _ in range(_READ_AT_ONCE):
            try:
                data, extra, _, sender = self._socket.recvmsg(_LARGEST, 64)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:  # a peer's machine said that nobody listens there: its probe stays unanswered
                continue
            self._take(data, sender, _arrival_ns(extra))

    def _take(self, data: bytes, sender: tuple[str, int], at_ns: int) -> None:
        packet = decode(data)
        if packet is None:
            return
        if packet.kind in _ECHOES:
            waiting = self.waiting.get(packet.number)
            if waiting is not None and not waiting.answer.done() and is_genuine(data, waiting.key):
                waiting.answer.set_result((packet, at_ns))
            return
        if not self._may_answer():
            return
        key = self._key_for(packet, data)
        if key is None:
            return
        if packet.kind is PacketKind.TRAIN:
            self._train(packet).add(packet.first, len(data), at_ns)
        elif packet.kind is PacketKind.TRAIN_END:
            seen = self._train(packet)
            numbers = (seen.bytes, max(seen.end_ns - seen.begin_ns, 0))
            self._reply(packet._replace(kind=PacketKind.TRAIN_SEEN, first=numbers[0], second=numbers[1]), key, sender)
        else:
            held_ns = max(time.time_ns() - at_ns, 0)
            self._reply(packet._replace(kind=PacketKind.ECHO, first=held_ns), key, sender)

    def _reply(self, packet: ProbePacket, key: bytes, sender: tuple[str, int]) -> None:
        with contextlib.suppress(OSError):
            self._socket.sendto(encode(packet, key), sender)

    def _train(self, packet: ProbePacket) -> _SeenTrain:
        name = (packet.prober, packet.number)
        if name not in self._trains:
            self._trains[name] = _SeenTrain()
            if len(self._trains) > _MOST_TRAINS:
                self._trains.popitem(last=False)
        return self._trains[name]

    def _key_for(self, packet: ProbePacket, data: bytes) -> bytes | None:
        """The key of the pair, if the packet was made with it."""
        for epoch, own in self.keys.items():
            if epoch % 256 != packet.epoch:
                continue
            key = self._pair_keys.get((own, packet.prober)) or pair_key(own, packet.prober)
            if not is_genuine(data, key):
                return None
            if len(self._pair_keys) > _MOST_KEYS:
                self._pair_keys.clear()
            self._pair_keys[own, packet.prober] = key
            return key
        return None

    def _may_answer(self) -> bool:
        now = time.monotonic()
        self._allowed = min(self._allowed + (now - self._allowed_at) * MOST_A_SECOND, float(MOST_A_SECOND))
        self._allowed_at = now
        if self._allowed < 1:
            return False
        self._allowed -= 1
        return True


def _arrival_ns(extra: list[tuple[int, int, bytes]]) -> int:
    for level, kind, value in extra:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(value) >= _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack_from(value)
            return int(seconds * 1_000_000_000 + nanoseconds)
    return time.time_ns()
