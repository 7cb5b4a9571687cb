"""Random small clusters on which a random workload cannot be placed whole, and what can be done about it for real.

A stage is drawn from a seed: the same seed gives the same nodes, the same running work and the same workload, so that a
suggestion made on one can be followed on another through events, as users and operators would follow it.
"""

from random import Random
from typing import Any

from tests.reference_merge_patch import merge_patch
from tests.unit.engine.scene import Scene

from dovetail.engine.suggestions.changes import definition
from dovetail.engine.suggestions.suggestions import Suggestion
from dovetail.model.command import Command
from dovetail.model.event import Event, NodeCordoned, Submitted
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

WANTED = "wanted"
ZONES, DISKS, BACKENDS = ["a", "b", "c"], ["nvme", "hdd"], ["k8s-a", "slurm"]
PRIORITIES = ["critical", "high", "medium", "medium", "low", "batch"]
EXPRESSIONS = [
    'node.labels.zone == "a"',
    'node.labels["zone"] in ["a", "b"] && node.free.memory > GiB(6)',
    "node.free.cpu >= 4.0",
    "has(node.labels.disk) && node.load < 0.3",
    'node.labels.disk == "nvme" || node.capacity.gpu > 1.0',
    "int(node.labels.size) > 5",
    "node.tasks < 1",
    '!("dedicated" in node.taints)',
]
LAYOUTS: list[dict[str, Any]] = [
    {"required": "zone"},
    {"required": "disk", "preferred": "host"},
    {"required": "host"},
    {"preferred": "zone"},
    {"slices": [{"size": 4, "within": "host"}]},
    {"slices": [{"size": 4, "within": "zone"}, {"size": 2, "within": "host"}], "strategy": "spread"},
]


