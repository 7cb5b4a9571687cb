"""Trains of one slot never share a link."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from dovetail.network_measurement.train_plan import longest_ago_first, plan_trains

NODES = [f"n{place}" for place in range(12)]
DOMAINS = {node: f"leaf-{place // 3}" for place, node in enumerate(NODES)}


@given(st.lists(st.sampled_from(list(combinations(NODES, 2))), unique=True), st.integers(1, 6))
def test_two_trains_of_a_slot_share_neither_a_host_nor_a_leaf_nor_the_way_between_leaves(
    pairs: list[tuple[str, str]], most: int
) -> None:
    trains = plan_trains(pairs, DOMAINS, slots=5, slot_s=0.5, most_in_slot=most)
    assert {train.at_s for train in trains} <= {0.0, 0.5, 1.0, 1.5, 2.0}
    assert len({(train.sender, train.receiver) for train in trains}) == len(trains)
    for one, other in combinations(trains, 2):
        if one.at_s != other.at_s:
            continue
        leaves = [{DOMAINS[train.sender], DOMAINS[train.receiver]} for train in (one, other)]
        assert not leaves[0] & leaves[1]
        assert sum(len(both) == 2 for both in leaves) <= 1, "two go from leaf to leaf"
    assert all(sum(train.at_s == at for train in trains) <= most for at in (0.0, 0.5, 1.0, 1.5, 2.0))


def test_where_domains_are_not_known_there_is_one_at_a_time() -> None:
    trains = plan_trains([("a", "b"), ("c", "d"), ("e", "f")], {}, slots=2, slot_s=1.0, most_in_slot=9)
    assert [(train.sender, train.at_s) for train in trains] == [("a", 0.0), ("c", 1.0)]


def test_pairs_that_were_never_measured_come_first_then_the_oldest() -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    assert longest_ago_first(pairs, {("a", "b"): 5.0, ("a", "c"): 3.0}) == [("b", "c"), ("a", "c"), ("a", "b")]
