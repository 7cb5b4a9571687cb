"""Small clusters that are full, each with one pod that is urgent enough to have others give way, all on one API server.

Each has nodes and a namespace of its own, and pods that may go to these nodes alone, so that none is in another's way.
The same seed makes the same clusters.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

Json = dict[str, Any]

#: By class; the pods that want room have one of the last three.
PRIORITIES = {"p0": 0, "p10": 10, "p100": 100, "p500": 500, "p300": 300, "p1000": 1000, "never": 1000}
PATIENT = "never"  # nobody gives way to it
_PLACED, _URGENT = ("p0", "p10", "p100", "p500"), ("p300", "p1000")
HOST, CLUSTER = "kubernetes.io/hostname", "cluster"
CORES = 4
ABOVE_ALL = 1 << 31
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class FullCluster:
    """`started`: by name of a placed pod, when; `allowed`: by app, how many of it may be disturbed."""

    name: str
    nodes: list[Json] = field(default_factory=list)
    placed: list[Json] = field(default_factory=list)
    started: dict[str, str] = field(default_factory=dict)
    allowed: dict[str, int] = field(default_factory=dict)
    urgent: Json = field(default_factory=dict)

    def measure(self, node: str, victims: set[str]) -> tuple[int, int, int, int]:
        """What kube-scheduler compares victims by: budgets overrun, the most urgent of them, all together, how many."""
        priority = PRIORITIES[self.urgent["spec"]["priorityClassName"]]
        less = [one for one in self.placed if one["spec"]["nodeName"] == node and _priority(one) < priority]
        less.sort(key=lambda one: (-_priority(one), self.started[_name(one)]))
        left, over = dict(self.allowed), set()
        for one in less:
            app = one["metadata"]["labels"]["app"]
            if app in left:
                left[app] -= 1
                if left[app] < 0:
                    over.add(_name(one))
        urgencies = [_priority(one) for one in less if _name(one) in victims]
        assert len(urgencies) == len(victims), f"{victims} are not all less urgent pods of {node}"
        return len(over & victims), max(urgencies), sum(one + ABOVE_ALL for one in urgencies), len(urgencies)


def full_clusters(seed: int, count: int) -> list[FullCluster]:
    chance = Random(seed)
    return [_full(chance, f"full-{seed}-{number}") for number in range(count)]


def _full(chance: Random, name: str) -> FullCluster:
    found = FullCluster(name)
    for number in range(chance.randint(2, 5)):
        node = f"{name}-n{number}"
        amounts = {"cpu": str(CORES), "memory": "64Gi", "pods": "110"}
        labels = {HOST: node, CLUSTER: name}
        status = {"capacity": amounts, "allocatable": amounts}
        found.nodes.append({"metadata": {"name": node, "labels": labels}, "status": status})
        _fill(chance, found, node)
    found.allowed = {app: chance.choice((0, 0, 1, 2)) for app in ("web", "db") if chance.random() < 0.5}
    found.urgent = _pod(chance, "urgent", chance.choice(("1500m", "2", "3", "4")), chance.choice(_URGENT))
    spec = found.urgent["spec"]
    spec["nodeSelector"] = {CLUSTER: name}
    if chance.random() < 0.25:
        term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOST}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if chance.random() < 0.25:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    if chance.random() < 0.08:
        spec["priorityClassName"] = PATIENT
    return found


def _fill(chance: Random, cluster: FullCluster, node: str) -> None:
    """So that less than what any urgent pod wants is left."""
    left_m, port = CORES * 1000, chance.random() < 0.4
    while left_m >= 1500:
        cpu_m = min(left_m, chance.choice((500, 1000, 1500, 2000, 3000)))
        left_m -= cpu_m
        pod = _pod(chance, f"b{len(cluster.placed)}", f"{cpu_m}m", chance.choice(_PLACED))
        pod["spec"] |= {"nodeName": node, "schedulerName": "nobody"}
        if port:  # one of them has it
            pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
            port = False
        cluster.placed.append(pod)
        # Distinct, so that who is the most important is never a matter of luck.
        at = _FIRST + timedelta(seconds=chance.randrange(3000) * 100 + len(cluster.placed))
        cluster.started[_name(pod)] = at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _pod(chance: Random, name: str, cpu: str, priority: str) -> Json:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    # A long grace: nobody plays the kubelet, and those who have to go stay to be seen.
    spec = {"containers": [container], "priorityClassName": priority, "terminationGracePeriodSeconds": 3600}
    labels = {"app": chance.choice(("web", "db", "cache"))}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def _name(pod: Json) -> str:
    return str(pod["metadata"]["name"])


def _priority(pod: Json) -> int:
    return PRIORITIES[pod["spec"]["priorityClassName"]]
