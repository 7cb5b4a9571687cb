"""Gangs that have to lie together in the network, through the engine: where they go, and what is said if nowhere."""

from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError
from tests.unit.engine.scene import Scene

from dovetail.api.questions import sentences
from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings, UnknownStrategy
from dovetail.model.reason import Explanation
from dovetail.model.workloads.workload import Workload

GANG = {"min": 4}


def fabric(spines: int = 2, leaves: int = 2, racks: int = 2, hosts: int = 2, cpu: float = 2, **settings: Any) -> Scene:
    """Nodes n0, n1… in order: neighbours by number are neighbours in the network."""
    scene = Scene(**settings)
    number = 0
    for spine in range(spines):
        for leaf in range(leaves):
            for rack in range(racks):
                for _ in range(hosts):
                    where = {"spine": f"s{spine}", "leaf": f"s{spine}l{leaf}", "rack": f"s{spine}l{leaf}r{rack}"}
                    scene.join(f"n{number}", cpu=cpu, labels=where)
                    number += 1
    return scene


def ranks(scene: Scene, name: str) -> list[str]:
    """The node of each task, in order of rank."""
    work = scene.work(name)
    return [node for replica in sorted(work.tasks) if (node := work.tasks[replica].node) is not None]


def labels_of(scene: Scene, name: str, level: str) -> list[str]:
    cluster = scene.engine._state.cluster
    return [cluster.node(node).labels[level] for node in ranks(scene, name)]


def told(scene: Scene, name: str) -> Explanation:
    return [one for one in scene.decisions if one.task.workload == scene.ids[name]][-1].explanation


def take(scene: Scene, node: str, cpu: float) -> None:
    """Somebody else uses so much of a node."""
    cluster = scene.engine._state.cluster
    scene.join(node, cpu=2, labels=cluster.node(node).labels | {"only": node})
    scene.run(f"on-{node}", cpu=cpu, node_selector={"only": node}, priority="critical")


# --- required and preferred ----------------------------------------------------------------------------------


def test_a_gang_lies_in_one_domain_of_the_level_it_requires() -> None:
    scene = fabric()
    scene.run("g", replicas=4, gang=GANG, topology={"required": "rack"})
    assert len(set(labels_of(scene, "g", "rack"))) == 1


def test_without_a_domain_that_is_large_enough_it_waits_and_the_largest_is_named() -> None:
    scene = fabric()
    take(scene, "n0", 1)
    scene.submit("g", replicas=5, gang={"min": 5}, topology={"required": "rack"})
    assert scene.tick() == []
    reason, words = scene.why("g")
    assert reason == "no_domain_fits"
    assert words == "5 tasks must start together in one rack; the largest, rack s0l0r1, has space for 4"


def test_a_preferred_level_is_reached_where_it_can_be() -> None:
    scene = fabric()
    scene.run("g", replicas=8, gang={"min": 8}, topology={"required": "spine", "preferred": "leaf"})
    assert len(set(labels_of(scene, "g", "leaf"))) == 1
    assert "8 tasks together in leaf s0l0, on 4 nodes" in told(scene, "g").notes


def test_else_the_next_wider_level_is_and_the_explanation_says_why_no_narrower_one() -> None:
    scene = fabric()
    take(scene, "n0", 1)
    take(scene, "n4", 1)
    take(scene, "n8", 1)
    take(scene, "n12", 1)
    scene.run("g", replicas=8, gang={"min": 8}, topology={"required": "spine", "preferred": "leaf"})
    assert len(set(labels_of(scene, "g", "spine"))) == 1
    (words,) = [note for note in told(scene, "g").notes if "together" in note]
    assert words.endswith("; the largest leaf has space for 7")


def test_it_is_not_begun_while_its_tasks_lie_apart() -> None:
    scene = fabric(spines=1, leaves=1, racks=2, hosts=1, cpu=3)
    scene.submit("g", replicas=4, gang=GANG, topology={"required": "rack"})
    assert scene.tick() == [], "there is room for six, three in each rack"
    scene.join("late", cpu=1, labels={"spine": "s0", "leaf": "s0l0", "rack": "s0l0r1"})
    assert len(scene.tick()) == 4, "a fourth place in the second"
    assert set(labels_of(scene, "g", "rack")) == {"s0l0r1"}


def test_a_gang_that_must_be_near_itself_finds_the_rack_that_holds_it() -> None:
    scene = Scene()
    scene.join("roomy", cpu=3, labels={"rack": "a"})  # the first task likes the emptiest node best
    scene.join("small-1", cpu=2, labels={"rack": "b"})
    scene.join("small-2", cpu=2, labels={"rack": "b"})
    scene.run("g", replicas=4, gang=GANG, affinity=[{"near": "g", "within": "rack"}])
    assert scene.on("g") == ["small-1", "small-1", "small-2", "small-2"]


