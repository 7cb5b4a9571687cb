"""What the server answers to what if: where work would go, who would give way, how much would fit."""

from typing import NotRequired

from typing_extensions import TypedDict

from dovetail.client.types.decisions import Explanation, Impasse


class PlannedTask(TypedDict):
    replica: int
    node: str | None
    explanation: Explanation


class VictimRow(TypedDict):
    """A task that would have to give way; `lost_s` of its work would be done again."""

    workload: int
    replica: int
    namespace: str
    name: str
    priority: str
    node: str
    lost_s: float


class Displacement(TypedDict):
    """So many tasks of a plan would fit if the victims gave way."""

    tasks: int
    victims: list[VictimRow]


class Communication(TypedDict):
    """How long a gang would take to exchange so much data between its ranks, and how long at best; `busiest` is what
    holds it up."""

    ranks: int
    nodes: int
    size_bytes: int
    all_reduce_s: float
    all_reduce_best_s: float
    algorithm: str
    all_to_all_s: float
    all_to_all_best_s: float
    busiest: str
    message: str


class Plan(Impasse):
    """`tasks` are those that were tried: the first one that fits nowhere is the last. `over_quota` is the reason where
    a limit of its queue stands in the way, `displaces` who would have to give way for what does not fit.
    `communication` is there for gangs that would lie on several nodes of a network that somebody described."""

    name: str
    namespace: str
    tasks: list[PlannedTask]
    placed: int
    unplaced: int
    queue: str
    over_quota: str | None
    displaces: Displacement | None
    communication: NotRequired[Communication | None]
    answer: str


class NodeFit(TypedDict):
    node: str
    fits: int


class Capacity(TypedDict):
    total: int
    by_node: list[NodeFit]
    explanation: Explanation
    answer: str
