"""Routes of questions that change nothing: plan, explain, why-not, capacity."""

import time
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from dovetail.api import answers
from dovetail.api.body import model_in, plane_of, workloads_in
from dovetail.api.description import takes
from dovetail.api.impasse import NO_IMPASSE, impasse_dict
from dovetail.api.planning import check, plans
from dovetail.api.replies import Json
from dovetail.api.starts import start_of
from dovetail.api.workloads import Namespace, summary_of
from dovetail.control.errors import Conflict, NotFound
from dovetail.control.plane import ControlPlane
from dovetail.engine.pieces import Pieces, in_one
from dovetail.engine.state.work import QueuePlace
from dovetail.engine.suggestions.suggestions import Impasse
from dovetail.model.requests.shape import Shape
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE, Workload

router = APIRouter(tags=["questions"])

#: Reasons to wait that have nothing to do with room: what the nodes say about it now would mislead.
NOT_FOR_ROOM = frozenset({"over_quota", "dependency", "preempting", "lane_kept"})


@router.post("/plan", openapi_extra=takes(Workload, many=True))
async def plan(request: Request) -> Response:
    """Where the tasks would go now: node, funnel and scores of each. Nothing is changed."""
    specs = await workloads_in(request)
    plane = plane_of(request)
    check(plane, specs)
    return Json({"plans": await plans(plane, specs)})


@router.post("/capacity", openapi_extra=takes(Workload))
async def capacity(request: Request) -> Response:
    """How many more tasks like this fit, and where. The name and the number of replicas do not matter."""
    spec = await model_in(request, Workload, defaults={"name": "capacity"})
    plane = plane_of(request)
    check(plane, [spec.model_copy(update={"replicas": 1})])
    room = await plane.ask(lambda is_spent: plane.questions.capacity_pieces(spec, is_spent=is_spent))
    return Json(
        {
            "total": room.total,
            "by_node": [{"node": node, "fits": fits} for node, fits in room.by_node],
            "explanation": room.explanation.to_dict(),
            "answer": answers.room(room),
        }
    )


@router.get("/workloads/{ref}/explain")
async def explain(request: Request, ref: str, namespace: Namespace = DEFAULT_NAMESPACE) -> Response:
    """Why it is where it is: the stored decision, and for waiting work what the scheduler would say now."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    decisions = await plane.read(plane.store.decisions, row["id"], 1)
    decision = decisions[0] if decisions else None
    return Json(await plane.ask(lambda _: _explained(plane, row, decision)))


def _explained(plane: ControlPlane, row: dict[str, Any], decision: dict[str, Any] | None) -> Pieces[dict[str, Any]]:
    now = position = None
    impasse = NO_IMPASSE
    if row["pending"] and row["finished_at"] is None:
        position = _position(plane, row["id"])
        if row["reason"] not in NOT_FOR_ROOM:
            now = plane.questions.explain(_shape(plane, row), row["id"], time.time()).to_dict()
        impasse = yield from _impasse(plane, row)
    start = yield from start_of(plane, row["id"], time.time())
    return {
        "workload": summary_of(row),
        "state": row["state"],
        "answer": answers.explained(row, decision, now, position, _set_aside(plane, row["id"]), impasse),
        "decision": decision,
        "now": now,
        "position": position,
        **impasse_dict(impasse),
        **start,
    }


@router.get("/workloads/{ref}/why-not/{node}")
async def why_not(request: Request, ref: str, node: str, namespace: Namespace = DEFAULT_NAMESPACE) -> Response:
    """Why it is not on that node: every filter's word, or how the node ranks."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    held = await plane.read(plane.store.node_tasks, node)
    shape = _shape(plane, row)
    questions, id_ = plane.questions, row["id"]
    try:
        asked = await plane.ask(lambda _: in_one(lambda: questions.why_not(shape, node, id_, time.time())))
        total, scores = questions.points_of(shape, node)
    except KeyError:
        raise NotFound(f"no node {node[:100]!r}; GET /api/v1/nodes lists them") from None
    holds = any(task["workload"] == row["id"] for task in held)
    return Json(
        {
            "node": node,
            "refused": [refusal.to_dict() for refusal in asked.refusals],
            "rank": asked.rank,
            "feasible": asked.feasible,
            "best_node": asked.best_node,
            "answer": answers.why_not(row["name"], asked, total, holds),
            "points": {"total": round(total, 4), "scores": {name: round(value, 4) for name, value in scores.items()}},
            "best": asked.explanation.to_dict()["best"],
        }
    )


def _shape(plane: ControlPlane, row: dict[str, Any]) -> Shape:
    """What placement looks at: of live work as it was decided, of finished work under today's settings."""
    live = plane.engine.state.work.get(row["id"])
    if live is not None:
        return live.shape
    try:
        return plane.questions.shape(Workload.model_validate(row["spec"]))
    except ValueError as error:
        words = f"{row['name']} cannot be decided about under the present settings: {error}"
        raise Conflict(words) from None


def _impasse(plane: ControlPlane, row: dict[str, Any]) -> Pieces[Impasse]:
    """Of work that waits for room or for its quota; whoever waits for something else is told what that is."""
    if row["reason"] in NOT_FOR_ROOM - {"over_quota"} or row["id"] not in plane.engine.state.work:
        return NO_IMPASSE
    try:
        spec = Workload.model_validate(row["spec"])
        return (yield from plane.questions.impasse_pieces(spec, row["id"], time.time()))
    except ValueError:  # it was accepted under other settings, and waits as it was accepted
        return NO_IMPASSE


def _set_aside(plane: ControlPlane, workload: int) -> str:
    live = plane.engine.state.work.get(workload)
    return live.message if live is not None and live.queue_place in (QueuePlace.PARKED, QueuePlace.OVER_QUOTA) else ""


def _position(plane: ControlPlane, workload: int) -> int | None:
    line = plane.questions.queue(len(plane.engine.state.work))
    return line.index(workload) + 1 if workload in line else None
