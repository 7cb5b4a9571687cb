"""Which domain a gang goes to, of those that hold it: each strategy on a small scene of racks."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.placement.gangs.domain_features import FEATURES
from dovetail.placement.gangs.strategies import STRATEGIES

GANG = {"min": 2}


def racks(scene: Scene, **rooms: tuple[int, ...]) -> Scene:
    """Each rack by name, with nodes of so many places."""
    for rack, nodes in rooms.items():
        for number, cpu in enumerate(nodes):
            scene.join(f"{rack}{number}", cpu=cpu, labels={"rack": rack, "only": f"{rack}{number}"})
    return scene


def use(scene: Scene, node: str, cpu: int) -> None:
    scene.run(f"on-{node}", cpu=cpu, node_selector={"only": node})


def chosen(scene: Scene, strategy: str | None, **more: Any) -> str:
    """The rack that a gang of two goes to, which has to be in one."""
    topology = {"required": "rack", "preferred": "host"} | ({"strategy": strategy} if strategy else {})
    scene.run("g", replicas=2, gang=GANG, **{"topology": topology | more.pop("how", {}), **more})
    (rack,) = {node[0] for node in scene.on("g")}
    return rack


def test_the_built_in_strategies_weigh_what_there_is_and_balanced_has_the_weights_of_the_seeds() -> None:
    assert all(set(weights) <= set(FEATURES) for weights in STRATEGIES.values())
    assert STRATEGIES["balanced"] == {"availability": 40, "alignment": 30, "utilisation": 20, "history": 10}


@pytest.mark.parametrize("strategy", ["pack", "fragmentation"])
def test_packing_takes_the_domain_of_which_least_is_left(strategy: str) -> None:
    scene = racks(Scene(), a=(1, 1, 1, 1), b=(1, 1), c=(1, 1, 1))
    assert chosen(scene, strategy) == "b"


def test_spreading_takes_the_emptiest_domain_and_puts_one_on_each_node() -> None:
    scene = racks(Scene(), a=(4, 4), b=(4, 4))
    use(scene, "a0", 2)
    scene.run("g", replicas=2, gang=GANG, topology={"required": "rack", "strategy": "spread"})
    assert scene.on("g") == ["b0", "b1"]


def test_balanced_takes_the_freer_of_two_alike() -> None:
    scene = racks(Scene(), a=(1, 1, 1, 1), b=(1, 1, 1, 1))
    use(scene, "a0", 1)
    assert chosen(scene, "balanced") == "b"


def test_latency_takes_the_domain_near_to_what_it_should_be_near_to() -> None:
    scene = racks(Scene(), a=(1, 1, 1), b=(1, 1, 1))
    use(scene, "b0", 1)
    assert chosen(scene, "latency", affinity=[{"near": "on-b0"}]) == "b"


@pytest.mark.parametrize("strategy", ["bandwidth", "latency"])
def test_bandwidth_and_latency_take_the_domain_that_holds_it_closest_together(strategy: str) -> None:
    scene = Scene()
    for name, leaf in (("a0", "u"), ("a1", "v"), ("a2", "w"), ("b0", "x"), ("b1", "y"), ("b2", "y")):
        scene.join(name, cpu=1, labels={"spine": name[0], "leaf": leaf})
    scene.run("g", replicas=3, gang={"min": 3}, topology={"required": "spine", "strategy": strategy})
    assert scene.on("g") == ["b0", "b1", "b2"], "two of them in one leaf"


def test_work_that_failed_in_a_domain_counts_against_it() -> None:
    scene = racks(Scene(), a=(1, 1), b=(1, 1))
    scene.submit("bad", node_selector={"only": "a0"})
    scene.tick()
    scene.started("bad")
    scene.end("bad", code=1)
    assert chosen(scene, "balanced") == "b"


def test_a_strategy_of_the_settings_counts_with_its_weights() -> None:
    wide = racks(Scene(strategies={"wide": {"tightness": -1}}), a=(1, 1), b=(1, 1, 1), c=(1, 1))
    assert chosen(wide, "wide") == "b"


def test_settings_may_change_a_built_in_strategy() -> None:
    scene = racks(Scene(strategies={"pack": {"tightness": -1}}), a=(1, 1), b=(1, 1, 1), c=(1, 1))
    assert chosen(scene, "pack") == "b"


def test_gangs_that_name_none_have_that_of_the_settings() -> None:
    for strategy, rack in (("spread", "a"), ("pack", "b")):
        scene = racks(Scene(gang_strategy=strategy), a=(1, 1, 1, 1), b=(1, 1, 1))
        use(scene, "b0", 1)
        assert chosen(scene, None) == rack


def test_gpu_gangs_are_packed_unless_something_else_is_said() -> None:
    scene = Scene()
    for rack, nodes in (("a", 4), ("b", 2)):
        for number in range(nodes):
            scene.join(f"{rack}{number}", cpu=8, capacity={"gpu": 1}, labels={"rack": rack})
    asked = {"cpu": 1, "gpu": 1}
    scene.run("g", replicas=2, gang=GANG, resources=asked, topology={"required": "rack"})
    assert scene.on("g") == ["b0", "b1"]


def test_a_decision_names_the_strategy_that_chose_and_not_the_scores_of_the_profile() -> None:
    scene = Scene()
    for name in ("a1", "a2", "a3", "b1", "b2"):
        scene.join(name, cpu=1, labels={"rack": name[0]})
    scene.run("g", replicas=2, gang=GANG, topology={"required": "rack", "strategy": "pack"})
    told = scene.decisions[-1].explanation
    assert told.message.startswith("placed on b2, with all 2 tasks in rack b: chosen by strategy pack with ")
    assert "(next: rack a, " in told.message
    assert not told.best
    assert not told.weights


def test_a_domain_without_a_rival_is_said_to_be_the_only_one() -> None:
    scene = Scene()
    for name in ("a1", "b1", "b2"):
        scene.join(name, cpu=1, labels={"rack": name[0]})
    scene.run("g", replicas=2, gang=GANG, topology={"required": "rack"})
    words = "placed on b2, with all 2 tasks in rack b: the only rack that holds all of it"
    assert scene.decisions[-1].explanation.message == words
