"""Contradictions inside one workload: found, named with both sides, and never where some node could satisfy all."""

from typing import Any

import pytest

from dovetail.constraints.contradictions.contradiction import Contradiction, find
from dovetail.constraints.contradictions.narrowing import ResourceCeiling
from dovetail.model.text.complaint import field_name
from dovetail.model.workloads.workload import Workload


def work(*required: str, **fields: Any) -> Workload:
    return Workload.model_validate({"name": "w", "constraints": [{"require": text} for text in required], **fields})


def told(found: Contradiction | None) -> str:
    return "" if found is None else f"{field_name(found.path)}: {found.message}"


def terms(*several: dict[str, list[str]]) -> dict[str, Any]:
    """`{"zone In": ["a"]}` is one term of node_affinity.required."""
    matches = [
        [dict(zip(("key", "operator"), words.split(), strict=True), values=values) for words, values in term.items()]
        for term in several
    ]
    return {"required": [{"match": term} for term in matches]}


def test_both_sides_are_named_with_their_fields() -> None:
    spec = work("node.load < 0.5", 'node.labels["zone"] == "b"', node_selector={"zone": "a", "disk": "ssd"})
    assert told(find(spec)) == (
        'constraints[1].require: node.labels["zone"] == "b" cannot hold together with node_selector zone=a'
    )


def test_the_other_constraint_is_named_by_its_place() -> None:
    spec = work('node.labels.zone == "a" && node.load < 0.5', 'node.labels.zone == "b"')
    words = 'node.labels.zone == "b" cannot hold together with constraints[0].require: node.labels.zone == "a"'
    assert told(find(spec)) == f"constraints[1].require: {words}"


def test_an_amount_that_is_asked_for_is_named() -> None:
    spec = work("node.capacity.gpu < 4.0", resources={"gpu": 8, "cpu": 1})
    words = "node.capacity.gpu < 4.0 cannot hold together with resources.gpu: 8"
    assert told(find(spec)) == f"constraints[0].require: {words}"


def test_only_what_is_needed_for_the_contradiction_is_named() -> None:
    spec = work(
        *('node.labels.a == "x" || node.labels.b == "x"', "has(node.labels.c)"),
        *('node.labels.a != "x"', 'node.labels.b != "x"', "node.load < 0.9"),
    )
    found = told(find(spec))
    assert "constraints[0]" in found
    assert "constraints[2]" in found
    assert found.startswith("constraints[3].require: ")
    assert "labels.c" not in found
    assert "load" not in found


@pytest.mark.parametrize(
    "text",
    [
        "1 > 2",
        '"a" in []',
        "node.load > 1.5",
        "node.load < 0.0",
        "node.free.memory < 0",
        "node.utilisation.cpu > 1.0",
        'distance("n1") > 200.0',
        "node.free.memory > node.capacity.memory",
        "node.tasks > 3 && node.tasks < 4",
        'node.free["vendor.com/chip"] < 3 && node.free["vendor.com/chip"] > 2',
        "node.free.slots < 1",
        "node.tasks == 3 && node.tasks != 3",
        "node.tasks in [1, 2] && node.tasks > 2",
        "node.free.memory * 2 < GiB(4) && node.free.memory >= GiB(2)",
        "node.free.cpu < node.load && node.load < node.free.cpu",
        'domain("leaf").free.gpu < 4.0 && node.free.gpu >= 4.0',
        'has(node.labels.x) && !("x" in node.labels)',
        '!has(node.labels.x) && node.labels.x == "a"',
        '!(node.labels.x == "a") && !has(node.labels.x)',
        '!(node.labels.x != "a") && node.labels.x != "a"',
        'node.labels.x in ["a", "b"] && !(node.labels.x in ["b", "a", "c"])',
        'node.labels.x.startsWith("b") && node.labels.x in ["a", "c"]',
        'node.labels.x.startsWith("b") && node.labels.x.startsWith("ca")',
        'node.labels.x.endsWith("ab") && !node.labels.x.endsWith("b")',
        'node.labels.x.matches("^[0-9]+$") && node.labels.x in ["a", "b"]',
        'size(node.labels.x) > 1 && node.labels.x == "a"',
        'node.labels.x == node.labels.y && node.labels.y != node.labels.x',
        'node.labels.x == node.labels.y && !has(node.labels.y)',
        'node.name == "n1" && node.name == "n2"',
        '"dedicated" in node.taints && !("dedicated" in node.taints)',
        '(node.labels.x == "a" || node.load > 0.5) && node.load < 0.2 && node.labels.x == "b"',
        '!(node.labels.x == "a" || node.load < 0.5) && (node.labels.x == "a" || node.load < 0.5)',
        '(node.labels.x == "a" ? node.load > 0.5 : 1 > 2) && node.load < 0.3',
        'int(node.labels.x) > 5 && int(node.labels.x) < 3',
        '["a", "b"].exists(z, node.labels.x == z) && node.labels.x == "c"',
    ],
)  # fmt: skip
def test_what_no_node_can_satisfy_is_refused(text: str) -> None:
    assert find(work(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "2 > 1",
        "node.load >= 1.0",
        "node.load > 0.1 && node.load < 0.2",
        "node.tasks > 3 && node.tasks < 5",
        "node.free.cpu > 3.0 && node.free.cpu < 4.0",
        "node.free.memory < GiB(1) || node.free.memory > GiB(2)",
        "node.observed.memory > node.capacity.memory",
        "node.free.memory > node.allocated.memory",
        'node.labels.x != "a" && node.labels.x != "b"',
        '!has(node.labels.x) && !has(node.labels.y)',
        '!(node.labels.x == "a")',
        '!has(node.labels.x) || node.labels.x == "a"',
        'has(node.labels.x) || node.labels.x == "a"',
        'node.labels.x.startsWith("a") && node.labels.x.startsWith("ab") && node.labels.x != "ab"',
        'node.labels.x.contains("a") && !node.labels.x.startsWith("a")',
        'node.labels.x.matches("^a") && node.labels.x.matches("b$")',
        'node.labels.x < "b" && node.labels.x > "a"',
        'node.labels.x == node.labels.y && node.labels.x == "a"',
        'node.labels.x == "a" ? node.load > 0.5 : node.load < 0.3',
        'domain("leaf").free.gpu >= 8.0 && node.free.gpu < 1.0',
        'domain("leaf").name == "l1" && domain("rack").name == "r1"',
        'double(node.labels.x) / double(node.labels.x) != 1.0 && !(double(node.labels.x) / 2.0 < 1.0)',
    ],
)  # fmt: skip
def test_what_some_node_could_satisfy_is_accepted(text: str) -> None:
    assert find(work(text)) is None


