"""What a question about pods takes, and what it answers (`pod_questions`): plain values, nodes by name."""

from typing import NamedTuple

from dovetail.model.reason import Refused
from dovetail.model.requests.asks import AffinityRule
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.task import TaskId
from dovetail.model.workloads.selection import Taint


class PodQuery(NamedTuple):
    """A pod that is asked about."""

    shape: Shape
    identity: TaskIdentity
    priority: int = 0


class AssumedPod(NamedTuple):
    """A pod that is taken to be on a node since a moment."""

    node: str
    pod: PodQuery
    since: float = 0.0


class PlacedPod(NamedTuple):
    task: TaskId
    priority: int
    since: float


class NodesRefused(NamedTuple):
    """Nodes that refuse for one reason. `eviction_helps`: the pod might fit there if other pods were gone."""

    nodes: list[str]
    message: str
    eviction_helps: bool


class Feasibility(NamedTuple):
    """Every node that was asked about is in exactly one of these."""

    feasible: list[str]
    refused: list[NodesRefused]
    unknown: list[str]


class NodeScores(NamedTuple):
    """Weighted totals by node; nodes that the engine does not know have none. `weights` are those of the profile."""

    totals: dict[str, float]
    weights: list[float]


class PodRefusal(NamedTuple):
    """One filter's answer for one node, with what of the pod's rules and the node's taints it is about: rules of the
    pod that would be broken (`broken`), rules of placed pods that keep it away (`repelling`), taints it does not
    tolerate."""

    refused: Refused
    broken: tuple[AffinityRule, ...]
    repelling: tuple[AffinityRule, ...]
    taints: tuple[Taint, ...]


class PodNomination(NamedTuple):
    """The node, who has to go there (the most important first), and how many of them overrun a budget."""

    node: str
    victims: tuple[TaskId, ...]
    violations: int


class GangStatus(NamedTuple):
    """`least`: pods that start together; `firm`: pods that hold a node and stay; `ready`: workloads that could start
    now; `missing`: more pods have to come before any can start, `short` of them together."""

    least: int
    firm: int
    short: int
    ready: tuple[int, ...]
    missing: bool


class GangTrial(NamedTuple):
    """The node for each workload; or why there is no place for all of them."""

    nodes: dict[int, str]
    refusal: str | None = None
