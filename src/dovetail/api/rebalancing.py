"""Routes of rebalancing: how even the cluster is, what was moved; look now."""

import asyncio

from fastapi import Request

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.control.rebalancing.board import BalanceBoard, BalanceReport
from dovetail.rebalancing.spreading_load import BalancingMove
from dovetail.responses.rebalancing import MoveRow, Rebalancing

router = Routes(prefix="/rebalancing", tags=["nodes"])

LOOK_S = 5.0


def _move(one: BalancingMove) -> MoveRow:
    return {
        "task": str(one.task),
        "name": one.name,
        "source": one.source,
        "target": one.target,
        "benefit": one.benefit,
        "cost": one.cost,
        "why": one.why,
    }


def _shown(report: BalanceReport) -> Rebalancing:
    return {
        "at": report.at,
        "enabled": report.enabled,
        "every_s": report.every_s,
        "threshold": report.policy.threshold,
        "spread": report.spread,
        "deviation": report.deviation,
        "distance": None if report.distance is None else round(report.distance, 2),
        "success_rate": None if report.success_rate is None else round(report.success_rate, 4),
        "moves_last_hour": round(report.moves_per_hour),
        "proposed": [_move(one) for one in report.proposed],
        "done": [{**_move(one.move), "at": one.at} for one in reversed(report.done)],
    }


async def _fresh(board: BalanceBoard, *, move: bool) -> BalanceReport:
    """Look now, and wait for what was seen."""
    try:
        async with asyncio.timeout(LOOK_S):
            return await asyncio.wrap_future(board.look(move=move))
    except TimeoutError:
        return board.report  # it is down or very busy: what it saw last says when that was


@router.get("")
async def rebalancing(request: Request) -> Json[Rebalancing]:
    """How even the cluster is now, and which moves would pay. Nothing is moved."""
    board: BalanceBoard = plane_of(request).subsystems.shared("rebalancing")
    return Json(_shown(await _fresh(board, move=False)))


@router.post("")
async def rebalance(request: Request) -> Json[Rebalancing]:
    """Move what pays now, whether rebalancing is on or not: the moves in `proposed`. They are in `done` when the tasks
    run on their new nodes."""
    board: BalanceBoard = plane_of(request).subsystems.shared("rebalancing")
    return Json(_shown(await _fresh(board, move=True)))
