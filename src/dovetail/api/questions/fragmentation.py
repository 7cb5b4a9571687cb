"""Route of fragmentation: free GPU capacity that typical work cannot use, and how much moving work would recover."""

from fastapi import Request

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.engine.questions.fragmentation import AskPlaces, Fragments
from dovetail.model.device import WHOLE
from dovetail.responses.fragmentation import FragmentationReport, FragmentedDomain, TypicalTask

router = Routes(prefix="/fragmentation", tags=["nodes"])


@router.get("")
async def fragmentation(request: Request) -> Json[FragmentationReport]:
    """In GPUs: how much of the cluster and of each domain is free, how much of that a typical task on average cannot
    use (`unusable`) and no typical task can use (`useless`); which typical tasks fit nowhere; and an estimate of what
    moving tasks would recover. `tasks_seen` is 0 while the typical tasks are a guess from what the nodes have."""
    questions = plane_of(request).questions
    report, won = questions.gauges.fragmentation(), questions.gauges.recoverable()
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
