"""Gangs that fit nowhere as they should lie in the network: what they wait for, and what would help."""

from typing import Any

from tests.reference_merge_patch import merge_patch
from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.planning.plan import at_once
from dovetail.engine.suggestions.changes import definition
from dovetail.engine.suggestions.suggestions import Impasse, Suggestion, impasse
from dovetail.model.event import Submitted, TopologySet
from dovetail.model.network.topology import Topology
from dovetail.model.workloads.workload import Workload


def asked(scene: Scene, replicas: int, topology: dict[str, Any], **fields: Any) -> Impasse:
    """Of a gang whose tasks take a node each; it was submitted, and waits."""
    wanted: dict[str, Any] = {
        "replicas": replicas,
        "gang": {"min": replicas},
        "topology": topology,
        "resources": {"cpu": 4},
    } | fields
    scene.submit("gang", **wanted)
    scene.tick()
    spec = Workload.model_validate({"name": "gang"} | wanted)
    found = whole(impasse(scene.engine._state, spec, scene.work("gang"), scene.now))
    for one in found.suggestions:
        if one.patch is not None and one.kind != "priority":
            _follow(scene, spec, one)
    return found


def _follow(scene: Scene, spec: Workload, suggestion: Suggestion) -> None:
    """What is suggested, submitted for real, is placed as far as it may run at once."""
    if scene.ids["gang"] in scene.engine._state.work:
        scene.cancel("gang")
    assert suggestion.patch is not None
    fields = merge_patch(definition(spec), suggestion.patch)
    name = fields["name"] = f"changed-{len(scene.ids)}"
    changed = Workload.model_validate(fields)
    scene.ids[name] = len(scene.ids) + 1
    scene.hear(Submitted(scene.ids[name], changed, ()))
    assert len(scene.tick()) == at_once(changed), suggestion.words
    scene.cancel(name)
    scene.stopped(name)
    scene.tick()


def of_kind(found: Impasse, kind: str) -> list[str]:
    return [one.words for one in found.suggestions if one.kind == kind]


def patch(found: Impasse, kind: str) -> Any:
    return next(one.patch for one in found.suggestions if one.kind == kind)


def leaves(*free: int, nodes: int = 4) -> Scene:
    """Two leaves to a spine, each with so many nodes on which nobody is."""
    scene = Scene()
    for leaf, empty in enumerate(free):
        for index in range(nodes):
            labels = {"spine": f"s{leaf // 2}", "leaf": f"l{leaf}"}
            scene.join(f"n{leaf}-{index}", labels=labels)
        for index in range(empty, nodes):
            here = [{"require": f'node.name == "n{leaf}-{index}"'}]
            scene.run(f"old-{leaf}-{index}", cpu=4, constraints=here)
    return scene


def test_the_next_wider_level_at_which_it_fits_is_offered_and_the_old_one_stays_preferred() -> None:
    found = asked(leaves(3, 3, 0, 0), 5, {"required": "leaf"})
    assert found.core == ()
    assert found.waits_for == "free capacity in the layout it asks for: 3 of 5 tasks fit"
    assert of_kind(found, "topology") == ["place it in one spine instead of in one leaf"]
    assert patch(found, "topology") == {"topology": {"required": "spine", "preferred": "leaf"}}


def test_work_that_is_only_planned_is_told_the_same() -> None:
    scene = leaves(3, 3, 0, 0)
    fields: dict[str, Any] = {"replicas": 5, "gang": {"min": 5}, "resources": {"cpu": 4}}
    spec = Workload.model_validate({"name": "planned", "topology": {"required": "leaf"}} | fields)
    found = whole(impasse(scene.engine._state, spec, None, scene.now))
    assert of_kind(found, "topology") == ["place it in one spine instead of in one leaf"]


def test_where_no_level_is_wide_enough_it_may_lie_anywhere() -> None:
    found = asked(leaves(2, 0, 2, 0), 4, {"required": "leaf", "preferred": "host"})
    assert of_kind(found, "topology") == ["place it anywhere instead of in one leaf"]
    assert patch(found, "topology") == {"topology": {"required": None}}


