"""Packets of probes: nobody without the key gets an answer, and no answer is larger than what was asked."""

import asyncio
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import until

from dovetail.access.probe_keys import node_key, pair_key, probe_id
from dovetail.agent.probing.packets import (
    PACKET_BYTES,
    TRAIN_PACKET_BYTES,
    TRAIN_PACKETS,
    PacketKind,
    ProbePacket,
    decode,
    encode,
    is_genuine,
)
from dovetail.agent.probing.prober import ProbeRound
from dovetail.agent.probing.prober_socket import ProberSocket
from dovetail.control.subsystems.network import measuring
from dovetail.network_measurement.probe_plan import WIRE_OVERHEAD_BYTES
from dovetail.responses.probes import ProbePeer

EPOCH = 7
OWN_KEY = node_key(b"secret", EPOCH, "far")
KEY = pair_key(OWN_KEY, probe_id("near"))
PROBE = ProbePacket(PacketKind.PROBE, EPOCH, probe_id("near"), 1)


@given(st.binary(max_size=200))
def test_what_others_send_is_no_packet(data: bytes) -> None:
    assert decode(data) is None


@given(st.sampled_from(PacketKind), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_packet_is_read_as_it_was_written_and_every_change_is_noticed(kind: PacketKind, number: int, at: int) -> None:
    packet = ProbePacket(kind, EPOCH, probe_id("near"), number, at, 3)
    data = encode(packet, KEY)
    assert decode(data) == packet
    assert is_genuine(data, KEY)
    assert not is_genuine(data, pair_key(OWN_KEY, probe_id("other")))
    for place in range(4, PACKET_BYTES):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        assert decode(changed) is None or not is_genuine(changed, KEY)


def test_keys_differ_by_node_by_epoch_and_by_who_asks() -> None:
    keys = {
        pair_key(node_key(b"secret", epoch, node), probe_id(prober))
        for epoch in (1, 2)
        for node in ("a", "b")
        for prober in ("c", "d")
    }
    assert len(keys) == 8


def test_the_budget_is_counted_with_the_sizes_of_real_packets() -> None:
    assert len(encode(PROBE, KEY)) == PACKET_BYTES == measuring.PACKET_BYTES
    train = encode(PROBE._replace(kind=PacketKind.TRAIN), KEY, TRAIN_PACKET_BYTES)
    assert TRAIN_PACKETS * (len(train) + WIRE_OVERHEAD_BYTES) == measuring.TRAIN_BYTES


@pytest.mark.parametrize("kind", [PacketKind.PROBE, PacketKind.TRAIN_END])
def test_only_who_has_the_key_is_answered_and_with_as_much_as_was_sent(kind: PacketKind) -> None:
    async def answers(data: bytes) -> bytes | None:
        """The first answer, if there is one before that to a packet that is right."""
        endpoint = ProberSocket("127.0.0.1", 0)
        endpoint.keys = {EPOCH: OWN_KEY}
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.setblocking(False)
            asking.connect(("127.0.0.1", endpoint.port))
            last = encode(ProbePacket(PacketKind.PROBE, EPOCH, probe_id("near"), 99), KEY)
            for packet in (data, last):
                await loop.sock_sendall(asking, packet)
            found = await loop.sock_recv(asking, 4096)
        endpoint.close()
        answered = decode(found)
        assert answered is not None
        return None if answered.number == 99 else found

    right = encode(PROBE._replace(kind=kind), KEY)
    found = asyncio.run(answers(right))
    assert found is not None
    assert len(found) == len(right)
    for wrong in (
        encode(PROBE._replace(kind=kind), b"another key"),
        encode(PROBE._replace(kind=kind, epoch=EPOCH + 1), KEY),
        encode(PROBE._replace(kind=kind, prober=probe_id("other")), KEY),
        encode(PROBE._replace(kind=PacketKind.TRAIN), KEY),
        encode(PROBE._replace(kind=PacketKind.ECHO), KEY),
        right[:-1],
        right + b"\0",
        b"",
    ):
        assert asyncio.run(answers(wrong)) is None


def peer_of(endpoint: ProberSocket) -> ProbePeer:
    return {"node": "far", "address": "127.0.0.1", "port": endpoint.port, "epoch": EPOCH, "key": KEY.hex()}


def test_a_round_measures_what_the_network_takes_and_not_what_a_busy_peer_takes() -> None:
    async def measured() -> list[float]:
        near, far = ProberSocket("127.0.0.1", 0), ProberSocket("127.0.0.1", 0)
        far.keys = {EPOCH: OWN_KEY}
        probing = asyncio.ensure_future(ProbeRound("near", near).probe([peer_of(far)], 3, 0.2))
        await until(lambda: bool(near.waiting), "a packet is sent", every_s=0)
        asyncio.get_running_loop().call_soon(time.sleep, 0.3)  # both are busy, while it lies in the buffer
        (result,) = await probing
        near.close()
        far.close()
        assert (result["node"], result["sent"]) == ("far", 3)
        return result["rtts_us"]

    rtts_us = asyncio.run(measured())
    assert len(rtts_us) == 3
    assert max(rtts_us) < 200_000


def test_who_does_not_answer_is_lost_and_a_train_tells_how_fast_it_went() -> None:
    async def measured() -> None:
        near, far = ProberSocket("127.0.0.1", 0), ProberSocket("127.0.0.1", 0)
        far.keys = {EPOCH: OWN_KEY}
        this_round = ProbeRound("near", near)
        train = await this_round.train({**peer_of(far), "in_s": 0.0})
        assert train is not None
        assert train["mbps"] > 1
        far.keys = {}
        (silent,) = await this_round.probe([peer_of(far)], 1, 0.0)
        assert silent == {"node": "far", "sent": 1, "rtts_us": []}
        near.close()
        far.close()

    asyncio.run(measured())
