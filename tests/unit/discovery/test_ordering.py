"""Nearest first, in turn where several are equally near."""

from tests.unit.discovery.endpoints import endpoint

from dovetail.discovery.ordering import in_turn, tiers

NEAR, ALSO, FAR = (endpoint("web", index, f"n{index}", f"10.0.0.{index}") for index in range(3))


def test_whole_numbers_decide_who_is_nearer() -> None:
    found = tiers([FAR, ALSO, NEAR], {"n0": 3.6, "n1": 4.4, "n2": 80})
    assert found == [[NEAR, ALSO], [FAR]]


def test_a_node_of_which_nothing_is_known_is_far() -> None:
    assert tiers([FAR, NEAR], {"n0": 99}) == [[NEAR], [FAR]]


def test_without_an_asking_node_all_are_equal() -> None:
    assert tiers([FAR, NEAR, ALSO], None) == [[NEAR, ALSO, FAR]]
    assert tiers([], None) == []


def test_only_equally_near_ones_take_turns() -> None:
    found = tiers([FAR, ALSO, NEAR], {"n0": 0, "n1": 0, "n2": 50})
    assert [in_turn(found, turn) for turn in range(3)] == [[NEAR, ALSO, FAR], [ALSO, NEAR, FAR], [NEAR, ALSO, FAR]]
