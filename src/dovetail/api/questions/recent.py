"""The latest decisions of the whole cluster, each in one sentence."""

from typing import Annotated, Any

from fastapi import Query, Request

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.api.questions import sentences
from dovetail.control.plane import ControlPlane
from dovetail.control.telemetry.recent_decisions import KEPT, DecidedName, DecisionEntry
from dovetail.model.reason import Outcome
from dovetail.responses import ItemList
from dovetail.responses.recent_decisions import RecentDecision
from dovetail.store.contract import WorkloadFilter

router = Routes(tags=["questions"])

SEARCHED = 200  # of the newest workloads: what was decided about them before this server started


@router.get("/decisions")
async def recent_decisions(
    request: Request, limit: Annotated[int, Query(ge=1, le=KEPT)] = 50
) -> Json[ItemList[RecentDecision]]:
    """The latest decisions about any workload, newest first. Tasks of a workload that were decided alike at once are
    one entry. Before the first decision of this run of the server: the latest about the newest workloads."""
    plane = plane_of(request)
    entries = plane.recent.newest(limit)
    unnamed = {one.workload for one in entries if one.name is None}
    names = {id_: await _name_of(plane, id_) for id_ in unnamed}
    rows = [_row(plane, one, one.name or names[one.workload]) for one in entries]
    if len(rows) < limit:
        before = rows[-1]["at"] if rows else float("inf")
        earlier = await plane.read(_earlier, plane, limit)
        rows += [row for row in earlier if row["at"] < before][: limit - len(rows)]
    return Json({"items": rows})


async def _name_of(plane: ControlPlane, id_: int) -> DecidedName:
    row = await plane.read(plane.store.workload, id_)
    return DecidedName("", str(id_)) if row is None else DecidedName(row["namespace"], row["name"])


def _row(plane: ControlPlane, entry: DecisionEntry, name: DecidedName) -> RecentDecision:
    took_s = plane.metrics.times.of(entry.decision.at)
    decision = {"node": entry.decision.node, "explanation": entry.decision.explanation.to_dict()}
    task = entry.decision.task
    found = _described(decision, name, task.workload, task.replica, entry.decision.at)
    nodes = entry.nodes
    return {
        **found,
        "tasks": entry.tasks,
        "nodes": nodes,
        "took_ms": None if took_s is None else round(took_s * 1e3, 3),
    }


def _earlier(plane: ControlPlane, limit: int) -> list[RecentDecision]:
    """On a thread: from the store."""
    newest = plane.store.workloads(WorkloadFilter(), SEARCHED, None).items
    names = {row["id"]: DecidedName(row["namespace"], row["name"]) for row in newest}
    rows = plane.store.decisions(list(names), limit)
    return [_described(row, names[row["workload"]], row["workload"], row["replica"], row["at"]) for row in rows]


def _described(decision: dict[str, Any], name: DecidedName, workload: int, replica: int, at: float) -> RecentDecision:
    explanation, node = decision["explanation"], decision["node"]
    reason = explanation["outcome"]
    outcome = "placed" if node is not None else "preempts" if reason == Outcome.PREEMPTING else "waits"
    best = explanation["best"]
    return {
        "at": at,
        "workload": workload,
        "namespace": name.namespace,
        "name": name.name,
        "replica": replica,
        "tasks": 1,
        "outcome": outcome,
        "reason": reason,
        "nodes": [] if node is None else [node],
        "score": best[0]["total"] if node is not None and best and explanation["weights"] else None,
        "why": sentences.decided(decision),
        "took_ms": None,
    }
