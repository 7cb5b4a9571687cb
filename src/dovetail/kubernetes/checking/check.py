"""Compares our verdicts with those of kube-scheduler, by replaying recorded scenarios.

Guarantees: the engine's own filters and its own preemption are compared. Three things have to agree: which nodes a pod
may go to; for the others, whether eviction could help; and if no node is feasible, that we nominate one whenever
kube-scheduler does, with victims that are no worse by its own order.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dovetail.engine.questions.pod_answers import AssumedPod, PodNomination
from dovetail.kubernetes.checking.cluster_replica import ClusterReplica
from dovetail.kubernetes.checking.recorded_scenario import RecordedScenario, TheirPreemption
from dovetail.kubernetes.checking.verdicts import PLUGINS, Verdict
from dovetail.kubernetes.objects.budgets import read_budgets
from dovetail.kubernetes.objects.pods import PodMeaning
from dovetail.kubernetes_client.objects import namespaced_name
from dovetail.model.task import TaskId
from dovetail.placement.preemption.nomination import order_of

#: When scenarios are replayed: after everything in them.
_NOW = 4_000_000_000.0
FEASIBLE, EVICTION, PREEMPTION = "feasible", "eviction", "preemption"
_SAME = 4  # what their measure compares before it looks at how long ago victims began


@dataclass(frozen=True, slots=True)
class Disagreement:
    """`about` is FEASIBLE, EVICTION or PREEMPTION; `theirs` and `ours` what each said."""

    scenario: str
    pod: str
    node: str
    about: str
    theirs: str
    ours: str

    def __str__(self) -> str:
        who = f"{self.scenario} {self.pod} {self.node} {self.about}"
        return f"{who}: kube-scheduler {self.theirs}, dovetail {self.ours}"

    def to_dict(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class AgreementCount:
    """How many verdicts were compared, and how many agree."""

    compared: int = 0
    agreed: int = 0

    def count(self, agreed: bool) -> None:
        self.compared += 1
        self.agreed += agreed

    @property
    def share(self) -> float:
        return self.agreed / self.compared if self.compared else 1.0

    def to_dict(self) -> dict[str, float]:
        return {"compared": self.compared, "agreed": self.agreed, "share": self.share}


@dataclass(slots=True)
class CheckReport:
    """`by_plugin`: agreement on nodes that this plugin of kube-scheduler refuses; "" are feasible nodes."""

    scenarios: int = 0
    feasible: AgreementCount = field(default_factory=AgreementCount)
    eviction: AgreementCount = field(default_factory=AgreementCount)
    nominated: AgreementCount = field(default_factory=AgreementCount)  # where they nominate a node
    same_victims: int = 0
    by_plugin: dict[str, AgreementCount] = field(default_factory=dict)
    unlike: Counter[str] = field(default_factory=Counter)  # disagreements by what they are about

    @property
    def agrees(self) -> bool:
        return not self.unlike

    def plugins(self) -> list[tuple[str, AgreementCount]]:
        """In kube-scheduler's order."""
        places = {plugin: place for place, plugin in enumerate(("", *PLUGINS))}
        return sorted(self.by_plugin.items(), key=lambda one: places.get(one[0], len(places)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "scenarios": self.scenarios,
            "feasible": self.feasible.to_dict(),
            "eviction": self.eviction.to_dict(),
            "preemption": self.nominated.to_dict() | {"same_victims": self.same_victims},
            "by_plugin": {plugin or "none": tally.to_dict() for plugin, tally in self.plugins()},
            "disagreements": dict(self.unlike),
        }


def check(scenario: RecordedScenario, report: CheckReport) -> Iterator[Disagreement]:
    """Yields the disagreements in one scenario and counts agreements."""
    report.scenarios += 1
    for found in _check(scenario, report):
        report.unlike[found.about] += 1
        yield found


def _check(scenario: RecordedScenario, report: CheckReport) -> Iterator[Disagreement]:
    scene = ClusterReplica(_NOW)
    scene.add_objects(scenario.objects)
    meaning = scene.reader.read(scenario.pod)
    expected = _populate(scene, scenario, meaning)
    pod = "/".join(namespaced_name(scenario.pod))
    for node, theirs in scenario.verdicts.items():
        ours = _verdict(scene, meaning, expected, node)
        report.feasible.count((ours is None) == theirs.feasible)
        by_plugin = report.by_plugin.setdefault(theirs.plugin, AgreementCount())
        says = "says that it may go there" if ours is None else f"has {ours.plugin} refuse it: {ours.message}"
        if (ours is None) != theirs.feasible:
            by_plugin.count(agreed=False)
            said = "says that it may go there" if theirs.feasible else f"has {theirs.plugin} refuse it"
            yield Disagreement(scenario.id, pod, node, FEASIBLE, said, says)
            continue
        helps = ours is not None and ours.helps
        by_plugin.count(helps == theirs.helps)
        if not theirs.feasible:
            report.eviction.count(helps == theirs.helps)
            if helps != theirs.helps:
                said = f"says that eviction {'could' if theirs.helps else 'could not'} help ({theirs.plugin})"
                yield Disagreement(scenario.id, pod, node, EVICTION, said, says)
    if scenario.preemption is not None and scenario.preemption.node is not None:
        found = _compare(scene, scenario.preemption, _nominated(scene, scenario, meaning, expected), report)
        report.nominated.count(found is None)
        if found is not None:
            said = f"nominates it with {', '.join(scenario.preemption.victims)} to go"
            yield Disagreement(scenario.id, pod, scenario.preemption.node, PREEMPTION, said, found)


Arrivals = dict[str, list[AssumedPod]]


def _populate(scene: ClusterReplica, scenario: RecordedScenario, meaning: PodMeaning) -> Arrivals:
    """Places the pods that have a node. Returned are those that are nominated to a node and at least as urgent."""
    expected: Arrivals = {}
    for pod in scenario.pods:
        node = pod["spec"].get("nodeName")
        if node:
            scene.place(pod, node)
            continue
        node = (pod.get("status") or {}).get("nominatedNodeName")
        if node and (pod["spec"].get("priority") or 0) >= meaning.priority:
            found = scene.assumed(pod, node)
            if found is not None:
                expected.setdefault(node, []).append(found)
    return expected


def _verdict(scene: ClusterReplica, meaning: PodMeaning, expected: Arrivals, node: str) -> Verdict | None:
    """With the pods that are nominated to the node, and without them."""
    found: list[Verdict] = []
    if node in expected:
        scene.refresh()
        with scene.questions.pods.assume(expected[node]):
            found = scene.verdicts(meaning, node)
    found = found or scene.verdicts(meaning, node)
    return found[0] if found else None


def _nominated(
    scene: ClusterReplica, scenario: RecordedScenario, meaning: PodMeaning, expected: Arrivals
) -> PodNomination | None:
    if not meaning.preempts:
        return None
    budgets = read_budgets(scenario.objects.get("pdbs") or (), scene.tasks)
    scene.refresh()
    return scene.questions.pods.nominate(meaning.query, budgets, [one for each in expected.values() for one in each])


def _compare(
    scene: ClusterReplica, theirs: TheirPreemption, ours: PodNomination | None, report: CheckReport
) -> str | None:
    """What is wrong with our nomination; None: nothing."""
    if ours is None:
        return "nominates none"
    names = ["/".join(scene.names[task]) for task in ours.victims]
    report.same_victims += ours.node == theirs.node and sorted(names) == sorted(theirs.victims)
    tasks = {"/".join(name): task for name, task in scene.tasks.items()}

    def order(violations: int, victims: list[TaskId]) -> tuple[float, ...]:
        placed = [scene.placed[task] for task in victims]
        return order_of(0, violations, [one.pod.priority for one in placed], [one.since for one in placed])[:_SAME]

    if order(ours.violations, list(ours.victims)) <= order(theirs.violations, [tasks[name] for name in theirs.victims]):
        return None
    return f"nominates {ours.node} with {', '.join(names)} to go, which is worse"