@pytest.mark.parametrize(
    ("text", "resources", "refused"),
    [
        ("node.free.memory < GiB(64)", {"memory": "64GiB"}, True),
        ("node.free.memory <= GiB(64)", {"memory": "64GiB"}, False),
        ("node.free.memory / GiB(1) < 32", {"memory": "64GiB"}, True),
        ("node.capacity.cpu < 2.0", {"cpu": "2500m"}, True),
        ("node.free.cpu == 2.5", {"cpu": "2500m"}, False),
        ('node.capacity["vendor.com/chip"] == 1', {"vendor.com/chip": 2}, True),
        ('domain("leaf").free.gpu < 8.0', {"gpu": 8}, True),
        ("node.free.disk < GiB(64)", {"memory": "64GiB"}, False),
    ],
)
def test_a_node_has_at_least_what_a_task_asks_for(text: str, resources: dict[str, Any], refused: bool) -> None:
    assert (find(work(text, resources=resources)) is not None) is refused


def test_overcommit_lets_a_task_onto_a_smaller_node() -> None:
    spec = work("node.capacity.memory < GiB(64)", resources={"memory": "64GiB"})
    assert find(spec) is not None
    assert find(spec, ResourceCeiling((("memory", 2.0),))) is None
    small = work("node.capacity.memory < GiB(30)", resources={"memory": "64GiB"})
    assert find(small, ResourceCeiling((("memory", 2.0),))) is not None


def test_by_measured_use_a_task_goes_where_nothing_is_free_by_allocation() -> None:
    spec = work("node.free.memory < 0", resources={"memory": "64GiB"})
    assert find(spec) is not None
    assert find(spec, ResourceCeiling(measured=True)) is None
    assert find(work("node.load > 2.0"), ResourceCeiling(measured=True)) is None
    assert (
        find(work("node.capacity.memory < GiB(1)", resources={"memory": "2GiB"}), ResourceCeiling(measured=True))
        is not None
    )


def test_affinity_terms_that_exclude_each_other_are_refused() -> None:
    spec = work(node_affinity=terms({"zone In": ["a", "b"], "zone NotIn": ["b", "a"]}))
    words = "zone NotIn b, a cannot hold together with node_affinity.required[0].match[0]: zone In a, b"
    assert told(find(spec)) == f"node_affinity.required[0].match[1]: {words}"


@pytest.mark.parametrize(
    ("several", "refused"),
    [
        ([{"gen Gt": ["3"], "gen Lt": ["4"]}], True),
        ([{"gen Gt": ["3"], "gen Lt": ["5"]}], False),
        ([{"zone In": ["b"]}, {"zone In": ["c"]}], True),
        ([{"zone In": ["b"]}, {"zone In": ["a"]}], False),
        ([{"zone NotIn": ["b"]}], False),
        ([{"disk DoesNotExist": []}, {"zone DoesNotExist": []}], False),
        ([{"zone DoesNotExist": []}], True),
    ],
)
def test_any_one_of_the_terms_is_enough(several: list[dict[str, list[str]]], refused: bool) -> None:
    spec = work('node.labels.zone in ["a"]', node_affinity=terms(*several))
    assert (find(spec) is not None) is refused


def test_wishes_are_no_requirements() -> None:
    wishes = [{"prefer": 'node.labels.zone == "b"', "priority": 3}, {"avoid": "1 < 2"}]
    assert find(work(node_selector={"zone": "a"}, constraints=wishes)) is None


