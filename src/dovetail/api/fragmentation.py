"""Route of fragmentation: free GPU capacity that typical work cannot use, and what moving work would win back."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from dovetail.api.body import plane_of
from dovetail.api.replies import Json
from dovetail.engine.questions.defragmentation import RecoverableCapacity, winnable
from dovetail.engine.questions.fragmentation import AskPlaces, FragmentReport, Fragments, fragment_report
from dovetail.model.device import WHOLE

router = APIRouter(prefix="/fragmentation", tags=["nodes"])


@router.get("")
async def fragmentation(request: Request) -> Response:
    """In GPUs: what is free of the cluster and of each domain, how much of it a typical task cannot use on average
    (`unusable`) and no typical task can use (`useless`); which typical tasks fit nowhere; and an estimate of what
    moving tasks would win back. `tasks_seen` is 0 while what is typical is a guess from what the cluster has."""
    state = plane_of(request).engine.state
    return Json(fragmentation_dict(fragment_report(state), winnable(state)))


def fragmentation_dict(report: FragmentReport, won: RecoverableCapacity) -> dict[str, Any]:
    return {
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


def _domain(one: Fragments) -> dict[str, Any]:
    return {
        "level": one.level,
        "name": one.name,
        "gpus": one.gpus / WHOLE,
        "free_gpus": one.free / WHOLE,
        "unusable_gpus": round(max(0.0, one.unusable) / WHOLE, 3),
        "useless_gpus": one.useless / WHOLE,
    }


def _ask(one: AskPlaces) -> dict[str, Any]:
    gpus = one.ask.gpus
    return {
        "ask": str(one.ask),
        "gpu": one.ask.gpu / WHOLE,
        "gpu_models": list(gpus.models),
        "cpu": one.ask.cpu / 1000,
        "memory": one.ask.memory,
        "share": round(one.share, 4),
        "nodes": one.nodes,
        "tasks": one.tasks,
    }
