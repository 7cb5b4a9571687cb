"""Gangs that must be able to send to each other, through the engine: where they go, and what they hold of links."""

from random import Random
from typing import Any

import pytest
from tests.unit.engine.scene import Scene
from tests.unit.engine.test_gang_layout import told

from dovetail.cluster.network.levels import bandwidth_of
from dovetail.cluster.network.uplinks import limited_uplinks
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import TopologySet
from dovetail.model.network.topology import Topology
from dovetail.placement.filters.bandwidth import NO_BANDWIDTH

LEVELS = [
    {"name": "spine", "bandwidth": "1600Gbps"},
    {"name": "leaf", "bandwidth": "400Gbps"},
    {"name": "host", "bandwidth": "200Gbps"},
]


def fabric(leaves: int = 2, hosts: int = 4, cpu: float = 1, levels: Any = LEVELS, **settings: Any) -> Scene:
    """Leaves l0, l1… in one spine; hosts l0n0, l0n1…"""
    scene = Scene(**settings)
    names = {f"l{leaf}": [f"l{leaf}n{host}" for host in range(hosts)] for leaf in range(leaves)}
    described = {"levels": levels, "domains": {"leaf": names, "spine": {"s": list(names)}}}
    scene.hear(TopologySet(Topology.model_validate(described)))
    for inside in names.values():
        for host in inside:
            scene.join(host, cpu)
    return scene


def gang(tasks: int, bandwidth: str = "100Gbps", least: int | None = None, **topology: Any) -> dict[str, Any]:
    return {"replicas": tasks, "gang": {"min": least or tasks}, "topology": topology | {"bandwidth": bandwidth}}


def held(scene: Scene, level: str = "leaf") -> dict[str, float]:
    """Gbps by domain, of those of which something is held."""
    cluster = scene.engine._state.cluster
    names = cluster.names if level == "host" else ["", *cluster.labels.columns[level].vocabulary]
    return {name: mbps / 1000 for name, mbps in zip(names, bandwidth_of(cluster, level)[1], strict=True) if mbps}


def nowhere_over(scene: Scene) -> bool:
    return all((uplinks.left_mbps >= 0).all() for uplinks in limited_uplinks(scene.engine._state.cluster))


# --- where it goes -------------------------------------------------------------------------------------------


def test_a_gang_in_one_leaf_holds_nothing_of_its_uplink() -> None:
    scene = fabric()
    scene.run("g", **gang(4))
    assert held(scene, "leaf") == {}
    assert held(scene, "host") == dict.fromkeys(scene.on("g"), 100)


def test_a_gang_on_one_node_holds_nothing_at_all() -> None:
    scene = fabric(cpu=4)
    scene.run("g", **gang(4, "400Gbps"))
    assert len(set(scene.on("g"))) == 1
    assert (held(scene, "leaf"), held(scene, "host")) == ({}, {})


def test_a_gang_over_leaves_takes_no_more_of_each_than_the_uplink_carries() -> None:
    scene = fabric(leaves=3)
    scene.run("g", **gang(6, "200Gbps"))
    assert held(scene, "leaf") == {"l0": 400, "l1": 400, "l2": 400}
    assert nowhere_over(scene)


def test_the_link_of_a_node_sets_a_limit_too() -> None:
    scene = fabric(hosts=2, cpu=4)
    scene.submit("g", **gang(8, "100Gbps"))
    scene.tick()
    assert sorted(scene.on("g").count(host) for host in set(scene.on("g"))) == [2, 2, 2, 2]


def test_where_nobody_says_what_links_carry_nothing_is_refused_and_the_decision_says_so() -> None:
    scene = fabric(levels=[{"name": "spine"}, {"name": "leaf", "bandwidth": "800Gbps"}])
    scene.run("g", **gang(8, "100Gbps"))
    words = "bandwidth sets no limit across spine and host uplinks: the topology does not say what they carry"
    assert words in told(scene, "g").notes


def test_slices_and_bandwidth_are_kept_together() -> None:
    scene = fabric(leaves=4)
    scene.run("g", **gang(8, "100Gbps", slices=[{"size": 2, "within": "leaf"}]))
    nodes = [scene.work("g").tasks[rank].node or "" for rank in range(8)]
    assert all(nodes[rank][:2] == nodes[rank + 1][:2] for rank in range(0, 8, 2))
    assert nowhere_over(scene)


# --- what is said --------------------------------------------------------------------------------------------


