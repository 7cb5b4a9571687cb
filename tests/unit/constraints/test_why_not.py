"""Why a node does not do: the part that fails, and what was found there."""
# ruff: noqa: E501 (a text and what is said of it stand in one line)

import pytest
from tests.unit.constraints.small_cluster import SPACE, small_cluster

from dovetail.cluster.views.view import View
from dovetail.constraints.programs.program import compile_node, why_not


@pytest.mark.parametrize(
    ("text", "row", "words"),
    [
        ("node.free.memory > GiB(64)", 2, "node.free.memory > GiB(64): 46GiB free"),
        ("node.free.cpu >= 4.0", 2, "node.free.cpu >= 4.0: 3 free"),
        ("node.capacity.gpu == 8", 2, "node.capacity.gpu == 8: node.capacity.gpu is 0"),
        ('node.labels.zone == "b"', 2, 'node.labels.zone == "b": label zone is "a"'),
        ('node.labels.zone == "b"', 3, "label zone is missing"),
        ('node.labels.zone in ["c"] && node.tasks < 9', 3, "label zone is missing"),
        ("!has(node.labels.spot)", 3, "!has(node.labels.spot): label spot is there"),
        ('"spot" in node.labels', 2, '"spot" in node.labels: label spot is missing'),
        ("node.tasks == 0 && node.utilisation.cpu < 0.5", 2, "node.tasks == 0: node.tasks is 2; node.utilisation.cpu < 0.5: node.utilisation.cpu is 0.50"),
        ('"gpu" in node.taints', 1, '"gpu" in node.taints: node.taints is ["dedicated"]'),
        ('node.name == "n1" || node.tasks > 5', 2, 'node.name == "n1" || node.tasks > 5: node.name is "n2", node.tasks is 2'),
        ('domain("rack").free.gpu > 0', 2, 'domain("rack").free.gpu > 0: domain("rack").free.gpu is 0'),
        ('distance(workload("db")) < 20', 0, 'distance(workload("db")) < 20: distance(workload("db")) is 66.6667'),
        ("10 / node.tasks > 1", 0, "10 / node.tasks > 1: 10 / node.tasks divides by zero"),
        ("int(node.labels.zone) > 1", 0, 'int(node.labels.zone) > 1: int(node.labels.zone) fails: "a" is no whole number'),
        ("node.free.memory * 9223372036854775807 > 0", 0, "node.free.memory * 9223372036854775807 > 0: node.free.memory * 9223372036854775807 does not fit into 64 bits"),
        ("(has(node.labels.spot) ? 1 / node.tasks : 2) == 1", 3, "(has(node.labels.spot) ? 1 / node.tasks : 2) == 1: 1 / node.tasks divides by zero"),
        ("1 > 2", 0, "1 > 2 never holds"),
        ('["x", "y"].all(k, k in node.labels)', 0, '"x" in node.labels: label x is missing; "y" in node.labels: label y is missing'),
        ("size(node.labels) > 5", 3, "size(node.labels) > 5: size(node.labels) is 1"),
        ("node.tasks == 2", 2, "it holds here"),
    ],
)  # fmt: skip
def test_the_failing_part_is_named_with_what_was_found(text: str, row: int, words: str) -> None:
    assert why_not(compile_node(text), View(small_cluster()), SPACE, row) == words


def test_the_position_is_one_of_the_view() -> None:
    view = View(small_cluster())
    some = view.subset(view.rows[4:])
    assert why_not(compile_node("node.tasks == 0"), some, SPACE, 0) == "node.tasks == 0: node.tasks is 1"


def test_parts_have_the_text_that_was_written() -> None:
    parts = compile_node("  node.tasks==0&&(node.load<0.5||true)  &&  !has(node.labels.x) ").parts
    assert [part.text for part in parts] == ["node.tasks==0", "node.load<0.5||true", "!has(node.labels.x)"]
    assert compile_node(" node.tasks == 0 ").parts[0].text == "node.tasks == 0"
