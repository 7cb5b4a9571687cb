"""How the last decisions would have changed with another profile.

The tasks that were placed last and still have their nodes are taken back, newest first. Then each workload is planned
again, in the order of the decisions: once on the cluster as it was for that decision, which tells whether the same node
would be chosen; and once on a cluster on which the profile's own choices were followed, which tells what would add up.
What has ended meanwhile is not on these clusters. Guarantees: plain data, with bounded lists; nothing is changed.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

from dovetail.engine.admission.admission import Admission
from dovetail.engine.engine import Engine
from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.event import WorkArrived
from dovetail.model.record import Snapshot
from dovetail.model.requests.terms import Terms, terms_json
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.changes import ClusterChanges
from dovetail.simulate.going_on import with_profile
from dovetail.simulate.replay import engine_of
from dovetail.snapshots.conversion import records_of
from dovetail.snapshots.document import SnapshotDocument, SnapshotWorkload

MOST_EXAMPLES = 20
MOST_TASKS = 5000  # of one workload
FIRST_COPY = 2**40  # ids of workloads that are put back where they were


def preview(document: SnapshotDocument, changes: ClusterChanges, last: int = 100) -> dict[str, Any]:
    """`changes`: their profile alone is read. `last`: how many decisions are looked at, as whole workloads. Raises
    Unplayable."""
    settings = with_profile(document.settings, changes)
    chosen = settings.default_profile
    recent = _recent(document, last)
    actual, followed = (_Cluster(document, settings, {work.id for work in recent}) for _ in range(2))
    counts: Counter[str] = Counter()
    examples: list[dict[str, Any]] = []
    for work in recent:
        ran = [task.node for task in work.tasks if task.state.holds_node and task.node is not None]
        spec = work.definition.model_copy(update={"profile": chosen})
        would = actual.plan(spec, len(ran), document.taken_at)
        _compare(work, ran, would, counts, examples)
        actual.put(work, ran)
        followed.put(work, [node or "" for node in followed.plan(spec, len(ran), document.taken_at)])
    before, after = actual.state(), followed.state()
    return {
        "profile": chosen,
        "instead_of": document.settings.default_profile,
        "decisions": sum(counts.values()),
        "same": counts["same"],
        "different": counts["different"],
        "no_node": counts["no_node"],
        "examples": examples,
        "before": before,
        "after": after,
        "sentences": _sentences(chosen, counts, before, after),
    }


class _Cluster:
    """The cluster without the recent workloads, which are put on it again one by one."""

    def __init__(self, document: SnapshotDocument, settings: EngineSettings, without: set[int]) -> None:
        self._engine: Engine = engine_of(settings)
        self._questions, self._admission = Questions(self._engine), Admission(self._engine)
        records: Snapshot = records_of(document, lambda spec: terms_json(self._admission.terms_of(spec)))
        self._terms = {one.id: one.shape_json for one in records.workloads}
        self._engine.restore(replace(records, workloads=[one for one in records.workloads if one.id not in without]))
        self._copies = FIRST_COPY
        self._at = document.taken_at

    def plan(self, spec: Workload, tasks: int, now: float) -> list[str | None]:
        """Where so many tasks of it would go."""
        sized = spec
        if tasks != spec.replicas:
            sized = spec.model_copy(update={"replicas": tasks, "gang": None, "array": None, "concurrency": None})
        planned = whole(self._questions.plans.plan(sized, min(tasks, MOST_TASKS), now))
        found = [task.node for task in planned]
        return found + [None] * (tasks - len(found))

    def put(self, work: SnapshotWorkload, nodes: list[str]) -> None:
        """Its tasks run on these nodes; an empty name is a task that found none."""
        there = tuple(node for node in nodes if node)
        if there:
            self._copies += 1
            terms, spec = Terms.from_json(self._terms[work.id]), work.definition
            name, rank = spec.name, spec.priority.rank
            arrived = WorkArrived(self._copies, spec.namespace, name, rank, terms, len(there), there, self._at)
            self._engine.handle(arrived, self._at)
            self._engine.take_changes(self._at)

    def state(self) -> dict[str, Any]:
        fragments = self._questions.gauges.fragmentation().domains[0]
        uses = [self._questions.nodes.task_count([name]) for name in self._questions.nodes.names]
        totals = self._questions.gauges.totals()
        return {
            "nodes_in_use": sum(tasks > 0 for tasks in uses),
            "empty_nodes": sum(tasks == 0 for tasks in uses),
            "unusable_gpus": round(fragments.unusable / 1000, 3),
            "fragmentation": round(fragments.unusable / fragments.gpus, 4) if fragments.gpus else None,
            "utilisation": {
                name: round(used / most, 4) for name, (used, most) in totals.items() if most and name != "slots"
            },
        }


def _recent(document: SnapshotDocument, last: int) -> list[SnapshotWorkload]:
    """Whole workloads, the oldest decision first."""
    placed = [
        (max(task.placed_at or 0.0 for task in held), work, len(held))
        for work in document.workloads
        if (held := [task for task in work.tasks if task.state.holds_node])
    ]
    placed.sort(key=lambda one: (one[0], one[1].id), reverse=True)
    found, tasks = [], 0
    for _, work, number in placed:
        if tasks >= last:
            break
        found.append(work)
        tasks += number
    return found[::-1]


def _compare(
    work: SnapshotWorkload,
    ran: list[str],
    would: list[str | None],
    counts: Counter[str],
    examples: list[dict[str, Any]],
) -> None:
    """Tasks of a workload are alike: which of them is on which node does not matter."""
    rest = Counter(would)
    for node in ran:
        if rest[node]:
            rest[node] -= 1
            counts["same"] += 1
            continue
        other = next((one for one in rest if rest[one] and one is not None and one not in ran), None)
        if other is None and not rest[None]:
            other = next((one for one in rest if rest[one]), None)
        rest[other] -= 1
        counts["no_node" if other is None else "different"] += 1
        if len(examples) < MOST_EXAMPLES:
            spec = work.definition
            where = {"id": work.id, "namespace": spec.namespace, "name": spec.name}
            examples.append(where | {"node": node, "would_be": other})


def _sentences(profile: str, counts: Counter[str], before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    total = sum(counts.values())
    if not total:
        return ["No task that was placed holds a node now, so there is nothing to compare."]
    found = [f"{profile} would have chosen the same node for {counts['same']} of the last {total} tasks."]
    if counts["no_node"]:
        found.append(f"{counts['no_node']} of them would have found no node.")
    nodes = after["nodes_in_use"] - before["nodes_in_use"]
    if nodes:
        found.append(f"{abs(nodes)} {'more' if nodes > 0 else 'fewer'} nodes would be in use.")
    gpus = after["unusable_gpus"] - before["unusable_gpus"]
    if abs(gpus) >= 0.05:
        word = "more" if gpus > 0 else "fewer"
        found.append(f"{abs(gpus):.1f} {word} free GPUs would be of no use to typical work.")
    return found