def test_the_refusal_names_the_tightest_links_and_has_a_reason_of_its_own() -> None:
    scene = fabric()
    scene.submit("g", **gang(8, "200Gbps", required="spine"))
    scene.tick()
    words = (
        "8 tasks must start together in one spine; the largest, spine s, has space for 4: each needs 200Gbps to the "
        "others across leaf uplinks, and leaf l0 has 400Gbps left, enough for 2 tasks there"
    )
    assert scene.why("g") == (NO_BANDWIDTH, words)
    step = told(scene, "g").funnel[-1]
    assert (step.filter, step.remaining, step.reason) == ("one spine", 0, NO_BANDWIDTH)


def test_where_there_is_no_room_either_room_is_what_is_said() -> None:
    scene = fabric()
    scene.submit("g", **gang(9, "200Gbps", required="spine"))
    scene.tick()
    assert scene.why("g")[0] == "no_domain_fits"


# --- those who come later ------------------------------------------------------------------------------------


def test_one_more_task_goes_only_where_links_carry_what_all_have_to_send_then() -> None:
    scene = fabric(hosts=3)
    scene.submit("g", **gang(4, "200Gbps", least=3))
    scene.tick()
    assert len(scene.on("g")) == 3, "all in one leaf, and its uplink does not carry what three would send out"
    assert held(scene, "leaf") == {}
    assert scene.why("g")[0] == NO_BANDWIDTH
    here, there = ("l0", "l1") if scene.on("g")[0].startswith("l0") else ("l1", "l0")
    (refused,) = (
        Questions(scene.engine).explanations.why_not(scene.work("g").shape, f"{there}n0", scene.ids["g"]).refusals
    )
    words = f"the uplink of leaf {here} would have to carry 600Gbps more and has 400Gbps left"
    assert refused.message == f"needs 200Gbps to the others of its gang; {words}"


def test_one_more_task_that_may_join_elsewhere_makes_the_others_hold_their_uplink() -> None:
    scene = fabric(hosts=3)
    scene.run("g", **gang(4, "100Gbps", least=3))
    assert sorted(held(scene, "leaf").values()) == [100, 300]


# --- holding and giving back ---------------------------------------------------------------------------------


def test_a_second_gang_gets_what_the_first_one_leaves_and_waits_for_the_rest() -> None:
    scene = fabric(cpu=2)
    scene.run("one", **gang(8, "100Gbps", strategy="spread"))
    assert held(scene, "leaf") == {"l0": 400, "l1": 400}
    scene.submit("two", **gang(8, "100Gbps", strategy="spread"))
    scene.tick()
    assert scene.why("two")[0] == NO_BANDWIDTH
    scene.end_all("one")
    assert held(scene) == {}
    assert len(scene.tick()) == 8
    assert held(scene, "leaf") == {"l0": 400, "l1": 400}


@pytest.mark.parametrize("how", ["end", "fail", "cancel", "leave"])
def test_links_are_free_again_however_tasks_leave(how: str) -> None:
    scene = fabric(leaves=2, hosts=2)
    scene.run("g", **gang(4, "100Gbps"))
    assert held(scene, "leaf") == {"l0": 200, "l1": 200}
    if how == "end":
        scene.end_all("g")
    elif how == "fail":
        scene.end_all("g", code=1)
    elif how == "cancel":
        scene.cancel("g")
        scene.stopped()
    else:
        for host in scene.on("g"):
            scene.leave(host)
    assert held(scene, "leaf") == held(scene, "host") == {}


def test_what_is_left_of_a_gang_after_some_have_ended_holds_what_those_send() -> None:
    scene = fabric(leaves=2, hosts=2)
    scene.run("g", **gang(4, "100Gbps"))
    on_l1 = [replica for replica, live in scene.work("g").tasks.items() if (live.node or "").startswith("l1")]
    scene.end("g", on_l1[0])
    assert held(scene, "leaf") == {"l0": 200, "l1": 100}
    scene.end("g", on_l1[1])
    assert held(scene, "leaf") == {}, "the others are all in one leaf now"


def test_a_restart_knows_what_gangs_hold() -> None:
    scene = fabric(leaves=2, hosts=2)
    scene.run("g", **gang(4, "100Gbps"))
    before = held(scene, "leaf"), held(scene, "host")
    scene.restart()
    assert (held(scene, "leaf"), held(scene, "host")) == before
    assert before[0] == {"l0": 200, "l1": 200}
    scene.submit("two", **gang(2, "300Gbps"))
    scene.tick()
    assert scene.on("two") == []
    scene.end_all("g")
    assert held(scene, "leaf") == {}


