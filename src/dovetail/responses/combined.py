"""What commands print with `-o json` when they combine the answers of several routes. No route answers these."""

from typing_extensions import TypedDict

from dovetail.responses.network import DomainRow, TopologyAnswer
from dovetail.responses.nodes import NodeDetail, NodeRow, NodeTask
from dovetail.responses.questions import DecisionRow
from dovetail.responses.queues import QueueItem
from dovetail.responses.services import AppliedService
from dovetail.responses.system import ClusterSummary, HistoryRow
from dovetail.responses.workloads import AcceptedWorkload, AttemptRow, TaskRow, WorkloadDetail


class WorkloadDescription(TypedDict):
    """`dovetail describe`: all its tasks, or those in one state, the failed ones first; their earlier attempts; all its
    history, newest first. `decisions` holds the latest one."""

    workload: WorkloadDetail
    tasks: list[TaskRow]
    attempts: list[AttemptRow]
    decisions: list[DecisionRow]
    history: list[HistoryRow]


class FinishedWorkloads(TypedDict):
    """`dovetail submit --wait`."""

    workloads: list[WorkloadDetail]


class AppliedDefinitions(TypedDict):
    """`dovetail apply`, and `dovetail submit` of files with services. `accepted`: workloads that were submitted."""

    services: list[AppliedService]
    accepted: list[AcceptedWorkload]


class NodeWithTasks(NodeDetail):
    """`dovetail nodes NAME`."""

    running: list[NodeTask]


class TopologyWithDomains(TopologyAnswer):
    """`dovetail topology`."""

    domains: list[DomainRow]


class ClusterOverview(TypedDict):
    """`dovetail top`. `waiting`: how many workloads wait; the table fetches only the first of them."""

    summary: ClusterSummary
    nodes: list[NodeRow]
    queue: list[QueueItem]
    waiting: int


class Versions(TypedDict):
    """`dovetail version`. `server` is None where none answers."""

    client: str
    server: str | None
