"""How gangs are made whole again that lost tasks with their nodes: what may be done for them, and what was done."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.affinity import Level


class SpareSettings(Strict):
    """In every domain of a level, so many nodes are left empty for gangs that lose one."""

    level: Level
    nodes: Annotated[Count, Field(ge=1, le=1000)] = 1


class RecoverySettings(Strict):
    """`hold`: how long a broken gang keeps its nodes while no replacement fits. 0, the default, keeps the promise that
    nobody holds room while the rest of a gang waits; where large gangs fill the cluster, some minutes spare them a new
    start. `rate`: moves of tasks that were not lost, in a minute; `at_once`: the share of all placed tasks that may be
    on the move. `lost_after`: the work of a node that is silent for so long counts as lost; not given: never."""

    enabled: bool = True
    hold: Duration = 0.0
    lost_after: Annotated[Duration, Field(gt=0)] | None = None
    spares: SpareSettings | None = None
    rate: Annotated[Count, Field(ge=1)] = 600
    at_once: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.1


@dataclass(frozen=True, slots=True)
class RecoveryNote:
    """One step of a recovery, for the history, the log and counting. `outcome`: `moving`, `holding`, `whole` or
    `given_up`; `took_s`: from the loss to being whole again; `moved`: tasks that were not lost and had to move."""

    workload: int
    outcome: str
    message: str
    lost: int = 0
    moved: int = 0
    took_s: float | None = None
