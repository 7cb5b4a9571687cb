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
    """The level, such as `leaf`, of which every domain keeps spare nodes."""
    nodes: Annotated[Count, Field(ge=1, le=1000)] = 1
    """How many nodes of each domain stay empty."""


class RecoverySettings(Strict):
    """What happens to a gang that loses nodes."""

    enabled: bool = True
    """Replace lost tasks of a gang near the others. If false, a gang below its minimum starts again."""
    hold: Duration = 0.0
    """How long a broken gang keeps its nodes while no replacement fits. If large gangs fill the cluster, some minutes
    can save them a restart."""
    lost_after: Annotated[Duration, Field(gt=0)] | None = None
    """The tasks of a node that is silent for this long count as lost; left out: never."""
    spares: SpareSettings | None = None
    """Nodes that stay empty for recoveries; left out: none."""
    rate: Annotated[Count, Field(ge=1)] = 600
    """How many surviving tasks may be moved in a minute."""
    at_once: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.1
    """The share of all placed tasks that may be on the move at the same time, 0 to 1."""


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
