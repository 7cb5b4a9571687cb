"""Routes of the measured network: what agents measured between nodes, and the levels found in it."""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.control.errors import NotFound
from dovetail.control.plane import ControlPlane
from dovetail.control.subsystems.network.pair_trends import PAIR_SERIES, between_domains, trend_key
from dovetail.control.subsystems.network.probe_board import MeasuredBetween
from dovetail.control.trends.down_sampling import Steps, window
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import closest
from dovetail.network_measurement.discovery import FoundLevel, as_topology, discover_levels
from dovetail.responses.network import (
    DiscoveredLevel,
    DiscoveredTopology,
    MeasuredDistance,
    MeasuredPairList,
)
from dovetail.responses.trends import TrendAnswer

router = Routes(tags=["network"])

MOST_PAIRS = 100_000
MOST_POINTS = 2000


@router.get("/distances/measured")
async def measured_distances(
    request: Request,
    node: Annotated[str | None, Query(max_length=300, description="pairs with this node, also estimated ones")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_PAIRS)] = 1000,
) -> Json[MeasuredPairList]:
    """What agents measured between nodes, nearest first: every measured pair, or with `node` all pairs with that one,
    also those that are estimated."""
    plane = plane_of(request)
    if node is not None:
        plane.nodes.must_exist(node)
    names = frozenset(plane.questions.nodes.names)
    found, total = await asyncio.to_thread(plane.probe_board.nearest_pairs, node, names, limit)
    now = time.time()
    return Json({"items": [measured_row(one, now) for one in found], "total": total})


@router.get("/distances/trends")
async def distance_trends(
    request: Request,
    start: Annotated[
        str | None, Query(alias="from", max_length=300, description="a node, or a domain of `level`")
    ] = None,
    end: Annotated[str | None, Query(alias="to", max_length=300, description="another one, or the same domain")] = None,
    level: Annotated[str | None, Query(max_length=300, description="the level of both domains")] = None,
    since: Annotated[float, Query(ge=10, le=PAIR_SERIES.tiers[-1].keep_s, description="so many seconds ago")] = 3600,
    points: Annotated[int, Query(ge=1, le=MOST_POINTS, description="the most values of a series")] = 180,
) -> Json[TrendAnswer]:
    """The round-trip time (`rtt`) and the loss (`loss`) that agents measured between two nodes, or between the nodes of
    two domains; without `from` and `to`, of all pairs together.

    Kept every minute for an hour and every ten minutes for a day. A value is null where nobody measured; a round-trip
    time also where no packet came back.
    """
    plane = plane_of(request)
    pair = pair_asked(start, end)
    wanted = _every_pair if pair is None else _wanted(plane, *pair, level)
    steps = window(time.time(), since, points, PAIR_SERIES.tiers)
    trends = plane.probe_board.trends
    return Json(PAIR_SERIES.answer(Steps(steps) if trends is None else await plane.read(trends.read, steps, wanted)))


def pair_asked(start: str | None, end: str | None) -> tuple[str, str] | None:
    """Both ends or none. Raises Invalid for one alone."""
    if start is not None and end is not None:
        return start, end
    if start is None and end is None:
        return None
    raise Invalid([Complaint("query parameter", None, "to" if end is None else "from", "is missing")])


def _every_pair(_: str) -> bool:
    return True


def _wanted(plane: ControlPlane, start: str, end: str, level: str | None) -> Callable[[str], bool]:
    """Which pairs. Raises NotFound."""
    if level is None:
        for node in (start, end):
            plane.nodes.must_exist(node)
        return trend_key(start, end).__eq__
    domains = plane.questions.network.domain_names(level)
    known = sorted(set(domains.values()))
    for name in (start, end):
        if name not in known:
            raise NotFound(f"there is no {level[:100]} {name[:100]!r}.{closest(name, known)}")
    return between_domains(start, end, domains)


@router.get("/topology/discovered")
async def discovered_topology(request: Request) -> Json[DiscoveredTopology]:
    """Levels and domains found in what agents measured. `PUT /topology` with `definition` accepts them."""
    measured = plane_of(request).probe_board.network_map
    levels = [] if measured is None else await asyncio.to_thread(discover_levels, measured)
    return Json(
        {
            "nodes": 0 if measured is None else len(measured.names),
            "levels": [_level(level) for level in levels],
            "definition": as_topology(levels),
        }
    )


def measured_row(found: MeasuredBetween, now: float) -> MeasuredDistance:
    figures = found.figures
    return {
        "from": found.one,
        "to": found.other,
        "distance": round(found.distance, 1),
        "source": "estimated" if figures is None else "measured",
        "error": round(found.error, 1),
        "rtt_us": round(found.rtt_us, 1) if math.isfinite(found.rtt_us) else None,
        "rtt_min_us": None if figures is None else figures.rtt_min_us,
        "rtt_median_us": None if figures is None else figures.rtt_median_us,
        "rtt_p99_us": None if figures is None else figures.rtt_p99_us,
        "loss": None if figures is None else round(figures.loss, 5),
        "mbps": None if figures is None else figures.mbps,
        "at_least": figures is not None and figures.at_least,
        "age_s": None if figures is None else round(max(now - figures.measured_at, 0.0), 1),
    }


def _level(level: FoundLevel) -> DiscoveredLevel:
    return {
        "name": level.name,
        "gap": round(level.gap, 2),
        "domains": [
            {"name": one.name, "nodes": list(one.nodes), "inside": one.inside, "distance": one.distance}
            for one in level.domains
        ],
    }
