"""The filter of expressions: what must hold, what is still insisted on, and the words for a node where it does not."""

from typing import Any

import pytest
from tests.unit.placement.scene import pipeline_of
from tests.unit.placement.workload_affinity_scene import Society

ZONE_A = 'node.labels.zone == "a"'


def test_a_node_is_allowed_where_every_required_expression_holds() -> None:
    society = Society.of(zone="ab-")
    assert society.allowed("constraints", constraints=[{"require": ZONE_A}]) == "x.."
    assert society.allowed("constraints", constraints=[{"require": f"!({ZONE_A})"}]) == ".x."
    both = [{"require": ZONE_A}, {"require": 'node.name == "n1"'}]
    assert society.allowed("constraints", constraints=both) == "..."


def test_wishes_are_demands_only_while_they_are_insisted_on() -> None:
    society = Society.of(zone="ab")
    for demand, insisted in (("prefer", "x."), ("avoid", ".x")):
        assert society.allowed("constraints", constraints=[{demand: ZONE_A}]) == "xx"
        wish = [{demand: ZONE_A, "priority": 3}]
        assert society.allowed("constraints", constraints=wish) == insisted
        request = society.ask(constraints=wish)
        request.shape, given_up = request.shape.relaxed()
        assert given_up == (ZONE_A,)
        assert pipeline_of(society.cluster, scores={"affinity": 1}).decide(request, "x").row == insisted.index("x")


def test_what_is_avoided_may_be_unknown_of_a_node() -> None:
    """An expression that cannot be evaluated there does not hold there."""
    assert Society.of(zone="a-").allowed("constraints", constraints=[{"avoid": ZONE_A, "priority": 1}]) == ".x"


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ({"require": ZONE_A}, 'node.labels.zone == "a"'),
        ({"prefer": ZONE_A, "priority": 1}, 'still insists: node.labels.zone == "a"'),
        ({"avoid": 'node.labels.zone == "b"', "priority": 1}, 'still avoids: node.labels.zone == "b"'),
    ],
)
def test_a_refusal_says_which_expression_and_why(constraint: dict[str, Any], words: str) -> None:
    refused = Society.of(zone="ab").refused("constraints", 1, constraints=[constraint])
    assert (refused.filter, refused.reason) == ("constraints", "constraint_unsatisfied")
    assert refused.message.startswith(words)


def test_a_refusal_of_several_is_about_the_one_that_does_not_hold() -> None:
    constraints = [{"require": 'node.name == "n1"'}, {"require": ZONE_A}]
    refused = Society.of(zone="ab").refused("constraints", 1, constraints=constraints)
    assert refused.message.startswith(ZONE_A)


def test_an_expression_sees_work_of_its_own_namespace_only() -> None:
    society = Society.of(zone="ab")
    society.cluster.placements.directory["y", "db"] = (1, 1)
    society.place(0, "db", namespace="y")
    near = [{"require": 'distance(workload("db")) < 50.0'}]
    assert society.allowed("constraints", namespace="y", constraints=near) == "x."
    assert society.allowed("constraints", constraints=near) == ".."
