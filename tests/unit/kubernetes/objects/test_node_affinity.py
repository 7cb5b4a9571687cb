"""Which nodes a pod's selector and node affinity allow."""

from typing import Any

import pytest
from tests.unit.kubernetes.manifests import Little, node, pod

NODES = [node("a", "z1", labels={"cores": "4"}), node("b", "z2", labels={"cores": "many"}), node("c")]


def _required(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})


def _labels(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


def _name(operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([_labels(ZONE, "In", "z1", "z9")], ["a"]),
        ([_labels(ZONE, "NotIn", "z1")], ["b", "c"]),
        ([_labels(ZONE, "Exists")], ["a", "b"]),
        ([_labels(ZONE, "DoesNotExist")], ["c"]),
        ([_labels("cores", "Gt", "3")], ["a"]),
        ([_labels("cores", "Lt", "3")], []),
        ([_labels(ZONE, "In", "z1"), _labels(ZONE, "In", "z2")], ["a", "b"]),
        ([_labels(ZONE, "Exists") | _name("NotIn", "a")], ["b"]),
        ([_name("In", "c")], ["c"]),
        ([_name("In", "c"), _labels(ZONE, "In", "z1")], ["a", "c"]),
        ([{}], []),  # an empty term selects nothing
        ([{}, _name("In", "b")], ["b"]),
        ([_name("In", "a", "b")], []),  # a field is compared with one value
        ([_labels("cores", "Gt", "x")], []),
    ],
)
def test_one_of_the_terms_must_hold(terms: list[dict[str, Any]], expected: list[str]) -> None:
    world = Little(NODES)
    waiting = _required(*terms)
    assert world.fits(waiting) == expected
    for one in NODES:
        name = one["metadata"]["name"]
        if name not in expected:
            assert world.plugin(waiting, name) == ("NodeAffinity", False)


def test_the_selector_and_the_affinity_must_both_hold() -> None:
    waiting = _required(_labels(ZONE, "Exists"))
    waiting["spec"]["nodeSelector"] = {ZONE: "z2"}
    assert Little(NODES).fits(waiting) == ["b"]
