"""Settings and history records of gang recovery."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.affinity import Level


class SpareSettings(Strict):
    """How many nodes stay empty in every domain of a level, for gangs that lose a node."""

    level: Level
    nodes: Annotated[Count, Field(ge=1, le=1000)] = 1


class RecoverySettings(Strict):
    """`hold`: how long a broken gang keeps its nodes while no replacement fits. With 0, the default, no gang holds
    capacity while it waits; if large gangs fill the cluster, some minutes can save them a restart. `rate`: the moves of
    surviving tasks in a minute; `at_once`: the share of all placed tasks that may move. `lost_after`: the tasks of a
    node that is silent for this long count as lost; not given: never."""

    enabled: bool = True
    hold: Duration = 0.0
    lost_after: Annotated[Duration, Field(gt=0)] | None = None
    spares: SpareSettings | None = None
    rate: Annotated[Count, Field(ge=1)] = 600
    at_once: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.1


@dataclass(frozen=True, slots=True)
class RecoveryNote:
    """One step of a recovery, for history, log and metrics. `outcome`: `moving`, `holding`, `whole` or `given_up`;
    `took_s`: from the loss until the gang was complete; `moved`: surviving tasks that had to move."""

    workload: int
    outcome: str
    message: str
    lost: int = 0
    moved: int = 0
    took_s: float | None = None
