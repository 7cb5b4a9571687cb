"""What the engine says of pods and nodes is what a plain reading of Kubernetes' rules says, while pods come and go."""

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.invariants import check_invariants
from tests.property.pod_reference import HELPS, NEVER, YES, Placed, verdict

from dovetail.kubernetes.checking.cluster_replica import ClusterReplica

Json = dict[str, Any]
KEYS = ["topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack", "node", "zone"]
VALUES = {"app": ["web", "db"], "tier": ["fe", "be"]}
NOW = 2_000_000_000.0


def _labels(r: Random) -> Json:
    return {key: r.choice(values) for key, values in VALUES.items() if r.random() < 0.7}


def _selector(r: Random) -> Json | None:
    kind = r.random()
    if kind < 0.1:
        return r.choice([None, {}])
    key = r.choice(list(VALUES))
    if kind < 0.6:
        return {"matchLabels": {key: r.choice(VALUES[key])}}
    operator = r.choice(["In", "NotIn", "Exists", "DoesNotExist"])
    values = {"values": [r.choice(VALUES[key])]} if operator in ("In", "NotIn") else {}
    return {"matchExpressions": [{"key": key, "operator": operator, **values}]}


def _node(r: Random, number: int) -> Json:
    labels = {key: r.choice("ab") for key in KEYS if r.random() < 0.7}
    labels |= {"cores": r.choice(["4", "08", "many"])} if r.random() < 0.5 else {}
    effects = ["NoSchedule", "NoExecute", "PreferNoSchedule"]
    keys = ["spot", "node.kubernetes.io/unschedulable"]
    taints = [{"key": r.choice(keys), "value": r.choice(["", "x"]), "effect": r.choice(effects)}]
    spec: Json = {"taints": taints} if r.random() < 0.25 else {}
    spec |= {"unschedulable": True} if r.random() < 0.1 else {}
    allocatable = {"cpu": f"{r.randint(1, 4)}000m", "pods": str(r.choice([2, 110]))}
    return {"metadata": {"name": f"n{number}", "labels": labels}, "spec": spec, "status": {"allocatable": allocatable}}


def _terms(r: Random) -> list[Json]:
    found = []
    for _ in range(r.randint(1, 2)):
        spaces = {"namespaces": r.sample(["a", "b"], r.randint(1, 2))} if r.random() < 0.3 else {}
        selector = _selector(r)
        chosen = {} if selector is None else {"labelSelector": selector}
        found.append({"topologyKey": r.choice(KEYS), **chosen, **spaces})
    return found


def _node_affinity(r: Random) -> Json:
    terms = []
    for _ in range(r.randint(1, 2)):
        operator = r.choice(["In", "NotIn", "Exists", "DoesNotExist"])
        values = {"values": [r.choice("ab")]} if operator in ("In", "NotIn") else {}
        by_label = {"matchExpressions": [{"key": r.choice(KEYS), "operator": operator, **values}]}
        cores = {"matchExpressions": [{"key": "cores", "operator": r.choice(["Gt", "Lt"]), "values": ["6"]}]}
        name = [{"key": "metadata.name", "operator": r.choice(["In", "NotIn"]), "values": [f"n{r.randint(0, 3)}"]}]
        terms.append(r.choice([by_label, cores, {"matchFields": name}, by_label | {"matchFields": name}, {}]))
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def _spread(r: Random) -> list[Json]:
    found = []
    for _ in range(r.randint(1, 2)):
        selector, when = _selector(r), r.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"])
        one = {"topologyKey": r.choice(KEYS), "maxSkew": r.randint(1, 2), "whenUnsatisfiable": when}
        one |= {} if selector is None else {"labelSelector": selector}
        one |= {"nodeAffinityPolicy": r.choice(["Honor", "Ignore"])} if r.random() < 0.4 else {}
        one |= {"nodeTaintsPolicy": r.choice(["Honor", "Ignore"])} if r.random() < 0.4 else {}
        one |= {"minDomains": r.randint(1, 3)} if when == "DoNotSchedule" and r.random() < 0.3 else {}
        found.append(one)
    return found


