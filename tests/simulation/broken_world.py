"""A shared world in racks and leaves where nodes and whole leaves fail, and gangs that lie together are made whole."""

from random import Random
from typing import Any

from tests.simulation.faulty_world import BACKENDS, FaultyWorld
from tests.simulation.misfortune import Deed
from tests.simulation.shared_world import SHARED_DEEDS, SharedWorld

from dovetail.cluster.selector_counts import concerns
from dovetail.engine.state.work import Work
from dovetail.model.event import DomainFailed, NodeCordoned
from dovetail.model.node import Node
from dovetail.model.task import TaskState
from dovetail.model.workloads.workload import Workload

LEAVES = ("a", "b", "c")
PLACES = tuple(f"{leaf}{number}" for leaf in LEAVES for number in range(4))


class BrokenWorld(SharedWorld):
    def fail(self, level: str, name: str) -> None:
        self.tell(DomainFailed(level, name, "fire"))

    def repair(self) -> None:
        for name in list(self.engine._state.cluster.rows):
            self.tell(NodeCordoned(name, False, ""))

    def check(self) -> None:
        super().check()
        state = self.engine._state
        for task, kept in state.recoveries.held.items():
            assert kept.node in state.cluster.rows, f"room is kept for {task} on {kept.node}, which has left"
        for id_ in state.recoveries.broken_gangs:
            assert id_ not in state.work or state.work[id_].recovery is not None or state.work[id_].stopping
        # What is taken out of nodes is what is kept for somebody, to the unit.
        reserved = state.cluster.resources.reserved.copy()
        for kept in state.recoveries.held.values():
            reserved[: len(kept.column), state.cluster.rows[kept.node]] -= kept.column
        for name, column in state.recoveries.spares.items():
            reserved[: len(column), state.cluster.rows[name]] -= column
        assert not reserved.any(), "room is held back for nobody"
        for work in state.work.values():
            self._check_layout(work)

    def _check_layout(self, work: Work) -> None:
        """Whole gangs that require a level lie in one domain of it."""
        layout = work.shape.layout
        if layout is None or layout.required is None or work.recovery is not None:
            return
        nodes = [
            live.node for live in work.tasks.values() if live.state.holds_node and live.state is not TaskState.STOPPING
        ]
        own = any(concerns(rule, work.identity) for rule in work.shape.workload_affinity)
        if own and not work.stopping:
            assert len({node[0] for node in nodes if node is not None}) <= 1, f"gang {work.id} is torn: {nodes}"

    def check_settled(self) -> None:
        super().check_settled()
        assert not self.engine._state.recoveries
        assert not self.engine._state.recoveries.held


def place(name: str, chance: Random) -> Node:
    return Node.model_validate(
        {
            "name": name,
            "backend": chance.choice(BACKENDS),
            "capacity": {"cpu": 4, "memory": "32GiB"},
            "labels": {"leaf": name[0]},
        }
    )


def leafy_work(chance: Random, number: int) -> Workload:
    fields: dict[str, Any] = {
        "name": f"w{number}",
        "priority": chance.choice(["high", "medium", "medium", "low"]),
        "resources": {"cpu": chance.choice([1, 2, 4]), "memory": "1GiB"},
        "retries": chance.choice([0, 1]),
        "disruption": {"allowed": chance.random() < 0.9, "max_unavailable": chance.choice([None, None, 1])},
    }
    if chance.random() < 0.5:
        size = chance.choice([2, 3])
        fields["resources"] = {"cpu": chance.choice([3, 4]), "memory": "1GiB"}
        fields |= {"replicas": size, "gang": {"min": chance.choice([size, size, max(1, size - 1)])}}
        fields["topology"] = chance.choice([{"required": "leaf"}, {"required": "leaf"}, {"preferred": "leaf"}, None])
        if fields["topology"] is None:
            del fields["topology"]
    else:
        fields["replicas"], fields["resources"]["cpu"] = chance.choice([1, 1, 2]), chance.choice([1, 1, 2])
    return Workload.model_validate(fields)


def crowd(world: BrokenWorld, chance: Random) -> None:
    """Every leaf has a gang on three of its four nodes and singles on the fourth: who is lost has no room that is free,
    but singles can go to the other leaves."""
    for leaf in LEAVES:
        for number in range(4):
            world.join(place(f"{leaf}{number}", chance))
        fields = {"name": f"gang-{leaf}", "replicas": 3, "gang": {"min": 3}, "topology": {"required": "leaf"}}
        world.submit(Workload.model_validate({**fields, "resources": {"cpu": 4, "memory": "1GiB"}}))
        world.decide()
    for number in range(chance.choice([2, 3, 4])):
        fields = {"name": f"single{number}", "priority": "low", "disruption": {"allowed": True}}
        world.submit(Workload.model_validate({**fields, "resources": {"cpu": chance.choice([1, 1, 2])}}))
    world.decide()
    for _ in range(2):  # accepted, started
        for key in world.live():
            world.go_on(key)


def _fail_a_gang(world: FaultyWorld, chance: Random) -> None:
    """A node fails that holds some of a gang."""
    assert isinstance(world, BrokenWorld)
    state = world.engine._state
    placed = state.cluster.placements.by_task.items()
    held = sorted({state.cluster.names[one.row] for task, one in placed if state.work[task.workload].terms.gang_min})
    if held:
        world.fail("node", chance.choice(held))


def _submit(world: FaultyWorld, chance: Random) -> None:
    world.submit(leafy_work(chance, world.next_workload))


def _fail(world: FaultyWorld, chance: Random) -> None:
    assert isinstance(world, BrokenWorld)
    if chance.random() < 0.25:
        world.fail("leaf", chance.choice(LEAVES))
    else:
        world.fail("node", chance.choice(PLACES))


def _join(world: FaultyWorld, chance: Random) -> None:
    world.join(place(chance.choice(PLACES), chance))


def _repair(world: FaultyWorld, chance: Random) -> None:
    assert isinstance(world, BrokenWorld)
    world.tell(NodeCordoned(chance.choice(PLACES), False, ""))


BROKEN_DEEDS: dict[str, Deed] = {
    **{name: deed for name, deed in SHARED_DEEDS.items() if name not in ("taint", "reserve", "release")},
    "submit": _submit,
    "join": _join,
    "fail": _fail,
    "fail a gang": _fail_a_gang,
    "repair": _repair,
}
