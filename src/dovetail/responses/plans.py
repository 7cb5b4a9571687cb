"""Answers to "what if": where work would go, which tasks it would preempt, how much would fit."""

from typing import NotRequired

from typing_extensions import TypedDict

from dovetail.responses.decisions import DecisionExplanation, PlacementBlockers


class PlannedTaskRow(TypedDict):
    replica: int
    node: str | None
    explanation: DecisionExplanation


class VictimRow(TypedDict):
    """A task that would be preempted; `lost_s` seconds of its work would be lost."""

    workload: int
    replica: int
    namespace: str
    name: str
    priority: str
    node: str
    lost_s: float


class PlannedPreemption(TypedDict):
    """`tasks` tasks of the plan would fit if the victims were preempted."""

    tasks: int
    victims: list[VictimRow]


class PlannedCommunication(TypedDict):
    """How long a gang would take to exchange `size_bytes` between its ranks, and how long at best. `busiest`: the link
    that limits it."""

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


class PlanAnswer(PlacementBlockers):
    """`tasks` that were tried; the first one that fits nowhere ends the list. `over_quota`: the reason, where a limit
    of the queue blocks it. `displaces`: tasks to preempt for what does not fit. `communication`: for a gang on several
    nodes of a described network."""

    name: str
    namespace: str
    tasks: list[PlannedTaskRow]
    placed: int
    unplaced: int
    queue: str
    over_quota: str | None
    displaces: PlannedPreemption | None
    communication: NotRequired[PlannedCommunication | None]
    answer: str


class Plans(TypedDict):
    plans: list[PlanAnswer]


class NodeFit(TypedDict):
    node: str
    fits: int


class CapacityAnswer(TypedDict):
    total: int
    by_node: list[NodeFit]
    explanation: DecisionExplanation
    answer: str