def test_one_that_must_be_near_others_that_run_may_be_where_any_of_them_is() -> None:
    scene = Scene()
    for rack in ("a", "b", "c"):
        scene.join(rack, cpu=2, labels={"rack": rack})
    scene.run("old", replicas=2, labels={"app": "x"}, spread=[{"over": "rack"}])
    near = [{"near": {"labels": {"app": "x"}}, "within": "rack"}]
    scene.run("g", replicas=2, gang={"min": 2}, labels={"app": "x"}, affinity=near)
    assert scene.on("g") == scene.on("old"), "one beside each of them: together they would not fit"


def test_of_two_levels_that_it_has_to_be_together_in_the_narrower_one_counts() -> None:
    scene = fabric()
    near = [{"near": "g", "within": "rack"}]
    scene.run("g", replicas=4, gang=GANG, affinity=near, topology={"required": "spine", "strategy": "spread"})
    assert len(set(labels_of(scene, "g", "rack"))) == 1


# --- slices and ranks ----------------------------------------------------------------------------------------


def test_each_slice_lies_in_one_domain_of_its_level() -> None:
    scene = fabric(hosts=3)
    slices = [{"size": 4, "within": "rack"}]
    scene.run("g", replicas=8, gang={"min": 8}, topology={"required": "leaf", "slices": slices})
    racks = labels_of(scene, "g", "rack")
    assert len(set(racks[:4])) == len(set(racks[4:])) == 1
    assert len(set(labels_of(scene, "g", "leaf"))) == 1


def test_a_slice_that_fits_nowhere_keeps_the_gang_waiting_and_says_so() -> None:
    scene = fabric(cpu=1)
    scene.submit("g", replicas=6, gang={"min": 6}, topology={"slices": [{"size": 3, "within": "rack"}]})
    assert scene.tick() == []
    assert scene.why("g")[1] == "6 tasks must start together, every 3 in one rack; there is space for 2"


def test_neighbours_in_rank_are_neighbours_in_the_network() -> None:
    scene = fabric()
    scene.run("g", replicas=20, gang={"min": 20}, topology={"strategy": "pack"})
    for level in ("spine", "leaf", "rack"):
        along = labels_of(scene, "g", level)
        assert sum(a != b for a, b in pairwise(along)) == len(set(along)) - 1, level


def test_slices_and_rules_about_each_other_are_kept_together() -> None:
    scene = fabric(racks=3)
    topology = {"slices": [{"size": 2, "within": "rack"}]}
    apart = [{"apart": "g", "within": "host"}]
    scene.run("g", replicas=4, gang=GANG, topology=topology, affinity=apart, spread=[{"over": "rack", "max_skew": 2}])
    racks = labels_of(scene, "g", "rack")
    assert racks[0] == racks[1]
    assert racks[2] == racks[3]
    assert len(set(ranks(scene, "g"))) == 4


# --- those who come later ------------------------------------------------------------------------------------


def test_replicas_beyond_the_least_join_in_the_same_domain() -> None:
    scene = fabric()
    scene.submit("g", replicas=8, gang=GANG, topology={"required": "rack", "strategy": "balanced"})
    assert len(scene.tick()) == 4, "the rack is full, and there is room elsewhere"
    assert len(set(labels_of(scene, "g", "rack"))) == 1
    cluster = scene.engine._state.cluster
    scene.join("late", cpu=1, labels=cluster.node(scene.on("g")[0]).labels)
    assert scene.tick() == ["g.4"]
    assert scene.work("g").tasks[4].node == "late"


def test_a_gang_comes_back_from_a_restart_with_its_layout() -> None:
    scene = fabric()
    take(scene, "n0", 1)
    scene.submit("g", replicas=8, gang={"min": 8}, topology={"required": "rack", "strategy": "pack"})
    assert scene.tick() == []
    scene.restart()
    scene.tick()
    assert "in one rack" in scene.work("g").message
    for number in range(2):
        scene.join(f"late-{number}", cpu=2, labels={"spine": "s1", "leaf": "s1l1", "rack": "s1l1r1"})
    assert len(scene.tick()) == 8
    assert set(labels_of(scene, "g", "rack")) == {"s1l1r1"}


def test_work_that_is_no_gang_is_placed_one_by_one_near_each_other() -> None:
    scene = fabric()
    scene.submit("w", replicas=6, topology={"required": "rack"})
    assert len(scene.tick()) == 4, "as many as the rack of the first holds"
    assert len(set(labels_of(scene, "w", "rack"))) == 1
    assert scene.why("w")[0] != ""


