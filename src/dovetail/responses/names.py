"""Answers about names."""

from typing_extensions import TypedDict

from dovetail.responses.workloads import WorkloadRow


class NamedWorkloads(TypedDict):
    """What a name stands for: `workloads` are several only for a `group`, or for the replicas of a
    `service` (`namespace/name`), whose name is also the group's. `replica`: the task that was named, if one
    was. `typed`: the name as it can be typed from anywhere."""

    typed: str
    replica: int | None
    group: str | None
    service: str | None
    workloads: list[WorkloadRow]
