"""Compares what the API says with what the pod tracker and the engine believe, every few minutes.

Guarantees: a comparison (`audit`) is pure. The expected state follows from the API's objects alone, read afresh: every
node with its capacity, every pod on its node, on each node exactly the amounts its pods request, and every pod of ours
without a node pending. A difference names its subject and says what is wrong.
Two sides read at different moments differ while a change is under way, so a difference counts as drift only if several
comparisons, seconds apart, find it (`Auditor`). Nothing is repaired here. The API is read page by page, and other tasks
run in between. An API that cannot be read is no drift.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from dovetail.engine.questions.questions import Questions
from dovetail.kubernetes.objects.nodes import read_node
from dovetail.kubernetes.objects.pods import gates_of, is_finished
from dovetail.kubernetes.scheduler.cluster_informer import ClusterInformer
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes.scheduler.tracked_pod import TrackedPod
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import KubernetesApiError
from dovetail.kubernetes_client.objects import Json, NamespacedName, namespaced_name
from dovetail.kubernetes_client.paths import NODES, PODS, STORAGE
from dovetail.kubernetes_client.pod_requests import Amounts, requests_of
from dovetail.model.node import Node
from dovetail.model.requests.pod_ask import DEVICES
from dovetail.model.task import TaskId, TaskState

_log = logging.getLogger(__name__)

LOOKS = 3
BETWEEN_LOOKS_S = 10.0
"""An interrupted watch is resumed within this."""
SAID = 20  # differences that are named in the log; the others are counted


class Difference(NamedTuple):
    """`about`: the subject, the same in every comparison that finds the difference; `words`: what is wrong."""

    about: str
    words: str

    def __str__(self) -> str:
        return f"{self.about}: {self.words}"


class PodFact(NamedTuple):
    """The fields of a pod that are compared. `waits`: it has no node, and may be scheduled."""

    place: NamespacedName
    uid: str
    node: str
    scheduler: str
    waits: bool
    amounts: Amounts


def facts_of(pods: Iterable[Json]) -> list[PodFact]:
    """One for every pod that is not finished."""
    return [_fact(pod) for pod in pods if not is_finished(pod)]


def nodes_of(nodes: Iterable[Json], csi_nodes: Iterable[Json]) -> dict[str, Node]:
    csi = {one["metadata"]["name"]: one for one in csi_nodes}
    return {one["metadata"]["name"]: read_node(one, csi.get(one["metadata"]["name"])) for one in nodes}


def audit(
    questions: Questions,
    tracker: PodTracker,
    names: Collection[str],
    nodes: Mapping[str, Node],
    facts: Iterable[PodFact],
    under_way: Collection[int] = (),
) -> list[Difference]:
    """`names`: our scheduler names; `nodes` and `facts`: everything in the API; `under_way`: workloads that have a node
    here and whose binding may take long to reach the API."""
    found = _Audit(questions, tracker, names, nodes, {fact.place: fact for fact in facts}, under_way)
    return [*found.nodes(), *found.pods(), *found.unknown_to_the_api(), *found.amounts()]


def _fact(pod: Json) -> PodFact:
    about, spec = pod["metadata"], pod["spec"]
    node = spec.get("nodeName") or ""
    waits = not node and not gates_of(pod) and "deletionTimestamp" not in about
    amounts = requests_of(pod, with_status=True) if node else ()
    return PodFact(namespaced_name(pod), about["uid"], node, spec.get("schedulerName") or "", waits, amounts)


class _Audit:
    def __init__(
        self,
        questions: Questions,
        tracker: PodTracker,
        names: Collection[str],
        nodes: Mapping[str, Node],
        facts: Mapping[NamespacedName, PodFact],
        under_way: Collection[int],
    ) -> None:
        self._questions, self._nodes, self._placed = questions, questions.nodes.states(), questions.pods.placements()
        self._works, self._tracker, self._names = questions.pods.workloads(), tracker, frozenset(names)
        self._expected, self._facts, self._under_way = nodes, facts, under_way
        self._unsure: set[str] = set()  # nodes whose pods differ: so do their amounts, which says nothing more

    def nodes(self) -> Iterator[Difference]:
        for name, node in self._expected.items():
            here = self._nodes.get(name)
            if here is None:
                yield Difference(f"node {name}", "is in the API, and the engine does not have it")
                continue
            # Our own marks on nodes are not in the API.
            labels = {key: value for key, value in here.labels.items() if not key.startswith(DEVICES)}
            if here.capacity != node.capacity.amounts():
                words = f"has {node.capacity.amounts()} in the API, {here.capacity} here"
                yield Difference(f"node {name} capacity", words)
            if labels != node.labels:
                unlike = sorted(dict(labels.items() ^ node.labels.items()))
                yield Difference(f"node {name} labels", f"differ in {', '.join(unlike)}")
            if here.taints != frozenset(node.taints):
                yield Difference(f"node {name} taints", "differ")
            if not here.ready:
                yield Difference(f"node {name} ready", f"gets no pods here: {here.reason or 'no reason'}")
        for name in self._nodes.keys() - self._expected.keys():
            yield Difference(f"node {name}", "is gone from the API, and the engine still has it")

    def pods(self) -> Iterator[Difference]:
        for place, fact in self._facts.items():
            known = self._tracker.pods.get(place)
            if known is not None and known.uid != fact.uid:
                known = None
            words = self._of_pod(fact, known)
            if words:
                self._unsure |= {fact.node, *(() if known is None else (known.node, known.chosen))}
                yield Difference(f"pod {'/'.join(place)}", words)

    def _of_pod(self, fact: PodFact, known: TrackedPod | None) -> str:
        """What is wrong with the tracked pod; empty: nothing."""
        id_ = 0 if known is None else known.id
        here = self._placed.get(TaskId(id_, 0), "") if id_ else ""
        if fact.node and fact.node in self._expected:
            if not here:
                return f"is on {fact.node} in the API, and on no node here"
            return "" if here == fact.node else f"is on {fact.node} in the API, on {here} here"
        if fact.node:
            return f"is on {fact.node}, which does not exist, and counts here" if id_ else ""
        if not fact.waits or fact.scheduler not in self._names:
            return "is not ours to place now, and the engine has it" if id_ else ""
        if fact.place in self._tracker.held:  # for a reason that was told
            return "cannot be told to the engine, which has it" if id_ else ""
        if not id_:
            return "waits for a node in the API, and the engine does not have it"
        if here:
            self._unsure.add(here)
            return "" if id_ in self._under_way else f"has no node in the API, and is on {here} here"
        task = self._questions.pods.task(TaskId(id_, 0))
        state = None if task is None else task.state
        return "" if state is TaskState.PENDING else f"waits in the API, and the engine says {state or 'nothing'} of it"

    def unknown_to_the_api(self) -> Iterator[Difference]:
        for place, known in self._tracker.pods.items():
            fact = self._facts.get(place)
            if fact is None or fact.uid != known.uid:
                self._unsure |= {known.node, known.chosen}
                yield Difference(f"pod {'/'.join(place)}", "is gone from the API, and known here")
        ours = self._tracker.by_id
        for id_ in self._works.keys() - ours.keys():
            yield Difference(f"work {'/'.join(self._works[id_])}", "is in the engine, and no pod is behind it")
        for task, node in self._placed.items():
            if task.workload not in ours:
                self._unsure.add(node)
                yield Difference(f"task {task}", f"holds capacity on {node}, and no pod is behind it")

    def amounts(self) -> Iterator[Difference]:
        """Exact amounts on nodes whose pods are the same on both sides."""
        used: dict[str, Counter[str]] = {name: Counter() for name in self._nodes}
        for fact in self._facts.values():
            if fact.node in used:
                used[fact.node].update(dict(fact.amounts))
        for node, amounts in used.items():
            if node in self._unsure:
                continue
            here = self._nodes[node].allocated
            for name in sorted(amounts.keys() | here.keys()):
                if amounts[name] != here.get(name, 0):
                    words = f"{amounts[name]} used in the API, {here.get(name, 0)} here"
                    yield Difference(f"node {node} {name}", words)


class Auditor:
    """`audits`: how many have run; `drift`: how many lasting differences they found in all; `last`: those of the last
    one."""

    def __init__(
        self,
        api: Api,
        cluster: ClusterInformer,
        names: Collection[str],
        under_way: Callable[[], Collection[int]] = tuple,
        between_looks_s: float = BETWEEN_LOOKS_S,
    ) -> None:
        """`names` and `under_way`: as in `audit`."""
        self._api, self._cluster, self._names, self._under_way = api, cluster, names, under_way
        self._between_looks_s = between_looks_s
        self.audits = 0
        self.drift = 0
        self.last: list[Difference] = []

    async def run(self, every_s: float) -> None:
        """Runs until cancelled; returns at once where `every_s` is 0."""
        while every_s:
            await asyncio.sleep(every_s)
            try:
                await self.audit()
            except KubernetesApiError as error:
                _log.info("no audit this time: %s", error)

    async def audit(self) -> list[Difference]:
        """Differences that last. Raises KubernetesApiError if the API cannot be read."""
        troubles = self._cluster.troubles
        found = await self.look()
        for _ in range(LOOKS - 1):
            if not found:
                break
            await asyncio.sleep(self._between_looks_s)
            before = {one.about for one in found}
            found = [one for one in await self.look() if one.about in before]
        if found and self._cluster.troubles != troubles:
            _log.info("no audit this time: a watch was interrupted, and its changes are not known yet")
            return []
        self.audits += 1
        self.drift += len(found)
        self.last = found
        for one in found[:SAID]:
            _log.error("drift: %s", one)
        if found:
            _log.error("drift: %d differences from the API lasted; restart the scheduler, and report this", len(found))
        return found

    async def look(self) -> list[Difference]:
        """Differences as of now, including changes under way."""
        csi_nodes = await self._api.items(f"{STORAGE}/csinodes")
        nodes = nodes_of(await self._api.items(NODES), csi_nodes)
        facts: list[PodFact] = []
        async for page in self._api.pages(PODS):
            facts += facts_of(page.get("items") or ())
        cluster = self._cluster
        return audit(cluster.questions, cluster.tracker, self._names, nodes, facts, self._under_way())
