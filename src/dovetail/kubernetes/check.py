"""Our verdicts beside those of kube-scheduler: recorded scenarios replayed through the adapter and the engine.

Guarantees: what is compared is what the engine itself would decide by, its filters on its own state and its own search
for victims. Three things have to agree: which nodes a pod may go to; of the others, whether it could help if pods there
were gone; and where no node will do, that we nominate one whenever kube-scheduler does, with victims that are no worse
by its own measure.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dovetail.cluster.placements import Placement
from dovetail.kubernetes.budgets import read_budgets
from dovetail.kubernetes.pods import PodMeaning
from dovetail.kubernetes.scenario import Scenario, TheirPreemption
from dovetail.kubernetes.scene import Scene, name_of
from dovetail.kubernetes.verdicts import PLUGINS, Verdict, verdicts
from dovetail.model.task import TaskId
from dovetail.placement.preemption.nominate import nominate
from dovetail.placement.preemption.nomination import NominatedPlacements, Nomination, order_of

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
class Tally:
    """How often both were asked, and how often they said the same."""

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
class Report:
    """`by_plugin`: of nodes that a plugin of theirs refuses, on how many we agree; "" are those that will do."""

    scenarios: int = 0
    feasible: Tally = field(default_factory=Tally)
    eviction: Tally = field(default_factory=Tally)
    nominated: Tally = field(default_factory=Tally)  # where they nominate a node
    same_victims: int = 0
    by_plugin: dict[str, Tally] = field(default_factory=dict)
    unlike: Counter[str] = field(default_factory=Counter)  # disagreements by what they are about

    @property
    def agrees(self) -> bool:
        return not self.unlike

    def plugins(self) -> list[tuple[str, Tally]]:
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


def check(scenario: Scenario, report: Report) -> Iterator[Disagreement]:
    """What the two disagree about in one scenario; what they agree about is counted."""
    report.scenarios += 1
    for found in _check(scenario, report):
        report.unlike[found.about] += 1
        yield found


def _check(scenario: Scenario, report: Report) -> Iterator[Disagreement]:
    scene = Scene(_NOW)
    scene.add_objects(scenario.objects)
    meaning = scene.reader.read(scenario.pod)
    coming = _populate(scene, scenario, meaning)
    pod = "/".join(name_of(scenario.pod))
    for node, theirs in scenario.verdicts.items():
        ours = _verdict(scene, meaning, coming, node)
        report.feasible.count((ours is None) == theirs.feasible)
        by_plugin = report.by_plugin.setdefault(theirs.plugin, Tally())
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
        found = _compare(scene, scenario.preemption, _nominated(scene, scenario, meaning, coming), report)
        report.nominated.count(found is None)
        if found is not None:
            said = f"nominates it with {', '.join(scenario.preemption.victims)} to go"
            yield Disagreement(scenario.id, pod, scenario.preemption.node, PREEMPTION, said, found)


Arrivals = dict[int, list[tuple[TaskId, Placement]]]


def _populate(scene: Scene, scenario: Scenario, meaning: PodMeaning) -> Arrivals:
    """Pods that have a node go there; those that are to come to one and are as urgent are what is returned."""
    cluster = scene.engine.state.cluster
    coming: Arrivals = {}
    for pod in scenario.pods:
        node = pod["spec"].get("nodeName")
        if node:
            scene.place(pod, node)
            continue
        node = (pod.get("status") or {}).get("nominatedNodeName")
        if node in cluster.rows and (pod["spec"].get("priority") or 0) >= meaning.priority:
            with cluster.trial():
                task = scene.place(pod, node)
                if task is not None:
                    coming.setdefault(cluster.rows[node], []).append((task, cluster.placements.by_task[task]))
    return coming


def _verdict(scene: Scene, meaning: PodMeaning, coming: Arrivals, node: str) -> Verdict | None:
    """With those that are to come to the node, and without them."""
    cluster = scene.engine.state.cluster
    row = cluster.rows[node]
    if row in coming:
        with cluster.trial():
            for task, was in coming[row]:
                cluster.place(task, row, was.column, victim_info=was.victim_info, identity=was.identity)
            found = verdicts(scene.asked(meaning), scene.evaluator, cluster, row)
        if found:
            return found[0]
    found = verdicts(scene.asked(meaning), scene.evaluator, cluster, row)
    return found[0] if found else None


def _nominated(scene: Scene, scenario: Scenario, meaning: PodMeaning, coming: Arrivals) -> Nomination | None:
    if not meaning.preempts:
        return None
    state = scene.engine.state
    budgets = read_budgets(scenario.objects.get("pdbs") or (), scene.tasks)
    request = scene.asked(meaning)
    return nominate(
        state.cluster,
        state.victims_table,
        scene.evaluator,
        request,
        meaning.priority,
        budgets,
        NominatedPlacements(coming),
    )


def _compare(scene: Scene, theirs: TheirPreemption, ours: Nomination | None, report: Report) -> str | None:
    """What is wrong with our nomination; None: nothing."""
    if ours is None:
        return "nominates none"
    cluster = scene.engine.state.cluster
    names = ["/".join(scene.names[task]) for task in ours.victims]
    report.same_victims += cluster.names[ours.row] == theirs.node and sorted(names) == sorted(theirs.victims)
    tasks = {"/".join(name): task for name, task in scene.tasks.items()}
    victims_table = cluster.placements.by_task

    def order(violations: int, victims: list[TaskId]) -> tuple[float, ...]:
        at_stake = [victims_table[task].victim_info for task in victims]
        return order_of(0, violations, [one.priority for one in at_stake], [one.since for one in at_stake])[:_SAME]

    if order(ours.violations, list(ours.victims)) <= order(theirs.violations, [tasks[name] for name in theirs.victims]):
        return None
    return f"nominates {cluster.names[ours.row]} with {', '.join(names)} to go, which is worse"
