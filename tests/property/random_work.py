"""Random nodes, workloads and happenings, each drawn from a `Random`: a seeded one, or one that Hypothesis can shrink.

Values come from small pools, so that labels meet selectors, taints meet tolerations, ties are common and nodes fill
up within a few tasks; the pools hold the odd cases on purpose (labels that only look like numbers, resources that no
node has, patterns that match nothing). Most parts of a workload are left out of most workloads: were all there at
once, hardly any node would ever be feasible.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from dovetail.model.node import Node
from dovetail.model.workloads.selection import Effect, Operator
from dovetail.model.workloads.workload import Workload, WorkloadKind

T = TypeVar("T")

MOST_NODES = 24
NODE_NAMES = [f"n{i}" for i in range(MOST_NODES + 4)]
WORKLOAD_NAMES = [f"w{i}" for i in range(6)]
NAMESPACES = ["default", "default", "other"]
BACKENDS = ["registered", "k8s-a", "k8s-b", "slurm"]
PATTERNS = ["k8s-*", "k8s-?", "slurm", "*", "[rs]*", "no-such"]
RACK, LEAF, ZONE, REGION = "rack", "leaf", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
LABELS: dict[str, list[str]] = {
    "disk": ["nvme", "nvme", "hdd", ""],
    "size": ["1", "5", "10", "-3", "+4", "ten", "1_0", " 7", "٣", "1.5", "99999999999999999999"],
    RACK: ["r1", "r2"],
    LEAF: ["l1"],
    ZONE: ["z1", "z2"],
    REGION: ["e", "w", "s"],
    "flag": ["true"],
    "image/trainer:1": ["present"],
}
COMPARED = ["nvme", "hdd", "", "r1", "z1", "5", "true", "never"]
ASKED = {"cpu": ["100m", "250m", "1", "1.3"], "memory": ["64MiB", "333MB", "1GiB"], "disk": ["1GB", "7GB"]}
FPGA, UNHEARD_OF = "example.com/fpga", "nobody.example/has"
#: GPUs of nodes: whether known one by one, mixed, in islands, large or small.
GPUS: list[list[dict[str, Any]]] = [
    [{"count": 4, "model": "A", "memory": "40GiB"}],
    [{"count": 4, "model": "A", "memory": "40GiB", "islands": 2}, {"count": 2, "model": "B", "memory": "80GiB"}],
    [{"count": 1, "model": "C"}, {"count": 2, "model": "A", "memory": "16GiB"}, {"count": 3}],
]
SOME_GPU: list[dict[str, Any]] = [
    *({"gpu": amount} for amount in (1, 2, "300m", 0.5, 0.7)),
    {"gpu": 2, "gpu_island": "same"},
    {"gpu": 3, "gpu_island": "same"},
    {"gpu": 2, "gpu_model": ["B", "A"]},
    {"gpu": "250m", "gpu_model": ["C", "B"]},
    {"gpu": 1, "gpu_memory": "32GiB"},
    {"gpu": 3, "gpu_model": "A"},
    {"gpu": "600m", "gpu_model": ["A", "never"], "gpu_memory": "16GiB", "gpu_island": "same"},
]
RARE: list[dict[str, Any]] = [{FPGA: 1}, {"gpu": 2, FPGA: 1}, {UNHEARD_OF: 1}]
TOLERATIONS: list[dict[str, Any]] = [
    {"operator": "Exists"},
    {"operator": "Exists", "effect": "NoSchedule"},
    {"operator": "Exists", "effect": "PreferNoSchedule"},
    {"key": "dedicated", "operator": "Exists"},
    {"key": "dedicated", "value": "gpu"},
    {"key": "dedicated", "value": "gpu", "effect": "PreferNoSchedule"},
    {"key": "dedicated"},
    {"key": "spot", "operator": "Exists", "effect": "NoExecute", "toleration_seconds": 5},
    {"key": "elsewhere", "operator": "Exists"},
]
SELECTORS = [{"disk": "nvme"}, {RACK: "r1"}, {"disk": "hdd", RACK: "r2"}, {"unknown": "x"}]
#: What workloads are called, besides by name; levels, `nowhere` being one that no node is in a domain of.
APPS: list[dict[str, str]] = [{}, {"app": "web"}, {"app": "db"}, {"app": "web", "tier": "1"}, {"tier": "2"}]
LEVELS = ["host", "node", RACK, "zone", ZONE, "region", LEAF, "nowhere"]
PEERS: list[Any] = [
    *["w0", "w1", "w2"],
    {"labels": {"app": "web"}},
    {"labels": {"app": "db"}, "namespaces": ["*"]},
    {"labels": {"app": "web", "tier": "1"}, "namespaces": ["other", "default"]},
    {"match": [{"key": "tier", "operator": "Exists"}]},
    {"match": [{"key": "tier", "operator": "NotIn", "values": ["2"]}], "namespaces": ["other"]},
    {"match": [{"key": "tier", "operator": "Gt", "values": ["1"]}]},
    {"service": "web"},
    {"service": "db", "labels": {"app": "db"}},
    {"workload": "w3", "namespaces": ["other"]},
]
EXPRESSIONS = [
    'node.labels["disk"] == "nvme"',
    'node.labels["disk"] != "hdd" || node.free.memory > 3000000000',
    'node.labels.rack in ["r1", "r2"] && node.free.cpu > 1.5',
    "!has(node.labels.flag)",
    "has(node.labels.flag) || node.capacity.gpu > 0.0",
    "node.free.memory >= 1073741824",
    "node.allocated.cpu < 2.0 && node.free.slots > 3",
    'node.labels.rack == "r1" ? node.free.cpu >= 0.5 : node.free.cpu >= 2.0',
    'node.name.startsWith("n1") || node.name.endsWith("2")',
    "node.free.cpu / node.capacity.cpu > 0.5",
]
SCOPES: list[dict[str, str]] = [*[{}] * 8, {"disk": "nvme"}, {RACK: "r1"}]
OVERCOMMIT: list[dict[str, float]] = [{}, {}, {"cpu": 1.5, "memory": 1.07}, {"slots": 0.5, "disk": 3.3}]


def _often(r: Random, usual: T, *odd: T) -> T:
    return usual if r.randrange(4) else r.choice(odd)


def _seldom(r: Random, draw: Callable[[], Any], otherwise: Any) -> Any:
    return otherwise if r.randrange(6) else draw()


def _some(r: Random, pool: list[T], most: int) -> list[T]:
    return [r.choice(pool) for _ in range(r.randint(1, most))]


# --- nodes -------------------------------------------------------------------------------------------------------


def a_node(r: Random, name: str | None = None) -> Node:
    capacity = {
        "cpu": _often(r, 4, 0, 1, 3, 7),
        "memory": _often(r, "4GiB", "0", "3GB", "7GiB"),
        "disk": _often(r, "33GB", "0", "10GB", "77GiB"),
        "gpu": r.choice([0, 2]),
        "slots": _often(r, 110, 0, 3, 7),
        FPGA: r.choice([0, 3]),
    }
    gpus: list[dict[str, Any]] = [] if r.randrange(3) else r.choice(GPUS)
    if gpus:
        del capacity["gpu"]
    return Node.model_validate(
        {
            "gpus": gpus,
            "name": name or r.choice(NODE_NAMES),
            "backend": r.choice(BACKENDS),
            "capacity": capacity,
            "labels": {key: r.choice(values) for key, values in LABELS.items() if _carried(r, key)},
            "taints": _seldom(r, lambda: [_a_taint(r) for _ in range(r.randint(1, 2))], []),
            "kinds": _seldom(r, lambda: _some(r, list(WorkloadKind), 3), list(WorkloadKind)),
        }
    )


def _carried(r: Random, key: str) -> bool:
    """Leaves are so rare that the only node behind one may leave."""
    return not r.randrange(20) if key == LEAF else bool(r.randrange(4))


def _a_taint(r: Random) -> dict[str, Any]:
    return {
        "key": r.choice(["dedicated", "spot"]),
        "value": r.choice(["", "gpu", "db"]),
        "effect": r.choice([*Effect, Effect.PREFER_NO_SCHEDULE]),
    }


def a_fleet(r: Random) -> list[Node]:
    """A few models of machine, many of each, as in a real hall: ties are the rule."""
    models = [a_node(r) for _ in range(r.randint(2, 6))]
    return [r.choice(models).model_copy(update={"name": name}) for name in NODE_NAMES[: r.randint(3, MOST_NODES)]]


# --- workloads ---------------------------------------------------------------------------------------------------


def _a_match(r: Random) -> dict[str, Any]:
    operator = r.choice(list(Operator))
    if operator in (Operator.GT, Operator.LT):
        key = r.choice(["size", "size", "size", "disk", "unknown"])
        return {"key": key, "operator": operator, "values": [r.choice(["4", "+4", "-1"])]}
    found: dict[str, Any] = {"key": r.choice([*LABELS, "unknown"]), "operator": operator}
    if operator in (Operator.IN, Operator.NOT_IN):
        found["values"] = _some(r, COMPARED, 3)
    return found


def _terms(r: Random, *, weighted: bool = False) -> list[dict[str, Any]]:
    terms: list[dict[str, Any]] = [
        {"match": [_a_match(r) for _ in range(r.randint(1, 2))]} for _ in range(r.randint(1, 3))
    ]
    return [term | {"weight": r.choice([1, 3, 50, 100])} for term in terms] if weighted else terms


def _a_rule(r: Random) -> dict[str, Any]:
    """Near or apart, in one of the ways there are to say so; every other time a wish."""
    relation = r.choice(["near", "apart", "apart", "in_same_region", "in_different_regions", "in_n_regions", "plain"])
    if relation == "plain":
        return {"near": r.choice(WORKLOAD_NAMES)}
    found: dict[str, Any] = {"weight": r.choice([0, 0.3, 1])} if r.randrange(2) else {}
    if relation not in ("near", "apart"):
        found |= {relation: _some(r, PEERS, 3)} | ({"n": r.choice([1, 2, 3])} if relation == "in_n_regions" else {})
        found |= _seldom(r, lambda: {"within": r.choice(LEVELS)}, {})
        return found
    found[relation] = r.choice(PEERS)
    how = {"distance": r.choice([0, 20, 40, 75, 100])} if not r.randrange(3) else {"within": r.choice(LEVELS)}
    return found | how


def _a_spread(r: Random) -> dict[str, Any]:
    found: dict[str, Any] = {"over": r.choice([*LEVELS, "zone", RACK]), "max_skew": r.choice([1, 1, 2, 5])}
    found |= _seldom(r, lambda: {"min_domains": r.choice([2, 4])}, {}) | _seldom(r, lambda: {"of": r.choice(PEERS)}, {})
    return found | ({"weight": r.choice([0, 0.5, 1])} if r.randrange(2) else {})


def _a_constraint(r: Random) -> dict[str, Any]:
    kind = r.choice(["require", "prefer", "avoid"])
    found: dict[str, Any] = {kind: r.choice(EXPRESSIONS)}
    if kind == "require":
        return found
    found |= {"weight": r.choice([0, 0.4, 1])} | _seldom(r, lambda: {"priority": r.randint(1, 3)}, {})
    return found


def _company(r: Random) -> dict[str, Any]:
    """What it says of other work; most say nothing."""
    return {
        "affinity": _seldom(r, lambda: [_a_rule(r) for _ in range(r.randint(1, 3))], []),
        "spread": _seldom(r, lambda: [_a_spread(r) for _ in range(r.randint(1, 2))], []),
        "conflicts": _seldom(r, lambda: [{"set": r.choice(["c1", "c2"]), "within": r.choice(LEVELS)}], []),
        "traffic": _seldom(r, lambda: _some_traffic(r), []),
    }


def _some_traffic(r: Random) -> list[dict[str, Any]]:
    return [{"to": name, "mbps": r.choice([7, 100, "4Gbps"])} for name in r.sample(WORKLOAD_NAMES, r.randint(1, 3))]


def a_workload(r: Random) -> Workload:
    return Workload.model_validate(
        {
            "name": r.choice(WORKLOAD_NAMES),
            "namespace": r.choice(NAMESPACES),
            "kind": _seldom(r, lambda: r.choice(list(WorkloadKind)), WorkloadKind.JOB),
            "run": _seldom(r, lambda: {"image": "trainer:1"}, {}),
            "resources": {name: r.choice(pool) for name, pool in ASKED.items() if r.randrange(4)}
            | _seldom(r, lambda: r.choice(RARE), {})
            | (r.choice(SOME_GPU) if not r.randrange(4) else {}),
            "service": _seldom(r, lambda: r.choice(["web", "db"]), None),
            "node_selector": _seldom(r, lambda: r.choice(SELECTORS), {}),
            "node_affinity": {
                "required": _seldom(r, lambda: _terms(r), []),
                "preferred": [
                    term | _seldom(r, lambda: {"priority": r.randint(1, 3)}, {}) for term in _terms(r, weighted=True)
                ]
                if r.randrange(2)
                else [],
                "avoided": _terms(r, weighted=True) if r.randrange(2) else [],
            },
            "tolerations": _seldom(r, lambda: _some(r, TOLERATIONS, 2), []),
            "labels": r.choice(APPS),
            "constraints": _seldom(r, lambda: [_a_constraint(r) for _ in range(r.randint(1, 2))], []),
            "backends": _seldom(r, lambda: {"allow": _some(r, PATTERNS, 2)}, {}),
        }
        | _company(r)
    )


# --- what happens ------------------------------------------------------------------------------------------------
# An index picks, modulo their number, one of the things there are when the step is taken.


@dataclass(frozen=True)
class Submit:
    workload: Workload
    copies: int


@dataclass(frozen=True)
class More:
    """More copies of a workload submitted earlier, so that several shapes take turns."""

    index: int
    copies: int


@dataclass(frozen=True)
class Turns:
    """Several workloads placing one copy each, a number of times."""

    indices: list[int]
    rounds: int


@dataclass(frozen=True)
class Rehearse:
    """Place copies inside a trial, which undoes them."""

    index: int
    copies: int


@dataclass(frozen=True)
class Finish:
    index: int
    copies: int


@dataclass(frozen=True)
class Join:
    """A new node, or another definition of one that is there."""

    node: Node


@dataclass(frozen=True)
class Leave:
    index: int


@dataclass(frozen=True)
class Switch:
    """What: online, cordoned."""

    what: str
    index: int
    on: bool


@dataclass(frozen=True)
class BackendAnswers:
    backend: str
    answers: bool


@dataclass(frozen=True)
class Reserve:
    index: int
    amounts: dict[str, int]


@dataclass(frozen=True)
class Release:
    index: int


@dataclass(frozen=True)
class Observe:
    index: int
    used: dict[str, int]


@dataclass(frozen=True)
class Fare:
    """How a task fared on a node: how it ended, and how many times as long as usual it took; None: nobody knows."""

    index: int
    ok: bool
    slowdown: float | None


@dataclass(frozen=True)
class TrimLog:
    pass


Tasks = Submit | More | Turns | Rehearse | Finish
Nodes = Join | Leave | Switch | BackendAnswers | Reserve | Release | Observe | Fare
Step = Tasks | Nodes | TrimLog


def _copies(r: Random) -> int:
    return r.choice([1, 3, 8, 25])


def _index(r: Random) -> int:
    return r.randrange(60)


def some_amounts(r: Random) -> dict[str, int]:
    pools = {"cpu": [150, 1000, 3000], "memory": [2**28, 10**9], "slots": [1]}
    return {name: r.choice(pool) for name, pool in pools.items() if r.randrange(2)}


_HAPPENINGS: list[tuple[int, Callable[[Random], Step]]] = [
    (4, lambda r: Submit(a_workload(r), _copies(r))),
    (4, lambda r: More(_index(r), _copies(r))),
    (3, lambda r: Turns([_index(r) for _ in range(r.randint(2, 4))], r.randint(2, 8))),
    (2, lambda r: Rehearse(_index(r), _copies(r))),
    (5, lambda r: Finish(_index(r), r.choice([1, 4, 30]))),
    (3, lambda r: Join(a_node(r))),
    (1, lambda r: Leave(_index(r))),
    (2, lambda r: Switch(r.choice(["online", "cordoned"]), _index(r), bool(r.randrange(2)))),
    (1, lambda r: BackendAnswers(r.choice(BACKENDS), bool(r.randrange(3)))),
    (2, lambda r: Reserve(_index(r), some_amounts(r))),
    (2, lambda r: Release(_index(r))),
    (3, lambda r: Observe(_index(r), some_amounts(r))),
    (2, lambda r: Fare(_index(r), bool(r.randrange(4)), r.choice([None, 0.25, 0.7, 1.0, 1.3, 4.0]))),
    (1, lambda _: TrimLog()),
]
_WHEEL = [draw for weight, draw in _HAPPENINGS for _ in range(weight)]


def a_step(r: Random) -> Step:
    return r.choice(_WHEEL)(r)