# --- room that others have -----------------------------------------------------------------------------------


def test_an_urgent_gang_has_the_cheapest_whole_domain_cleared_and_then_fits() -> None:
    scene = fabric(spines=1)
    for number in range(8):
        take_low(scene, f"n{number}", replicas=1 if number in (2, 3) else 2)
    scene.submit("g", replicas=4, gang=GANG, priority="high", topology={"required": "rack"})
    scene.tick()
    assert scene.why("g")[0] == "preempting"
    assert scene.stopping() == ["low-n2.0", "low-n3.0"], "nobody else has to go"
    scene.stopped()
    scene.tick()
    assert scene.on("g") == ["n2", "n2", "n3", "n3"]


def take_low(scene: Scene, node: str, replicas: int) -> None:
    cluster = scene.engine._state.cluster
    scene.join(node, cpu=2, labels=cluster.node(node).labels | {"only": node})
    scene.run(f"low-{node}", replicas=replicas, node_selector={"only": node}, priority="low")


def test_nobody_gives_way_for_slices_that_would_still_not_fit() -> None:
    scene = fabric(spines=1, leaves=1, cpu=1)
    scene.run("low", replicas=4, priority="low")
    scene.submit(
        "g", replicas=3, gang={"min": 3}, priority="high", topology={"slices": [{"size": 3, "within": "rack"}]}
    )
    scene.tick()
    assert scene.stops == []


def test_the_head_is_promised_room_in_one_domain() -> None:
    scene = fabric(spines=1, leaves=1, cpu=1, schedulers={"default": {"backfill": {"mode": "easy"}}})
    for number, run_for in enumerate((100, 400, 200, 300)):
        cluster = scene.engine._state.cluster
        scene.join(f"n{number}", cpu=1, labels=cluster.node(f"n{number}").labels | {"only": f"n{number}"})
        scene.run(f"w{number}", node_selector={"only": f"n{number}"}, deadline={"run_for": run_for})
    scene.submit("g", replicas=2, gang={"min": 2}, topology={"required": "rack"}, deadline={"run_for": 100})
    scene.tick()
    (promise,) = scene.engine._state.promises.of_work.values()
    assert promise.start == 300, "any two nodes are free at 200, two of one rack at 300"
    assert [row for row, _ in promise.rows] == [2, 3]


def test_others_run_ahead_of_it_only_where_they_do_not_delay_it() -> None:
    scene = fabric(spines=1, leaves=1, cpu=1, schedulers={"default": {"backfill": {"mode": "easy"}}})
    cluster = scene.engine._state.cluster
    for number in (0, 2):
        scene.join(f"n{number}", cpu=1, labels=cluster.node(f"n{number}").labels | {"only": f"n{number}"})
        scene.run(f"w{number}", node_selector={"only": f"n{number}"}, deadline={"run_for": 100 + number})
    scene.submit("g", replicas=2, gang={"min": 2}, topology={"required": "rack"}, deadline={"run_for": 100})
    scene.tick()
    scene.submit("long", deadline={"run_for": 500})
    scene.submit("long-too", deadline={"run_for": 500})
    assert scene.tick() == ["long.0"]
    assert scene.on("long") == ["n3"], "n1 is kept for the gang, which starts when w0 ends"


# --- asking --------------------------------------------------------------------------------------------------


def test_plan_places_the_gang_as_it_would_be_placed_and_says_the_level() -> None:
    scene = fabric()
    spec = Workload.model_validate(
        {"name": "g", "replicas": 6, "gang": GANG, "resources": {"cpu": 1}, "topology": {"required": "rack"}}
    )
    planned = whole(Questions(scene.engine).plans.plan(spec))
    racks = {scene.engine._state.cluster.node(one.node).labels["rack"] for one in planned if one.node is not None}
    assert len(racks) == 1
    assert sum(one.node is not None for one in planned) == 4
    assert (
        "4 tasks together in rack s0l0r0, on 2 nodes; the largest host has space for 2" in planned[0].explanation.notes
    )
    scene.submit("g", **spec.model_dump(mode="json", exclude_unset=True, exclude={"name", "resources"}))
    scene.tick()
    assert [one.node for one in planned if one.node is not None] == ranks(scene, "g")[:4]


def test_plan_of_a_gang_without_a_place_says_what_the_engine_would_say() -> None:
    scene = fabric()
    fields = {"name": "g", "replicas": 5, "gang": {"min": 5}, "resources": {"cpu": 1}, "topology": {"required": "rack"}}
    (planned,) = whole(Questions(scene.engine).plans.plan(Workload.model_validate(fields)))
    assert planned.node is None
    assert "in one rack; the largest, rack s0l0r0, has space for 4" in planned.explanation.message