def test_a_lost_task_is_replaced_where_links_allow_it() -> None:
    scene = fabric(leaves=2, hosts=4)
    scene.run("g", **gang(3, "150Gbps", required="spine"))
    lost, *others = scene.on("g")
    scene.leave(lost)
    scene.tick()
    assert len(scene.on("g")) == 3
    assert set(others) < set(scene.on("g")), "whose own links have no room for one more, and need none"
    assert {host[:2] for host in scene.on("g")} == {lost[:2]}
    assert nowhere_over(scene)


def test_a_gang_that_cannot_be_mended_across_its_uplink_starts_again_elsewhere() -> None:
    scene = fabric(leaves=2, hosts=4)
    scene.run("g", **gang(4, "150Gbps", required="spine"))
    before = scene.on("g")[0][:2]
    scene.leave(scene.on("g")[0])
    scene.tick()
    scene.stopped()
    scene.tick()
    assert [host[:2] for host in scene.on("g")] == ["l1" if before == "l0" else "l0"] * 4
    assert held(scene, "leaf") == {}


def test_links_that_a_new_topology_describes_hold_what_gangs_send_over_them() -> None:
    scene = fabric(leaves=2, hosts=2)
    scene.run("g", **gang(4, "100Gbps"))
    domains = {"leaf": {"a": ["l0n0", "l1n0"], "b": ["l0n1", "l1n1", "l1n2"]}}
    scene.hear(TopologySet(Topology.model_validate({"levels": [LEVELS[1]], "domains": domains})))
    assert held(scene, "leaf") == {"a": 200, "b": 200}
    assert held(scene, "host") == dict.fromkeys(scene.on("g"), 100)


def test_an_urgent_gang_gets_the_links_of_those_it_displaces() -> None:
    scene = fabric(leaves=2, hosts=2)
    scene.run("low", **gang(4, "200Gbps"), priority="low")
    scene.submit("urgent", **gang(4, "200Gbps"), priority="critical")
    scene.tick()
    scene.stopped()
    scene.tick()
    assert len(scene.on("urgent")) == 4
    assert held(scene, "leaf") == {"l0": 400, "l1": 400}


def test_a_plan_says_the_same_and_leaves_no_trace() -> None:
    scene = fabric()
    scene.run("g", **gang(8, "100Gbps"))
    before = held(scene)
    found = scene.engine._state
    with found.cluster.trial():
        for task in list(found.cluster.placements.by_task):
            found.cluster.remove(task)
        assert held(scene) == {}
    assert held(scene) == before == {"l0": 400, "l1": 400}


# --- whatever happens ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_no_link_ever_carries_more_than_it_can(seed: int) -> None:
    chance = Random(seed)
    scene = fabric(leaves=3, hosts=3, cpu=chance.choice((2, 3)))
    for step in range(25):
        kind = chance.random()
        live = [name for name in scene.ids if scene.ids[name] in scene.engine._state.work]
        if kind < 0.6 or not live:
            tasks = chance.randint(2, 7)
            wanted = gang(tasks, f"{chance.choice((50, 100, 150))}Gbps", chance.randint(2, tasks))
            if chance.random() < 0.4:
                wanted["topology"]["strategy"] = "spread"
            priority = chance.choice(("low", "medium", "critical"))
            scene.submit(f"g{step}", chance.choice((0.5, 1)), **wanted, priority=priority)
        elif kind < 0.8:
            scene.end_all(chance.choice(live))
        elif kind < 0.9:
            scene.cancel(chance.choice(live))
        else:
            hosts = list(scene.engine._state.cluster.rows)
            scene.leave(chance.choice(hosts))
            assert nowhere_over(scene)
        scene.tick(1.0)
        scene.stopped()
        assert nowhere_over(scene), f"after step {step}"
    before = [held(scene, level) for level in ("spine", "leaf", "host")]
    scene.restart()
    assert [held(scene, level) for level in ("spine", "leaf", "host")] == before


@pytest.mark.parametrize(("bandwidth", "starts"), [("100Gbps", True), ("250Gbps", False)])
def test_the_parts_of_a_group_send_to_each_other(bandwidth: str, starts: bool) -> None:
    scene = fabric(leaves=2, hosts=2)
    parts: dict[str, Any] = {"replicas": 2, "gang": {"min": 4, "group": "g"}, "topology": {"bandwidth": bandwidth}}
    scene.submit("small", 0.5, **parts)
    scene.submit("large", 1, **parts)
    scene.tick()
    placed = scene.on("small") + scene.on("large")
    if starts:
        assert len(placed) == 4
        leaves = {leaf: [host[:2] for host in placed].count(leaf) for leaf in ("l0", "l1")}
        assert held(scene, "leaf") == {leaf: 100 * tasks for leaf, tasks in leaves.items()}
    else:
        assert placed == []
    assert nowhere_over(scene)
