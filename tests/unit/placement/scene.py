"""Small clusters and requests for tests of one plugin or one rule."""

from typing import Any

from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.node import Node
from dovetail.model.requests.shaping import shape_of
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.pipeline import Choice, Pipeline
from dovetail.placement.pipeline.profiles import ProfileSettings
from dovetail.placement.registry import build_filter, build_score

CAPACITY: dict[str, Any] = {"cpu": 4, "memory": "4GiB", "disk": "100GB", "slots": 10}
SOME_TASK = TaskId(900, 0)


def cluster_of(*nodes: dict[str, Any], overcommit: dict[str, float] | None = None) -> Cluster:
    """Nodes named n0, n1, … unless they say otherwise, all with the same capacity unless they say otherwise."""
    cluster = Cluster(overcommit)
    for i, fields in enumerate(nodes):
        cluster.join(Node.model_validate({"name": f"n{i}", "capacity": CAPACITY, **fields}))
    return cluster


def request_for(cluster: Cluster, scope: dict[str, str] | None = None, **fields: Any) -> Request:
    shape = shape_of(Workload.model_validate({"name": "w", **fields}), "default", "tried")
    needs = {name: float(amount) for name, amount in shape.amounts}
    return Request(shape, cluster.resources.vector(needs), needs, tuple((scope or {}).items()))


def occupy(cluster: Cluster, row: int, task: TaskId = SOME_TASK, service: str | None = None, **asked: Any) -> None:
    column = request_for(cluster, resources=asked).column
    cluster.place(task, row, column, ("default", service) if service else None)


def masked(name: str, cluster: Cluster, request: Request, **settings: Any) -> list[bool]:
    """What one filter says of each node."""
    plugin = build_filter(name, settings)
    answer = plugin.mask(request, View(cluster)) if plugin.applies(request) else True
    return [answer] * cluster.width if isinstance(answer, bool) else answer.tolist()


def scored(name: str, cluster: Cluster, request: Request, **settings: Any) -> list[float]:
    """What one score gives each node."""
    answer = build_score(name, settings).points(request, View(cluster))
    return [answer] * cluster.width if isinstance(answer, float) else answer.tolist()


def pipeline_of(cluster: Cluster, seed: int = 0, **settings: Any) -> Pipeline:
    return Pipeline("tried", ProfileSettings.model_validate(settings), cluster, seed)


def choose(pipeline: Pipeline, cluster: Cluster, request: Request, replica: int, *, repeats: bool = False) -> Choice:
    """Decide and, if there is a node, place."""
    task = TaskId(1, replica)
    choice = pipeline.decide(request, str(task), repeats=repeats)
    if choice.row is not None:
        cluster.place(task, choice.row, request.column)
        pipeline.placed(request, choice.row)
    return choice
