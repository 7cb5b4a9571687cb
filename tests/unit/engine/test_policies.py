"""Policies in the engine: to whom they apply, in which order, and what a change does to work that waits or runs."""

from typing import Any

from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.engine.state.work import QueuePlace
from dovetail.model.event import PolicyRemoved, PolicySet, Tick
from dovetail.model.policy import Policy
from dovetail.model.requests.asks import ConstraintAsk
from dovetail.model.workloads.constraint import ConstraintKind
from dovetail.model.workloads.workload import Workload

NVME = 'node.labels.disk == "nvme"'
WEST = 'node.labels.zone == "west"'


def put(scene: Scene, name: str = "rule", **fields: Any) -> None:
    policy = Policy.model_validate({"name": name, **fields})
    scene.hear(PolicySet(policy, scene.engine._state.policies.next_version(name)))


def remove(scene: Scene, name: str = "rule") -> None:
    scene.hear(PolicyRemoved(name, scene.engine._state.policies.next_version(name)))


def sources(scene: Scene, name: str) -> list[str]:
    return [want.source for want in scene.work(name).shape.wants]


def two_disks() -> Scene:
    """`slow` is larger, and so the first choice of whoever may go anywhere."""
    scene = Scene()
    scene.join("slow", 32, labels={"disk": "hdd"})
    scene.join("fast", 2, labels={"disk": "nvme"})
    return scene


# --- to whom ---------------------------------------------------------------------------------------------------


def test_without_policies_the_shape_is_the_one_that_was_asked_for() -> None:
    scene = two_disks()
    scene.submit("w", constraints=[{"prefer": WEST}])
    assert scene.work("w").shape is scene.work("w").terms.shape


def test_a_policy_applies_to_namespaces_by_pattern_services_workloads_and_whoever_names_it() -> None:
    scene = two_disks()
    put(scene, "a", require=NVME, applies_to={"namespaces": ["team-*"]})
    put(scene, "b", require=NVME, applies_to={"services": ["cart"]})
    put(scene, "c", require=NVME, applies_to={"services": ["shop/cart"]})
    put(scene, "d", require=NVME, applies_to={"workloads": ["special"]})
    put(scene, "e", require=NVME, applies_to={"workloads": ["shop/special"]})
    put(scene, "f", require=NVME)
    scene.submit("w1", namespace="team-x")
    scene.submit("w2", namespace="shop", service="cart")
    scene.submit("w3", service="cart")
    scene.submit("special", namespace="shop")
    scene.submit("w4", policies=["f"])
    scene.submit("w5", namespace="shop")
    found = {name: [one.removeprefix("policy ") for one in sources(scene, name)] for name in scene.ids}
    assert found == {"w1": ["a"], "w2": ["b", "c"], "w3": ["b"], "special": ["d", "e"], "w4": ["f"], "w5": []}


def test_attached_policies_come_by_name_then_those_that_are_named_and_each_once() -> None:
    scene = two_disks()
    for name in ("z", "m", "a"):
        put(scene, name, prefer=NVME, applies_to={"namespaces": ["*"]} if name != "m" else {})
    put(scene, "b", prefer=WEST)
    scene.submit("w", policies=["m", "z", "b"], constraints=[{"require": "node.load < 1.0"}])
    assert sources(scene, "w") == ["", "policy a", "policy z", "policy m", "policy b"]


def test_equal_work_under_equal_policies_shares_its_shape() -> None:
    scene = two_disks()
    put(scene, require=NVME, applies_to={"namespaces": ["*"]})
    scene.submit("w1")
    scene.submit("w2")
    assert scene.work("w1").shape is scene.work("w2").shape
    assert scene.work("w1").shape.namespace == "default"


def test_affinity_spread_and_nearness_are_added_to_what_was_asked_for() -> None:
    scene = two_disks()
    put(
        scene,
        affinity=[{"near": "db"}, {"apart": {"labels": {"noisy": "yes"}}, "within": "rack"}],
        spread=[{"over": "zone"}],
        conflicts=["licence"],
        applies_to={"namespaces": ["*"]},
    )
    scene.submit("w1", affinity=[{"near": "cache"}])
    scene.submit("w2")
    shape = scene.work("w1").shape
    assert shape.near == ("cache", "db")
    assert [rule.level for rule in shape.workload_affinity] == ["rack", "host"]
    assert shape.spread[0].whom[0].workload == "w1"
    assert scene.work("w2").shape.spread[0].whom[0].workload == "w2"
    assert scene.work("w1").identity.conflicts == {"licence"}


def test_placement_follows_the_policy_and_not_only_what_was_asked_for() -> None:
    scene = two_disks()
    scene.run("before")
    put(scene, require=NVME, applies_to={"namespaces": ["*"]})
    scene.run("after")
    assert (scene.on("before"), scene.on("after")) == (["slow"], ["fast"])


def test_in_the_network_profile_nodes_of_a_service_count_as_they_always_did() -> None:
    scene = Scene(default_profile="network")
    for name in ("avoided", "plain", "preferred"):
        scene.join(name, 8)
    put(scene, "a", prefer='node.name in ["preferred"]', applies_to={"services": ["cart"]})
    put(scene, "b", avoid='node.name in ["avoided"]', applies_to={"services": ["cart"]})
    scene.run("w", service="cart")
    best = {line.node: line.total for line in scene.decisions[-1].explanation.best}
    assert best == {"preferred": 1.3, "plain": 1.0, "avoided": 0.5}


