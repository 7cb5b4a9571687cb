"""Nodes of the simulated world that are launched when work is bound to them."""

from typing import Any

from dovetail.backends.contract import Assignment
from dovetail.backends.simulated.fleet import fleet
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.backends.simulated.world import World
from dovetail.model.event import Event, NodeJoined, NodeLeft, TaskFinished, TaskStarted
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

OFFER = {"price_per_hour": 3.0, "running": False, "start_up": "2m", "place": "aws/us-east-1"}


def world(**offer: Any) -> World:
    group = {"prefix": "p3", "count": 1, "offer": {**OFFER, **offer}}
    settings = SimulatedSettings.model_validate({"groups": [group]})
    return World(settings, fleet(settings, "cloud"), now=0.0)


def bind(world: World, number: int, node: str, run_time: str = "10m", now: float = 0.0) -> None:
    spec = Workload.model_validate({"name": f"w{number}", "run": {"simulate": {"run_time": run_time}}})
    world.bind(Assignment(f"{number}.0.1", TaskId(number, 0), node, spec), now)


def words(events: list[Event]) -> list[str]:
    """`joined p3-1 running`, `left p3-1`, `started 1`, `ended 1`"""
    found = []
    for event in events:
        if isinstance(event, NodeJoined):
            assert event.node.offer is not None
            found.append(f"joined {event.node.name}{' running' if event.node.offer.running else ''}")
        elif isinstance(event, NodeLeft):
            found.append(f"left {event.name}")
        elif isinstance(event, TaskStarted | TaskFinished):
            found.append(f"{'started' if isinstance(event, TaskStarted) else 'ended'} {event.task.workload}")
    return found


def test_a_node_is_launched_for_work_and_another_one_is_offered() -> None:
    simulated = world()
    bind(simulated, 1, "p3-1")
    assert words(simulated.advance(0.0, 100)) == ["joined p3-1 running", "joined p3-x1"]
    assert simulated.next_due() == 120.0
    assert words(simulated.advance(120.0, 100)) == ["started 1"]
    assert words(simulated.advance(720.0, 100)) == ["ended 1", "left p3-1"]


def test_a_node_stays_while_anything_runs_there() -> None:
    simulated = world()
    bind(simulated, 1, "p3-1", "1m")
    bind(simulated, 2, "p3-1", "1h", now=60.0)
    assert "left p3-1" not in words(simulated.advance(400.0, 100))
    assert words(simulated.advance(4000.0, 100)) == ["ended 2", "left p3-1"]


def test_a_spot_machine_is_taken_back_with_all_that_runs_there() -> None:
    simulated = world(spot=True, interruption=0.9999)
    bind(simulated, 1, "p3-1", "100d")
    simulated.advance(120.0, 100)
    due = simulated.next_due()
    assert due < 86400
    assert words(simulated.advance(due, 100)) == ["left p3-1", "ended 1"], "first the node: no failure of its own"