def _pod(r: Random, number: int) -> Json:
    spec: Json = {"containers": [{"name": "c", "resources": {"requests": {"cpu": f"{r.randint(1, 9)}00m"}}}]}
    affinity: Json = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if r.random() < 0.15:
            affinity[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": _terms(r)}
    if r.random() < 0.2:
        affinity["nodeAffinity"] = _node_affinity(r)
    if affinity:
        spec["affinity"] = affinity
    if r.random() < 0.3:
        spec["topologySpreadConstraints"] = _spread(r)
    if r.random() < 0.1:
        spec["nodeSelector"] = {r.choice(KEYS): r.choice("ab")}
    if r.random() < 0.3:
        every = [{"operator": "Exists"}, {"key": "spot", "value": "x"}, {"key": "spot", "operator": "Exists"}]
        spec["tolerations"] = [r.choice(every)]
    if r.random() < 0.3:
        address = {"hostIP": r.choice(["10.0.0.1", "10.0.0.2", "0.0.0.0"])} if r.random() < 0.5 else {}
        port = {"hostPort": r.choice([80, 81]), "protocol": r.choice(["TCP", "UDP"]), **address}
        spec["containers"][0]["ports"] = [port]
    meta = {"name": f"p{number}", "namespace": r.choice("ab"), "labels": _labels(r)}
    meta |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if r.random() < 0.1 else {}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def _waiting(r: Random) -> Json:
    found = _pod(r, 1000)
    found["metadata"].pop("deletionTimestamp", None)
    return found


def _simple_node(r: Random, number: int) -> Json:
    """One of few domains, without much else."""
    labels = {key: r.choice("abc") for key in KEYS[:2] if r.random() < 0.9}
    found = _node(r, number)
    found["spec"] = {"taints": [{"key": "spot", "effect": "NoSchedule"}]} if r.random() < 0.3 else {}
    found["metadata"]["labels"] = labels
    return found


def _simple_pod(r: Random, number: int) -> Json:
    """One of many that are alike, and ask for next to nothing."""
    labels = {"app": "web" if r.random() < 0.8 else "db"}
    meta = {"name": f"p{number}", "namespace": "a" if r.random() < 0.85 else "b", "labels": labels}
    meta |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if r.random() < 0.15 else {}
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1m"}}}]}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def _spread_pod(r: Random) -> Json:
    found = _simple_pod(r, 1000)
    found["metadata"] = {"name": "waits", "namespace": "a", "labels": {"app": "web"}}
    rules = []
    for key in r.sample(KEYS[:2], r.randint(1, 2)):
        one = {"topologyKey": key, "maxSkew": r.randint(1, 2), "whenUnsatisfiable": "DoNotSchedule"}
        one["labelSelector"] = r.choice([{"matchLabels": {"app": "web"}}, {"matchLabels": {"app": "db"}}, {}])
        one |= {"nodeAffinityPolicy": r.choice(["Honor", "Ignore"]), "nodeTaintsPolicy": r.choice(["Honor", "Ignore"])}
        rules.append(one | {"minDomains": r.randint(1, 4)})
    found["spec"]["topologySpreadConstraints"] = rules
    if r.random() < 0.5:
        found["spec"]["nodeSelector"] = {r.choice(KEYS[:2]): r.choice("abc")}
    return found


@given(st.integers(0, 2**32))
def test_verdicts_agree_with_a_plain_reading_of_the_rules(seed: int) -> None:
    r = Random(seed)
    nodes = [_node(r, number) for number in range(r.randint(3, 6))]
    _play(r, nodes, [_pod(r, number) for number in range(r.randint(0, 16))], _waiting)


@given(st.integers(0, 2**32))
def test_spread_is_counted_as_a_plain_reading_counts_it(seed: int) -> None:
    r = Random(seed)
    nodes = [_simple_node(r, number) for number in range(r.randint(4, 8))]
    _play(r, nodes, [_simple_pod(r, number) for number in range(r.randint(0, 20))], _spread_pod)


def _play(r: Random, nodes: list[Json], pods: list[Json], waiting: Callable[[Random], Json]) -> None:
    scene = ClusterReplica(NOW)
    scene.add_objects({"nodes": nodes})
    cluster = scene.engine._state.cluster
    placed: Placed = []
    for pod in pods:
        where = r.choice(nodes)
        pod["spec"]["nodeName"] = where["metadata"]["name"]
        scene.place(pod, pod["spec"]["nodeName"])
        placed.append((pod, where))
        if r.random() < 0.2:
            gone, _ = placed.pop(r.randrange(len(placed)))
            cluster.remove(scene.tasks[gone["metadata"]["namespace"], gone["metadata"]["name"]])
        if r.random() < 0.4:
            _compare(scene, waiting(r), nodes, placed)
    _compare(scene, waiting(r), nodes, placed)
    check_invariants(cluster, within_capacity=False)


def _compare(scene: ClusterReplica, waiting: Json, nodes: list[Json], placed: Placed) -> None:
    meaning = scene.reader.read(waiting)
    scene.refresh()
    feasible = scene.questions.pods.feasibility(meaning.query, [node["metadata"]["name"] for node in nodes]).feasible
    for node in nodes:
        found = scene.verdicts(meaning, node["metadata"]["name"])
        said = YES if not found else HELPS if found[0].helps else NEVER
        assert said == verdict(waiting, node, nodes, placed)
        assert (node["metadata"]["name"] in feasible) == (not found)