def test_an_expression_of_too_many_cases_is_accepted() -> None:
    several = " && ".join(f'(node.labels.l{i} == "a" || node.labels.l{i} == "b")' for i in range(10))
    assert find(work(f"!(!({several}) || 2 > 1)")) is None


def test_a_long_expression_is_cut_in_the_message() -> None:
    listed = ", ".join(f'"value-{i}"' for i in range(50))
    found = find(work(f"node.labels.zone in [{listed}]", node_selector={"zone": "a"}))
    assert found is not None
    assert len(found.message) < 200


ONE, BOTH = {"labels": {"a": "x"}}, {"labels": {"a": "x", "b": "y"}}
NEAR, APART = {"near": "db", "within": "zone"}, {"apart": "db", "within": "zone"}


@pytest.mark.parametrize(
    ("near", "apart", "refused"),
    [
        ({"near": "db", "within": "zone"}, {"apart": "db", "within": "zone"}, True),
        ({"near": "db", "within": "host"}, {"apart": "db", "within": "zone"}, True),
        ({"near": "db", "within": "zone"}, {"apart": "db", "within": "host"}, False),
        ({"near": "db", "within": "zone"}, {"apart": "db", "within": "region"}, False),
        ({"near": "db", "within": "zone"}, {"apart": "web", "within": "zone"}, False),
        ({"near": "db", "within": "zone", "weight": 0.5}, {"apart": "db", "within": "zone"}, False),
        ({"near": "db", "distance": 20}, {"apart": "db", "distance": 20}, True),
        ({"near": "db", "distance": 20}, {"apart": "db", "distance": 10}, False),
        ({"near": "db", "within": "host"}, {"apart": "db", "distance": 0}, True),
        ({"near": BOTH, "within": "rack"}, {"apart": ONE, "within": "rack"}, True),
        ({"near": ONE, "within": "rack"}, {"apart": BOTH, "within": "rack"}, False),
        ({"in_same_region": ["a", "b"]}, {"in_different_regions": ["b", "a", "c"]}, True),
        ({"in_same_region": ["a", "b"]}, {"in_different_regions": ["b"]}, False),
        ({"near": {"workload": "db", "namespaces": ["*"]}, "within": "zone"}, {"apart": "db", "within": "zone"}, False),
        ({"near": "db", "within": "zone"}, {"apart": {"workload": "db", "namespaces": ["*"]}, "within": "zone"}, True),
    ],
)  # fmt: skip
def test_near_and_apart_of_the_same_work_exclude_each_other(
    near: dict[str, Any], apart: dict[str, Any], refused: bool
) -> None:
    assert (find(work(affinity=[near, apart])) is not None) is refused
    assert (find(work(affinity=[apart, near])) is not None) is refused


def test_rules_that_exclude_each_other_are_both_named() -> None:
    apart, near = "apart from workload db within one zone", "near to workload db within one zone"
    words = f"affinity[1]: {apart} cannot hold together with affinity[0]: {near}"
    assert told(find(work(affinity=[NEAR, APART]))) == words


def test_being_near_to_a_member_of_a_conflict_set_is_not_known_to_be_impossible() -> None:
    assert find(work(affinity=[NEAR], conflicts=[{"set": "big", "within": "zone"}])) is None


@pytest.mark.parametrize("gang", [None, {"min": 1}, {"min": 2}])
def test_rules_about_its_own_tasks_bind_only_those_that_are_there_at_once(gang: dict[str, int] | None) -> None:
    rules = [{"near": "w", "within": "zone"}, {"apart": "w", "within": "zone"}]
    found = find(work(affinity=rules, replicas=4, gang=gang))
    assert (found is not None) is (gang == {"min": 2})


@pytest.mark.parametrize(
    ("rule", "regions", "gang", "refused"),
    [
        ({"in_same_region": ["w"]}, 3, 2, True),
        ({"in_same_region": ["w"]}, 1, 2, False),
        ({"in_same_region": ["db"]}, 3, 2, False),
        ({"apart": "w", "within": "region"}, 3, 4, True),
        ({"apart": "w", "within": "region"}, 3, 3, False),
        ({"apart": "w", "within": "host"}, 3, 4, False),
        ({"in_n_regions": ["w"], "n": 2}, 3, 3, True),
        ({"in_n_regions": ["w"], "n": 2}, 3, 2, False),
    ],
)
def test_its_tasks_in_so_many_regions_leave_no_room_for_other_rules(
    rule: dict[str, Any], regions: int, gang: int, refused: bool
) -> None:
    rules = [rule, {"in_n_regions": ["w"], "n": regions}]
    assert (find(work(affinity=rules, replicas=6, gang={"min": gang})) is not None) is refused


def test_hundreds_of_requirements_are_looked_at_in_part() -> None:
    text = " && ".join(f"node.load < 0.9{i}" for i in range(150))
    assert find(work(*[text] * 5)) is None
    found = find(work("node.load > 0.99", *[text] * 4))
    assert told(found).endswith("cannot hold together with constraints[0].require: node.load > 0.99")
