"""Six nodes in two zones and three racks, one of them unlabelled, with a few tasks placed."""

from typing import Any

from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.constraints.programs.program import compile_node
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.task import TaskId
from dovetail.model.workloads.selection import Taint

GIB = 2**30
SPACE = "team"
DB = 1  # the id of the workload `db`, which has tasks on n2 (two) and n4 (one)


def small_cluster() -> Cluster:
    cluster = Cluster()
    for i in range(6):
        amounts: dict[str, Any] = {"cpu": 4 + i, "memory": (i + 1) * 16 * GIB, "gpu": 8 * (i % 2)}
        if i == 2:
            amounts["nvidia.com/mig-1g.5gb"] = 3
        cluster.join(
            Node(
                name=f"n{i}",
                backend="local" if i == 5 else "registered",
                capacity=Capacity.model_validate(amounts),
                labels={"zone": "ab"[i % 2], "rack": f"r{i // 2}", "gen": str(i)} if i != 3 else {"spot": "yes"},
                taints=[Taint(key="dedicated", value="gpu", effect="NoSchedule")] if i == 1 else [],
            )
        )
    column = cluster.resources.vector({"cpu": 1500, "memory": GIB, "slots": 1})
    for replica, row in enumerate((2, 2, 4)):
        cluster.place(TaskId(DB, replica), row, column)
    cluster.placements.directory[SPACE, "db"] = (DB, 3)
    return cluster


def where(text: str, cluster: Cluster) -> str:
    """The numbers of the nodes on which it is true, and after a bar of those on which it is an error: `02|3`."""
    true, error = compile_node(text).evaluate(View(cluster), SPACE)
    holds, fails = ("".join(str(i) for i, one in enumerate(found) if one) for found in (true, error))
    return f"{holds}|{fails}" if fails else holds
