"""How far the domains of a level are from each other, as one matrix; opened to the nodes of one of them."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.control.errors import NotFound
from dovetail.control.plane import ControlPlane
from dovetail.engine.pieces import IsSpent, Pieces, in_one
from dovetail.engine.questions.network_questions import DistanceSource
from dovetail.model.text.strict import closest
from dovetail.responses.network import DistanceMatrix, MatrixCell

router = Routes(tags=["network"])

MOST_NAMES = 40
SAMPLE = 3  # nodes that stand for a domain


@router.get("/distances/matrix")
async def matrix(
    request: Request,
    level: Annotated[str | None, Query(max_length=300, description="left out: the widest with several domains")] = None,
    domain: Annotated[str | None, Query(max_length=300, description="show its nodes instead")] = None,
) -> Json[DistanceMatrix]:
    """How far domains of a level are from each other, or the nodes of one domain, and who says so."""
    plane = plane_of(request)
    levels = [one.present.name for one in plane.questions.network.levels()]
    if level is not None and level not in levels:
        listed = ", ".join(levels) or "none"
        raise NotFound(f"no node is in a domain of level {level[:100]!r}.{closest(level, levels)} Levels: {listed}")
    level = level or _widest(plane, levels)
    groups = _groups(plane, level, domain)
    names = list(groups)[:MOST_NAMES]
    known = [_sample(groups[group]) for group in names]
    now = time.time()
    rows = [await plane.ask(partial(_row, plane, known, index, now)) for index in range(len(names))]
    cells = [[rows[min(i, j)][max(i, j) - min(i, j)] for j in range(len(names))] for i in range(len(names))]
    return Json(
        {
            "level": level,
            "domain": domain,
            "levels": levels,
            "names": names,
            "nodes": [len(groups[name]) for name in names],
            "cells": cells,
            "left_off": len(groups) - len(names),
        }
    )


def _widest(plane: ControlPlane, levels: Sequence[str]) -> str | None:
    """The widest level with more than one domain."""
    network = plane.questions.network
    return next((name for name in levels if len(set(network.domain_names(name).values())) > 1), None)


def _groups(plane: ControlPlane, level: str | None, domain: str | None) -> dict[str, list[str]]:
    """The nodes of each domain, or each node by itself. Raises NotFound."""
    if level is None:
        return {name: [name] for name in sorted(plane.questions.nodes.names)}
    found: dict[str, list[str]] = {}
    for node, name in sorted(plane.questions.network.domain_names(level).items()):
        found.setdefault(name, []).append(node)
    if domain is None:
        return dict(sorted(found.items()))
    if domain not in found:
        raise NotFound(f"there is no {level} {domain[:100]!r}.{closest(domain, list(found))}")
    return {name: [name] for name in found[domain]}


def _sample(nodes: Sequence[str]) -> list[str]:
    """Some that are far apart by name: neighbours would be in one rack, and make their domain look small."""
    last = len(nodes) - 1
    return [nodes[place] for place in sorted({step * last // (SAMPLE - 1) for step in range(SAMPLE)})]


def _row(
    plane: ControlPlane, groups: Sequence[Sequence[str]], index: int, now: float, _: IsSpent
) -> Pieces[list[MatrixCell]]:
    """From one group to itself and those after it."""
    return in_one(lambda: [_cell(plane, groups[index], other, now) for other in groups[index:]])


def _cell(plane: ControlPlane, ones: Sequence[str], others: Sequence[str], now: float) -> MatrixCell:
    pairs = [(one, other) for one in ones for other in others if one != other]
    pairs = [pair for pair in pairs if all(name in plane.questions.nodes for name in pair)]
    if not pairs:
        return {"distance": None, "source": "", "age_s": None}
    distances, sources, ages = [], set(), []
    for one, other in pairs:
        found = plane.questions.network.apart(one, other)
        source = str(found.source)
        if found.source is DistanceSource.MEASURED and (known := plane.probe_board.between(one, other)) is not None:
            source = "estimated" if known.figures is None else source
            ages += [] if known.figures is None else [max(now - known.figures.measured_at, 0.0)]
        distances.append(found.distance)
        sources.add(source)
    return {
        "distance": round(sum(distances) / len(distances), 3),
        "source": sources.pop() if len(sources) == 1 else "mixed",
        "age_s": round(max(ages), 1) if ages else None,
    }
