"""Answers about rebalancing: how even the cluster is, what was moved, what would be."""

from typing_extensions import TypedDict


class MoveRow(TypedDict):
    """`why`: what is better afterwards. `benefit` and `cost`: in parts of a node's capacity or, for a move that brings
    a task nearer to those it talks to, in Mbps × distance."""

    task: str
    name: str
    source: str
    target: str
    benefit: float
    cost: float
    why: str


class DoneMoveRow(MoveRow):
    at: float


class Rebalancing(TypedDict):
    """`at`: when it was looked at; 0 before the first time. `spread`: the load of the fullest node less that of the
    emptiest; `deviation`: the standard deviation of loads; `distance`: the mean distance between tasks that exchange
    traffic, null if none do; `success_rate`: decisions that placed a task, of all since the start. `proposed`: moves
    that pay now; `done`: the latest ones, newest first."""

    at: float
    enabled: bool
    every_s: float
    threshold: float
    spread: float
    deviation: float
    distance: float | None
    success_rate: float | None
    moves_last_hour: int
    proposed: list[MoveRow]
    done: list[DoneMoveRow]
