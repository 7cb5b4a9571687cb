"""A node of a batch system, as the backend describes it."""

import re
from dataclasses import dataclass

from dovetail.model.node import Node
from dovetail.model.resources import Amounts
from dovetail.model.text.strict import MAX_NODE_NAME, check_node_name


@dataclass(frozen=True, slots=True)
class Description:
    """One node. `own_name`: its name in the batch system. `silent`: why its state is unknown. `closed`: why it takes no
    new work. `returns`: neither lasts, such as a reboot. `queue`: where its jobs are submitted (Slurm: the partition).
    `max_minutes`: the time limit there."""

    node: Node
    own_name: str
    silent: str = ""
    closed: str = ""
    queue: str | None = None
    max_minutes: int | None = None
    used: Amounts | None = None
    returns: bool = False

    @property
    def is_lost(self) -> bool:
        """It takes no jobs, and somebody has to change that."""
        return bool(self.silent or self.closed) and not self.returns


def node_name(prefix: str, own_name: str) -> str:
    """The system's name behind the prefix, changed where it is not a valid node name."""
    name = f"{prefix}{own_name}"[:MAX_NODE_NAME]
    try:
        return check_node_name(name)
    except ValueError:
        return check_node_name("-".join(re.findall(r"[A-Za-z0-9]+", name)) or "unnamed")
