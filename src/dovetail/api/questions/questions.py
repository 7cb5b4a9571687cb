"""Routes of questions about placement: plan, explain, why-not, capacity, fragmentation."""

import time
from typing import Annotated, Any, cast

from fastapi import Path, Query, Request

from dovetail.api.protocol.body import MAX_ID, Namespace, model_in, plane_of, workloads_in
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import Json
from dovetail.api.questions import sentences
from dovetail.api.questions.planning import (
    MOST_TASKS,
    NO_IMPASSE,
    USUAL_TASKS,
    blocker_fields,
    explanation_of,
    plans,
)
from dovetail.api.workloads import start_fields, summaries_of
from dovetail.control.errors import Conflict
from dovetail.control.plane import ControlPlane
from dovetail.control.services.nodes import unknown_nodes
from dovetail.engine.pieces import Pieces, in_one
from dovetail.engine.questions.fragmentation import AskPlaces, Fragments
from dovetail.engine.questions.plan_questions import Impasse
from dovetail.model.device import WHOLE
from dovetail.model.reason import Outcome, waits_for_others
from dovetail.model.requests.shape import Shape
from dovetail.model.task import WorkloadState
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.strict import Name
from dovetail.model.workloads.workload import Workload
from dovetail.responses.problems import FieldProblem
from dovetail.responses.questions import (
    CapacityAnswer,
    DecisionRow,
    ExplainAnswer,
    FragmentationReport,
    FragmentedDomain,
    NodeRefusal,
    Plans,
    RefusalPage,
    RefusedNode,
    TypicalTask,
    WhyNotAnswer,
)
from dovetail.responses.workloads import WorkloadRow

router = Routes()


class CapacityQuestion(Workload):
    """A workload whose name may be left out."""

    name: Name = "capacity"


@router.post("/plan", tags=["questions"], openapi_extra=takes(Workload, many="workloads"))
async def plan(
    request: Request, tasks: Annotated[int, Query(ge=1, le=MOST_TASKS)] = USUAL_TASKS, complaints: bool = False
) -> Json[Plans]:
    """Where the tasks would go now, with the funnel and the scores of each. Nothing is changed. `tasks`: how many of
    each workload are tried at most. `complaints`: a definition that cannot be used is answered with its errors (200),
    for editors that ask while somebody types."""
    plane = plane_of(request)
    try:
        specs = await workloads_in(request)
        await plane.check(specs)
    except Invalid as error:
        if not complaints:
            raise
        return Json({"plans": [], "errors": [cast("FieldProblem", one.to_dict()) for one in error.complaints]})
    return Json({"plans": await plans(plane, specs, tasks)})


@router.post("/capacity", tags=["questions"], openapi_extra=takes(CapacityQuestion))
async def capacity(request: Request) -> Json[CapacityAnswer]:
    """How many more tasks like this fit, and where. The name and the number of replicas do not matter."""
    spec = await model_in(request, CapacityQuestion)
    plane = plane_of(request)
    await plane.check([spec.model_copy(update={"replicas": 1})])
    free = await plane.ask(lambda is_spent: plane.questions.plans.capacity(spec, is_spent=is_spent))
    return Json(
        {
            "total": free.total,
            "by_node": [{"node": node, "fits": fits} for node, fits in free.by_node],
            "explanation": explanation_of(free.explanation),
            "answer": sentences.fitting(free),
        }
    )


@router.get("/workloads/{ref}/explain", tags=["questions"])
async def explain(request: Request, ref: str, namespace: Namespace = None) -> Json[ExplainAnswer]:
    """Why it runs where it runs, from the stored decision; for pending work what the scheduler would say now."""
    plane = plane_of(request)
    row, replica = await plane.names.one(ref, namespace)
    decisions = cast("list[DecisionRow]", await plane.read(plane.store.decisions, row["id"], 1, replica))
    decision = decisions[0] if decisions else None
    [summary] = await summaries_of(plane, [row])
    return Json(await plane.ask(lambda _: _explained(plane, row, summary, decision)))


def _explained(
    plane: ControlPlane, row: dict[str, Any], summary: WorkloadRow, decision: DecisionRow | None
) -> Pieces[ExplainAnswer]:
    now = position = None
    impasse = NO_IMPASSE
    why = plane.questions.queues.wait_reason(row["id"], time.time())
    if why is not None:
        row = row | why._asdict()
    if row["pending"] and row["finished_at"] is None:
        position = plane.questions.queues.position(row["id"])
        if not waits_for_others(row["reason"]):
            now = explanation_of(plane.questions.explanations.explain(_shape(plane, row), row["id"], time.time()))
            if row["reason"] == Outcome.OVER_QUOTA and now["outcome"] == Outcome.PLACED:
                now = None  # its quota alone stops it
        impasse = yield from _impasse(plane, row)
    set_aside = plane.questions.queues.parked_message(row["id"])
    start = yield from plane.questions.plans.start(row["id"], time.time())
    return {
        "workload": summary,
        "state": row["state"],
        "answer": sentences.explained(row, decision, now, position, set_aside, impasse, _trouble(plane, row, decision)),
        "decision": decision,
        "now": now,
        "position": position,
        **blocker_fields(impasse),
        **start_fields(start),
    }