def test_a_plan_counts_policies_too() -> None:
    scene = two_disks()
    put(scene, require=NVME, applies_to={"namespaces": ["*"]})
    questions = Questions(scene.engine)
    spec = Workload.model_validate({"name": "w", "resources": {"cpu": 1}})
    assert [task.node for task in whole(questions.plans.plan(spec))] == ["fast"]
    assert whole(questions.plans.capacity(spec)).total == 2
    assert questions.plans.shape(spec).wants == (ConstraintAsk(ConstraintKind.REQUIRE, NVME, source="policy rule"),)


# --- changes ---------------------------------------------------------------------------------------------------


def test_what_waits_is_looked_at_again_when_a_policy_is_relaxed() -> None:
    scene = two_disks()
    put(scene, require=WEST, applies_to={"namespaces": ["*"]})
    scene.submit("w1")
    scene.submit("w2")
    assert scene.tick() == []
    assert scene.work("w1").queue_place is QueuePlace.PARKED
    put(scene, require=NVME, applies_to={"namespaces": ["*"]})
    assert scene.engine._state.policies.by_name["rule"].reconsidered == 2
    assert scene.tick() == ["w1.0", "w2.0"]
    assert scene.on("w1") == ["fast"]


def test_what_waits_is_looked_at_again_when_a_policy_goes() -> None:
    scene = two_disks()
    put(scene, require=WEST, applies_to={"namespaces": ["*"]})
    scene.submit("w")
    assert scene.tick() == []
    remove(scene)
    assert scene.tick() == ["w.0"]
    assert scene.work("w").shape is scene.work("w").terms.shape


def test_others_of_a_kind_are_not_forgotten_when_the_first_of_them_gets_a_policy_of_its_own() -> None:
    scene = two_disks()
    scene.run("hog", 32)
    for name in ("w1", "w2", "w3"):
        scene.submit(name, 20)
    assert scene.tick() == []
    scene.end("hog")
    scene.hear(Tick(0))  # the first of them is called back and not decided about yet; the others wait for it
    assert [scene.work(name).queue_place for name in ("w1", "w2")] == [QueuePlace.QUEUED, QueuePlace.PARKED]
    put(scene, require=WEST, applies_to={"workloads": ["w1"]})
    assert scene.tick() == ["w2.0"]


def test_running_work_stays_where_it_is_and_is_placed_by_the_policy_the_next_time() -> None:
    scene = two_disks()
    scene.run("w", retries=1)
    put(scene, require=NVME, applies_to={"namespaces": ["*"]})
    scene.tick()
    assert (scene.on("w"), scene.stops) == (["slow"], [])
    scene.end("w", code=1)
    scene.tick(3600)
    assert scene.on("w") == ["fast"]


def test_a_policy_that_live_work_names_does_not_go() -> None:
    scene = two_disks()
    put(scene, require=NVME)
    scene.run("w", policies=["rule"])
    remove(scene)
    assert "rule" in scene.engine._state.policies.by_name
    scene.end("w")
    remove(scene)
    assert not scene.engine._state.policies


def test_every_version_is_handed_over_once_and_numbers_go_on_after_a_removal() -> None:
    scene = two_disks()
    put(scene, require=NVME)
    put(scene, require=WEST)
    remove(scene)
    assert scene.notebook.policies["rule"].version == 3
    assert scene.notebook.policies["rule"].definition is None
    assert scene.engine.take_changes(scene.now).policies == []
    scene.restart()
    put(scene, require=NVME)
    assert scene.engine._state.policies.by_name["rule"].version == 4


def test_after_a_restart_the_same_policies_are_in_force() -> None:
    scene = two_disks()
    put(scene, "a", require=WEST, applies_to={"namespaces": ["*"]})
    put(scene, "b", spread=[{"over": "zone"}], applies_to={"workloads": ["w"]})
    scene.submit("w")
    scene.tick()
    before = scene.work("w").shape
    scene.restart()
    assert scene.work("w").shape == before
    assert scene.work("w").terms.shape.wants == ()


# --- violations ------------------------------------------------------------------------------------------------


def test_what_runs_against_a_policy_is_told_with_the_reason() -> None:
    scene = two_disks()
    scene.run("w1")
    scene.run("w2", node_selector={"disk": "nvme"})
    scene.run("w3", namespace="other")
    put(scene, require=NVME, applies_to={"namespaces": ["default"]})
    (found,) = Questions(scene.engine).policies.violations("rule")
    assert (found.workload, found.task.replica, found.node) == ("w1", 0, "slow")
    assert "disk" in found.why
    assert "hdd" in found.why


def test_a_wish_is_never_violated() -> None:
    scene = two_disks()
    scene.run("w")
    put(scene, prefer=NVME, priority=1, applies_to={"namespaces": ["*"]})
    assert Questions(scene.engine).policies.violations("rule") == []


def test_work_that_names_a_policy_may_violate_it_when_nodes_change() -> None:
    scene = two_disks()
    put(scene, require=NVME)
    scene.run("w", policies=["rule"])
    assert Questions(scene.engine).policies.violations("rule") == []
    scene.join("fast", 2, labels={"disk": "hdd"})
    assert [found.node for found in Questions(scene.engine).policies.violations("rule")] == ["fast"]
