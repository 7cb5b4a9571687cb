"""Random manifests that keep the rules between fields, which a schema cannot state, as strategies of Hypothesis.

What they give is accepted by the models. Whether a server accepts it depends on what it holds already.
"""

from typing import Any

from hypothesis import strategies as st
from tests.fuzz.formats import (
    array_indices,
    bandwidths,
    byte_amounts,
    cores,
    expressions,
    gpus,
    label_values,
    labels,
    latencies,
    levels,
    moments,
    names,
    node_names,
    prose,
    time_spans,
    url_paths,
)

Manifest = dict[str, Any]
Manifests = st.SearchStrategy[Manifest]

#: Small: they run on the machine of the test.
SHORT_COMMANDS = (["true"], ["sh", "-c", "exit 3"], ["echo", "hello"], ["sleep", "0.05"], ["no-such-program"])
#: Writes all the time, so that whoever waits for its output does not wait for long.
CHATTY = ["sh", "-c", "for i in $(seq 200); do echo $i; sleep 0.2; done"]
COMMANDS = (*SHORT_COMMANDS, CHATTY)

minutes = st.integers(1, 90).map("{}m".format)
weights = st.sampled_from((0, 0.25, 1))
some_gpus = st.integers(1, 4) | gpus
taint_effects = st.sampled_from(("NoSchedule", "PreferNoSchedule", "NoExecute"))
requests = st.fixed_dictionaries({}, optional={"cpu": cores | st.integers(0, 4), "memory": byte_amounts, "gpu": gpus})
runs = st.fixed_dictionaries(
    {"command": st.sampled_from(COMMANDS)},
    optional={
        "env": st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True), prose, max_size=2),
        "stdin": st.booleans(),
    },
)
constraints = st.builds(
    lambda kind, expression: {kind: expression}, st.sampled_from(("require", "prefer", "avoid")), expressions
)
peers = names | st.fixed_dictionaries({"service": names}, optional={"labels": labels})
affinities = st.fixed_dictionaries({"within": levels}, optional={"weight": weights, "near": peers}).map(
    lambda one: one if "near" in one else one | {"apart": "web"}
)
spreads = st.fixed_dictionaries({"over": levels}, optional={"max_skew": st.integers(1, 4), "weight": weights})
tolerations = st.fixed_dictionaries({"key": names, "operator": st.just("Exists")}, optional={"effect": taint_effects})
gangs = st.integers(1, 3).map(lambda least: {"replicas": 3, "gang": {"min": least}})
_more = {
    "kind": st.sampled_from(("container", "vm", "job", "function")),
    "namespace": st.sampled_from(("default", "team", "other")),
    "user": names,
    "service": names,
    "labels": labels,
    "priority": st.sampled_from(("critical", "high", "medium", "low", "batch")),
    "resources": requests,
    "node_selector": labels,
    "tolerations": st.lists(tolerations, max_size=2),
    "constraints": st.lists(constraints, max_size=2),
    "affinity": st.lists(affinities, max_size=2),
    "spread": st.lists(spreads, max_size=1),
    "deadline": st.fixed_dictionaries({}, optional={"run_for": time_spans, "schedule_within": time_spans}),
    "disruption": st.fixed_dictionaries({}, optional={"grace": time_spans, "allowed": st.booleans()}),
    "traffic": st.lists(st.fixed_dictionaries({"to": names, "mbps": st.integers(1, 9000)}), max_size=1),
    "conflicts": st.lists(names, max_size=1),
    "retries": st.integers(0, 3),
    "restart": st.sampled_from(("on_failure", "always")),
    "run": runs,
}
_sizes: Manifests = (
    st.just({})
    | st.integers(1, 5).map(lambda replicas: {"replicas": replicas})
    | gangs
    | array_indices.map(lambda text: {"array": text})
)
_own_names = st.builds("{}-{}".format, st.sampled_from(("w", "train", "x")), st.integers(0, 10**6))


def _joined(*parts: Manifest) -> Manifest:
    return {key: value for part in parts for key, value in part.items()}