def _trouble(plane: ControlPlane, row: dict[str, Any], decision: DecisionRow | None) -> str:
    """Why the backend of its node cannot start it now; empty if it can, or has."""
    if row["state"] != WorkloadState.STARTING or decision is None or decision["node"] is None:
        return ""
    backend = plane.questions.nodes.backend_of(decision["node"])
    if backend is None or not plane.questions.nodes.backend_is_down(backend):
        return ""
    return f"its backend {backend} cannot be used now: {plane.backends.get(backend).problem}"


@router.get("/workloads/{ref}/why-not/{node}", tags=["questions"])
async def why_not(request: Request, ref: str, node: str, namespace: Namespace = None) -> Json[WhyNotAnswer]:
    """Why it is not on that node: what every filter says, or how the node ranks."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    plane.nodes.must_exist(node)
    held = await plane.read(plane.store.node_tasks, node)
    shape = _shape(plane, row)
    questions, id_ = plane.questions, row["id"]
    try:
        asked = await plane.ask(lambda _: in_one(lambda: questions.explanations.why_not(shape, node, id_, time.time())))
        total, scores = questions.explanations.points_of(shape, node)
    except KeyError:
        raise unknown_nodes(questions.nodes, [node]) from None  # it left meanwhile
    holds = any(task["workload"] == row["id"] for task in held)
    return Json(
        {
            "node": node,
            "refused": [cast("NodeRefusal", refusal.to_dict()) for refusal in asked.refusals],
            "rank": asked.rank,
            "feasible": asked.feasible,
            "best_node": asked.best_node,
            "answer": sentences.why_not(row["name"], asked, total, holds),
            "points": {"total": round(total, 4), "scores": {name: round(value, 4) for name, value in scores.items()}},
            "best": explanation_of(asked.explanation)["best"],
        }
    )


@router.get("/workloads/{ref}/refusals/{step}", tags=["questions"])
async def refusals(
    request: Request,
    ref: str,
    step: Annotated[str, Path(max_length=200)],
    namespace: Namespace = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
) -> Json[RefusalPage]:
    """The nodes that a step of its funnel refuses now, each with the reason. `step`: the name of a filter, as `explain`
    lists them; one that refuses no node, or is none, has an empty page."""
    plane = plane_of(request)
    row = await plane.resolve(ref, namespace)
    shape, questions = _shape(plane, row), plane.questions.explanations
    found = await plane.ask(
        lambda _: in_one(lambda: questions.refused_at(shape, step, row["id"], time.time(), limit, offset))
    )
    items = [cast("RefusedNode", {"node": node, **refusal.to_dict()}) for node, refusal in found.nodes]
    return Json({"items": items, "total": found.total})


def _shape(plane: ControlPlane, row: dict[str, Any]) -> Shape:
    """The shape of unfinished work as it was submitted, of finished work under the present settings."""
    live = plane.questions.workloads.shape(row["id"])
    if live is not None:
        return live
    try:
        return plane.questions.plans.shape(Workload.model_validate(row["spec"]))
    except ValueError as error:
        words = f"{row['name']} cannot be decided about under the present settings: {error}"
        raise Conflict(words) from None


def _impasse(plane: ControlPlane, row: dict[str, Any]) -> Pieces[Impasse]:
    """What blocks work that waits for nodes or for its quota. Work that waits for other work has its reason already."""
    if waits_for_others(row["reason"]) or row["id"] not in plane.questions.workloads:
        return NO_IMPASSE
    try:
        spec = Workload.model_validate(row["spec"])
        return (yield from plane.questions.plans.impasse(spec, row["id"], time.time()))
    except ValueError:  # it was accepted under other settings
        return NO_IMPASSE


@router.get("/fragmentation", tags=["nodes"])
async def fragmentation(request: Request) -> Json[FragmentationReport]:
    """In GPUs: how much of the cluster and of each domain is free, how much of that a typical task on average cannot
    use (`unusable`) and no typical task can use (`useless`); which typical tasks fit nowhere; and an estimate of what
    moving tasks would recover. `tasks_seen` is 0 while the typical tasks are a guess from what the nodes have."""
    plane = plane_of(request)
    report = await plane.ask(lambda _: in_one(plane.questions.gauges.fragmentation))
    won = await plane.ask(lambda _: in_one(plane.questions.gauges.recoverable))
    return Json(
        {
            "tasks_seen": report.seen,
            "cluster": _domain(report.domains[0]),
            "domains": [_domain(one) for one in report.domains[1:]],
            "typical": [_ask(one) for one in report.asks],
            "unplaceable_share": round(sum(one.share for one in report.asks if not one.tasks), 4),
            "defragmentation": {
                "estimate": True,
                "won_gpus": round(won.won / WHOLE, 3),
                "moves": won.moves,
                "tried": won.tried,
                "movable": won.movable,
            },
        }
    )


def _domain(one: Fragments) -> FragmentedDomain:
    return {
        "level": one.level,
        "name": one.name,
        "gpus": one.gpus / WHOLE,
        "free_gpus": one.free / WHOLE,
        "unusable_gpus": round(max(0.0, one.unusable) / WHOLE, 3),
        "useless_gpus": one.useless / WHOLE,
    }


def _ask(one: AskPlaces) -> TypicalTask:
    return {
        "ask": str(one.ask),
        "gpu": one.ask.gpu / WHOLE,
        "gpu_models": list(one.ask.gpus.models),
        "cpu": one.ask.cpu / 1000,
        "memory": one.ask.memory,
        "share": round(one.share, 4),
        "nodes": one.nodes,
        "tasks": one.tasks,
    }
