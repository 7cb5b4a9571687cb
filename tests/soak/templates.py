"""Nodes and pods of a soak: a few kinds of each, as the API takes them."""

from collections.abc import Callable
from random import Random
from typing import Any

Json = dict[str, Any]

NAMESPACE = "soak"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
ZONES = ("z1", "z2", "z3")
FOO = "example.com/foo"
#: How urgent pods can be, by name of their class.
PRIORITIES = {"soak-low": 10, "soak-usual": 100, "soak-high": 1000}
CORES = ("2", "4", "8")
OURS = "dovetail"


def node(name: str, chance: Random) -> Json:
    amounts = allocatable(chance)
    labels = {HOST: name, ZONE: chance.choice(ZONES), "pool": chance.choice(("a", "b"))}
    return {"metadata": {"name": name, "labels": labels}, "status": {"capacity": amounts, "allocatable": amounts}}


def allocatable(chance: Random) -> Json:
    return {"cpu": chance.choice(CORES), "memory": "32Gi", "pods": chance.choice(("10", "20")), FOO: "4"}


def _plain(_: Json, __: str) -> None:
    pass


def _apart(spec: Json, app: str) -> None:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
    spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _near(spec: Json, app: str) -> None:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}
    spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _spread(spec: Json, app: str) -> None:
    rule = {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    spec["topologySpreadConstraints"] = [rule | {"labelSelector": {"matchLabels": {"app": app}}}]


def _urgent(spec: Json, _: str) -> None:
    spec["priorityClassName"] = "soak-high"


def _gated(spec: Json, _: str) -> None:
    spec["schedulingGates"] = [{"name": "example.com/not-yet"}]


def _with_foo(spec: Json, _: str) -> None:
    spec["containers"][0]["resources"] |= {"limits": {FOO: "1"}}


def _port(spec: Json, _: str) -> None:
    spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]


def _tolerant(spec: Json, _: str) -> None:
    spec["tolerations"] = [{"key": "soak", "operator": "Exists"}]


def _in_pool(spec: Json, _: str) -> None:
    spec["nodeSelector"] = {"pool": "a"}


def _elsewhere(spec: Json, _: str) -> None:
    """Somebody else's, on whatever node that chose."""
    spec["schedulerName"] = "somebody-else"


KINDS: dict[str, Callable[[Json, str], None]] = {
    "plain": _plain,
    "apart": _apart,
    "near": _near,
    "spread": _spread,
    "urgent": _urgent,
    "gated": _gated,
    "foo": _with_foo,
    "port": _port,
    "tolerant": _tolerant,
    "pool": _in_pool,
    "elsewhere": _elsewhere,
}
ELSEWHERE = "elsewhere"


def pods(kind: str, first: int, count: int, chance: Random, nodes: list[str]) -> list[Json]:
    """So many pods of a kind, numbered from `first`; they all belong to one app."""
    app = f"{kind}-{chance.randrange(3)}"
    asked = {"cpu": chance.choice(("100m", "500m", "1")), "memory": "64Mi"}
    found = []
    for number in range(first, first + count):
        container: Json = {"name": "main", "image": "none", "resources": {"requests": asked}}
        spec: Json = {"schedulerName": OURS, "containers": [container]}
        spec["priorityClassName"] = chance.choice(("soak-low", "soak-usual"))
        KINDS[kind](spec, app)
        if kind == ELSEWHERE and nodes:
            spec["nodeName"] = chance.choice(nodes)
        found.append({"metadata": {"name": f"p{number}", "labels": {"app": app}}, "spec": spec})
    return found
