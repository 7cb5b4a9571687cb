"""A second, plain reading of Kubernetes' rules: one pod, one node, dictionaries and loops; no arrays, nothing kept.

Answers in kube-scheduler's order with whether eviction could help, as its plugins do. Volumes are left out.
"""

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]
#: May go there; may not, and eviction could help; may not, and could not.
YES, HELPS, NEVER = "yes", "helps", "never"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_MARK = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def selects(selector: Json | None, labels: Json) -> bool:
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return equal and all(matches(one, labels) for one in selector.get("matchExpressions") or ())


def matches(one: Json, labels: Json) -> bool:
    key, operator, values = one["key"], one["operator"], one.get("values") or []
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    if operator in ("Gt", "Lt"):
        try:
            return int(labels[key]) > int(values[0]) if operator == "Gt" else int(labels[key]) < int(values[0])
        except (KeyError, ValueError):
            return False
    return (key in labels) is (operator == "Exists")


def tolerates(pod: Json, taint: Json) -> bool:
    for one in pod["spec"].get("tolerations") or ():
        if one.get("effect") and one["effect"] != taint["effect"]:
            continue
        if one.get("key") and one["key"] != taint["key"]:
            continue
        if one.get("operator") == "Exists" or one.get("value", "") == taint.get("value", ""):
            return True
    return False


def taints_ok(pod: Json, node: Json) -> bool:
    hard = [taint for taint in node["spec"].get("taints") or () if taint["effect"] != "PreferNoSchedule"]
    return all(tolerates(pod, taint) for taint in hard)


def affinity_ok(pod: Json, node: Json) -> bool:
    labels = node["metadata"]["labels"]
    if any(labels.get(key) != value for key, value in (pod["spec"].get("nodeSelector") or {}).items()):
        return False
    required = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
    if required is None:
        return True
    name = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(matches(one, labels) for one in term.get("matchExpressions") or ())
        and all(matches(one, name) for one in term.get("matchFields") or ())
        for term in required["nodeSelectorTerms"]
    )


def _ports(pod: Json) -> list[tuple[str, int, str]]:
    each = [port for one in pod["spec"]["containers"] for port in one.get("ports") or ()]
    return [(one.get("protocol", "TCP"), one["hostPort"], one.get("hostIP", "0.0.0.0")) for one in each]


def ports_ok(pod: Json, there: list[Json]) -> bool:
    for protocol, port, address in _ports(pod):
        for other in there:
            for taken in _ports(other):
                if taken[:2] == (protocol, port) and (address == taken[2] or "0.0.0.0" in (address, taken[2])):
                    return False
    return True


def room(pod: Json, node: Json, there: list[Json]) -> str:
    def millis(one: Json) -> int:
        return sum(int(c["resources"]["requests"]["cpu"].removesuffix("m")) for c in one["spec"]["containers"])

    has, wants = int(node["status"]["allocatable"]["cpu"].removesuffix("m")), millis(pod)
    if len(there) < int(node["status"]["allocatable"]["pods"]) and sum(map(millis, there)) + wants <= has:
        return YES
    if wants > has and sum(map(millis, there)) + wants > has:
        return NEVER
    return HELPS


Placed = list[tuple[Json, Json]]  # pod, node


def _key(node: Json, key: str) -> str | None:
    found: str | None = node["metadata"]["labels"].get(key)
    return found


def spread_says(pod: Json, node: Json, nodes: Iterable[Json], placed: Placed) -> str:
    labels, space = pod["metadata"]["labels"], pod["metadata"]["namespace"]
    firm = [c for c in pod["spec"].get("topologySpreadConstraints") or () if c["whenUnsatisfiable"] == "DoNotSchedule"]
    whole = [one for one in nodes if all(_key(one, c["topologyKey"]) is not None for c in firm)]
    for c in firm:
        key, selector = c["topologyKey"], c.get("labelSelector")
        if _key(node, key) is None:
            return NEVER
        counts: dict[str | None, int] = {}
        for one in whole:
            if c.get("nodeAffinityPolicy", "Honor") == "Honor" and not affinity_ok(pod, one):
                continue
            if c.get("nodeTaintsPolicy") == "Honor" and not taints_ok(pod, one):
                continue
            here = [p for p, where in placed if where is one]
            counted = [
                p
                for p in here
                if selector
                and "deletionTimestamp" not in p["metadata"]
                and p["metadata"]["namespace"] == space
                and selects(selector, p["metadata"]["labels"])
            ]
            counts[_key(one, key)] = counts.get(_key(one, key), 0) + len(counted)
        least = min(counts.values(), default=0) if len(counts) >= c.get("minDomains", 1) else 0
        if counts.get(_key(node, key), 0) + selects(selector, labels) - least > c["maxSkew"]:
            return HELPS
    return YES


def _terms(pod: Json, kind: str) -> list[Json]:
    found: list[Json] = ((pod["spec"].get("affinity") or {}).get(kind) or {}).get(_REQUIRED) or []
    return found


def _about(term: Json, owner: Json, pod: Json) -> bool:
    named = term.get("namespaces") or [owner["metadata"]["namespace"]]
    return pod["metadata"]["namespace"] in named and selects(term.get("labelSelector"), pod["metadata"]["labels"])


def company_says(pod: Json, node: Json, placed: Placed) -> str:
    near = _terms(pod, "podAffinity")
    whole = [(p, where) for p, where in placed if near and all(_about(term, pod, p) for term in near)]
    pairs = {(t["topologyKey"], _key(where, t["topologyKey"])) for _, where in whole for t in near}
    pairs = {(key, value) for key, value in pairs if value is not None}
    if any(_key(node, term["topologyKey"]) is None for term in near):
        return NEVER
    if any((term["topologyKey"], _key(node, term["topologyKey"])) not in pairs for term in near) and (
        pairs or not all(_about(term, pod, pod) for term in near)
    ):
        return NEVER
    rules = [(t, pod, p, where) for t in _terms(pod, "podAntiAffinity") for p, where in placed]
    rules += [(t, p, pod, where) for p, where in placed for t in _terms(p, "podAntiAffinity")]
    for term, owner, whom, where in rules:
        value = _key(where, term["topologyKey"])
        if value is not None and value == _key(node, term["topologyKey"]) and _about(term, owner, whom):
            return HELPS
    return YES


def verdict(pod: Json, node: Json, nodes: list[Json], placed: Placed) -> str:
    there = [p for p, where in placed if where is node]
    if node["spec"].get("unschedulable") and not tolerates(pod, _MARK):
        return NEVER
    if not taints_ok(pod, node) or not affinity_ok(pod, node):
        return NEVER
    if not ports_ok(pod, there):
        return HELPS
    for answer in (room(pod, node, there), spread_says(pod, node, nodes, placed), company_says(pod, node, placed)):
        if answer != YES:
            return answer
    return YES
