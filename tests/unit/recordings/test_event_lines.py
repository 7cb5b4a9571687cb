"""Every event that a control plane hears is read as it was written."""

import numpy as np
import orjson
import pytest

from dovetail.model import event as events
from dovetail.model.event import Event
from dovetail.model.failure_cause import FailureCause
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.policy import Policy
from dovetail.model.reservation import Reservation
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Condition, Workload
from dovetail.recordings.event_lines import MOST_DISTANCES, event_line, event_of

TASK = TaskId(7, 2)
HEARD: list[Event] = [
    events.Submitted(7, Workload.model_validate({"name": "w", "replicas": 3}), ((5, Condition("succeeded")),)),
    events.CancelAsked(7, "enough"),
    events.RetryAsked(7, "again"),
    events.NodeJoined(Node.model_validate({"name": "n", "labels": {"zone": "east"}, "capacity": {"cpu": 4, "gpu": 2}})),
    events.NodeLeft("n", "gone"),
    events.NodeHealthChanged("n", False, "silent"),
    events.NodeCordoned("n", True, ""),
    events.NodeDrained("n", "firmware"),
    events.DomainFailed("rack", "r1", "power"),
    events.NodeObserved("n", {"cpu": 1500}),
    events.BackendHealthChanged("b", False, "away"),
    events.TaskBound(TASK, "7.2.1"),
    events.TaskStarted(TASK, "7.2.1"),
    events.TaskWaiting(TASK, "7.2.1", "pulling"),
    events.TaskFinished(TASK, "7.2.1", 3, "exit status 3", FailureCause.NODE),
    events.TaskFinished(TASK, "7.2.1", None, "stopped"),
    events.TaskMoved(TASK, "7.2.1", "m"),
    events.MoveRefused(TASK, "7.2.1", "its disk is local"),
    events.TaskRestartAsked(TASK, "7.2.1", "unhealthy"),
    events.MoveAsked(TASK, "m", "rebalancing"),
    events.PreemptionAsked(7, (TaskId(3, 0), TaskId(4, 1))),
    events.BindFailed(TASK, "7.2.1", "no image", FailureCause.UNKNOWN),
    events.ReservationMade(3, Reservation.model_validate({"node": "n", "duration": "1h"})),
    events.ReservationReleased(3),
    events.PolicySet(Policy.model_validate({"name": "p", "require": "node.free.cpu > 1"}), 2, "ada", "why"),
    events.PolicyRemoved("p", 3),
    events.TopologySet(Topology.model_validate({"levels": [{"name": "rack"}]})),
    events.DistancesSet((("a", "b", 4.5), ("a", "c", None))),
    events.DistancesCleared(),
    events.Tick(64, by_effort=True),
]


def again(event: Event) -> Event | None:
    return event_of(orjson.loads(orjson.dumps(event_line(event))))


@pytest.mark.parametrize("event", HEARD, ids=lambda event: type(event).__name__)
def test_an_event_is_read_as_it_was_written(event: Event) -> None:
    assert again(event) == event


def test_measured_distances_keep_every_bit() -> None:
    distance = np.array([[0, 1.25], [np.nan, 0]], dtype=np.float32)
    found = again(events.DistancesMeasured(("a", "b"), distance))
    assert isinstance(found, events.DistancesMeasured)
    assert found.names == ("a", "b")
    assert found.distance.tobytes() == distance.tobytes()


def test_what_is_too_large_is_left_out_by_name() -> None:
    nodes = int((MOST_DISTANCES / 4) ** 0.5) + 1
    large = events.DistancesMeasured(tuple(map(str, range(nodes))), np.zeros((nodes, nodes), dtype=np.float32))
    assert event_line(large) == ["Unrecorded", "DistancesMeasured"]
    assert again(large) is None


def test_no_event_of_a_control_plane_is_forgotten() -> None:
    adapters = {"WorkArrived", "Nominated", "DisruptionBudgetsSet", "DistancesMeasured"}
    there = {name for name, one in vars(events).items() if isinstance(one, type) and issubclass(one, Event)} - {"Event"}
    assert there - adapters == {type(event).__name__ for event in HEARD}