class Stage(Scene):
    """Four to nine nodes, some of them cordoned, work that runs on them, and a workload that is still to come."""

    def __init__(self, seed: int) -> None:
        r = Random(seed)
        limits = {"queues": {"narrow": {"maximum": {"cpu": r.choice([4, 8]), "gpu": 2}}, "wide": {}}}
        super().__init__(**(limits if not r.randrange(3) else {}))
        self.limited = bool(self.settings.queues)
        for i in range(r.randint(4, 9)):
            self._node(r, f"n{i}")
        for i in range(r.randint(2, 8)):
            self._running(r, f"old-{i}")
        self.settle()
        for work in list(self.engine._state.work.values()):
            if work.waiting:  # nobody but the workload that is asked about shall wait
                self.cancel(work.name)
        self.settle()
        for name in list(self.engine._state.cluster.rows):
            if not r.randrange(6):
                self.hear(NodeCordoned(name, True, r.choice(["", "being repaired"])))
        self.now += 10.0
        self.spec = Workload.model_validate(self._wanted(r) if r.randrange(5) else self._gang(r))

    def hear(self, event: Event) -> list[Command]:
        """Tables are checked by who asks for it: here that would be most of the work."""
        commands = self.engine.handle(event, self.now)
        self.engine.take_changes(self.now)
        return commands

    def _node(self, r: Random, name: str) -> None:
        labels = {"zone": r.choice(ZONES), "disk": r.choice(DISKS), "size": str(r.randint(1, 9))}
        for key in list(labels):
            if not r.randrange(8):
                del labels[key]
        taints = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}] if not r.randrange(4) else []
        if not r.randrange(8):
            taints.append({"key": "spot", "effect": r.choice(["NoSchedule", "NoExecute"])})
        self.join(
            name,
            cpu=r.choice([2, 4, 8, 16]),
            capacity={"memory": f"{r.choice([4, 8, 16, 32])}GiB", "gpu": r.choice([0, 0, 2, 4])},
            labels=labels,
            taints=taints,
            backend=r.choice(["registered", "registered", *BACKENDS]),
            kinds=["job", "container"] + (["vm"] if r.randrange(3) else []),
        )

    def _running(self, r: Random, name: str) -> None:
        fields: dict[str, Any] = {
            "resources": {"cpu": r.choice([1, 2, 4]), "memory": f"{r.randint(1, 6)}GiB"},
            "tolerations": [{"operator": "Exists"}],
            "priority": r.choice(PRIORITIES),
            "replicas": r.randint(1, 4),
        }
        if r.randrange(2):
            fields["deadline"] = {"run_for": f"{r.randint(2, 90)}m"}
        if not r.randrange(4):
            fields["disruption"] = r.choice([{"allowed": False}, {"max_unavailable": 1}])
        if not r.randrange(5):
            fields["gang"] = {"min": r.randint(1, fields["replicas"])}
        if not r.randrange(5):
            fields["conflicts"] = ["loud"]
        if self.limited and r.randrange(2):
            fields["queue"] = "narrow"
        self.submit(name, **fields)

    def _wanted(self, r: Random) -> dict[str, Any]:
        """Each part is there now and then; amounts are often more than nodes have."""
        found: dict[str, Any] = {
            "name": WANTED,
            "resources": {"cpu": r.choice([1, 1, 2, 4, 8, 12]), "memory": f"{r.choice([1, 2, 4, 8, 20])}GiB"},
            "replicas": r.choice([1, 1, 1, 1, 2, 3, 6]),
            "priority": r.choice(PRIORITIES),
        }
        parts: list[dict[str, Any]] = [
            {"node_selector": {"zone": r.choice(ZONES)}},
            {"node_selector": {"zone": r.choice(ZONES), "disk": r.choice(DISKS)}},
            {"node_affinity": {"required": [{"match": [_match(r) for _ in range(r.randint(1, 2))]}]}},
            {"node_affinity": {"required": [{"match": [_match(r)]}, {"match": [_match(r), _match(r)]}]}},
            {"node_affinity": {"preferred": [{"priority": r.randint(1, 2), "match": [_match(r)]}]}},
            {"tolerations": [{"key": "dedicated", "value": "gpu"}]},
            {"backends": {"allow": [r.choice(["k8s-*", "slurm"])]}},
            {"kind": "vm"},
            {"constraints": [{"require": r.choice(EXPRESSIONS)} for _ in range(r.randint(1, 2))]},
            {"affinity": [{"near": "old-0", "within": "zone"}]},
            {"affinity": [{"apart": f"old-{r.randrange(3)}", "within": r.choice(["zone", "host"])}]},
            {"conflicts": ["loud"]},
            {"spread": [{"over": r.choice(["zone", "host"]), "max_skew": 1}]},
            {"deadline": {"run_for": "30m"}},
        ]
        for part in r.sample(parts, r.randint(0, 4)):
            found |= part
        if not r.randrange(4):
            found["resources"]["gpu"] = r.choice([1, 1, 2, 8])
        if found["replicas"] > 1 and not r.randrange(2):
            found["gang"] = {"min": r.randint(1, found["replicas"])}
        if self.limited and r.randrange(2):
            found["queue"] = "narrow"
        return found

    def _gang(self, r: Random) -> dict[str, Any]:
        """One that could start if it did not have to lie in the network as it says."""
        replicas = r.choice([2, 3, 4, 6, 8])
        return {
            "name": WANTED,
            "replicas": replicas,
            "gang": {"min": replicas - r.randrange(2)},
            "resources": {"cpu": r.choice([1, 1, 2, 4]), "memory": f"{r.choice([1, 2])}GiB"},
            "tolerations": [{"operator": "Exists"}],
            "topology": r.choice(LAYOUTS),
            "priority": r.choice(PRIORITIES),
        }

    # --- what is done ----------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Everything is decided, and whoever was told to stop has stopped."""
        for _ in range(20):
            self.tick()
            if not self.engine._state.stopping:
                return
            self.stopped()
        raise AssertionError("somebody is told to stop again and again")

    def submit_wanted(self, spec: Workload) -> None:
        id_ = self.ids[WANTED] = max(self.ids.values(), default=0) + 1
        self.hear(Submitted(id_, spec))
        self.settle()

    @property
    def stuck(self) -> bool:
        """The workload waits, and nobody else does."""
        waiting = [work for work in self.engine._state.work.values() if work.waiting or work.delayed]
        return [work.name for work in waiting] == [WANTED]

    @property
    def placed_whole(self) -> bool:
        work = self.engine._state.work[self.ids[WANTED]]
        return work.holding + work.succeeded >= min(work.replicas, work.terms.concurrency or work.replicas)

    def follow(self, suggestion: Suggestion) -> None:
        """As somebody would who reads it."""
        if suggestion.patch is not None:
            self.cancel(WANTED)
            self.settle()
            patched = merge_patch(definition(self.spec), suggestion.patch)
            self.submit_wanted(Workload.model_validate(patched))
            return
        assert suggestion.action is not None
        ((what, whom),) = suggestion.action.items()
        if what == "uncordon":
            self.hear(NodeCordoned(str(whom), False, ""))
        elif what == "evict":
            assert isinstance(whom, list)
            for task in whom:
                name, replica = task.split("/")[1].rsplit(".", 1)
                self.end(name, int(replica))
        else:
            assert what == "wait_until"
            self._wait(whom)
        self.settle()

    def _wait(self, until: Any) -> None:
        self.now = max(self.now, float(until))
        ends = self.engine._state.ends
        over = [task for task in list(ends.tasks()) if (end := ends.at(task)) is not None and end <= self.now]
        for task in sorted(over):
            self.end(self._workload(task), task.replica)

    def _workload(self, task: TaskId) -> str:
        return next(name for name, id_ in self.ids.items() if id_ == task.workload)


def _match(r: Random) -> dict[str, Any]:
    key = r.choice(["zone", "disk", "size"])
    if key == "size":
        return {"key": key, "operator": r.choice(["Gt", "Lt"]), "values": [str(r.randint(0, 9))]}
    operator = r.choice(["In", "In", "NotIn", "Exists"])
    values = r.sample(ZONES if key == "zone" else DISKS, r.randint(1, 2))
    return {"key": key, "operator": operator, "values": [] if operator == "Exists" else values}
