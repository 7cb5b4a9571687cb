"""One round of probes: some packets to each peer, spread over the round, and the trains that are due in it."""

import asyncio
import contextlib
import random
import secrets
import time
from collections.abc import Awaitable, Sequence

from dovetail.access.probe_keys import probe_id
from dovetail.agent.probing.packets import (
    TRAIN_PACKET_BYTES,
    TRAIN_PACKETS,
    PacketKind,
    ProbePacket,
    encode,
)
from dovetail.agent.probing.prober_socket import AwaitedAnswer, ProberSocket
from dovetail.responses.probes import ProbedTrain, ProbePeer, ProbeResult, TrainOrder

ANSWER_WITHIN_S = 2.0
TRAIN_PROBE_WITHIN_S = 0.2  # a later train would come into the slot of another
_TRAIN_SETTLES_S = 0.1
_ASKED_FOR_TRAIN = 3
#: Above this share of what the sender managed to send, the sender was the limit and not the network.
SENDER_IS_THE_LIMIT = 0.8
_NS_PER_US = 1000


class ProbeRound:
    def __init__(self, node: str, endpoint: ProberSocket) -> None:
        self._id, self._endpoint = probe_id(node), endpoint

    async def probe(self, peers: Sequence[ProbePeer], packets: int, within_s: float) -> list[ProbeResult]:
        """Packets to every peer; one whose address is of another family is left out."""
        return [
            found for found in await asyncio.gather(*(self._peer(one, packets, within_s) for one in peers)) if found
        ]

    async def _peer(self, peer: ProbePeer, packets: int, within_s: float) -> ProbeResult | None:
        if not self._endpoint.reaches(peer["address"]):
            return None
        key, epoch = bytes.fromhex(peer["key"]), peer["epoch"]
        gap_s = max(within_s - ANSWER_WITHIN_S, 0.5 * within_s) / packets
        await asyncio.sleep(gap_s * random.random())  # noqa: S311 - so that not all are sent at once
        answers: list[Awaitable[float | None]] = []
        for place in range(packets):
            if place:
                await asyncio.sleep(gap_s)
            packet = ProbePacket(PacketKind.PROBE, epoch, self._id, secrets.randbits(64))
            answers.append(asyncio.ensure_future(self._rtt(packet, key, peer["address"], peer["port"])))
        rtts_us = [rtt_us for one in answers if (rtt_us := await one) is not None]
        return {"node": peer["node"], "sent": len(answers), "rtts_us": rtts_us}

    async def _rtt(self, packet: ProbePacket, key: bytes, address: str, port: int) -> float | None:
        found = await self._asked(packet, key, address, port, ANSWER_WITHIN_S)
        if found is None:
            return None
        echo, sent_ns, at_ns = found
        rtt_ns = at_ns - sent_ns - echo.first
        # A clock that was set meanwhile makes nonsense.
        return round(rtt_ns / _NS_PER_US, 3) if 0 < rtt_ns < ANSWER_WITHIN_S * 1e9 else None

    async def _asked(
        self, packet: ProbePacket, key: bytes, address: str, port: int, within_s: float
    ) -> tuple[ProbePacket, int, int] | None:
        """The answer, when we sent and when it came; None: there was none in time, or nothing could be sent."""
        data = encode(packet, key)
        waiting = self._endpoint.waiting[packet.number] = AwaitedAnswer(key, time.time_ns())
        try:
            waiting.sent_ns = self._endpoint.send(data, address, port)
            async with asyncio.timeout(within_s):
                answer, at_ns = await waiting.answer
            return answer, waiting.sent_ns, at_ns
        except (OSError, TimeoutError):
            return None
        finally:
            del self._endpoint.waiting[packet.number]

    # --- bandwidth ---------------------------------------------------------------------------------------------

    async def train(self, order: TrainOrder) -> ProbedTrain | None:
        """Send a train when it is due; None if the receiver has not told what it saw. Who does not answer a probe gets
        none: an address that somebody made up is not to be flooded."""
        await asyncio.sleep(order["in_s"])
        key, epoch, number = bytes.fromhex(order["key"]), order["epoch"], secrets.randbits(64)
        first = ProbePacket(PacketKind.PROBE, epoch, self._id, secrets.randbits(64))
        if await self._asked(first, key, order["address"], order["port"], TRAIN_PROBE_WITHIN_S) is None:
            return None
        packets = [
            encode(ProbePacket(PacketKind.TRAIN, epoch, self._id, number, place), key, TRAIN_PACKET_BYTES)
            for place in range(TRAIN_PACKETS)
        ]
        sent_mbps = self._send_train(packets, order["address"], order["port"])
        for _ in range(_ASKED_FOR_TRAIN):
            await asyncio.sleep(_TRAIN_SETTLES_S)
            end = ProbePacket(PacketKind.TRAIN_END, epoch, self._id, number)
            found = await self._asked(end, key, order["address"], order["port"], _TRAIN_SETTLES_S * 5)
            if found is not None and found[0].second:
                mbps = found[0].first * 8000 / found[0].second
                at_least = sent_mbps is not None and mbps > SENDER_IS_THE_LIMIT * sent_mbps
                return {"node": order["node"], "mbps": round(mbps, 3), "at_least": at_least}
        return None

    def _send_train(self, packets: Sequence[bytes], address: str, port: int) -> float | None:
        """How fast they were sent; None where the machine did not take them all."""
        times: list[int] = []
        with contextlib.suppress(OSError):
            times += [self._endpoint.send(packet, address, port) for packet in packets]
        half = len(packets) // 2
        if len(times) < len(packets) or times[-1] <= times[half]:
            return None
        return (len(packets) - 1 - half) * TRAIN_PACKET_BYTES * 8000 / (times[-1] - times[half])
