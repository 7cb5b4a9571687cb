"""Which devices can be had from which nodes, as slices and nodes come, change and go."""

from typing import Any

import pytest
from tests.unit.kubernetes.devices.offers import DRIVER, counters, device, inventory, names, pools, slice_, zone

from dovetail.kubernetes.devices.device import DevicePool, PoolId

P = PoolId(DRIVER, "p")
NODES: dict[str, dict[str, Any]] = {"n1": {"zone": "a"}, "n2": {"zone": "b"}}


def only(found: list[DevicePool]) -> DevicePool:
    assert len(found) == 1
    return found[0]


def test_a_slice_of_one_node_can_be_had_from_there_alone() -> None:
    there = inventory(slice_("s", device("d1"), device("d2")), nodes=NODES)
    assert names(there.pools("n1")) == ["d1", "d2"]
    assert there.pools("n2") == []
    assert there.nodes_with(P) == {"n1"}


def test_a_slice_with_a_selector_can_be_had_from_the_nodes_that_it_selects() -> None:
    there = inventory(slice_("s", device("d"), nodeSelector=zone("b")), nodes=NODES)
    assert there.pools("n1") == []
    assert names(there.pools("n2")) == ["d"]
    assert there.nodes_with(P) == {"n2"}


def test_a_selector_may_ask_for_the_name_of_a_node() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n2"]}
    there = inventory(
        slice_("s", device("d"), nodeSelector={"nodeSelectorTerms": [{"matchFields": [field]}]}), nodes=NODES
    )
    assert there.nodes_with(P) == {"n2"}


def test_a_slice_of_all_nodes_can_be_had_from_all_that_are_known() -> None:
    there = inventory(slice_("s", device("d"), allNodes=True), nodes=NODES)
    assert there.nodes_with(P) == {"n1", "n2"}
    assert there.pools("unheard of") == []


def test_devices_may_each_say_where_they_can_be_had() -> None:
    devices = (
        device("named") | {"nodeName": "n1"},
        device("selected") | {"nodeSelector": zone("b")},
        device("everywhere") | {"allNodes": True},
        device("nowhere"),
    )
    there = inventory(slice_("s", *devices, perDeviceNodeSelection=True), nodes=NODES)
    assert names(there.pools("n1")) == ["named", "everywhere"]
    assert names(there.pools("n2")) == ["selected", "everywhere"]


def test_devices_that_each_name_their_node_are_not_asked_of_others() -> None:
    devices = device("a") | {"nodeName": "n1"}, device("b") | {"nodeName": "n2"}
    there = inventory(slice_("s", *devices, perDeviceNodeSelection=True), nodes=NODES)
    assert [names(there.pools(node)) for node in NODES] == [["a"], ["b"]]
    there.drop_slice("s")
    assert there.pools("n1") == there.pools("n2") == []


def test_what_says_nowhere_where_it_can_be_had_can_be_had_nowhere() -> None:
    unknown = slice_("s", device("d"))
    del unknown["spec"]["nodeName"]
    assert inventory(unknown).pools("n1") == []


def test_pools_come_by_driver_and_name_and_their_slices_by_name_however_they_were_told() -> None:
    told = [
        slice_("z", device("last"), pool="b", count=2),
        slice_("y", device("other"), pool="a", driver="net.example.com"),
        slice_("x", device("first"), pool="b", count=2),
        slice_("w", device("one"), pool="a"),
    ]
    assert names(pools(*told)) == names(pools(*reversed(told))) == ["one", "first", "last", "other"]


def test_only_slices_of_the_newest_generation_count() -> None:
    there = inventory(slice_("old", device("gone")), slice_("new", device("here"), generation=2))
    assert names(there.pools("n1")) == ["here"]


def test_a_node_that_only_an_older_generation_mentions_has_nothing_of_the_pool() -> None:
    there = inventory(slice_("old", device("d")), slice_("new", device("d"), generation=2, nodeName="n2"), nodes=NODES)
    assert there.nodes_with(P) == {"n2"}
    assert there.pools("n1") == []


def test_nothing_can_be_taken_from_a_pool_while_slices_of_it_are_missing() -> None:
    there = inventory(slice_("one", device("a"), count=2))
    found = only(there.pools("n1"))
    assert found.devices == ()
    assert "1 of 2 slices" in found.flaw
    there.set_slice(slice_("two", device("b"), count=2))
    assert names(there.pools("n1")) == ["a", "b"]


def test_slices_for_other_nodes_make_a_pool_complete() -> None:
    there = inventory(
        slice_("one", device("a"), count=2), slice_("two", device("b"), count=2, nodeName="n2"), nodes=NODES
    )
    assert names(there.pools("n1")) == ["a"]
    assert names(there.pools("n2")) == ["b"]


def test_a_pool_with_a_name_twice_is_flawed_for_the_nodes_that_see_both() -> None:
    twice = slice_("one", device("a"), count=2), slice_("two", device("a"), count=2)
    assert "device a is in the pool twice" in only(pools(*twice)).flaw
    apart = slice_("one", device("a"), count=2), slice_("two", device("a"), count=2, nodeName="n2")
    assert names(pools(*apart)) == ["a"]