def test_as_many_as_fit_together_are_offered_to_start_with() -> None:
    found = asked(leaves(3, 2), 4, {"required": "leaf"})
    assert of_kind(found, "gang") == ["start with 3 together instead of 4"]
    assert patch(found, "gang") == {"gang": {"min": 3}, "concurrency": 3}


def test_fewer_come_in_whole_slices_where_there_are_slices() -> None:
    found = asked(leaves(3, 2), 8, {"required": "spine", "slices": [{"size": 2, "within": "leaf"}]})
    assert of_kind(found, "gang") == ["start with 4 together instead of 8", "start with 5 together instead of 8"]


def test_smaller_slices_are_offered_before_none_at_all() -> None:
    slices = [{"size": 4, "within": "leaf"}]
    found = asked(leaves(3, 3, 2, 2), 8, {"slices": slices})
    assert of_kind(found, "slices") == [
        "slices of 2 instead of 4 within one leaf",
        "slices of 4 within one spine instead of one leaf",
    ]
    assert patch(found, "slices") == {"topology": {"slices": [{"size": 2, "within": "leaf"}]}}


def test_slices_are_given_up_where_smaller_ones_do_not_help() -> None:
    found = asked(leaves(1, 1, 1, 1), 4, {"slices": [{"size": 2, "within": "leaf"}]})
    words = "give up slices of 2 within one leaf"
    assert words in of_kind(found, "slices")
    dropped = next(one for one in found.suggestions if one.words == words)
    assert dropped.patch == {"topology": None}


def test_the_domain_that_is_cleared_most_cheaply_is_named_with_who_has_to_go() -> None:
    scene = leaves(0, 3, 1, 0)
    found = asked(scene, 4, {"required": "leaf"})
    assert of_kind(found, "evict") == ["evict old-1-3"]
    assert of_kind(found, "priority") == ["raise its priority to high: old-1-3 would be preempted"]


def test_the_end_of_those_in_one_domain_is_waited_for() -> None:
    scene = Scene()
    for index, hours in enumerate((3, 5, 1, 2)):
        leaf = f"l{index // 2}"
        scene.join(f"n{index}", labels={"leaf": leaf})
        here = [{"require": f'node.name == "n{index}"'}]
        scene.run(f"old-{index}", cpu=4, constraints=here, deadline={"run_for": f"{hours}h"})
    scene.end_all("old-1")
    found = asked(scene, 2, {"required": "leaf"}, priority="batch")
    # Two tasks have ended after an hour, one in each leaf; both of one leaf after two.
    assert of_kind(found, "wait") == ["wait about 2 h: 2 tasks on n2 and n3 will have ended"]


def test_less_bandwidth_is_offered_where_links_are_too_narrow() -> None:
    scene = Scene()
    levels = [{"name": "leaf", "bandwidth": "100Gbps"}, {"name": "host", "bandwidth": "100Gbps"}]
    nodes = {f"n{i}": {"leaf": f"l{i // 2}"} for i in range(4)}
    scene.hear(TopologySet(Topology.model_validate({"levels": levels, "nodes": nodes})))
    for name in nodes:
        scene.join(name)
    found = asked(scene, 4, {"bandwidth": "80Gbps"})
    assert found.waits_for == "free bandwidth between the nodes with room: each task needs 80Gbps to the others"
    assert of_kind(found, "bandwidth") == ["ask for 40Gbps between its tasks instead of 80Gbps"]
    assert patch(found, "bandwidth") == {"topology": {"bandwidth": "40Gbps"}}


def test_a_large_gang_is_tried_as_it_lies_and_not_by_room_alone() -> None:
    scene = Scene()
    for index in range(40):
        scene.join(f"n{index}", labels={"leaf": f"l{index // 4}"}, cpu=1 if index % 2 else 2)
    slices = [{"size": 8, "within": "leaf"}]
    found = asked(scene, 40, {"slices": slices}, resources={"cpu": 1})
    assert of_kind(found, "slices")[0] == "slices of 4 instead of 8 within one leaf"


def test_a_level_that_no_node_carries_is_given_up_for_one_that_they_do() -> None:
    found = asked(leaves(3, 3), 3, {"required": "pod"})
    assert [(member.field, member.nodes_alone) for member in found.core] == [("topology.required", 0)]
    assert of_kind(found, "topology") == ["place it in one leaf instead of in one pod"]