workloads: Manifests = st.builds(_joined, st.fixed_dictionaries({"name": _own_names | names}, optional=_more), _sizes)
_checks = st.builds(
    _joined,
    st.sampled_from(({"tcp": "http"}, {"http": "/healthz"}, {"grpc": {"service": "cart"}}, {"command": ["true"]}))
    | url_paths.map(lambda path: {"http": {"path": path, "port": "http"}}),
    st.fixed_dictionaries({}, optional={"successes": st.integers(1, 9), "failures": st.integers(1, 9)}),
)
_health = st.fixed_dictionaries({}, optional=dict.fromkeys(("startup", "readiness", "liveness"), _checks))
_updates = st.fixed_dictionaries(
    {},
    optional={
        "strategy": st.sampled_from(("rolling", "blue_green")),
        "max_unavailable": st.integers(0, 3),
        "max_surge": st.integers(1, 3),
        "min_ready": time_spans,
        "rollback": st.booleans(),
        "drain": st.sampled_from(("0s", "50ms")),
    },
)
_of_workloads = ("kind", "service", "deadline", "retries", "restart")
services: Manifests = st.fixed_dictionaries(
    {
        "name": _own_names | names.filter(lambda name: len(name) < 50),
        "kind": st.just("service"),
        "ports": st.sampled_from(([{"name": "http"}], [{"name": "http", "port": 8080}, {"name": "dns"}])),
    },
    optional={
        **{name: more for name, more in _more.items() if name not in _of_workloads},
        "replicas": st.integers(0, 3),
        "health": _health,
        "update": _updates,
        "autoscale": st.fixed_dictionaries(
            {"max": st.integers(3, 5), "target": st.just(10), "query": st.just({"url": "http://127.0.0.1:9/length"})},
            optional={"min": st.integers(1, 3), "tolerance": weights.filter(lambda one: one < 1)},
        ),
    },
)
#: Those that run on this machine.
plain_workloads: Manifests = st.fixed_dictionaries(
    {"name": _own_names, "run": runs, "backends": st.just({"allow": ["here"]})}
)
nodes: Manifests = st.fixed_dictionaries(
    {
        "name": node_names,
        "capacity": st.fixed_dictionaries({"cpu": cores, "memory": byte_amounts}, optional={"gpu": st.integers(0, 8)}),
    },
    optional={
        "labels": labels,
        "taints": st.lists(st.fixed_dictionaries({"key": names, "effect": taint_effects}), max_size=1),
    },
)
reservations: Manifests = st.builds(
    _joined,
    st.fixed_dictionaries(
        {"duration": minutes},
        optional={"start": moments, "tenant": names, "holder": prose},
    ),
    st.builds(lambda name, amount: {"node": name, "resources": {"cpu": amount}}, node_names, cores)
    | st.builds(lambda count, amount: {"count": count, "resources": {"cpu": amount}}, st.integers(1, 3), cores)
    | label_values.map(lambda value: {"domain": {"zone": value}}),
)
policies: Manifests = st.builds(
    _joined,
    st.fixed_dictionaries({}, optional={"description": prose, "spread": st.lists(spreads, max_size=1)}),
    constraints | st.lists(constraints, min_size=1, max_size=3).map(lambda some: {"constraints": some}),
)
scopes: Manifests = st.sampled_from(
    ({"workloads": ["web"]}, {"services": ["team/web"]}, {"namespaces": ["team-*"]}, {"namespaces": ["default"]})
)
simulated_backends: Manifests = st.builds(
    lambda prefix, count, amount: {
        "kind": "simulated",
        "groups": [{"prefix": prefix, "count": count, "capacity": {"cpu": amount}}],
    },
    st.sampled_from(("far", "sim")),
    st.integers(1, 3),
    cores,
)
topologies: Manifests = st.builds(
    lambda bandwidth, latency, name: {
        "levels": [{"name": "spine", "bandwidth": bandwidth}, {"name": "leaf", "latency": latency}],
        "domains": {"leaf": {"l1": ["n[1-2]"], "l2": [name]}, "spine": {"s1": ["l1", "l2"]}},
    },
    bandwidths,
    latencies,
    node_names.filter(lambda name: name not in ("n1", "n2", "l1", "l2")),
)
