"""Whom an urgent gang preempts: as few as it needs, within disruption budgets, and nobody in vain."""

from typing import Any

from tests.unit.kubernetes.scheduler.world import World, node, pod

from dovetail.kubernetes.objects.annotations import PREFIX
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange
from dovetail.model.command import Stop
from dovetail.model.event import Tick

Json = dict[str, Any]


def _full(*nodes: str) -> World:
    """Each node has two pods, and can have no more."""
    world = World()
    for name in nodes:
        world.have_node(node(name))
        for i in range(2):
            one = pod(f"{name}-{i}", on=name, phase="Running", priority=1)
            one["metadata"]["labels"] = {"on": name}
            world.have_pod(one)
    return world


def _gang(world: World, size: int, priority: int = 10, **spec: Any) -> None:
    for i in range(size):
        one = pod(f"gang-{i}", priority=priority, **spec)
        one["metadata"]["annotations"] = {f"{PREFIX}gang": "gang", f"{PREFIX}gang-min": str(size)}
        world.have_pod(one)


def _preempted(world: World) -> set[str]:
    world.objects.tell_budgets()
    commands = [*world.tracker.take_commands(), *world.engine.handle(Tick(100), 0.0)]
    return {world.tracker.by_id[one.task.workload].name for one in commands if isinstance(one, Stop)}


def _budget(world: World, on: str, allowed: int) -> None:
    about = {"namespace": "default", "name": on}
    body = {"metadata": about, "spec": {"selector": {"matchLabels": {"on": on}}}}
    status = {"status": {"disruptionsAllowed": allowed}}
    world.objects.disruption_budgets([ObjectChange(ChangeKind.ADDED, body | status)])


def test_the_victims_of_all_its_pods_together_keep_to_the_budgets() -> None:
    world = _full("a", "b")
    _budget(world, "a", allowed=1)
    _gang(world, 3)
    victims = _preempted(world)
    assert len(victims) == 3
    assert {"b-0", "b-1"} < victims, "a second one of node a would overrun the budget"


def test_nobody_goes_if_one_pod_of_it_may_not_preempt_or_all_would_not_fit() -> None:
    world = _full("a")
    _gang(world, 2, preemptionPolicy="Never")
    assert _preempted(world) == set()
    world = _full("a")
    _gang(world, 3)
    assert _preempted(world) == set()
    world = _full("a")
    _gang(world, 2, priority=1)
    assert _preempted(world) == set(), "nor for one that is no more urgent"


def test_a_gang_takes_another_one_whole_or_not_at_all() -> None:
    world = World()
    for name in ("a", "b"):
        world.have_node(node(name))
    for i, name in enumerate(("a", "a", "b", "b")):
        one = pod(f"low-{i}", on=name, phase="Running", priority=1)
        one["metadata"]["annotations"] = {f"{PREFIX}gang": "low", f"{PREFIX}gang-min": "4"}
        world.have_pod(one)
    _gang(world, 2)
    assert _preempted(world) == {"low-0", "low-1", "low-2", "low-3"}
