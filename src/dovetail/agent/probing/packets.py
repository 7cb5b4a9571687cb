"""The packets of probes: fixed in size, authenticated, and answered by packets that are no larger.

    PROBE      ──► ECHO        carries how long the answer took on the other machine
    TRAIN × n  ──► nothing     the receiver notes when they arrive
    TRAIN_END  ──► TRAIN_SEEN  carries how many bytes arrived in how long

Whoever does not know the key of a pair gets no answer at all, and nobody gets more than was sent: agents cannot be used
to flood others.
"""

import hmac
import struct
from enum import IntEnum
from typing import NamedTuple

_MAGIC = b"DVP1"
_HEAD = struct.Struct("!4sBBH8sQQQ")
_MAC_BYTES = 16
PACKET_BYTES = _HEAD.size + _MAC_BYTES
#: With IP and UDP still below the 1280 bytes that every IPv6 network carries.
TRAIN_PACKET_BYTES = 1200
TRAIN_PACKETS = 64
_EPOCHS = 256


class PacketKind(IntEnum):
    PROBE = 1
    ECHO = 2
    TRAIN = 3
    TRAIN_END = 4
    TRAIN_SEEN = 5


class ProbePacket(NamedTuple):
    """`number` names the probe or the train. `first` and `second` are the nanoseconds that an ECHO was held for; or of
    a TRAIN the place in it; or of TRAIN_SEEN the bytes that arrived, and in how many nanoseconds."""

    kind: PacketKind
    epoch: int
    prober: bytes
    number: int
    first: int = 0
    second: int = 0


def encode(packet: ProbePacket, key: bytes, size: int = PACKET_BYTES) -> bytes:
    """Padded with zeros up to `size`."""
    head = _HEAD.pack(
        _MAGIC,
        packet.kind,
        packet.epoch % _EPOCHS,
        size,
        packet.prober,
        packet.number,
        packet.first,
        packet.second,
    )
    return head + hmac.digest(key, head, "sha256")[:_MAC_BYTES] + bytes(size - PACKET_BYTES)


def decode(data: bytes) -> ProbePacket | None:
    """What it says, not who sent it (`is_genuine`); `epoch` is the lowest byte of it. None: no packet of ours."""
    if len(data) < PACKET_BYTES or data[:4] != _MAGIC:
        return None
    _, kind, epoch, size, prober, number, first, second = _HEAD.unpack_from(data)
    if size != len(data) or kind not in PacketKind.__members__.values():
        return None
    return ProbePacket(PacketKind(kind), epoch, prober, number, first, second)


def is_genuine(data: bytes, key: bytes) -> bool:
    right = hmac.digest(key, data[: _HEAD.size], "sha256")[:_MAC_BYTES]
    return hmac.compare_digest(right, data[_HEAD.size : PACKET_BYTES])
