"""What we believe beside what the API says: an audit of the ledger and of the engine's own arrays.

Guarantees: pure, and changes nothing. What is expected follows from the API's objects alone, read anew: every node with
what it has, every pod on the node it is on, of each node exactly the amounts that its pods take, of those of ours that
have no node that they wait for one, and nobody else. A difference is said in words, and names what it is about.
Two sides that are looked at at different moments differ while something is under way; whether a difference lasts is for
the caller to find out (`auditor`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from dovetail.engine.engine import Engine
from dovetail.kubernetes.nodes import read_node
from dovetail.kubernetes.pods import gates_of, is_finished
from dovetail.kubernetes.requests import Amounts, requests_of
from dovetail.kubernetes.scheduler.known import Known, Place
from dovetail.kubernetes.scheduler.ledger import Ledger
from dovetail.model.node import Node
from dovetail.model.requests.pod_ask import DEVICES
from dovetail.model.task import TaskId, TaskState

Json = Mapping[str, Any]


class Difference(NamedTuple):
    """`about`: what two looks at the same thing have in common; `words`: what is wrong with it."""

    about: str
    words: str

    def __str__(self) -> str:
        return f"{self.about}: {self.words}"


class Fact(NamedTuple):
    """As much of a pod as is compared. `waits`: it has no node, and somebody may look for one."""

    place: Place
    uid: str
    node: str
    scheduler: str
    waits: bool
    amounts: Amounts


def facts_of(pods: Iterable[Json]) -> list[Fact]:
    """Of those that hold something or want something."""
    return [_fact(pod) for pod in pods if not is_finished(pod)]


def nodes_of(nodes: Iterable[Json], csi_nodes: Iterable[Json]) -> dict[str, Node]:
    csi = {one["metadata"]["name"]: one for one in csi_nodes}
    return {one["metadata"]["name"]: read_node(one, csi.get(one["metadata"]["name"])) for one in nodes}


def audit(
    engine: Engine,
    ledger: Ledger,
    names: Collection[str],
    nodes: Mapping[str, Node],
    facts: Iterable[Fact],
    under_way: Collection[int] = (),
) -> list[Difference]:
    """`names`: of schedulers that are ours; `nodes` and `facts`: all that the API has; `under_way`: workloads that have
    a node here which the API may learn of much later."""
    found = _Audit(engine, ledger, names, nodes, {fact.place: fact for fact in facts}, under_way)
    return [*found.nodes(), *found.pods(), *found.nobody_else(), *found.amounts()]


def _fact(pod: Json) -> Fact:
    about, spec = pod["metadata"], pod["spec"]
    node = spec.get("nodeName") or ""
    waits = not node and not gates_of(pod) and "deletionTimestamp" not in about
    amounts = requests_of(pod, with_status=True) if node else ()
    place = about["namespace"], about["name"]
    return Fact(place, about["uid"], node, spec.get("schedulerName") or "", waits, amounts)


class _Audit:
    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        names: Collection[str],
        nodes: Mapping[str, Node],
        facts: Mapping[Place, Fact],
        under_way: Collection[int],
    ) -> None:
        self._state, self._cluster = engine.state, engine.state.cluster
        self._ledger, self._names = ledger, frozenset(names)
        self._expected, self._facts, self._under_way = nodes, facts, under_way
        self._unsure: set[str] = set()  # nodes whose pods differ: so do their amounts, which says nothing more

    def _labels(self, name: str, row: int) -> dict[str, str]:
        """Without marks of ours, which say nothing that the API could."""
        labels = self._cluster.topology.own(name, self._cluster.labels.row(row))
        return {key: value for key, value in labels.items() if not key.startswith(DEVICES)}

    def nodes(self) -> Iterator[Difference]:
        for name, node in self._expected.items():
            row = self._cluster.rows.get(name)
            if row is None:
                yield Difference(f"node {name}", "is in the API, and the engine does not have it")
                continue
            tables, labels = self._cluster.resources, self._labels(name, row)
            capacity = tables.amounts(tables.capacity[:, row])
            if capacity != node.capacity.amounts():
                words = f"has {node.capacity.amounts()} in the API, {capacity} here"
                yield Difference(f"node {name} capacity", words)
            if labels != node.labels:
                unlike = sorted(dict(labels.items() ^ node.labels.items()))
                yield Difference(f"node {name} labels", f"differ in {', '.join(unlike)}")
            if set(self._cluster.taints.row(row)) != set(node.taints):
                yield Difference(f"node {name} taints", "differ")
            if not self._cluster.ready[row]:
                yield Difference(
                    f"node {name} ready", f"gets no pods here: {self._cluster.reason(name) or 'no reason'}"
                )
        for name in self._cluster.rows.keys() - self._expected.keys():
            yield Difference(f"node {name}", "is gone from the API, and the engine still has it")

    def pods(self) -> Iterator[Difference]:
        for place, fact in self._facts.items():
            known = self._ledger.pods.get(place)
            if known is not None and known.uid != fact.uid:
                known = None
            words = self._of_pod(fact, known)
            if words:
                self._unsure |= {fact.node, *(() if known is None else (known.node, known.chosen))}
                yield Difference(f"pod {'/'.join(place)}", words)

    def _of_pod(self, fact: Fact, known: Known | None) -> str:
        """What is wrong with how it is known; empty: nothing."""
        id_ = 0 if known is None else known.id
        if fact.node and fact.node in self._expected:
            row = self._row(id_)
            if row is None:
                return f"is on {fact.node} in the API, and on no node here"
            here = self._cluster.names[row]
            return "" if here == fact.node else f"is on {fact.node} in the API, on {here} here"
        if fact.node:
            return f"is on {fact.node}, which does not exist, and counts here" if id_ else ""
        if not fact.waits or fact.scheduler not in self._names:
            return "is not ours to place now, and the engine has it" if id_ else ""
        if fact.place in self._ledger.held:  # for a reason that was told
            return "cannot be told to the engine, which has it" if id_ else ""
        if not id_:
            return "waits for a node in the API, and the engine does not have it"
        if (row := self._row(id_)) is not None:
            node = self._cluster.names[row]
            self._unsure.add(node)
            return "" if id_ in self._under_way else f"has no node in the API, and is on {node} here"
        work = self._state.work.get(id_)
        state = None if work is None else work.task(0).state
        return "" if state is TaskState.PENDING else f"waits in the API, and the engine says {state or 'nothing'} of it"

    def _row(self, id_: int) -> int | None:
        placed = self._cluster.placements.by_task.get(TaskId(id_, 0)) if id_ else None
        return None if placed is None else placed.row

    def nobody_else(self) -> Iterator[Difference]:
        for place, known in self._ledger.pods.items():
            fact = self._facts.get(place)
            if fact is None or fact.uid != known.uid:
                self._unsure |= {known.node, known.chosen}
                yield Difference(f"pod {'/'.join(place)}", "is gone from the API, and known here")
        ours = self._ledger.by_id
        for id_ in self._state.work.keys() - ours.keys():
            work = self._state.work[id_]
            yield Difference(f"work {work.namespace}/{work.name}", "is in the engine, and no pod is behind it")
        for task, placed in self._cluster.placements.by_task.items():
            if task.workload not in ours:
                node = self._cluster.names[placed.row]
                self._unsure.add(node)
                yield Difference(f"task {task}", f"holds room on {node}, and no pod is behind it")

    def amounts(self) -> Iterator[Difference]:
        """Of nodes whose pods are the same on both sides, to the last unit."""
        tables = self._cluster.resources
        index, width = tables.index, self._cluster.width
        used = np.zeros((len(tables.names), width))
        for fact in self._facts.values():
            row = self._cluster.rows.get(fact.node)
            if row is None:
                continue
            for resource, amount in fact.amounts:
                if resource in index:
                    used[index[resource], row] += amount
                else:  # the engine has never heard of it, and this pod takes some
                    yield Difference(
                        f"node {fact.node} {resource}", f"{amount} used in the API, nothing known of it here"
                    )
        for at, row in np.argwhere(used != tables.allocated[:, :width]):
            node = self._cluster.names[row]
            if node and node not in self._unsure:
                words = f"{used[at, row]:.0f} used in the API, {tables.allocated[at, row]:.0f} here"
                yield Difference(f"node {node} {tables.names[at]}", words)