def test_explain_and_why_not_speak_of_the_gang_where_one_task_would_fit() -> None:
    scene = fabric()
    scene.submit("g", replicas=5, gang={"min": 5}, topology={"required": "rack"})
    scene.tick()
    questions, work = Questions(scene.engine), scene.work("g")
    words = "5 tasks must start together in one rack; the largest, rack s0l0r0, has space for 4"
    assert questions.explanations.explain(work.shape, work.id).message == words
    asked = questions.explanations.why_not(work.shape, "n3", work.id)
    assert sentences.why_not("g", asked, 0.0, holds=False) == (
        f"n3 could take a task of g, but they have to lie together: {words}."
    )


def test_who_would_give_way_is_looked_for_in_one_domain() -> None:
    scene = fabric(spines=1)
    for number in range(8):
        take_low(scene, f"n{number}", replicas=1 if number in (2, 3) else 2)
    fields = {"name": "g", "replicas": 4, "gang": GANG, "resources": {"cpu": 1}, "topology": {"required": "rack"}}
    asked = Workload.model_validate(fields | {"priority": "high"})
    found = whole(Questions(scene.engine).plans.would_displace(asked, scene.now))
    assert found is not None
    assert sorted(victim.node for victim in found.victims) == ["n2", "n3"]


# --- what makes no sense -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{"required": "pod"}, {"slices": [{"size": 4, "within": "pod"}]}])
def test_a_level_that_no_node_carries_is_taken_and_the_refusal_says_so(how: dict[str, Any]) -> None:
    scene = fabric()
    scene.submit("g", replicas=4, gang=GANG, topology=how)
    assert scene.tick() == []
    assert scene.why("g")[1].endswith("no node has a label 'pod'")


def test_a_preferred_level_that_no_node_carries_is_noted() -> None:
    scene = fabric()
    scene.run("g", replicas=4, gang=GANG, topology={"required": "leaf", "preferred": "pod"})
    assert "no node has a label 'pod'" in told(scene, "g").notes


def test_nodes_without_the_label_take_no_gang_that_requires_it() -> None:
    scene = Scene()
    scene.join("bare", cpu=64)
    scene.join("racked", cpu=4, labels={"rack": "a"})
    scene.run("g", replicas=4, gang=GANG, topology={"required": "rack"})
    assert set(scene.on("g")) == {"racked"}


def test_nodes_that_lack_a_wider_label_still_make_a_rack() -> None:
    scene = Scene()
    for number in range(4):
        scene.join(f"plain-{number}", cpu=1, labels={"rack": "a"})
    for number in range(4):
        scene.join(f"fabric-{number}", cpu=1, labels={"spine": "s", "rack": f"b{number}"})
    scene.run("g", replicas=4, gang=GANG, topology={"required": "rack"})
    assert set(labels_of(scene, "g", "rack")) == {"a"}


def test_one_label_under_two_names_is_one_level() -> None:
    scene = Scene()
    for number in range(4):
        scene.join(f"n{number}", cpu=2, labels={"topology.kubernetes.io/zone": f"z{number // 2}"})
    topology = {"required": "zone", "slices": [{"size": 4, "within": "topology.kubernetes.io/zone"}]}
    scene.run("g", replicas=4, gang=GANG, topology=topology)
    assert len(set(labels_of(scene, "g", "topology.kubernetes.io/zone"))) == 1


def test_a_gang_may_be_required_to_be_on_one_node() -> None:
    scene = Scene()
    scene.join("small", cpu=3)
    scene.join("large", cpu=4)
    for number, level in enumerate(("host", "node")):
        scene.run(f"g{number}", cpu=0.5, replicas=4, gang=GANG, topology={"required": level})
        assert len(set(scene.on(f"g{number}"))) == 1


def test_a_strategy_that_there_is_not_is_refused_with_the_known_ones() -> None:
    scene = Scene(strategies={"mine": {"tightness": 1}})
    with pytest.raises(UnknownStrategy, match=r"unknown strategy 'pakc'. Did you mean 'pack'. Known: balanced, .*mine"):
        scene.submit("g", replicas=4, gang=GANG, topology={"strategy": "pakc"})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"strategies": {"mine": {"tightnes": 1}}}, "is no feature of a domain. Did you mean 'tightness'"),
        ({"strategies": {"mine": {}}}, "weighs nothing; give weights of availability"),
        ({"gang_strategy": "mien", "strategies": {"mine": {"history": 1}}}, "Did you mean 'mine'"),
    ],
)
def test_settings_with_strategies_that_make_no_sense_are_refused_at_start(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        EngineSettings.model_validate(settings)