@pytest.mark.parametrize(
    ("shared", "draws", "flaw"),
    [
        (counters(other={"memory": 1}), {"set": {"memory": 1}}, "draws on counter set set"),
        (counters(set={"cores": 1}), {"set": {"memory": 1}}, "draws on counter memory"),
        (counters(set={"memory": 1}) * 2, {"set": {"memory": 1}}, "counter set set is defined twice"),
        (counters(set={"memory": "much"}), {"set": {"memory": 1}}, "'much' is not a quantity"),
        (counters(set={"memory": 1}), {"set": {"memory": "much"}}, "'much' is not a quantity"),
    ],
)
def test_a_pool_whose_counters_do_not_hold_together_is_flawed(shared: Any, draws: Any, flaw: str) -> None:
    slices = slice_("c", count=2, sharedCounters=shared), slice_("d", device("a", draws=draws), count=2)
    found = only(pools(*slices))
    assert flaw in found.flaw
    assert found.devices == ()


def test_counters_are_those_of_the_whole_pool_and_shared_with_devices_of_other_nodes() -> None:
    draws = {"set": {"memory": "1Gi"}}
    there = inventory(
        slice_("c", count=3, allNodes=True, sharedCounters=counters(set={"memory": "2Gi"})),
        slice_("one", device("a", draws=draws), device("plain"), count=3),
        slice_("two", device("b", draws=draws), count=3, nodeName="n2"),
        nodes={**NODES, "n3": {}},
    )
    found = only(there.pools("n1"))
    assert names([found]) == ["a", "plain"]
    assert found.counters == {"set": {"memory": 2 * 1024**3 * 10**9}}
    assert [one.id.name for one in found.sharing] == ["a", "b"]
    assert there.nodes_with(P) == {"n1", "n2"}


def test_devices_with_binding_conditions_are_left_out() -> None:
    waiting = device("later") | {"bindingConditions": ["attached"]}
    assert names(pools(slice_("s", waiting, device("now")))) == ["now"]


def test_only_the_nodes_of_a_changed_pool_change() -> None:
    there = inventory(
        slice_("s1", device("d"), pool="n1"), slice_("s2", device("d"), pool="n2", nodeName="n2"), nodes=NODES
    )
    assert there.take_changed() == {"n1", "n2"}
    assert there.take_changed() == set()
    kept = there.pools("n1")
    there.set_slice(slice_("s2", device("other"), pool="n2", nodeName="n2"))
    assert there.take_changed() == {"n2"}
    assert there.pools("n1") is kept
    assert names(there.pools("n2")) == ["other"]


def test_what_is_told_again_unchanged_changes_nothing() -> None:
    there = inventory(slice_("s", device("d"), nodeSelector=zone("a")), nodes=NODES)
    there.take_changed()
    kept = there.pools("n1")
    there.set_slice(slice_("s", device("d"), nodeSelector=zone("a")))
    there.set_node("n1", {"zone": "a"})
    assert there.take_changed() == set()
    assert there.pools("n1") is kept


def test_labels_that_no_selector_asks_for_change_nothing() -> None:
    there = inventory(slice_("s", device("d"), nodeSelector=zone("a")), nodes=NODES)
    there.take_changed()
    there.set_node("n1", {"zone": "a", "colour": "red"})
    assert there.take_changed() == set()


def test_a_node_whose_labels_change_gains_and_loses_what_selectors_give_it() -> None:
    there = inventory(slice_("s", device("d"), nodeSelector=zone("a")), nodes=NODES)
    there.take_changed()
    there.set_node("n2", {"zone": "a"})
    assert there.take_changed() == {"n2"}
    there.set_node("n1", {"zone": "b"})
    assert there.take_changed() == {"n1"}
    assert there.nodes_with(P) == {"n2"}


def test_a_node_that_comes_after_its_slices_has_them_and_one_that_goes_has_nothing() -> None:
    there = inventory(slice_("own", device("d"), nodeName="n3"), slice_("all", device("e"), pool="q", allNodes=True))
    there.take_changed()
    there.set_node("n3", {})
    assert there.take_changed() == {"n3"}
    assert names(there.pools("n3")) == ["d", "e"]
    there.drop_node("n3")
    assert there.take_changed() == {"n3"}
    assert there.pools("n3") == []
    assert there.nodes_with(P) == set()
    there.set_node("n3", {})
    assert names(there.pools("n3")) == ["d", "e"]


def test_a_slice_that_goes_takes_its_devices_along() -> None:
    there = inventory(slice_("s", device("d")), slice_("all", device("e"), pool="q", allNodes=True))
    assert names(there.pools("n1")) == ["d", "e"]
    there.drop_slice("s")
    there.drop_slice("never was")
    assert names(there.pools("n1")) == ["e"]
    there.drop_slice("all")
    assert there.take_changed() == {"n1"}
    assert there.pools("n1") == []


def test_a_slice_may_move_to_another_pool() -> None:
    there = inventory(slice_("s", device("d")))
    there.set_slice(slice_("s", device("d"), pool="q"))
    assert [pool.id.name for pool in there.pools("n1")] == ["q"]
    assert there.nodes_with(P) == set()


def test_other_nodes_of_a_pool_do_not_change_when_one_of_its_slices_does() -> None:
    there = inventory(
        slice_("one", device("a"), count=2), slice_("two", device("b"), count=2, nodeName="n2"), nodes=NODES
    )
    there.take_changed()
    there.set_slice(slice_("two", device("c"), count=2, nodeName="n2"))
    assert there.take_changed() == {"n2"}
    there.drop_slice("two")
    assert there.take_changed() == {"n1", "n2"}
