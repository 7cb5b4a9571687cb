"""The route of probes: agents report what they measured of the network, and learn whom to probe next."""

import time
from typing import Annotated, cast

from fastapi import Request
from pydantic import Field, IPvAnyAddress

from dovetail.access.probe_keys import epoch_at
from dovetail.api.protocol.body import model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import Json
from dovetail.model.text.strict import NodeName, Strict
from dovetail.responses.probes import ProbeOrders, ProbeReport

router = Routes(tags=["nodes"])

_LONGEST_US = 10_000_000.0
_FASTEST_MBPS = 10_000_000.0
_MOST_PEERS = 10_000


class MeasuredPeer(Strict):
    """Packets that were sent to a peer, and the round-trip times of those that were answered."""

    node: NodeName
    sent: Annotated[int, Field(ge=0, le=1000)]
    rtts_us: Annotated[list[Annotated[float, Field(gt=0, le=_LONGEST_US)]], Field(max_length=1000)]


class MeasuredTrain(Strict):
    """The bandwidth that a train of packets to a peer saw. `at_least`: the sender could not send faster."""

    node: NodeName
    mbps: Annotated[float, Field(ge=0, le=_FASTEST_MBPS)]
    at_least: bool = False


class Probes(Strict):
    """Where the agent listens for probes, if it does, and what it measured."""

    address: IPvAnyAddress | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    results: Annotated[list[MeasuredPeer], Field(max_length=_MOST_PEERS)] = []
    trains: Annotated[list[MeasuredTrain], Field(max_length=_MOST_PEERS)] = []


@router.post("/nodes/{name}/probes", openapi_extra=takes(Probes))
async def probes(request: Request, name: str) -> Json[ProbeOrders]:
    """The agent of a registered node reports what it measured of the network between it and others, and learns whom to
    probe next, and with which keys."""
    given = await model_in(request, Probes)
    plane = plane_of(request)
    plane.nodes.must_exist(name)
    report = cast("ProbeReport", given.model_dump(mode="json"))
    return Json(plane.probe_board.report(name, report, time.monotonic(), epoch_at(time.time())))
